"""The numbers of a chart as a table in CSV, so that a page can hand them out with the picture."""

import csv
import math
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from sdm.report.charts import BarChart, Biplot, Chart, ColumnChart, DotChart, LineChart
from sdm.report.tables import quoted

DIGITS = 6  # significant ones


def chart_table(chart: Chart) -> str:
    """Return what a chart shows as CSV: a line per place of x, or per name."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(value) for value in row] for row in _rows(chart))
    return out.getvalue()


def _rows(chart: Chart) -> Iterator[Sequence[Any]]:
    if isinstance(chart, LineChart):
        yield from _line_rows(chart)
    elif isinstance(chart, (ColumnChart, BarChart)):
        spread = [bars.spread is not None for bars in chart.groups]
        heads = [(bars.name, f"{bars.name}, ±") if wide else (bars.name,) for bars, wide in zip(chart.groups, spread)]
        yield ["name", *(name for head in heads for name in head)]
        for k, name in enumerate(chart.names):
            cells = [
                (bars.values[k], bars.spread[k]) if bars.spread is not None else (bars.values[k],)
                for bars in chart.groups
            ]
            yield [name, *(value for cell in cells for value in cell)]
    elif isinstance(chart, DotChart):
        yield ["group", chart.x_label, chart.y_label]
        for group in chart.groups:
            yield from ((group.name, x, y) for x, y in zip(group.x, group.y))
    elif isinstance(chart, Biplot):
        yield ["name", chart.x_label, chart.y_label]
        names = {tip.arrow: tip.name for tip in chart.named}
        yield from ((names.get(k, ""), *tip) for k, tip in enumerate(chart.tips))


def _line_rows(chart: LineChart) -> Iterator[Sequence[Any]]:
    """Return lines over the same places side by side; lines over places of their own one below the other."""
    groups: list[list[Any]] = []
    for line in chart.lines:
        same = next((group for group in groups if list(group[0].x) == list(line.x)), None)
        groups.append([line]) if same is None else same.append(line)
    for k, group in enumerate(groups):
        if k:
            yield []
        limits = [("lower", "upper") if line.limits is not None else () for line in group]
        yield [chart.x_label, *(name for line, ends in zip(group, limits) for name in (line.name, *ends))]
        for i, x in enumerate(group[0].x):
            yield [x, *(v for line in group for v in (line.y[i], *(side[i] for side in line.limits or ())))]


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "" if value is None or not math.isfinite(value) else f"{value:.{DIGITS}g}"
