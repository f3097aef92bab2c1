"""Charts of a model from its stored tables and numbers, shared by pages, files and plots."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sdm.assess.measures.basic import evenly
from sdm.assess.profiles import EXPONENT
from sdm.report.charts import (
    CURVES,
    EFFECT_LABEL,
    EFFECTS,
    SHARES_LABEL,
    BarChart,
    Bars,
    Chart,
    ColumnChart,
    LineChart,
    Range,
    ResponseCurve,
    Rug,
    calibration_chart,
    curve_chart,
    importance_chart,
    jackknife_charts,
    omission_chart,
    response_range,
    roc_chart,
)
from sdm.report.results import SCALES, Results, Row, column, number, rows_by, rows_of
from sdm.storage.files import safe_name, safe_names
from sdm.types import Numbers

MOST_STROKES = 200  # of a rug
BACKGROUND_COLOUR = "#9aa5ac"
MOST_PAIRS = 15
RESPONSES = ("marginal", "only")
NAMES = (
    "effects", "families", "interactions", "prices", "importance", "jackknife", "jackknife_test_gain",
    "jackknife_test_auc", "folds", "calibration", "bands", "tune", "variograms", "correlation", "reduction", "roc",
    "omission", "publication",
)  # fmt: skip  # of files in `plots/` that are not a variable's
CurveChart = LineChart | ColumnChart
Rugs = Mapping[str, Sequence[Rug]]


def ranked_variables(results: Results) -> list[str]:
    """Return the variables by permutation importance, else by contribution, in decreasing order."""
    return list(importance_chart(*stored_importance(results)).names)


def ranked(results: Results, groups: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return rows by variable, in order of importance; variables without importance are last."""
    place = {name: k for k, name in enumerate(ranked_variables(results))}
    return {name: groups[name] for name in sorted(groups, key=lambda name: place.get(name, len(place)))}


def response_charts(results: Results, rugs: Rugs, kinds: Sequence[str] = RESPONSES) -> dict[str, CurveChart]:
    """Return the responses to every variable in order of importance, with the limits over replicates."""
    label, heights = SCALES.get(results.curve_scale, results.curve_scale), _heights(results)
    bands, marginal = rows_by(results.table("bands"), "variable"), CURVES["marginal"][0]
    charts = {}
    for variable, rows in ranked(results, rows_by(results.table("curves"), "variable")).items():
        shown = response_curves([row for row in rows if row.get("kind") in kinds])
        if marginal in shown and variable in bands:  # bands have the same values of x
            limits = column(bands[variable], "lower"), column(bands[variable], "upper")
            shown[marginal] = replace(shown[marginal], limits=limits)
        if shown:
            settings: dict[str, Any] = {"y_label": label, "y_range": heights, "rugs": rugs.get(variable, ())}
            charts[variable] = curve_chart(variable, shown, title=f"Response to {variable}", **settings)
    return charts


def effect_charts(results: Results, rugs: Rugs) -> dict[str, CurveChart]:
    """Return the effects of every variable on the score, on a common scale."""
    by_variable = ranked(results, rows_by(results.table("curves"), "variable"))
    effects = [row for rows in by_variable.values() for row in rows if row.get("kind") in EFFECTS]
    scores = response_range(EXPONENT, column(effects, "response"))  # one range, so that charts are comparable
    charts = {}
    for variable, rows in by_variable.items():
        for kind, part in rows_by(rows, "kind").items():
            if kind in EFFECTS:
                title, curve = f"Effect of {variable} on the score", {CURVES[kind][0]: stored_curve(part)}
                settings: dict[str, Any] = {"y_label": EFFECT_LABEL, "y_range": scores, "rugs": rugs.get(variable, ())}
                charts[variable] = curve_chart(variable, curve, title=title, **settings)
    return charts


def band_charts(results: Results) -> dict[str, CurveChart]:
    """Return the mean response to every variable over the replicates, with its limits."""
    label, heights = SCALES.get(results.curve_scale, results.curve_scale), _heights(results)
    charts = {}
    for variable, rows in ranked(results, rows_by(results.table("bands"), "variable")).items():
        mean, title = {"mean over replicates": stored_curve(rows, "mean")}, f"Response to {variable} over replicates"
        charts[variable] = curve_chart(variable, mean, title=title, y_label=label, y_range=heights)
    return charts


