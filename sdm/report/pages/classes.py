"""The page of a class model, presence and absence included: what it shows beside the sections that all kinds share."""

from typing import Any

from sdm.models.presence import shown_class
from sdm.report.pages import sections, words
from sdm.report.pages.frame import Context, Page, Section
from sdm.report.pages.words import figure, whole
from sdm.report.results import Results, number

ORDER = ("cross-validation", "test", "training")  # which measures tell most
COLUMNS = {
    "log_loss": "Log loss", "constant_log_loss": "Constant model", "accuracy": "Accuracy", "kappa": "Kappa",
    "tss": "TSS", "mean_auc": "Mean AUC",
}  # fmt: skip


def head(results: Results) -> Context:
    """Return the title of the page, and of what it is."""
    classes, names = len(results.classes), results.numbers.get("variables")
    variables = f" from {len(names)} variables" if isinstance(names, list) else ""
    return {
        "title": f"{results.title} – {classes} classes",
        "heading": results.title,
        "subtitle": f"{classes} classes{variables} · {words.algorithm(results)}",
        "plain": True,
    }


def best_measures(results: Results) -> tuple[str, dict[str, Any]]:
    """Return the measures that tell most of the model, and on which sites they are."""
    known = {name: found for name, found in results.tree("measures").items() if isinstance(found, dict)}
    return next(((name, known[name]) for name in ORDER if name in known), ("", {}))


def figures(results: Results) -> Context:
    """Return the main figures, warnings, and whether the model was tested."""
    n, (sites, best) = results.numbers, best_measures(results)
    constant = f"{sites}; constant model {figure(best.get('constant_log_loss'))}"
    tiles = [
        ("Sites", whole(n.get("sites")), f"{whole(n.get('training_sites'))} for training"),
        ("Log loss", figure(best.get("log_loss")), constant),
        ("Accuracy", figure(best.get("accuracy"), 3), f"kappa {figure(best.get('kappa'), 3)}"),
    ]
    if number(best.get("tss")) is not None:
        tiles.append(("TSS", figure(best["tss"], 3), sites))
    tiles += [
        ("Mean AUC", figure(best.get("mean_auc"), 3), sites),
        ("Features in use", whole(n.get("features_with_weight")), f"of {whole(n.get('features'))}"),
        ("Proved gap", figure(n.get("gap"), 2), f"nats, {n.get('status') or 'status unknown'}"),
    ]
    notes = []
    if number(best.get("sites_given_no_probability")):
        notes.append(
            f"At {whole(best['sites_given_no_probability'])} sites a class that is there got no probability at all; "
            "the log loss counts it as one in a million."
        )
    warnings = n.get("warnings")
    found = warnings if isinstance(warnings, list) else []
    return {"tiles": tiles, "warnings": found, "notes": notes, "untested": "sites" if sites == "training" else ""}


def fit(results: Results) -> Context:
    """Return the certificate."""
    explain = (
        "The log loss is the mean of −ln(probability of the class on record), in nats: 0 is perfect. The constant "
        "model, which gives every class its share of the training sites, is what a model has to beat."
    )
    good = results.numbers.get("status") == "converged"
    return {"good": good, "texts": words.certificate(results), "explain": explain}


def class_map(results: Results) -> Context:
    """Return the map: the probability of presence, or the most probable class."""
    two = len(results.classes) == 2
    subject = f"probability of {shown_class(results.classes)[1]}" if two else "most probable class"
    picture = "probability picture" if two and results.path("probability picture") else "picture"
    text = f"Map of {results.title}: the {subject}"
    explain = (
        "Values are probabilities, given the environment of a cell, for sites sampled as the training sites were. "
        if two
        else "The most probable class of every cell; where the entropy is high, others are nearly as probable. "
    )
    return sections.map_section(results, text=text, explain=explain, reference="map", picture=picture)


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
    head,
    (
        Section("figures", "", figures),
        Section("fit", sections.FIT, fit),
        Section("map", "Map", class_map),
        Section("classes", "Classes", classes, template="classes/classes"),
        sections.ROC,
        sections.THRESHOLDS,
        sections.SURVEY,
        Section("curves", "Response curves", sections.class_curves),
        sections.IMPORTANCE,
        sections.TUNING,
        sections.VALIDATION,
        sections.NULL,
        sections.RECORDS,
        sections.SETTINGS,
        sections.ODMAP,
    ),
)
