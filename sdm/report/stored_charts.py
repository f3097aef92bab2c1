"""The charts of a model from its stored tables and numbers: pages, files and plots show the same ones."""

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
    """Return the variables by importance, the most important first: as permutation says, else contribution."""
    return list(importance_chart(*stored_importance(results)).names)


def ranked(results: Results, groups: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return rows by variable, those of the most important first; what has no rank keeps its order, last."""
    place = {name: k for k, name in enumerate(ranked_variables(results))}
    return {name: groups[name] for name in sorted(groups, key=lambda name: place.get(name, len(place)))}


def response_charts(results: Results, rugs: Rugs, kinds: Sequence[str] = RESPONSES) -> dict[str, CurveChart]:
    """Return the responses to every variable, the most important first, with the limits over replicates."""
    label, heights = SCALES.get(results.curve_scale, results.curve_scale), _heights(results)
    bands, marginal = rows_by(results.table("bands"), "variable"), CURVES["marginal"][0]
    found = {}
    for variable, rows in ranked(results, rows_by(results.table("curves"), "variable")).items():
        shown = response_curves([row for row in rows if row.get("kind") in kinds])
        if marginal in shown and variable in bands:  # which is at the same places
            limits = column(bands[variable], "lower"), column(bands[variable], "upper")
            shown[marginal] = replace(shown[marginal], limits=limits)
        if shown:
            ways: dict[str, Any] = {"y_label": label, "y_range": heights, "rugs": rugs.get(variable, ())}
            found[variable] = curve_chart(variable, shown, title=f"Response to {variable}", **ways)
    return found


def effect_charts(results: Results, rugs: Rugs) -> dict[str, CurveChart]:
    """Return the effects of every variable on the score, on one scale, so that strong ones look strong."""
    known = ranked(results, rows_by(results.table("curves"), "variable"))
    effects = [row for rows in known.values() for row in rows if row.get("kind") in EFFECTS]
    scores = response_range(EXPONENT, column(effects, "response"))  # one for all, so that charts can be compared
    found = {}
    for variable, rows in known.items():
        for kind, part in rows_by(rows, "kind").items():
            if kind in EFFECTS:
                title, own = f"Effect of {variable} on the score", {CURVES[kind][0]: stored_curve(part)}
                ways: dict[str, Any] = {"y_label": EFFECT_LABEL, "y_range": scores, "rugs": rugs.get(variable, ())}
                found[variable] = curve_chart(variable, own, title=title, **ways)
    return found


def band_charts(results: Results) -> dict[str, CurveChart]:
    """Return the mean response to every variable over the replicates, with its limits."""
    label, heights = SCALES.get(results.curve_scale, results.curve_scale), _heights(results)
    found = {}
    for variable, rows in ranked(results, rows_by(results.table("bands"), "variable")).items():
        mean, title = {"mean over replicates": stored_curve(rows, "mean")}, f"Response to {variable} over replicates"
        found[variable] = curve_chart(variable, mean, title=title, y_label=label, y_range=heights)
    return found


def share_charts(results: Results) -> dict[str, CurveChart]:
    """Return the probabilities of all classes along every variable, in the colours of the classes."""
    table = results.table("class curves") or results.table("curves")
    if not table or "probability" not in table[0]:
        return {}
    colours = {row.get("class", ""): row.get("colour", "") for row in results.table("classes")}
    ways: dict[str, Any] = {"y_label": SHARES_LABEL, "y_range": (0.0, 1.0), "shares": True}
    found = {}
    for variable, rows in ranked(results, rows_by(table, "variable")).items():
        own = {
            label: replace(stored_curve(part, "probability", "category"), colour=colours.get(label))
            for label, part in rows_by(rows, "class").items()
        }
        found[variable] = curve_chart(variable, own, title=f"Probabilities along {variable}", **ways)
    return found


def stored_folds(results: Results) -> dict[str, list[Row]]:
    """Return the rows of the records that every fold holds out: numbers in their order, then other names."""
    rows = [row for row in results.table("folds") if row.get("kind") != "background" and row.get("fold")]
    groups = rows_by(rows, "fold")
    return {
        name: groups[name]
        for name in sorted(groups, key=lambda text: (number(text) is None, number(text) or 0.0, text))
    }


def importance_of(results: Results) -> BarChart | None:
    """Return the importance of the variables; None where it was not measured."""
    permuted, contributed = stored_importance(results)
    return importance_chart(permuted, contributed) if permuted or contributed else None


def stored_importance(results: Results) -> tuple[list[Numbers], list[Numbers]]:
    """Return the rows of permutation importance, and those of contributions."""
    found = results.tree("importance")
    permuted = rows_of(found.get("permutation") or results.numbers.get("permutation_importance"))
    return permuted, rows_of(found.get("contribution"))


def roc_of(results: Results) -> LineChart | None:
    """Return the ROC curve of training and test data; None without its table."""
    rows, scores = results.table("roc"), dict[str, float | None]()
    for data, key in (("training", "auc_train"), ("test", "auc_test")):
        measured = results.tree("measures").get(data)
        scores[data] = number(measured.get("mean_auc") if isinstance(measured, dict) else results.numbers.get(key))
    return roc_chart(rows, scores) if rows else None


def model_charts(results: Results) -> dict[str, Sequence[Chart]]:
    """Return the charts of a model of one species or of classes, by the names of their files; some are panels of one
    file."""
    rugs, bands = rugs_of(results), band_charts(results)
    marginal, alone = (response_charts(results, rugs, (kind,)) for kind in RESPONSES)
    curves, effects = marginal or share_charts(results), effect_charts(results, rugs)
    variables = list(dict.fromkeys([*curves, *alone]))
    taken = [*NAMES, *(f"{safe_name(variable)}_only" for variable in variables)]
    names = safe_names(sorted(variables), taken=taken)
    found: dict[str, Sequence[Chart]] = {names[variable]: [chart] for variable, chart in curves.items()}
    found |= {f"{names[variable]}_only": [chart] for variable, chart in alone.items()}
    found |= {name: list(charts.values()) for name, charts in (("effects", effects), ("bands", bands)) if charts}
    found |= {name: [chart] for name, chart in (_measured_charts(results) | _structure_charts(results)).items()}
    return found


def _measured_charts(results: Results) -> dict[str, Chart]:
    """Return the charts of what was measured, by the names of their files."""
    found: dict[str, Chart] = {}
    if results.option("output.curves"):
        omission = results.table("omission")
        shown = {"importance": importance_of(results), "roc": roc_of(results)}
        shown["omission"] = omission_chart(omission) if omission else None
        found |= {name: chart for name, chart in shown.items() if chart is not None}
    jackknife = jackknife_charts(rows_of(results.tree("importance").get("jackknife")))
    names = {"train_gain": "jackknife", "test_gain": "jackknife_test_gain", "test_auc": "jackknife_test_auc"}
    found |= {name: jackknife[measure] for measure, name in names.items() if measure in jackknife}
    if rows := rows_of(results.tree("presence_absence").get("calibration")):
        found["calibration"] = calibration_chart(rows)
    return found


def _structure_charts(results: Results) -> dict[str, Chart]:
    """Return what every family of a structural model adds, and its strongest pairs of variables."""
    families = rows_of(results.tree("structure").get("families"))
    pairs, found = rows_of(results.tree("structure").get("interactions"))[:MOST_PAIRS], dict[str, Chart]()
    if families:
        bars = {"loss of gain without it": "gain", "penalty": "price"}
        groups = [Bars(name, [number(row.get(key)) for row in families]) for name, key in bars.items()]
        names = [f"{row.get('family')} ({row.get('features')})" for row in families]
        found["families"] = BarChart("Families", "nats", names, groups)
    if pairs:
        label = "Interaction (nats)"
        names = [f"{row.get('first')} × {row.get('second')}" for row in pairs]
        found["interactions"] = BarChart(label, label, names, [Bars(label, [number(r.get("strength")) for r in pairs])])
    return found


def response_curves(rows: list[Row]) -> dict[str, ResponseCurve]:
    """Return the responses to one variable by name, each in its colour; effects on the score are not among them."""
    kinds = rows_by(rows, "kind")
    names = {kind: called for kind, called in CURVES.items() if kind in kinds and kind not in EFFECTS}
    return {name: replace(stored_curve(kinds[kind]), colour=colour) for kind, (name, colour) in names.items()}


def rugs_of(results: Results) -> dict[str, tuple[Rug, ...]]:
    """Return the values of continuous variables at presences and at the background, from the model file.

    The file keeps the places of a fit in their order, presences last. That they are is checked by their mean, which it
    keeps too: presences that had weights, or of which some were not kept, are not shown.
    """
    model = results.model
    reference = getattr(model, "reference", None)
    if model is None or reference is None:
        return {}
    here = _presence_rows(results, reference)
    found: dict[str, tuple[Rug, ...]] = {}
    for k in reference.continuous:
        values = reference.values[:, k]
        strokes = [Rug("background" if results.presence_only else "sites", _spread(values), BACKGROUND_COLOUR)]
        if here is not None:
            strokes.append(Rug("presences", _spread(values[here]), 1, top=True))
        found[model.names[k]] = tuple(strokes)
    return found


def _presence_rows(results: Results, reference: Any) -> Any:
    """Return which places of a reference are presences; None where that is not sure."""
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
    """Return some of many values, spread over all of them in their order."""
    return [float(value) for value in evenly(np.sort(values), MOST_STROKES)]


def stored_curve(rows: list[Row], name: str = "response", category: str = "class") -> ResponseCurve:
    """Return the curve that a table holds in long form."""
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
    """Return the range that responses are drawn in, the same for all variables; None where it is not known."""
    rows = [row for row in results.table("curves") if row.get("kind") not in EFFECTS]
    return response_range(results.curve_scale, column(rows, "response"))
