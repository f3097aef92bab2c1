"""Response curves on a page: the most important variable first, with ribbons over replicates and rugs of the data."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from sdm.report import charts
from sdm.report.pages.drawing.shown import shown_picture
from sdm.report.pages.drawing.svg import svg
from sdm.report.results import SCALES, Results, Row, column, rows_by, rows_of
from sdm.storage.files import safe_name

MOST_STROKES = 200  # of a rug
BACKGROUND_COLOUR = "#9aa5ac"


def ranked_variables(results: Results) -> list[str]:
    """Return the variables by importance, the most important first: as permutation says, else contribution."""
    found = results.tree("importance")
    permuted = rows_of(found.get("permutation") or results.numbers.get("permutation_importance"))
    return list(charts.importance_chart(permuted, rows_of(found.get("contribution"))).names)


def ranked(results: Results, groups: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return rows by variable, those of the most important first; what has no rank keeps its order, last."""
    place = {name: k for k, name in enumerate(ranked_variables(results))}
    return {name: groups[name] for name in sorted(groups, key=lambda name: place.get(name, len(place)))}


def curves(results: Results) -> dict[str, Any] | None:
    """Return the response curves with the limits over replicates, the effects on the score, and the surfaces."""
    label, fixed = SCALES.get(results.curve_scale, results.curve_scale), _heights(results)
    marginal = charts.CURVES["marginal"][0]
    bands, rugs = rows_by(results.table("bands"), "variable"), _rugs(results)
    banded = bool(bands)
    responses, effects, known = [], [], ranked(results, rows_by(results.table("curves"), "variable"))
    scores = charts_range([v for rows in known.values() for v in _effect_values(rows)])
    for variable, rows in known.items():
        kinds = rows_by(rows, "kind")
        shown = response_curves(rows)
        if shown:
            if marginal in shown and _same_places(shown[marginal], bands.get(variable, [])):
                shown[marginal] = _with_limits(shown[marginal], bands.pop(variable))
            ways: dict[str, Any] = {"y_label": label, "y_range": fixed, "rugs": rugs.get(variable, ())}
            responses.append(svg(charts.curve_chart(variable, shown, title=f"Response to {variable}", **ways)))
        for kind in (kind for kind in charts.EFFECTS if kind in kinds):
            title, own = f"Effect of {variable} on the score", {charts.CURVES[kind][0]: stored_curve(kinds[kind])}
            ways = {"y_label": charts.EFFECT_LABEL, "y_range": scores, "rugs": rugs.get(variable, ())}
            effects.append(svg(charts.curve_chart(variable, own, title=title, **ways)))
    lone = _band_charts(ranked(results, bands), label, fixed)
    found = {"responses": responses + lone, "effects": effects, "surfaces": _surfaces(results)}
    return {**found, "banded": banded, "rugged": bool(rugs)} if any(found.values()) else None


def response_curves(rows: list[Row]) -> dict[str, charts.ResponseCurve]:
    """Return the responses to one variable by name, each in its colour; effects on the score are not among them."""
    kinds = rows_by(rows, "kind")
    names = {kind: called for kind, called in charts.CURVES.items() if kind in kinds and kind not in charts.EFFECTS}
    return {name: replace(stored_curve(kinds[kind]), colour=colour) for kind, (name, colour) in names.items()}


def _band_charts(bands: dict[str, list[Row]], label: str, fixed: charts.Range | None) -> list[Markup]:
    """Return the means over replicates, where they are not at the places of a curve."""
    return [
        svg(
            charts.curve_chart(
                variable,
                {"mean over replicates": stored_curve(rows, "mean")},
                title=f"Response to {variable} over replicates",
                y_label=label,
                y_range=fixed,
            )
        )
        for variable, rows in bands.items()
    ]


def _with_limits(curve: charts.ResponseCurve, rows: list[Row]) -> charts.ResponseCurve:
    """Return a curve with the limits over replicates."""
    return replace(curve, limits=(column(rows, "lower"), column(rows, "upper")))


def _same_places(curve: charts.ResponseCurve, rows: list[Row]) -> bool:
    """Whether what is known over replicates is at the places of a curve."""
    return len(rows) == len(curve.x) and np.allclose(curve.x, column(rows, "value"), equal_nan=True)


def _rugs(results: Results) -> dict[str, tuple[charts.Rug, ...]]:
    """Return the values of continuous variables at presences and at the background, from the model file.

    The file keeps the places of a fit in their order, presences last. That they are is checked by their mean, which it
    keeps too: presences that had weights, or of which some were not kept, are not shown.
    """
    model = results.model
    reference = getattr(model, "reference", None)
    if model is None or reference is None:
        return {}
    here = _presence_rows(results, reference)
    found: dict[str, tuple[charts.Rug, ...]] = {}
    for k in reference.continuous:
        values = reference.values[:, k]
        strokes = [charts.Rug("background" if results.presence_only else "sites", _spread(values), BACKGROUND_COLOUR)]
        if here is not None:
            strokes.append(charts.Rug("presences", _spread(values[here]), 1, top=True))
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
    ordered = np.sort(values)
    if len(ordered) > MOST_STROKES:
        ordered = ordered[np.linspace(0, len(ordered) - 1, MOST_STROKES).round().astype(int)]
    return [float(value) for value in ordered]


def _effect_values(rows: list[Row]) -> list[float]:
    return column([row for row in rows if row.get("kind") in charts.EFFECTS], "response")


def charts_range(values: list[float]) -> charts.Range | None:
    """Return the range of all effects, so that their charts can be compared; None where there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite and min(finite) < max(finite) else None


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
    return charts.response_range(results.curve_scale, column(rows, "response"))


def _surfaces(results: Results) -> list[dict[str, str]]:
    """Return the pictures of responses to two variables at a time."""
    pairs = dict.fromkeys((row.get("first", ""), row.get("second", "")) for row in results.table("surfaces"))
    found = [(pair, results.plot(f"surface_{safe_name(pair[0])}_{safe_name(pair[1])}.png")) for pair in pairs]
    return [
        {"picture": shown_picture(path), "text": f"Response to {first} and {second}"}
        for (first, second), path in found
        if path is not None
    ]
