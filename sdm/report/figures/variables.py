"""Pictures of variables: how they are correlated, how far they are alike, and what leaving some out costs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from sdm.assess.variables.correlation import Collinearity
from sdm.assess.variables.variogram import Autocorrelation, Variogram, kilometres
from sdm.report.figures.style import ACCENT, INK, new_figure, safe_text, save, tidy, write_cells
from sdm.report.paper import COLUMN, PAGE, PLAIN, SMALL, TEXT, TITLE, Paper
from sdm.types import Numbers, Row

MOST_NUMBERS = 16  # variables whose correlations are written into the cells
ROW = 6.0  # millimetres per variable
MOST_PANELS = 30  # variograms that are drawn


def draw_variograms(found: Autocorrelation, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the variogram of every variable with its model; a line marks the side of a block."""
    shown = found.variograms[:MOST_PANELS]
    across = min(4, len(shown))
    down = -(-len(shown) // across)
    figure = new_figure(PAGE if across > 1 else COLUMN, 46.0 * down + 12.0, paper)
    left = len(found.variograms) - len(shown)
    more = f" (the first {len(shown)} of {len(found.variograms)} variables)" if left else ""
    figure.suptitle(f"Blocks of {kilometres(found.size_km)} km, the dashed line{more}", size=TITLE)
    panels = figure.subplots(down, across, squeeze=False)
    for axes, one in zip(panels.flat, shown):
        _variogram(axes, one, found.size_km)
    for axes in panels.flat[len(shown) :]:
        axes.set_axis_off()
    for axes in panels[-1]:
        axes.set_xlabel("Distance (km)", size=TEXT)
    for row in panels:
        row[0].set_ylabel("Semivariance", size=TEXT)
    return save(figure, path)


def _variogram(axes: Axes, one: Variogram, size: float) -> None:
    axes.plot(one.distance, one.semivariance, "o", ms=3.5, color=INK)
    h = np.linspace(0, float(one.distance[-1]), 200)
    if one.state != "constant":
        axes.plot(h, one.curve(h), color=ACCENT, lw=1.5)
    axes.axvline(size, color="#555555", lw=1, ls="--")
    words = {
        "ok": f"range {kilometres(one.range_km)} km" if one.state == "ok" else "",
        "beyond": "range above a third of the extent",
        "none": "no autocorrelation",
        "constant": "constant",
    }
    axes.set_title(f"{safe_text(one.variable, 24)}: {words[one.state]}", size=SMALL)
    axes.set_xlim(0, max(float(one.distance[-1]), size) * 1.03)
    axes.set_ylim(0, (float(one.semivariance.max()) or 1.0) * 1.1)
    axes.tick_params(labelsize=SMALL)


def draw_correlation(found: Collinearity, path: Path, limit: float = 0.7, paper: Paper = PLAIN) -> Path:
    """Draw the correlations as a heat map, with a dendrogram of 1 − |r| (average linkage) beside it."""
    from scipy.cluster.hierarchy import dendrogram

    n = len(found.names)
    drawn = dendrogram(found.merges(), no_plot=True)
    order = drawn["leaves"]
    shown = found.pearson[np.ix_(order, order)]
    side = min(max(105.0, ROW * n + 45.0), 600.0)
    figure = new_figure(max(side + 60.0, PAGE), side, paper)
    tree, heat = figure.subplots(1, 2, width_ratios=[1, max(2.0, side / 55.0)])
    _dendrogram(tree, drawn, limit)
    picture = heat.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    labels = [safe_text(found.names[v], 24) for v in order]
    step = -(-n // int(600.0 / ROW))  # beyond the largest figure some names are left out
    heat.set_xticks(range(0, n, step), labels[::step], rotation=90, size=SMALL)
    heat.set_yticks(range(0, n, step), labels[::step], size=SMALL)
    heat.yaxis.tick_right()
    if n <= MOST_NUMBERS:
        write_cells(heat, shown, lambda r: f"{r:.2f}".replace("0.", "."), np.abs(shown) > 0.65)
    tidy(figure.colorbar(picture, ax=heat, location="top", fraction=0.05, aspect=40).ax, x="Pearson's r")
    return save(figure, path)


def _dendrogram(axes: Axes, drawn: Numbers, limit: float) -> None:
    """Draw merges from right (single variables) to left; the dashed line is where the mean |r| is the limit."""
    for places, heights in zip(drawn["icoord"], drawn["dcoord"]):  # leaves are at 5, 15, 25, …
        colour = ACCENT if heights[1] < 1 - limit else INK
        axes.plot(heights, (np.array(places) - 5.0) / 10.0, color=colour, lw=1.3)
    axes.axvline(1 - limit, color="#555555", lw=1, ls="--")
    axes.set_xlim(1.0, 0.0)
    axes.set_ylim(len(drawn["leaves"]) - 0.5, -0.5)
    axes.set_yticks([])
    tidy(axes, x="1 − |r|")
    for edge in ("left", "right", "top"):
        axes.spines[edge].set_visible(False)


def draw_reduction(rows: Sequence[Row], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw held-out loss with its standard error, step by step, and AUC below; the choice is marked."""
    figure = new_figure(PAGE if len(rows) > 10 else COLUMN, 100.0, paper)
    loss, score = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    x = np.arange(len(rows))
    chosen = max(k for k, row in enumerate(rows) if row["kept"])
    error = [row["standard error"] if np.isfinite(row["standard error"]) else 0.0 for row in rows]
    loss.errorbar(x, [row["held-out loss"] for row in rows], yerr=error, color=INK, marker="o", ms=4, lw=1.4, capsize=3)
    score.plot(x, [row["AUC"] for row in rows], color=INK, marker="o", ms=4, lw=1.4)
    for axes, label in ((loss, "Held-out loss (nats)"), (score, "Held-out AUC")):
        tidy(axes, y=label)
        axes.axvline(chosen, color=ACCENT, lw=1.2, ls="--")
        axes.grid(alpha=0.3)
    left = rows[chosen]["variables"]
    loss.set_title(f"Reduced to {left} variable{'' if left == 1 else 's'} (dashed line)", size=TITLE)
    labels = ["all" if not row["dropped"] else f"− {safe_text(str(row['dropped']), 22)}" for row in rows]
    score.set_xticks(x, labels, rotation=60, ha="right", size=SMALL)
    return save(figure, path)
