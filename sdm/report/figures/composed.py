"""One figure for a paper: the map, the curves of the most important variables, and their importance."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from sdm.report.charts import BarChart, Bars, ColumnChart, LineChart
from sdm.report.figures.charts import plot_bars, plot_curve
from sdm.report.figures.maps.drawn import add_scale_bar, label_axes, paint
from sdm.report.figures.maps.plan import UNMARKED, MapFrame, Marks, suitability
from sdm.report.figures.style import new_figure, safe_text, save, tidy
from sdm.report.paper import PAGE, PLAIN, TITLE, Paper
from sdm.report.pictures import Picture

CURVES, MOST = 4, 8  # number of responses and of bars
PIXELS = 1200


def draw_publication(
    picture: Picture,
    path: Path,
    *,
    species: str,
    scale: str,
    curves: Sequence[LineChart | ColumnChart],
    bars: BarChart,
    marks: Marks = UNMARKED,
    paper: Paper = PLAIN,
) -> Path:
    """Draw (a) the map with the records, (b) the first four curves on one scale, and (c) the importance of the first
    variables, at the width of a page."""
    frame = MapFrame.of(picture, list(marks.records.values()))
    wide = paper.width or PAGE
    narrow = wide < 130.0
    groups = [_cut(group) for group in bars.groups]
    first = replace(bars, names=bars.names[:MOST], groups=groups)
    high = min(max((wide if narrow else 0.48 * wide) * frame.tall, 60.0), 170.0)
    figure = new_figure(wide, (high + 150.0) if narrow else max(high + 14.0, 128.0), replace(paper, width=None))
    if narrow:
        top, middle, bottom = np.ravel(figure.subfigures(3, 1, height_ratios=[high + 12.0, 78.0, 60.0]))  # type: ignore[arg-type]
    else:
        top, side = np.ravel(figure.subfigures(1, 2, width_ratios=[0.94, 1.06]))  # type: ignore[arg-type]
        middle, bottom = np.ravel(side.subfigures(2, 1, height_ratios=[1.45, 1.0]))
    axes = top.add_subplot()
    shades = suitability(scale)
    image = paint(axes, picture, shades, edges=marks.edges)
    for records in marks.records.values():
        axes.plot(*records, "o", ms=1.9, mfc="white", mec="black", mew=0.35, ls="none")
    label_axes(axes, frame)
    strip = top.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=30, pad=0.02)
    tidy(strip.ax, x=shades.label)
    _letter(axes, "a", safe_text(species, 40))
    panels = middle.subplots(2, 2, squeeze=False).ravel()
    for k, (panel, chart) in enumerate(zip(panels, curves[:CURVES])):
        label = chart.y_label if k % 2 == 0 else ""
        plot_curve(replace(chart, y_label=label, title="", legend=False), panel, letters=22)
    for panel in panels[len(curves) :]:
        panel.set_axis_off()
    _letter(panels[0], "b")
    _letter(plot_bars(first, bottom.add_subplot(), letters=18), "c")
    add_scale_bar(axes, frame, np.isfinite(picture.values))
    return save(figure, path)


def _cut(bars: Bars) -> Bars:
    """Return the first bars."""
    return replace(bars, values=bars.values[:MOST], spread=None if bars.spread is None else bars.spread[:MOST])


def _letter(axes: Axes, letter: str, title: str = "") -> None:
    """Write the letter of a panel above its upper left corner, and the species in italics next to it."""
    axes.set_title(letter, loc="left", fontsize=TITLE, fontweight="bold", pad=4)
    if title:
        axes.set_title(title, fontsize=TITLE, fontstyle="italic", pad=4)
