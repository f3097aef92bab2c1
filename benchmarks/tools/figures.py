"""Figures of the benchmarks, in the style of the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sdm.report.figures.maps import Shades, paint
from sdm.report.figures.style import COLOURS, COLUMN, PAGE, TITLE, new_figure, one_plot, save
from sdm.report.pictures import read_picture
from sdm.types import Array

ORDER_PIXELS = 400


def draw_orders(maps: Mapping[float, Path], path: Path) -> Path:
    """Draw maps of one species by order of the entropy; cells of exactly zero are pale, with a line around the rest."""
    figure = new_figure(PAGE, PAGE / len(maps) * 1.35)
    words = {1.0: " (Shannon)", 2.0: " (sparsemax)"}
    for axes, (order, raster) in zip(figure.subplots(1, len(maps), squeeze=False)[0], maps.items()):
        picture = read_picture(raster, ORDER_PIXELS)
        paint(axes, picture, Shades("", 1.0), edges=bool(np.any(picture.values == 0)))
        axes.set_title(f"order {order:g}{words.get(order, '')}", size=TITLE)
        axes.set_axis_off()
    return save(figure, path)


def draw_convergence(curves: Mapping[str, Sequence[float] | Array], optimum: float, path: Path) -> Path:
    """Draw the distance of the objective from the optimum against rounds, one curve per solver."""
    figure, axes = one_plot(COLUMN, 90.0)
    for (name, objective), colour in zip(curves.items(), COLOURS):
        left = np.maximum(np.asarray(objective) - optimum, 1e-12)
        axes.plot(np.arange(1, left.size + 1), left, color=colour, lw=1.6, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("Round")
    axes.set_ylabel("Objective above the optimum (nats)")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return save(figure, path)


def draw_patterns(maps: Mapping[str, Array], bounds: tuple[float, float, float, float], path: Path) -> Path:
    """Draw densities in the cells of a window side by side, on one scale; the counts of points as dots."""
    figure = new_figure(PAGE, PAGE / len(maps) * 1.15)
    left, bottom, right, top = bounds
    brightest = float(np.quantile(maps["truth"], 0.995))
    for axes, (name, values) in zip(figure.subplots(1, len(maps), squeeze=False)[0], maps.items()):
        if name == "points":
            row, col = np.nonzero(values)
            x = left + (col + 0.5) * (right - left) / values.shape[1]
            y = top - (row + 0.5) * (top - bottom) / values.shape[0]
            axes.scatter(x, y, s=0.4, color="black", linewidths=0)
        else:
            axes.imshow(values, extent=(left, right, bottom, top), vmin=0, vmax=brightest, aspect="auto")
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        axes.set_title(name.replace(", ", ",\n", 1), size=TITLE)
        axes.set_xticks([])
        axes.set_yticks([])
    return save(figure, path)
