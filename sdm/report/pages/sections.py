"""Sections that pages of several kinds share: each reads stored results, and returns None where they have none."""

import math
from collections.abc import Iterable

from markupsafe import Markup

from sdm.files import safe_name
from sdm.report.charts import (
    EFFECTS,
    SCALES,
    TOP,
    Curve,
    DotChart,
    Dots,
    Line,
    LineChart,
    Range,
    calibration_chart,
    curve_chart,
    importance_chart,
    jackknife_charts,
)
from sdm.report.pages import words
from sdm.report.pages.frame import Context, Section
from sdm.report.pages.live_map import live_map, map_layers
from sdm.report.pages.odmap import odmap
from sdm.report.pages.svg import svg
from sdm.report.pictures import Picture, embed, read_picture
from sdm.report.results import Results, Row, column, number, rows_of

MOST_SETTINGS = 60
MOST_DOTS = 3000
MOST_FOLDS = 24

FOLDS = (
    "Random folds leave neighbours of a held-out record in training, and so flatter a model that is to predict other "
    "regions: blocks do not."
)


def tested(results: Results) -> bool:
    """Whether records were set aside."""
    return results.numbers.get("auc_test") is not None


def main_picture(results: Results, pixels: int = 512) -> Picture | None:
    """Return the map that is shown first, reduced; None where there is none."""
    layers = map_layers(results)
    return read_picture(layers[0].path, pixels, layers[0].band) if layers else None


def image(results: Results, key: str) -> str | None:
    """Return a stored picture as the text of a data address; None where it is not there."""
    path = results.path(key)
    return None if path is None else embed(path)


def map_section(
    results: Results, *, text: str, explain: str = "", reference: str = "background", picture: str = "picture"
) -> Context:
    """Return the live map, and the stored picture for where it cannot be shown."""
    context: Context = {
        "live": live_map(results),
        "image": image(results, picture),
        "others": [],
        "tested": tested(results),
    }
    return {**context, "text": text, "explain": explain, "reference": reference}


def curves(results: Results) -> Context | None:
    """Return the response curves, the effects on the score, the bands over replicates, and the surfaces."""
    label, fixed = SCALES.get(results.scale, results.scale), _heights(results)
    names = {"marginal": "others at their mean", "only": "this variable alone"}
    responses, effects = [], []
    for variable, rows in _grouped(results.table("curves"), "variable").items():
        kinds = _grouped(rows, "kind")
        shown = {name: _curve(kinds[kind]) for kind, name in names.items() if kind in kinds}
        if shown:
            title = f"Response to {variable}"
            responses.append(svg(curve_chart(variable, shown, title=title, y_label=label, y_range=fixed)))
        for kind in (kind for kind in EFFECTS if kind in kinds):
            title, own = f"Effect of {variable} on the score", {kind: _curve(kinds[kind])}
            effects.append(svg(curve_chart(variable, own, title=title, y_label="Effect on the score (nats)")))
    bands = [
        svg(
            curve_chart(
                variable,
                {"mean": _curve(rows, "mean")},
                title=f"Response to {variable} over replicates",
                y_label=label,
                y_range=fixed,
            )
        )
        for variable, rows in _grouped(results.table("bands"), "variable").items()
    ]
    surfaces = _surfaces(results)
    if not (responses or effects or bands or surfaces):
        return None
    explain = (
        "Solid: how the prediction changes with a variable while all others stay at their mean over the records. "
        "Dashed: a model of that variable alone. The two differ where variables go together; then neither is the "
        "species' response to that variable by itself. The shaded range is that of the training data; beyond it the "
        "curve is an assumption."
    )
    return {"responses": responses, "effects": effects, "bands": bands, "surfaces": surfaces, "explain": explain}