def share_charts(results: Results) -> dict[str, CurveChart]:
    """Return the class probabilities along every variable, in the colours of the classes."""
    table = results.table("class curves") or results.table("curves")
    if not table or "probability" not in table[0]:
        return {}
    colours = {row.get("class", ""): row.get("colour", "") for row in results.table("classes")}
    settings: dict[str, Any] = {"y_label": SHARES_LABEL, "y_range": (0.0, 1.0), "shares": True}
    charts = {}
    for variable, rows in ranked(results, rows_by(table, "variable")).items():
        shares = {
            label: replace(stored_curve(part, "probability", "category"), colour=colours.get(label))
            for label, part in rows_by(rows, "class").items()
        }
        charts[variable] = curve_chart(variable, shares, title=f"Probabilities along {variable}", **settings)
    return charts


def stored_folds(results: Results) -> dict[str, list[Row]]:
    """Return the records by the fold that holds them out: numbered folds in order, then other names."""
    rows = [row for row in results.table("folds") if row.get("kind") != "background" and row.get("fold")]
    groups = rows_by(rows, "fold")
    return {
        name: groups[name]
        for name in sorted(groups, key=lambda text: (number(text) is None, number(text) or 0.0, text))
    }


def importance_of(results: Results) -> BarChart | None:
    """Return the importance of the variables; None if it was not measured."""
    permuted, contributed = stored_importance(results)
    return importance_chart(permuted, contributed) if permuted or contributed else None


def stored_importance(results: Results) -> tuple[list[Numbers], list[Numbers]]:
    """Return the rows of permutation importance, and those of contributions."""
    stored = results.tree("importance")
    permuted = rows_of(stored.get("permutation") or results.numbers.get("permutation_importance"))
    return permuted, rows_of(stored.get("contribution"))


def roc_of(results: Results) -> LineChart | None:
    """Return the ROC curve of training and test data; None without its table."""
    rows, scores = results.table("roc"), dict[str, float | None]()
    for data, key in (("training", "auc_train"), ("test", "auc_test")):
        measured = results.tree("measures").get(data)
        scores[data] = number(measured.get("mean_auc") if isinstance(measured, dict) else results.numbers.get(key))
    return roc_chart(rows, scores) if rows else None


def model_charts(results: Results) -> dict[str, Sequence[Chart]]:
    """Return the charts of a species or class model by the names of their files; some files have several panels."""
    rugs, bands = rugs_of(results), band_charts(results)
    marginal, alone = (response_charts(results, rugs, (kind,)) for kind in RESPONSES)
    curves, effects = marginal or share_charts(results), effect_charts(results, rugs)
    variables = list(dict.fromkeys([*curves, *alone]))
    taken = [*NAMES, *(f"{safe_name(variable)}_only" for variable in variables)]
    names = safe_names(sorted(variables), taken=taken)
    files: dict[str, Sequence[Chart]] = {names[variable]: [chart] for variable, chart in curves.items()}
    files |= {f"{names[variable]}_only": [chart] for variable, chart in alone.items()}
    files |= {name: list(charts.values()) for name, charts in (("effects", effects), ("bands", bands)) if charts}
    files |= {name: [chart] for name, chart in (_measured_charts(results) | _structure_charts(results)).items()}
    return files


def _measured_charts(results: Results) -> dict[str, Chart]:
    """Return the charts of the assessment by the names of their files."""
    charts: dict[str, Chart] = {}
    if results.option("output.curves"):
        omission = results.table("omission")
        shown = {"importance": importance_of(results), "roc": roc_of(results)}
        shown["omission"] = omission_chart(omission) if omission else None
        charts |= {name: chart for name, chart in shown.items() if chart is not None}
    jackknife = jackknife_charts(rows_of(results.tree("importance").get("jackknife")))
    names = {"train_gain": "jackknife", "test_gain": "jackknife_test_gain", "test_auc": "jackknife_test_auc"}
    charts |= {name: jackknife[measure] for measure, name in names.items() if measure in jackknife}
    if rows := rows_of(results.tree("presence_absence").get("calibration")):
        charts["calibration"] = calibration_chart(rows)
    return charts


