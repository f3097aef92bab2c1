"""Sections that pages of several kinds share: each reads stored results, and returns None where they have none."""

import math
from collections.abc import Iterable
from dataclasses import replace

from markupsafe import Markup

from sdm.files import safe_name
from sdm.report import charts
from sdm.report.pages.frame import Context, PageSection
from sdm.report.pages.live_map import live_map, map_layers
from sdm.report.pages.svg import svg
from sdm.report.pictures import Picture, embed, read_picture
from sdm.report.results import Results, Row, column, number, rows_of

MOST_SETTINGS = 60
MOST_DOTS = 3000
MOST_FOLDS = 24


def main_picture(results: Results, pixels: int = 512) -> Picture | None:
    """Return the map that is shown first, reduced; None where there is none."""
    layers = map_layers(results)
    return read_picture(layers[0].path, pixels, layers[0].band) if layers else None


def image(results: Results, key: str) -> str | None:
    """Return a stored picture as the text of a data address; None where it is not there."""
    path = results.path(key)
    return None if path is None else embed(path)


def shown_map(results: Results) -> Context:
    """Return the live map, and the stored picture for where it cannot be shown."""
    layers = map_layers(results)
    first = image(results, "probability picture") if len(results.classes) == 2 else None
    return {
        "live": live_map(results),
        "image": first or image(results, "picture"),
        "label": layers[0].label if layers else "",
        "raster": layers[0].path.name if layers else None,
    }


def curves(results: Results) -> Context | None:
    """Return the response curves, the effects on the score, the bands over replicates, and the surfaces."""
    label, fixed = charts.SCALES.get(results.scale, results.scale), _heights(results)
    names = {"marginal": "others at their mean", "only": "this variable alone"}
    responses, effects = [], []
    for variable, rows in rows_by(results.table("curves"), "variable").items():
        kinds = rows_by(rows, "kind")
        shown = {name: stored_curve(kinds[kind]) for kind, name in names.items() if kind in kinds}
        if shown:
            title = f"Response to {variable}"
            responses.append(svg(charts.curve_chart(variable, shown, title=title, y_label=label, y_range=fixed)))
        for kind in (kind for kind in charts.EFFECTS if kind in kinds):
            title, own = f"Effect of {variable} on the score", {kind: stored_curve(kinds[kind])}
            effects.append(svg(charts.curve_chart(variable, own, title=title, y_label="Effect on the score (nats)")))
    bands = []
    for variable, rows in rows_by(results.table("bands"), "variable").items():
        title, own = f"Response to {variable} over replicates", {"mean": stored_curve(rows, "mean")}
        bands.append(svg(charts.curve_chart(variable, own, title=title, y_label=label, y_range=fixed)))
    found = {"responses": responses, "effects": effects, "bands": bands, "surfaces": _surfaces(results)}
    return found if any(found.values()) else None