def _grouped(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """Return rows by the text of a column, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get(name, ""), []).append(row)
    return groups


def _curve(rows: list[Row], name: str = "response", category: str = "class") -> Curve:
    """Return a stored curve."""
    inside = [v for row, v in zip(rows, column(rows, "value")) if row.get("in training range") == "True"]
    categories = [row.get(category, "") for row in rows]
    return Curve(
        column(rows, "value"),
        column(rows, name),
        categories if any(categories) else None,
        (min(inside), max(inside)) if inside else None,
        (column(rows, "lower"), column(rows, "upper")) if "lower" in rows[0] else None,
    )


def _heights(results: Results) -> Range | None:
    """Return the range that responses are drawn in, the same for all variables; None where it is not known."""
    rows = [row for row in results.table("curves") if row.get("kind") not in EFFECTS]
    highest = max((v for v in column(rows, "response") if math.isfinite(v)), default=None)
    top = TOP.get(results.scale, highest)
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
    """Return the probabilities of all classes along every variable, in the colours of the classes."""
    table = results.table("curves")
    if not table or "probability" not in table[0]:
        return curves(results)
    colours = class_colours(results)
    charts = []
    for variable, rows in _grouped(table, "variable").items():
        own = {
            label: _coloured(_curve(found, "probability", "category"), colours.get(label))
            for label, found in _grouped(rows, "class").items()
        }
        title = f"Probabilities along {variable}"
        charts.append(svg(curve_chart(variable, own, title=title, y_label="Probability", y_range=(0, 1), shares=True)))
    explain = (
        "Probabilities along each variable, the others at their mean over the sites. The shaded range is that of the "
        "sites; beyond it the curve is an assumption."
    )
    return {"responses": charts, "explain": explain, "legend": list(colours.items())}


def _coloured(curve: Curve, colour: str | None) -> Curve:
    return Curve(curve.x, curve.y, curve.categories, curve.inside, colour=colour or 0)


def class_colours(results: Results) -> dict[str, str]:
    """Return the colours of the classes by label, as the table of classes says."""
    return {row.get("class", ""): row.get("colour", "") for row in results.table("classes")}


def importance(results: Results) -> Context | None:
    """Return the importance of every variable, and the jackknife."""
    found = results.tree("importance")
    permuted, contributed = rows_of(found.get("permutation")), rows_of(found.get("contribution"))
    jackknife = [svg(chart) for chart in jackknife_charts(rows_of(found.get("jackknife"))).values()]
    if not permuted and not contributed and not jackknife:
        return None
    if not permuted and not contributed:
        return {"jackknife": jackknife}
    chart = importance_chart(permuted, contributed)
    parts, shuffled = ({str(row.get("variable")): row for row in rows} for rows in (contributed, permuted))
    columns = [("Permutation importance (%)", "percent", 3), ("± deviation", "deviation", 2)]
    columns.append(
        ("Contribution (%)", "contribution", 3) if contributed else ("Rise of the log loss (nats)", "drop", 3)
    )
    lost = "tells records from background" if contributed else "predicts the classes of sites, by its log loss,"
    explain = (
        f"Permutation importance: how much worse the model {lost} when the values of one variable are shuffled, in "
        "percent of all such losses. "
    )
    explain += "Contribution: the variable's part of the training gain. Both are about this model. " * bool(contributed)
    explain += "Where variables go together, the importance may lie with either."
    rows = [
        {**shuffled.get(name, {}), "variable": name, "contribution": parts.get(name, {}).get("percent")}
        for name in chart.names
    ]
    return {"chart": svg(chart), "rows": rows, "columns": columns, "explain": explain, "jackknife": jackknife}


def tuning(results: Results) -> Context | None:
    """Return the settings that a search tried, and how one was chosen."""
    rows = results.table("tune") or results.table("multipliers")
    if not (results.tree("tuning") or rows):
        return None
    picture = results.plot("tune.png")
    return {
        "text": words.selection(results),
        "image": None if picture is None else embed(picture),
        "columns": list(rows[0]) if rows else [],
        "rows": rows[:MOST_SETTINGS],
        "left_out": max(0, len(rows) - MOST_SETTINGS),
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
    if results.kind == "species":
        explain = (
            "auc: chance that a held-out record is above a background point; auc.diff: by how much training flatters; "
            "cbi: continuous Boyce index, −1 to 1; or.mtp, or.10p: held-out records below the lowest training record, "
            "and below nine tenths of them (expected: about 0.1); loss and gain in nats; proc: partial ROC ratio, 1 "
            f"for a random prediction. {FOLDS}"
        )
    else:
        explain = (
            "loss: log loss of held-out sites in nats, beside that of the constant model, which gives every class its "
            "share of the training sites; tss: sensitivity + specificity − 1; kappa: agreement beyond chance. "
            f"{FOLDS.replace('record', 'site')}"
        )
    context = {"method": found.get("method"), "background": found.get("background")}
    return {
        **context,
        "rows": rows,
        "columns": columns,
        "averages": averages,
        "places": fold_map(results),
        "explain": explain,
    }


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
        groups.append(Dots(f"fold {label}", [x for x, _ in places], [y for _, y in places], k))
    if not any(group.x for group in groups):
        return None
    picture = main_picture(results, 8)
    aspect, names = 1.0, ("x", "y")
    if picture is not None:
        left, bottom, right, top = picture.bounds
        names = ("longitude", "latitude") if picture.geographic else names
        aspect = (right - left) / max(top - bottom, 1e-12) / picture.aspect
    return svg(DotChart("Records by fold", *names, groups, aspect))


def survey(results: Results) -> Context | None:
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
    explain = "Sites in bins of their prediction. "
    if results.kind == "species":
        explain += (
            "A model of presence-only records does not know how common the species is, so its curve may lie above or "
            "below the diagonal; it should rise."
        )
    else:
        explain += "Probabilities that can be taken at their word lie on the diagonal."
    sites = {key: found.get(key) for key in ("presences", "absences")}
    return {**sites, "measures": measures, "chart": svg(calibration_chart(rows)) if rows else None, "explain": explain}


def null_models(results: Results) -> Context | None:
    """Return the tests against null models."""
    found = results.tree("null_models")
    if not found:
        return None
    drawn = (
        "records drawn at random from the background"
        if results.kind == "species"
        else "the classes shuffled over the sites"
    )
    return {"iterations": found.get("iterations"), "tests": rows_of(found.get("tests")), "drawn": drawn}


def roc(results: Results) -> Context | None:
    """Return the ROC curve: records found against the background, or the absences, that are predicted."""
    rows = results.table("roc")
    if not rows:
        return None
    against = "False positive rate" in rows[0] or "Training false positives" in rows[0]
    lines = []
    for colour, (kind, key) in enumerate((("training", "auc_train"), ("test", "auc_test"))):
        omission = f"{kind.capitalize()} omission"
        if omission in rows[0]:
            across = f"{kind.capitalize()} false positives" if against else "Fractional area"
            auc = words.figure(results.numbers.get(key), 3)
            found = [1 - v for v in column(rows, omission)]
            lines.append(
                Line(
                    f"{kind} {'sites' if against else 'records'} (AUC {auc})",
                    column(rows, across),
                    found,
                    colour,
                    colour,
                )
            )
    lines.append(Line("random prediction (AUC 0.5)", [0, 1], [0, 1], 9, 2))
    other = "absences" if against else "background"
    noun = "presences" if against else "records"
    title = f"Receiver operating characteristic: share of {noun} found against share of the {other} predicted"
    x_label = f"Fraction of {other} predicted (1 − specificity)"
    chart = LineChart(title, x_label, "Sensitivity (1 − omission)", lines, (0, 1), (0, 1))
    return {"chart": svg(chart), "explain": Markup(ROC_ABSENCES if against else ROC_BACKGROUND)}  # noqa: S704 - constants


ROC_BACKGROUND = (
    "The curve compares records with <em>background</em>, not with places where the species is known to be absent. AUC "
    "is the chance that a record gets a higher value than a background point. It cannot reach 1, because the species "
    "lives in part of the background, and it is larger for species of small range: use it to compare models of one "
    "species over one background, not species with each other."
)
ROC_ABSENCES = (
    "The curve compares sites with the species and sites without. AUC is the chance that a site with it gets a higher "
    "probability than one without: 0.5 for a random prediction, 1 for a perfect one. It looks at the order of the "
    "sites alone; the log loss and the calibration look at the probabilities."
)


def thresholds(results: Results) -> Context | None:
    """Return the thresholds, with area and omission."""
    rows = {key: row for key, row in results.tree("thresholds").items() if isinstance(row, dict)}
    if not rows:
        return None
    known = {"cumulative": "Cumulative", "cloglog": "Cloglog", "probability": "Probability"}
    species = results.kind == "species"
    explain = "The names are those of Java Maxent. " * species
    return {
        "rows": rows,
        "scales": [(title, key) for key, title in known.items() if any(key in row for row in rows.values())],
        "tested": tested(results),
        "binomial": any(number(row.get("binomial")) is not None for row in rows.values()),
        "chosen": results.option("predict.threshold"),
        "explain": f"{explain}Area is the share of the {'background' if species else 'map'} at or above the threshold.",
    }


def records(results: Results) -> Context | None:
    """Return the record cleaning summary, the testing, sampling bias and the variables."""
    notes = [results.numbers.get(key) for key in ("notes", "notices")]
    return {
        "ledger": words.ledger(results),
        "partition": words.partition(results),
        "sampling": words.sampling(results),
        "treated": words.treated(results),
        "variables": words.variables(results),
        "notes": [note for part in notes if isinstance(part, list) for note in part],
    }


def settings(results: Results) -> Context | None:
    """Return every option, the command, and the files."""
    seed = results.option("seed")
    seed = results.numbers.get("seed") if seed is None else seed
    return {"settings": words.settings(results), "seed": seed, "versions": results.tree("versions")}


def protocol(results: Results) -> Context | None:
    """Return the ODMAP protocol."""
    return {"parts": odmap(results, main_picture(results))}


FIT = "How exact is the fit"
ROC = Section("roc", "ROC", roc, "ROC curve", "chart", side=True)
THRESHOLDS = Section("thresholds", "Thresholds", thresholds)
IMPORTANCE = Section("importance", "Importance", importance, "Importance of the variables")
TUNING = Section("tuning", "Choice of settings", tuning, "How the settings were chosen")
VALIDATION = Section("validation", "Cross-validation", validation)
SURVEY = Section("survey", "Survey and calibration", survey)
NULL = Section("null", "Null models", null_models)
RECORDS = Section("records", "Records and bias", records, "Records and sampling bias")
SETTINGS = Section("settings", "Settings and command", settings, "Settings, and the command to repeat it")
ODMAP = Section("odmap", "ODMAP", protocol, "ODMAP protocol")