def _structure_charts(results: Results) -> dict[str, Chart]:
    """Return the charts of a structural model: gain by family, and interactions."""
    families = rows_of(results.tree("structure").get("families"))
    pairs, drawn = rows_of(results.tree("structure").get("interactions"))[:MOST_PAIRS], dict[str, Chart]()
    if families:
        bars = {"loss of gain without it": "gain", "penalty": "price"}
        groups = [Bars(name, [number(row.get(key)) for row in families]) for name, key in bars.items()]
        names = [f"{row.get('family')} ({row.get('features')})" for row in families]
        drawn["families"] = BarChart("Families", "nats", names, groups)
    if pairs:
        label = "Interaction (nats)"
        names = [f"{row.get('first')} × {row.get('second')}" for row in pairs]
        drawn["interactions"] = BarChart(label, label, names, [Bars(label, [number(r.get("strength")) for r in pairs])])
    return drawn


def response_curves(rows: list[Row]) -> dict[str, ResponseCurve]:
    """Return the responses to one variable by name, with their colours; without effects on the score."""
    kinds = rows_by(rows, "kind")
    names = {kind: called for kind, called in CURVES.items() if kind in kinds and kind not in EFFECTS}
    return {name: replace(stored_curve(kinds[kind]), colour=colour) for kind, (name, colour) in names.items()}


def rugs_of(results: Results) -> dict[str, tuple[Rug, ...]]:
    """Return the values of continuous variables at presences and at the background, from the model file.

    The file contains the points of a fit in their order, presences last. The stored mean of the presences verifies
    this: weighted or incomplete presences are not shown.
    """
    model = results.model
    reference = getattr(model, "reference", None)
    if model is None or reference is None:
        return {}
    presence_rows = _presence_rows(results, reference)
    rugs: dict[str, tuple[Rug, ...]] = {}
    for k in reference.continuous:
        values = reference.values[:, k]
        strokes = [Rug("background" if results.presence_only else "sites", _spread(values), BACKGROUND_COLOUR)]
        if presence_rows is not None:
            strokes.append(Rug("presences", _spread(values[presence_rows]), 1, top=True))
        rugs[model.names[k]] = tuple(strokes)
    return rugs


def _presence_rows(results: Results, reference: Any) -> Any:
    """Return which points of a reference are presences; None if this cannot be verified."""
    typical = reference.typical
    if typical is None:
        return None
    rows = np.array(results.presence_rows(len(reference.values)), dtype=int)
    if not len(rows) or rows[0] < 0 or not reference.continuous:
        return None
    places = list(reference.continuous)
    means = reference.values[np.ix_(rows, places)].mean(axis=0)
    return rows if np.allclose(means, typical[results.presence_band or 0, places], rtol=1e-6) else None


def _spread(values: Any) -> list[float]:
    """Return at most `MOST_STROKES` values, at even ranks."""
    return [float(value) for value in evenly(np.sort(values), MOST_STROKES)]


def stored_curve(rows: list[Row], name: str = "response", category: str = "class") -> ResponseCurve:
    """Return the curve that a table contains in long form."""
    inside = [v for row, v in zip(rows, column(rows, "value")) if row.get("in training range") == "True"]
    categories = [row.get(category, "") for row in rows]
    return ResponseCurve(
        column(rows, "value"),
        column(rows, name),
        categories if any(categories) else None,
        (min(inside), max(inside)) if inside else None,
        (column(rows, "lower"), column(rows, "upper")) if "lower" in rows[0] else None,
    )


def _heights(results: Results) -> Range | None:
    """Return the common range of responses; None if it is unknown."""
    rows = [row for row in results.table("curves") if row.get("kind") not in EFFECTS]
    return response_range(results.curve_scale, column(rows, "response"))