def rows_by(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """Return rows by the text of a column, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get(name, ""), []).append(row)
    return groups


def stored_curve(rows: list[Row], name: str = "response", category: str = "class") -> charts.ResponseCurve:
    """Return the curve that a table holds in long form."""
    inside = [v for row, v in zip(rows, column(rows, "value")) if row.get("in training range") == "True"]
    categories = [row.get(category, "") for row in rows]
    return charts.ResponseCurve(
        column(rows, "value"),
        column(rows, name),
        categories if any(categories) else None,
        (min(inside), max(inside)) if inside else None,
        (column(rows, "lower"), column(rows, "upper")) if "lower" in rows[0] else None,
    )


def _heights(results: Results) -> charts.Range | None:
    """Return the range that responses are drawn in, the same for all variables; None where it is not known."""
    rows = [row for row in results.table("curves") if row.get("kind") not in charts.EFFECTS]
    highest = max((v for v in column(rows, "response") if math.isfinite(v)), default=None)
    top = charts.TOP.get(results.scale, highest)
    return None if top is None else (0.0, top)


def _surfaces(results: Results) -> list[dict[str, str]]:
    """Return the pictures of responses to two variables at a time."""
    pairs = dict.fromkeys((row.get("first", ""), row.get("second", "")) for row in results.table("surfaces"))
    found = [(pair, results.plot(f"surface_{safe_name(pair[0])}_{safe_name(pair[1])}.png")) for pair in pairs]
    return [
        {"picture": embed(path), "text": f"Response to {first} and {second}"}
        for (first, second), path in found
        if path is not None
    ]


def class_curves(results: Results) -> Context | None:
    """Return the response curves of presence, or the probabilities of all classes in the colours of the classes."""
    found, table = curves(results) or {}, results.table("class curves") or results.table("curves")
    if found.get("responses") or not table or "probability" not in table[0]:
        return found or None
    colours = {row.get("class", ""): row.get("colour", "") for row in results.table("classes")}
    drawn = []
    for variable, rows in rows_by(table, "variable").items():
        own = {
            label: replace(stored_curve(part, "probability", "category"), colour=colours.get(label))
            for label, part in rows_by(rows, "class").items()
        }
        title = f"Probabilities along {variable}"
        ways: Context = {"title": title, "y_label": "Probability", "y_range": (0, 1), "shares": True}
        drawn.append(svg(charts.curve_chart(variable, own, **ways)))
    return {**found, "responses": drawn, "legend": list(colours.items())}


def importance(results: Results) -> Context | None:
    """Return the importance of every variable, and the jackknife."""
    found = results.tree("importance")
    permuted = rows_of(found.get("permutation") or results.numbers.get("permutation_importance"))
    contributed = rows_of(found.get("contribution"))
    jackknife = [svg(chart) for chart in charts.jackknife_charts(rows_of(found.get("jackknife"))).values()]
    if not permuted and not contributed:
        return {"jackknife": jackknife} if jackknife else None
    chart = charts.importance_chart(permuted, contributed)
    parts, shuffled = ({str(row.get("variable")): row for row in rows} for rows in (contributed, permuted))
    columns = [("Permutation importance (%)", "percent", 3), ("± deviation", "deviation", 2)]
    last = ("Contribution (%)", "contribution", 3) if contributed else ("Rise of the log loss (nats)", "drop", 3)
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
        "image": None if picture is None else embed(picture),
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
        **{name: None if path is None else embed(path) for name, path in pictures.items()},
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
        context |= {"blocks": blocks.get("text"), "variograms": None if picture is None else embed(picture)}
    if results.kind == "species":
        context["background"] = found.get("background")
    return {**context, "rows": rows, "columns": columns, "averages": averages}


def fold_map(results: Results) -> Markup | None:
    """Draw where the records of each fold lie."""
    rows = [row for row in results.table("folds") if row.get("kind") != "background" and row.get("fold")]
    labels = list(dict.fromkeys(row.get("fold", "") for row in rows))
    if not labels or len(labels) > MOST_FOLDS:
        return None
    shown = rows[:: -(-len(rows) // MOST_DOTS) or 1]
    groups = []
    for k, label in enumerate(sorted(labels, key=lambda text: (number(text) is None, number(text) or 0.0, text))):
        own = [row for row in shown if row.get("fold") == label]
        places = [(x, y) for x, y in zip(column(own, "X"), column(own, "Y")) if math.isfinite(x) and math.isfinite(y)]
        groups.append(charts.Line(f"fold {label}", [x for x, _ in places], [y for _, y in places], k))
    if not any(group.x for group in groups):
        return None
    picture = main_picture(results, 8)
    aspect, names = 1.0, ("x", "y")
    if picture is not None:
        left, bottom, right, top = picture.bounds
        names = ("longitude", "latitude") if picture.geographic else names
        aspect = (right - left) / max(top - bottom, 1e-12) / picture.aspect
    return svg(charts.DotChart("Records by fold", *names, groups, aspect))


def survey_section(results: Results) -> Context | None:
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
    rows = results.table("roc")
    if not rows:
        return None
    scores = {}
    for data, key in (("training", "auc_train"), ("test", "auc_test")):
        measured = results.tree("measures").get(data)
        scores[data] = measured.get("mean_auc") if isinstance(measured, dict) else results.numbers.get(key)
    return {"chart": svg(charts.roc_chart(rows, scores)), "absences": "Training false presences" in rows[0]}


def thresholds(results: Results) -> Context | None:
    """Return the thresholds, with area and omission."""
    rows = {key: row for key, row in results.tree("thresholds").items() if isinstance(row, dict)}
    if not rows:
        return None
    known = {"cumulative": "Cumulative", "cloglog": "Cloglog", "probability": "Probability"}
    return {
        "rows": rows,
        "scales": [(title, key) for key, title in known.items() if any(key in row for row in rows.values())],
        "binomial": any(number(row.get("binomial")) is not None for row in rows.values()),
        "chosen": results.option("predict.threshold"),
    }


def protocol(results: Results) -> Context:
    """Return what the ODMAP protocol says of the place, beside the facts of the run."""
    picture = main_picture(results)
    resolution = ""
    if picture is not None:
        unit = "°" if picture.geographic else " units"
        across, down = (f"{value:.6g}" for value in picture.resolution)
        cell = f"{across}{unit}" if across == down else f"{across} × {down}{unit}"
        resolution = f"{picture.cells[1]:,} × {picture.cells[0]:,} cells of {cell}"
    return {"picture": picture, "resolution": resolution, "scale": charts.SCALES.get(results.scale, results.scale)}


def always(results: Results) -> Context:
    """Return nothing beside the results: the template takes all from them."""
    return {}


FIT = PageSection("fit", "How exact is the fit", always)
ROC = PageSection("roc", "ROC", roc_section, "ROC curve", side=True)
MAP = PageSection("map", "Map", shown_map)
THRESHOLDS = PageSection("thresholds", "Thresholds", thresholds)
IMPORTANCE = PageSection("importance", "Importance", importance, "Importance of the variables")
TUNING = PageSection("tuning", "Choice of settings", tuning, "How the settings were chosen")
VARIABLES = PageSection("variables", "Variables", variable_section, "Variables that were kept and left out")
VALIDATION = PageSection("validation", "Cross-validation", validation)
SURVEY = PageSection("survey", "Survey and calibration", survey_section)
NULL = PageSection("null", "Null models", null_model_section)
RECORDS = PageSection("records", "Records and bias", always, "Records and sampling bias")
SETTINGS = PageSection("settings", "Settings and command", always, "Settings, and the command to repeat it")
ODMAP = PageSection("odmap", "ODMAP", protocol, "ODMAP protocol")
