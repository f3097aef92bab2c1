"""The page of a class model, presence and absence included: what it shows beside the sections that all kinds share."""

from typing import Any

from sdm.models.presence import presence_class
from sdm.report.pages import sections
from sdm.report.pages.frame import Context, Page, PageSection
from sdm.report.pages.projection import FITTED
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


def class_figures(results: Results) -> Context:
    """Return the measures of the key figures."""
    sites, best = best_measures(results)
    return {"sites": sites, "best": best}


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
    return {
        "rows": rows,
        "titles": [*heads, "Share of the map"],
        "sites": best_measures(results)[0],
        "measures": [(name, [found.get(key) for key in shown]) for name, found in measured],
        "measure_titles": list(shown.values()),
        "confusion": sections.image(results, "confusion picture"),
    }


CLASSES = Page(
    subject,
    (
        PageSection("figures", "", class_figures, template="classes/figures"),
        sections.FIT,
        sections.MAP,
        FITTED,
        PageSection("classes", "Classes", classes, template="classes/classes"),
        sections.ROC,
        sections.THRESHOLDS,
        sections.SURVEY,
        PageSection("curves", "Response curves", sections.class_curves),
        sections.IMPORTANCE,
        sections.VARIABLES,
        sections.TUNING,
        sections.VALIDATION,
        sections.NULL,
        sections.RECORDS,
        sections.SETTINGS,
        sections.ODMAP,
    ),
)
