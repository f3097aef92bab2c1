"""Charts drawn to PNG: the same descriptions that a page shows as SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from sdm.report.charts import BarChart, ColumnChart, LineChart, colour_of
from sdm.report.figures.maps import class_keys
from sdm.report.figures.style import ACCENT, INK, drawable, new_figure, one_plot, safe_text, save

DASHES = ("-", "--", ":", "-.")
BAR_COLOURS = (INK, ACCENT)
MOST_BARS = 40


def draw_bars(chart: BarChart, path: Path) -> Path:
    """Draw lying bars, the first name on top; of very many names the first ones."""
    names = chart.names[:MOST_BARS]
    figure, axes = one_plot(6.4, 1.1 + (0.42 if len(chart.groups) > 1 else 0.3) * len(names))
    places = np.arange(len(names), dtype=float)
    thick = 0.38 if len(chart.groups) > 1 else 0.7
    for k, bars in enumerate(chart.groups):
        at = places + (k - (len(chart.groups) - 1) / 2) * 0.4
        values = [np.nan if v is None else v - chart.low for v in bars.values[:MOST_BARS]]
        colour = BAR_COLOURS[k % len(BAR_COLOURS)]
        if bars.spread is None:
            axes.barh(at, values, thick, chart.low, color=colour, label=bars.name)
        else:
            error = [s or 0.0 for s in bars.spread[:MOST_BARS]]
            whisker: dict[str, Any] = {"xerr": error, "ecolor": "#555555", "error_kw": {"lw": 0.8}}
            axes.barh(at, values, thick, chart.low, color=colour, label=bars.name, **whisker)
    if chart.rule is not None:
        axes.axvline(chart.rule[1], color="#8a6d1d", lw=1.2, ls="--", label=chart.rule[0])
    axes.set_yticks(places, [safe_text(text, 28) for text in names], size=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.invert_yaxis()
    if all(v is None or v >= chart.low for bars in chart.groups for v in bars.values):
        axes.set_xlim(left=chart.low)
    axes.set_xlabel(chart.x_label)
    if chart.rule is not None:
        figure.legend(fontsize=8, loc="outside lower center", ncols=3, frameon=False)
    elif len(chart.groups) > 1:
        axes.legend(fontsize=8, loc="lower right")
    return save(figure, path)


def draw_curve(chart: LineChart | ColumnChart, path: Path) -> Path:
    """Draw one chart of curves or columns; classes have their legend beside it."""
    figure, axes = one_plot(*((6.4, 3.6) if not chart.legend else (4.6, 4.4)))
    _paint(axes, chart)
    axes.set_xlabel(safe_text(chart.x_label))
    axes.set_ylabel(chart.y_label)
    axes.tick_params(labelsize=8)
    if chart.legend:
        axes.legend(fontsize=8, loc="upper left")
    else:
        figure.legend(handles=_classes(chart), loc="outside right upper", fontsize=7, frameon=False)
    return save(figure, path)


def draw_panels(charts: Sequence[LineChart | ColumnChart], path: Path, *, legend: bool = False) -> Path:
    """Draw several charts of one scale side by side, up to four per row; with a `legend`, that of the first is for
    all."""
    across = min(4, len(charts))
    down = -(-len(charts) // across)
    figure = new_figure(3.0 * across, 2.3 * down + (0.3 if legend else 0.0))
    for k, chart in enumerate(charts):
        axes = figure.add_subplot(down, across, k + 1)
        _paint(axes, chart)
        axes.set_xlabel(safe_text(chart.x_label, 28), fontsize=8)
        axes.tick_params(labelsize=7)
        if legend and not k:
            handles, labels = axes.get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8, frameon=False)
    figure.supylabel(charts[0].y_label, fontsize=9)
    return save(figure, path)


def _paint(axes: Axes, chart: LineChart | ColumnChart) -> None:
    if isinstance(chart, LineChart):
        if chart.shade is not None:
            axes.axvspan(*chart.shade, color="#eef3f5", lw=0)
        for line in chart.lines:
            colour = colour_of(line.colour)
            if line.limits is not None:
                axes.fill_between(line.x, *line.limits, color=colour, alpha=0.2, lw=0)
            axes.plot(line.x, line.y, color=colour, lw=1.4, ls=DASHES[line.dash % len(DASHES)], label=line.name)
            if line.sizes is not None:
                count = np.asarray(line.sizes, dtype=float)
                axes.scatter(line.x, line.y, s=20 + 160 * count / count.max(), color=colour, zorder=3)
                for x, y, n in zip(line.x, line.y, count):
                    spot: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "color": "#555555"}
                    axes.annotate(f"{n:.0f}", (x, y), (6, -10), **spot)
    else:
        _columns(axes, chart)
    if chart.y_range is not None:
        low, high = chart.y_range
        margin = 0.03 * (high - low) if isinstance(chart, LineChart) and chart.x_range is not None else 0.0
        axes.set_ylim(low - margin, high + margin)
    if isinstance(chart, LineChart) and chart.x_range is not None:
        low, high = chart.x_range
        axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))


def _columns(axes: Axes, chart: ColumnChart) -> None:
    """Put upright bars on axes, beside or on each other."""
    places, below = np.arange(len(chart.names)), np.zeros(len(chart.names))
    width = 0.8 if chart.stacked else 0.8 / len(chart.groups)
    for k, bars in enumerate(chart.groups):
        values = np.array([v or 0.0 for v in bars.values])
        at = places if chart.stacked else places + (k - (len(chart.groups) - 1) / 2) * width
        colour = colour_of(k if bars.colour is None else bars.colour)
        error = None if bars.spread is None else [s or 0.0 for s in bars.spread]
        axes.bar(at, values, width, below, color=colour, yerr=error, ecolor=ACCENT, label=bars.name)
        below = below + values if chart.stacked else below
    axes.set_xticks(places, [drawable(text, 12) for text in chart.names], size=7, rotation=45 if chart.stacked else 0)


def _classes(chart: LineChart | ColumnChart) -> list[Patch]:
    """Return the legend of the classes that have most of a chart."""
    if isinstance(chart, LineChart):
        parts = [(line.name, line.colour, line.y) for line in chart.lines]
    else:
        parts = [(bars.name, bars.colour or 0, [v or 0.0 for v in bars.values]) for bars in chart.groups]
    names, colours, values = zip(*parts)
    return class_keys(names, [colour_of(colour) for colour in colours], [sum(v) for v in values])
