"""The page of a class model, presence and absence included: what it shows beside the sections that all kinds share."""

from dataclasses import replace
from typing import Any

from sdm.models.presence import presence_class
from sdm.report.pages import sections
from sdm.report.pages.drawing.curves import class_curves
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.projection import FITTED
from sdm.report.pages.words import figure, whole
from sdm.report.results import Results, number

ORDER = ("cross-validation", "test", "training")  # which measures tell most
COLUMNS = {
    "log_loss": "Log loss", "constant_log_loss": "Constant model", "accuracy": "Accuracy", "kappa": "Kappa",
    "tss": "TSS", "mean_auc": "Mean AUC",
}  # fmt: skip


def subject(results: Results) -> str:
    """Return what the page is of."""
    names = results.numbers.get("variables")
    variables = f" from {len(names)} variables" if isinstance(names, list) else ""
    classes = f"{len(results.classes)} classes" if presence_class(results.classes) is None else "presence and absence"
    return classes + variables


def best_measures(results: Results) -> tuple[str, dict[str, Any]]:
    """Return the measures that tell most of the model, and on which sites they are."""
    known = {name: found for name, found in results.tree("measures").items() if isinstance(found, dict)}
    return next(((name, known[name]) for name in ORDER if name in known), ("", {}))


def class_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: sites, and how well classes are told apart; then the others."""
    n, survey = results.numbers, results.tree("presence_absence")
    sites, best = best_measures(results)
    said = f"{whole(n.get('training_sites'))} for training"
    loss = f"{sites}; constant model {figure(best.get('constant_log_loss'))}"
    tss = (survey.get("tss"), survey.get("of")) if best.get("tss") is None else (best.get("tss"), sites)
    skill = [KeyFigure("TSS", figure(tss[0], 3), str(tss[1]))] if number(tss[0]) is not None else []
    auc = "AUC" if presence_class(results.classes) is not None else "Mean AUC"
    return [
        KeyFigure("Sites", whole(n.get("sites")), said),
        KeyFigure(auc, figure(best.get("mean_auc"), 3), sites),
        KeyFigure("Log loss", figure(best.get("log_loss")), loss),
        *skill,
        KeyFigure("Accuracy", figure(best.get("accuracy"), 3), f"kappa {figure(best.get('kappa'), 3)}"),
        KeyFigure("Features in use", whole(n.get("features_with_weight")), f"of {whole(n.get('features'))}"),
        KeyFigure("Proved gap", figure(n.get("gap"), 2), f"nats, {n.get('status') or 'status unknown'}"),
    ]


def classes(results: Results) -> Context | None:
    """Return the table of classes with colours and shares, the measures, and the confusion matrix."""
    table = results.table("classes")
    if not table:
        return None
    shares = results.tree("map").get("shares")
    known = shares if isinstance(shares, dict) else {}
    keys = [key for key in table[0] if key not in ("code", "class", "colour")]
    rows = [
        {
            "name": row.get("class", ""),
            "colour": row.get("colour", ""),
            "figures": [*(number(row.get(key)) for key in keys), number(known.get(row.get("class", "")))],
        }
        for row in table
    ]
    titles = {"auc": "AUC", "recall": "Recall", "precision": "Precision", "sites": "Sites"}
    heads = [titles.get(key.partition(" (")[0], key) for key in keys]
    measured = [(name, found) for name, found in results.tree("measures").items() if isinstance(found, dict)]
    shown = {key: title for key, title in COLUMNS.items() if any(key in found for _, found in measured)}
    two = presence_class(results.classes) is not None
    return {
        "rows": [] if two else rows,
        "found": _found(results) if two else None,
        "titles": [*heads, "Share of the map"],
        "sites": best_measures(results)[0],
        "measures": [(name, [found.get(key) for key in shown]) for name, found in measured],
        "measure_titles": list(shown.values()),
        "confusion": None if two else sections.image(results, "confusion picture"),
    }


def _found(results: Results) -> list[tuple[str, list[float | None]]] | None:
    """Return how many sites with and without the species were predicted to be which; None where it is not known."""
    here = presence_class(results.classes)
    sites = best_measures(results)[0]
    table = {row.get("class on record"): row for row in results.table("confusion") if row.get("data", sites) == sites}
    if here is None or set(results.classes) - set(table):
        return None
    order = [results.classes[here], results.classes[1 - here]]
    return [
        (name, [number(table[label].get(f"predicted {other}")) for other in order])
        for name, label in zip(("presence", "absence"), order)
    ]


CLASSES = Page(
    subject,
    class_figures,
    (
        sections.MAP,
        PageSection("curves", "Response curves", class_curves),
        sections.IMPORTANCE,
        sections.VARIABLES,
        sections.TUNING,
        PageSection("classes", "Performance", classes, "Model performance", "classes/classes"),
        sections.VALIDATION,
        sections.ROC,
        replace(sections.SURVEY, side=True),
        sections.NULL,
        sections.THRESHOLDS,
        FITTED,
        sections.RECORDS,
        sections.FIT,
        sections.SETTINGS,
        sections.ODMAP,
    ),
)
