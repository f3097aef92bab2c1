"""Charts drawn by matplotlib for print, from the descriptions that a page shows as SVG.

Functions that start with `plot` draw on axes and return them; functions that start with `draw` write files.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from sdm.report.charts import RULE, SHADE, WHISKER, BarChart, Biplot, Chart, ColumnChart, LineChart, colour_of
from sdm.report.figures.maps.drawn import class_keys
from sdm.report.figures.style import (
    ACCENT,
    GREY,
    INK,
    Sheet,
    drawable,
    new_figure,
    one_plot,
    own_axes,
    safe_text,
    save,
    tidy,
)
from sdm.report.paper import COLUMN, PAGE, SMALL, TEXT, Paper

DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
BAR_COLOURS = (INK, ACCENT)
MOST_BARS = 40
FAINT = "#8fa3b0"  # of unlabelled arrows


def draw_charts(charts: Sequence[Chart], path: Path, paper: Paper) -> None:
    """Draw a chart, or several side by side, in the chart formats of a paper; the format replaces the ending of the
    path."""
    first = charts[0]
    if isinstance(first, BarChart):
        figure = _bars_figure(first, paper)
    elif isinstance(first, Biplot):
        figure = _biplot_figure(first, paper)
    else:
        curves = [chart for chart in charts if isinstance(chart, LineChart | ColumnChart)]
        figure = _curve_figure(curves[0], paper) if len(curves) == 1 else _panels_figure(curves, paper)
    save(figure, path, paper.of_charts)


def _bars_figure(chart: BarChart, paper: Paper) -> Sheet:
    """Draw horizontal bars, the first name on top; omit names that do not fit."""
    keys = chart.rule is not None or len(chart.groups) > 1
    height = _bars_height(chart) + (6.0 if keys else 0.0)
    figure, axes = one_plot(paper.width or COLUMN, height, replace(paper, width=None))
    plot_bars(chart, axes, legend=False)
    if keys:
        figure.legend(fontsize=SMALL, loc="outside lower center", ncols=2, frameon=False, borderpad=0.1)
    return figure


def _bars_height(chart: BarChart) -> float:
    """Return the height of bars in millimetres."""
    return 20.0 + (6.0 if len(chart.groups) > 1 else 4.5) * min(len(chart.names), MOST_BARS)


def plot_bars(chart: BarChart, ax: Axes | None = None, *, legend: bool = True, letters: int = 28) -> Axes:
    """Plot horizontal bars on axes, the first name on top."""
    axes = own_axes(ax, COLUMN, _bars_height(chart))
    names = chart.names[:MOST_BARS]
    places = np.arange(len(names), dtype=float)
    thick = 0.38 if len(chart.groups) > 1 else 0.7
    for k, bars in enumerate(chart.groups):
        positions = places + (k - (len(chart.groups) - 1) / 2) * 0.4
        values = [np.nan if v is None else v - chart.low for v in bars.values[:MOST_BARS]]
        colour = BAR_COLOURS[k % len(BAR_COLOURS)]
        error = None if bars.spread is None else [s or 0.0 for s in bars.spread[:MOST_BARS]]
        whisker: dict[str, Any] = {"xerr": error, "ecolor": WHISKER, "error_kw": {"lw": 0.8}}
        _edge(axes.barh(positions, values, thick, chart.low, color=colour, label=bars.name, **whisker))
    if chart.rule is not None:
        axes.axvline(chart.rule[1], color=colour_of(RULE), lw=1.0, ls="--", label=chart.rule[0])
    axes.set_yticks(places, [safe_text(text, letters) for text in names], style="italic" if chart.species else "normal")
    axes.invert_yaxis()
    if all(v is None or v >= chart.low for bars in chart.groups for v in bars.values):
        axes.set_xlim(left=chart.low)
    tidy(axes, x=chart.x_label)
    _open(axes)
    if legend and len(chart.groups) > 1:
        axes.legend(fontsize=SMALL, loc="lower right", frameon=False)
    return axes


def _edge(bars: BarContainer) -> None:
    """Draw a light outline around whiskers, so that they are visible on bars."""
    for part in bars.errorbar.lines[2] if bars.errorbar is not None else ():
        part.set_path_effects([withStroke(linewidth=2.2, foreground="white")])


def _open(axes: Axes) -> None:
    """Hide the spines of axes without numbers."""
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)


def _curve_figure(chart: LineChart | ColumnChart, paper: Paper) -> Sheet:
    """Draw one chart of curves or columns; legends of classes are at the side."""
    many = not chart.legend and len(chart.lines if isinstance(chart, LineChart) else chart.groups) > 1
    square = isinstance(chart, LineChart) and chart.x_range == (0, 1) and chart.y_range == (0, 1)
    figure, axes = one_plot(1.5 * COLUMN if many else COLUMN, 82.0 if square else 62.0, paper)
    plot_curve(chart, axes)
    if many:
        figure.legend(handles=_classes(chart), loc="outside right upper", fontsize=SMALL, frameon=False)
    elif (legend := axes.get_legend()) is not None:  # below the axes
        handles, labels = axes.get_legend_handles_labels()
        legend.remove()
        figure.legend(handles, labels, loc="outside lower center", fontsize=SMALL, frameon=False)
    return figure


def plot_curve(chart: LineChart | ColumnChart, ax: Axes | None = None, *, letters: int = 40) -> Axes:
    """Plot one chart of curves or columns, with a legend if the chart has several curves."""
    axes = own_axes(ax)
    _paint(axes, chart)
    tidy(axes, x=safe_text(chart.x_label, letters), y=chart.y_label)
    _open(axes)
    if chart.legend and len(chart.lines if isinstance(chart, LineChart) else chart.groups) > 1:
        axes.legend(fontsize=SMALL, loc="best", framealpha=0.85, edgecolor="none")
    return axes


def _panels_figure(charts: Sequence[LineChart | ColumnChart], paper: Paper) -> Sheet:
    """Draw several charts of one scale side by side, up to four per row, with one legend."""
    width = paper.width or PAGE
    across = min(4 if width > 1.5 * COLUMN else 2, len(charts))
    down = -(-len(charts) // across)
    legend = any(len(chart.lines if isinstance(chart, LineChart) else chart.groups) > 1 for chart in charts)
    figure = new_figure(width, 38.0 * down + (8.0 if legend else 2.0), paper)
    for k, chart in enumerate(charts):
        axes = figure.add_subplot(down, across, k + 1)
        _paint(axes, chart)
        tidy(axes, x=safe_text(chart.x_label, 26))
        _open(axes)
        if legend and not k:
            handles, labels = axes.get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=SMALL, frameon=False)
    figure.supylabel(charts[0].y_label, fontsize=TEXT)
    return figure


def _paint(axes: Axes, chart: LineChart | ColumnChart) -> None:
    if isinstance(chart, LineChart):
        if chart.shade is not None:
            axes.axvspan(*chart.shade, color=SHADE, lw=0)
        for line in chart.lines:
            colour = colour_of(line.colour)
            if line.limits is not None:
                axes.fill_between(line.x, *line.limits, color=colour, alpha=0.2, lw=0)
            axes.plot(line.x, line.y, color=colour, lw=1.2, ls=DASHES[line.dash % len(DASHES)], label=line.name)
            if line.sizes is not None:
                count = np.asarray(line.sizes, dtype=float)
                axes.scatter(line.x, line.y, s=10 + 80 * count / count.max(), color=colour, zorder=3)
                for x, y, n in zip(line.x, line.y, count):
                    spot: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "color": "#555555"}
                    axes.annotate(f"{n:.0f}", (x, y), (5, -9), **spot)
    else:
        _columns(axes, chart)
    if chart.y_range is not None:
        low, high = chart.y_range
        margin = 0.03 * (high - low) if isinstance(chart, LineChart) and chart.x_range is not None else 0.0
        axes.set_ylim(low - margin, high + margin)
    if isinstance(chart, LineChart) and chart.x_range is not None:
        low, high = chart.x_range
        axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    elif isinstance(chart, LineChart) and chart.shade is not None and chart.lines:
        ends = min(chart.lines[0].x), max(chart.lines[0].x)
        axes.set_xlim(ends[0], ends[1] if ends[1] > ends[0] else ends[0] + 1)


def _columns(axes: Axes, chart: ColumnChart) -> None:
    """Plot vertical bars, side by side or stacked."""
    places, below = np.arange(len(chart.names)), np.zeros(len(chart.names))
    width = 0.8 if chart.stacked else 0.8 / len(chart.groups)
    for k, bars in enumerate(chart.groups):
        values = np.array([v or 0.0 for v in bars.values])
        positions = places if chart.stacked else places + (k - (len(chart.groups) - 1) / 2) * width
        colour = colour_of(k if bars.colour is None else bars.colour)
        error = None if bars.spread is None else [s or 0.0 for s in bars.spread]
        _edge(axes.bar(positions, values, width, below, color=colour, yerr=error, ecolor=WHISKER, label=bars.name))
        below = below + values if chart.stacked else below
    if any(v is not None and v < 0 for bars in chart.groups for v in bars.values):
        axes.axhline(0.0, color=GREY, lw=0.6)
    step = -(-len(chart.names) // 24)  # number of names that fit
    wide = max((len(text) for text in chart.names), default=0) * len(chart.names) > 24
    names = [drawable(text, 12) for text in chart.names[::step]]
    axes.set_xticks(places[::step], names, rotation=60 if wide else 0, ha="right" if wide else "center")


def _classes(chart: LineChart | ColumnChart) -> list[Patch]:
    """Return the legend of the most frequent classes of a chart."""
    if isinstance(chart, LineChart):
        parts = [(line.name, line.colour, line.y) for line in chart.lines]
    else:
        parts = [(bars.name, bars.colour or 0, [v or 0.0 for v in bars.values]) for bars in chart.groups]
    names, colours, values = zip(*parts)
    return class_keys(names, [colour_of(colour) for colour in colours], [sum(v) for v in values])


def _biplot_figure(chart: Biplot, paper: Paper) -> Sheet:
    """Draw species as arrows and sites as points with a rug."""
    figure, axes = one_plot(PAGE, 175.0, paper)
    axes.set_aspect("equal")
    for line in (axes.axhline, axes.axvline):
        line(0.0, color="#b9c1c6", lw=0.8, zorder=0)
    points = np.asarray(chart.points, dtype=np.float64).reshape(-1, 2)
    axes.plot(*points.T, "o", ms=2.5, color=GREY, alpha=0.55, mew=0, ls="none", zorder=1)
    edge = np.full(len(points), -chart.reach)
    axes.plot(points[:, 0], edge, "|", color=GREY, ms=8, mew=0.6, ls="none", zorder=1)
    axes.plot(edge, points[:, 1], "_", color=GREY, ms=8, mew=0.6, ls="none", zorder=1)
    labelled = {tip.arrow for tip in chart.named}
    for k, (x, y) in enumerate(chart.tips):
        colour, width = (INK, 1.2) if k in labelled else (FAINT, 0.7)
        axes.plot([0.0, x], [0.0, y], color=colour, lw=width, zorder=2)
        axes.plot([x], [y], "o", color=colour, ms=3.5, zorder=2)
    for tip in chart.named:
        look: dict[str, Any] = {"fontsize": SMALL, "fontstyle": "italic", "ha": "left" if tip.begins else "right"}
        box = {"facecolor": "white", "alpha": 0.7, "pad": 0.4, "lw": 0}
        axes.text(tip.x, tip.y, safe_text(tip.name), bbox=box, zorder=3, **look)
    axes.set_xlim(-chart.reach, chart.reach)
    axes.set_ylim(-chart.reach, chart.reach)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.tick_params(labelsize=SMALL)
    return figure
