"""Sections that pages of several kinds share: each reads stored results, and returns None where they have none."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from sdm.report import charts
from sdm.report.pages.frame import Context, PageSection
from sdm.report.pages.maps.live_map import live_map, main_picture
from sdm.report.pages.metadata import protocol
from sdm.report.pages.svg import svg
from sdm.report.pictures import WIDE, shown_picture
from sdm.report.projection import StoredProjection, projection_of
from sdm.report.results import Results, column, number, rows_of
from sdm.report.stored_charts import (
    effect_charts,
    response_charts,
    roc_of,
    rugs_of,
    share_charts,
    stored_folds,
    stored_importance,
)
from sdm.storage.files import safe_name
from sdm.types import Numbers

MOST_SETTINGS = 60
MOST_DOTS = 3000
MOST_FOLDS = 24
WITHOUT_SCRIPTS = 700  # pixels across, of the map that is shown where scripts do not run


def image(results: Results, key: str, wide: int = WIDE) -> str | None:
    """Return a stored picture as the text of a data address; None where it is not there."""
    path = results.path(key)
    return None if path is None else shown_picture(path, wide)


def shown_map(results: Results) -> Context:
    """Return the live map, and the stored picture for where it cannot be shown."""
    layers = results.map_layers()
    first = image(results, "probability picture", WITHOUT_SCRIPTS) if len(results.classes) == 2 else None
    live = live_map(results)
    if live is not None:
        projected = projection_of(results)  # whose maps the live map shows too
        cases = StoredProjection(projected.folder, projected.numbers).cases if projected else []
        live["hatched"] = any(case.novelty for case in cases)
    return {
        "live": live,
        "image": first or image(results, "picture", WITHOUT_SCRIPTS),
        "label": layers[0].label if layers else "",
        "raster": layers[0].path.name if layers else None,
    }


def importance(results: Results) -> Context | None:
    """Return the importance of every variable, and the jackknife."""
    permuted, contributed = stored_importance(results)
    rows = rows_of(results.tree("importance").get("jackknife"))
    jackknife = [svg(chart) for chart in charts.jackknife_charts(rows).values()]
    if not permuted and not contributed:
        return {"jackknife": jackknife} if jackknife else None
    chart = charts.importance_chart(permuted, contributed)
    parts, shuffled = ({str(row.get("variable")): row for row in rows} for rows in (contributed, permuted))
    columns = [("Permutation importance (%)", "percent", 3), ("± standard deviation", "deviation", 2)]
    last = ("Contribution (%)", "contribution", 3) if contributed else ("Increase of the log loss (nats)", "drop", 3)
    rows = [
        {**shuffled.get(name, {}), "variable": name, "contribution": parts.get(name, {}).get("percent")}
        for name in chart.names
    ]
    table = {"rows": rows, "columns": [*columns, last], "contributed": bool(contributed)}
    return {"chart": svg(chart), **table, "jackknife": jackknife}


def tuning(results: Results) -> Context | None:
    """Return the settings that a search tried, and how one was chosen."""
    rows = results.table("tune") or results.table("multipliers")
    if not (results.tree("tuning") or rows):
        return None
    picture = results.plot("tune.png")
    return {
        "image": None if picture is None else shown_picture(picture),
        "columns": list(rows[0]) if rows else [],
        "rows": rows[:MOST_SETTINGS],
        "left_out": max(0, len(rows) - MOST_SETTINGS),
    }


def variable_section(results: Results) -> Context | None:
    """Return which variables were left out and why, with the pictures of correlations and of the reduction."""
    found = results.tree("variable_selection")
    if not found:
        return None
    pictures = {name: results.plot(f"{name}.png") for name in ("correlation", "reduction")}
    return {
        "candidates": found.get("candidates"),
        "kept": found.get("kept") if isinstance(found.get("kept"), list) else [],
        "dropped": rows_of(found.get("dropped")),
        "constant": found.get("constant") if isinstance(found.get("constant"), list) else [],
        "points": found.get("points"),
        "over": found.get("over"),
        "steps": rows_of(found.get("steps")),
        **{name: None if path is None else shown_picture(path) for name, path in pictures.items()},
    }


def validation(results: Results) -> Context | None:
    """Return the table of folds, means with their deviations, and where the folds lie."""
    found = results.tree("cross_validation")
    rows = rows_of(found.get("rows") or found.get("folds"))
    if not rows:
        return None
    mean = found["mean"] if isinstance(found.get("mean"), dict) else {}
    averages = [
        {"name": key.removesuffix(".avg"), "mean": value, "sd": mean.get(f"{key.removesuffix('.avg')}.sd")}
        for key, value in mean.items()
        if not key.endswith(".sd")
    ]
    columns = [key for key in rows[0] if not isinstance(rows[0][key], (dict, list))]
    blocks, picture = found.get("blocks"), results.plot("variograms.png")
    context = {"method": found.get("method"), "places": fold_map(results)}
    if isinstance(blocks, dict):
        context |= {"blocks": blocks.get("text"), "variograms": None if picture is None else shown_picture(picture)}
    return {**context, "background": found.get("background"), "rows": rows, "columns": columns, "averages": averages}


def fold_map(results: Results) -> Markup | None:
    """Draw where the records of each fold lie."""
    folds = stored_folds(results)
    if not folds or len(folds) > MOST_FOLDS:
        return None
    step = -(-sum(map(len, folds.values())) // MOST_DOTS)
    groups = []
    for (label, rows), colour in zip(folds.items(), charts.fold_colours(len(folds))):
        own = rows[::step]
        places = [(x, y) for x, y in zip(column(own, "X"), column(own, "Y")) if math.isfinite(x) and math.isfinite(y)]
        name = f"fold {label} ({len(rows):,})"
        groups.append(charts.Line(name, [x for x, _ in places], [y for _, y in places], colour))
    if not any(group.x for group in groups):
        return None
    picture = main_picture(results, 8)
    aspect, names = 1.0, ("x", "y")
    if picture is not None:
        left, bottom, right, top = picture.bounds
        names = ("longitude", "latitude") if picture.geographic else names
        aspect = (right - left) / max(top - bottom, 1e-12) / picture.aspect
    return svg(charts.DotChart("Records by fold", *names, groups, aspect))


def _survey(results: Results) -> Context | None:
    """Return the measures at sites with absences, and the calibration curve."""
    found = results.tree("presence_absence")
    rows = rows_of(found.get("calibration") or results.numbers.get("calibration"))
    if not found and not rows:
        return None
    measures = [
        (name, value)
        for name, value in found.items()
        if name not in ("presences", "absences") and isinstance(value, int | float) and not isinstance(value, bool)
    ]
    sites = {key: found.get(key) for key in ("presences", "absences", "of")}
    return {**sites, "measures": measures, "chart": svg(charts.calibration_chart(rows)) if rows else None}


def null_model_section(results: Results) -> Context | None:
    """Return the tests against null models."""
    found = results.tree("null_models")
    return {"iterations": found.get("iterations"), "tests": rows_of(found.get("tests"))} if found else None


def roc_section(results: Results) -> Context | None:
    """Return the ROC curve: records found against the background, or the absences, that are predicted."""
    chart = roc_of(results)
    if chart is None:
        return None
    return {"chart": svg(chart), "absences": "Training false presences" in results.table("roc")[0]}


def thresholds(results: Results) -> Context | None:
    """Return the thresholds, with area and omission."""
    rows = {key: row for key, row in results.tree("thresholds").items() if isinstance(row, dict)}
    if not rows:
        return None
    known = {"cumulative": "Cumulative", "cloglog": "Cloglog", "probability": "Probability"}
    return {
        "rows": rows,
        "area_key": results.area_key,
        "scales": [(title, key) for key, title in known.items() if any(key in row for row in rows.values())],
        "binomial": any(number(row.get("binomial")) is not None for row in rows.values()),
        "chosen": results.option("predict.threshold"),
    }


def always(results: Results) -> Context:
    """Return nothing beside the results: the template takes all from them."""
    return {}


@dataclass(frozen=True)
class AreaWords:
    """What a threshold costs beside omission: a part of the background, or of the absences."""

    head: str  # of the column of a table
    predicted: str  # beside the live map
    subject: str  # with omission, of a sentence
    explanation: str
    source: str  # of the figures beside the live map


OF_BACKGROUND = AreaWords(
    "Area",
    "Area predicted",
    "Area and omission",
    "Rules have the names of Java Maxent. Area is the share of the background at or above the threshold.",
    "Area is the share of the background at or above the threshold; area and omission come from the stored table.",
)


def map_section(values: Callable[[Results], str], area: AreaWords = OF_BACKGROUND) -> PageSection:
    """Return the section of the map; `values` explains the values of the map."""

    def fill(results: Results) -> Context:
        return {**shown_map(results), "values": values(results)}

    words = {"area_predicted": area.predicted, "area_subject": area.subject, "area_source": area.source}
    scripts = ("map_view.js", "map_layers.js", "map.js")
    return PageSection("map", "Map", fill, lead=True, scripts=scripts, words=words)


def fit_section(explanation: str) -> PageSection:
    """Return the section of the certificate; `explanation` is about the loss."""
    return PageSection("fit", "Certificate", always, "Certificate of the fit", words={"explanation": explanation})


def threshold_section(area: AreaWords = OF_BACKGROUND) -> PageSection:
    """Return the section of thresholds."""
    return PageSection(
        "thresholds", "Thresholds", thresholds, words={"area_head": area.head, "area_explanation": area.explanation}
    )


def importance_section(loss: str) -> PageSection:
    """Return the section of the importance of variables; `loss` is the loss by permutation."""
    return PageSection("importance", "Importance", importance, "Importance of the variables", words={"loss": loss})


def validation_section(measures: str) -> PageSection:
    """Return the section of the cross-validation; `measures` explains the columns."""
    return PageSection("validation", "Cross-validation", validation, words={"measures": measures})


def survey_section(calibration: str, *, side: bool = False) -> PageSection:
    """Return the section of sites with absences; `calibration` explains the calibration curve."""
    words = {"calibration": calibration}
    return PageSection("survey", "Survey and calibration", _survey, side=side, words=words)


def null_section(data: str) -> PageSection:
    """Return the section of null models, which are fitted to random `data`."""
    return PageSection("null", "Null models", null_model_section, words={"data": data})


ROC = PageSection("roc", "ROC", roc_section, "ROC curve", side=True)
TUNING = PageSection("tuning", "Tuning", tuning, "Selection of settings")
VARIABLES = PageSection("variables", "Variables", variable_section, "Selection of variables")
RECORDS = PageSection("records", "Records and bias", always, "Records and sampling bias")
SETTINGS = PageSection("settings", "Settings", always, "Settings and command")
ODMAP = PageSection("odmap", "ODMAP", lambda results: {"protocol": protocol(results)}, "ODMAP protocol")


def curves(results: Results) -> Numbers | None:
    """Return the response curves with the limits over replicates, the effects on the score, and the surfaces."""
    rugs, bands = rugs_of(results), results.table("bands")
    found = {
        "responses": [svg(chart) for chart in response_charts(results, rugs).values()],
        "effects": [svg(chart) for chart in effect_charts(results, rugs).values()],
        "surfaces": _surfaces(results),
    }
    return {**found, "banded": bool(bands), "rugged": bool(rugs)} if any(found.values()) else None


def _surfaces(results: Results) -> list[dict[str, str]]:
    """Return the pictures of responses to two variables at a time."""
    pairs = dict.fromkeys((row.get("first", ""), row.get("second", "")) for row in results.table("surfaces"))
    found = [(pair, results.plot(f"surface_{safe_name(pair[0])}_{safe_name(pair[1])}.png")) for pair in pairs]
    return [
        {"picture": shown_picture(path), "text": f"Response to {first} and {second}"}
        for (first, second), path in found
        if path is not None
    ]


def class_curves(results: Results) -> Numbers | None:
    """Return the response curves of presence, or the probabilities of all classes in the colours of the classes."""
    found, shares = curves(results) or {}, share_charts(results)
    if found.get("responses") or not shares:
        return found or None
    legend = [(row.get("class", ""), row.get("colour", "")) for row in results.table("classes")]
    return {**found, "responses": [svg(chart) for chart in shares.values()], "legend": legend}
