"""Charts of a group, from its stored tables: what a page shows is what the pictures show."""

from collections.abc import Sequence

import numpy as np

from sdm.kinds.group.biplot import biplot
from sdm.kinds.group.tables import axis_name
from sdm.report.charts import BarChart, Bars, Biplot, Chart, ColumnChart, LineChart, curve_chart
from sdm.report.results import Results, Row, column, number, rows_by
from sdm.report.stored_charts import stored_curve
from sdm.types import Array

MOST_BARS = 20
CURVED = 3  # axes whose curves are drawn together
CHART_FILES = {"biplot": "biplot", "axis_curves": "curves picture"}  # what the files of charts are


def group_charts(results: Results) -> dict[str, Sequence[Chart]]:
    """Return the charts of a group by the names of their files: the biplot, or the species along the only axis, and the
    curves of the axes."""
    species, explained = results.table("species axes"), column(results.table("axes"), "explained")
    found: dict[str, Sequence[Chart]] = {}
    if explained:
        single = len(explained) == 1
        sites = results.table("sites")
        found["biplot"] = [place_bars(species) if single else stored_biplot(sites, species, explained)]
    curves = curve_charts(results.table("axis curves"))
    return found | ({"axis_curves": curves} if curves else {})


def curve_charts(rows: list[Row]) -> list[LineChart | ColumnChart]:
    """Return one chart per variable with the curves of the first axes; variables that do nothing have none."""
    charts = list[LineChart | ColumnChart]()
    shown = [row for row in rows if int(row["axis"]) <= CURVED]
    for variable, own in rows_by(shown, "variable").items():
        if max(map(abs, column(own, "effect")), default=0.0) <= 1e-9:
            continue
        curves = {axis_name(int(k) - 1): stored_curve(part, "effect") for k, part in rows_by(own, "axis").items()}
        title = f"What {variable} does to the axes"
        charts.append(curve_chart(variable, curves, title=title, y_label="Effect (deviations)"))
    return charts


def stored_biplot(sites: list[Row], species: list[Row], explained: list[float]) -> Biplot:
    """Return the biplot of the first two axes from the tables of sites and of species."""
    names, axes = [row["species"] for row in species], range(2)
    places = _columns(species, axes)
    return biplot(names, places, _columns(sites, axes) if sites else np.empty((2, 0)), explained)


def _columns(rows: list[Row], axes: range) -> Array:
    return np.array([column(rows, axis_name(k)) for k in axes])


def place_bars(rows: list[Row]) -> BarChart:
    """Return the places of species on the only axis as bars; of many the farthest from the middle."""
    ranked = sorted(rows, key=lambda row: -abs(number(row.get(axis_name(0))) or 0.0))[:MOST_BARS]
    ranked.sort(key=lambda row: -(number(row.get(axis_name(0))) or 0.0))
    label = "Slope along axis 1 (nats per deviation)"
    values = [number(row.get(axis_name(0))) for row in ranked]
    names = [row["species"] for row in ranked]
    return BarChart("Species along axis 1", label, names, [Bars(label, values)], species=True)
