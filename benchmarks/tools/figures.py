"""Figures of the benchmarks, in the style of the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.lines import Line2D

from sdm.report.charts import COLOURS
from sdm.report.figures.maps.drawn import paint
from sdm.report.figures.maps.plan import Shades
from sdm.report.figures.style import Sheet, new_figure, one_plot, save, tidy
from sdm.report.paper import COLUMN, PAGE, SMALL, TITLE
from sdm.report.pictures import read_picture
from sdm.types import Array

ORDER_PIXELS = 400
DASHES = ("-", "--", "-", "--", "-", "-.", ":", "--")


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


Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def draw_learning(panels: Mapping[tuple[str, str], Curves], path: Path) -> Path:
    """Draw the loss at held-out records against the number of records: rows of feature sets, columns of species."""
    return _draw_grid(panels, path, "Records to fit to", upper=False)


def draw_sensitivity(panels: Mapping[tuple[str, str], Curves], path: Path) -> Path:
    """Draw the loss at held-out records against the strength of the penalty; what is far above the best is cut off."""
    return _draw_grid(panels, path, "β₀", upper=True)


def _draw_grid(panels: Mapping[tuple[str, str], Curves], path: Path, x: str, *, upper: bool) -> Path:
    """Draw one panel per row and column, a curve per penalty."""
    rows, columns = (list(dict.fromkeys(key[k] for key in panels)) for k in (0, 1))
    figure = new_figure(PAGE, 42.0 * len(rows) + 16.0)
    grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex="col")
    lines: dict[str, Line2D] = {}
    for (row, column), curves in panels.items():
        axes = grid[rows.index(row)][columns.index(column)]
        for (name, (at, loss)), colour, dashes in zip(curves.items(), COLOURS, DASHES):
            lines[name] = axes.plot(at, loss, color=colour, ls=dashes, lw=1.2, marker=".", ms=3.0)[0]
        every = np.concatenate([np.asarray(loss) for _, loss in curves.values()])
        best = float(every.min())
        if upper:
            axes.set_ylim(best - 0.05, min(float(every.max()), best + 1.0) + 0.05)
        axes.set_xscale("log")
        if not upper:
            at = next(iter(curves.values()))[0]
            axes.set_xticks(at, [f"{value:g}" for value in at])
            axes.minorticks_off()
        tidy(axes, x=x if row == rows[-1] else "", y=f"{row}\nloss (nats)" if column == columns[0] else "")
        if row == rows[0]:
            axes.set_title(column, size=TITLE)
    _legend(figure, lines)
    return save(figure, path)


def _legend(figure: Sheet, lines: Mapping[str, Line2D]) -> None:
    """Name the curves below the panels."""
    figure.legend(
        lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), frameon=False, fontsize=SMALL
    )


def draw_profiles(curves: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], path: Path) -> Path:
    """Draw what each variable adds to the score, a panel per variable and a curve per model, shifted apart."""
    columns = 4
    height = -(-len(curves) // columns)
    figure = new_figure(PAGE, 36.0 * height + 12.0)
    grid = figure.subplots(height, columns, squeeze=False).ravel()
    lines: dict[str, Line2D] = {}
    for axes, (variable, models) in zip(grid, curves.items()):
        top = 0.0
        for (title, (at, added)), colour in zip(models.items(), COLOURS):
            shifted = np.asarray(added) - np.min(added) + top
            top = float(shifted.max()) + 0.5
            lines[title] = axes.plot(at, shifted, color=colour, lw=1.0)[0]
        tidy(axes, x=variable, y="added to the score" if axes in grid[::columns] else "")
    for axes in grid[len(curves) :]:
        axes.set_axis_off()
    _legend(figure, lines)
    return save(figure, path)
