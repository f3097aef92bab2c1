"""Pictures of a joint model: the network of associations with their spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sdm.joint.graph import Forest
from sdm.report.figures.style import ACCENT, INK, drawable, new_figure, safe_text, save
from sdm.report.paper import INCH, PAGE, PLAIN, SMALL, TITLE, Paper
from sdm.types import Numbers

ROW = 4.8  # millimetres per species
LETTER = 0.22  # of the distance between parent and child
BUTT: dict[str, Any] = {"solid_capstyle": "butt"}
TALLEST = 3800.0
# Links are drawn on one scale in every picture: a line of full width stands for this weight or more, and one of less
# than the floor, at which two species' odds hardly depend on each other (log odds ratio 4 × 0.02), is grey.
FULL, FLOOR = 1.0, 0.02
NONE = "#aaaaaa"
PALE = 0.45
DASHES = (0, (3, 1.5))


def draw_network(
    species: Sequence[str],
    forest: Forest,
    edges: Sequence[Numbers],
    prevalence: Sequence[float],
    path: Path,
    paper: Paper = PLAIN,
) -> Path:
    """Draw who is linked with whom, one row per species, and beside it the weight of its link with the deviation.

    Widths and colours are on one scale in every picture, so that weak associations look weak. Every species has one
    link to the left, but the middle of each tree, so tree and weights share their rows. `edges` are the rows of
    `FittedJoint.associations`, in the forest's order; a dot grows with the species' prevalence at its known sites.
    """
    rows = hang(forest)
    right = max(row.depth + LETTER * len(drawable(str(species[row.species]), 30)) for row in rows) + 0.6
    wide = 0.35 * (right + 0.4)
    figure = new_figure(max(INCH * (wide + 3.0), PAGE), min(30.0 + ROW * len(rows), TALLEST), paper)
    tree, weights = figure.subplots(1, 2, width_ratios=[wide, 3.2], sharey=True)
    _draw_tree(tree, species, rows, edges, prevalence)
    tree.set_xlim(-0.4, right)
    _draw_weights(weights, rows, edges)
    tree.set_ylim(len(rows) - 0.3, -0.8)
    return save(figure, path)


@dataclass(frozen=True)
class Row:
    """A species in a hanging tree: the row of its parent, the edge between, and how many edges from the middle."""

    species: int
    parent: int
    edge: int
    depth: int


def hang(forest: Forest) -> list[Row]:
    """Return the species as rows, each tree from its middle on: parents before children, small branches first."""
    rows: list[Row] = []
    seen: set[int] = set()
    trees = []
    for s in range(forest.size):
        if s not in seen:
            trees.append(_middle(forest, s))
            seen.update(_walk(forest, s))
    for middle in sorted(trees, key=lambda s: -len(_walk(forest, s))):
        parent = _walk(forest, middle)
        below = dict.fromkeys(parent, 1)
        for s in reversed(list(parent)):
            if parent[s][0] >= 0:
                below[parent[s][0]] += below[s]
        at: dict[int, int] = {-1: -1}
        todo = [(middle, 0)]
        while todo:
            s, depth = todo.pop()
            at[s] = len(rows)
            rows.append(Row(s, at[parent[s][0]], parent[s][1], depth))
            children = [t for t in parent if parent[t][0] == s]
            todo += [(t, depth + 1) for t in sorted(children, key=lambda t: -below[t])]
    return rows


def _walk(forest: Forest, root: int) -> dict[int, tuple[int, int]]:
    """Return the parent of every species that is linked with `root`, and the edge to it; nearest first."""
    parent = {root: (-1, -1)}
    todo = [root]
    for s in todo:
        for e in forest.around[forest.start[s] : forest.start[s + 1]]:
            t = int(forest.edges[e].sum() - s)
            if t not in parent:
                parent[t] = (s, int(e))
                todo.append(t)
    return parent


def _middle(forest: Forest, s: int) -> int:
    """Return the middle of the longest path of the tree that a species is in."""
    parent = _walk(forest, list(_walk(forest, s))[-1])
    path = [list(parent)[-1]]
    while parent[path[-1]][0] >= 0:
        path.append(parent[path[-1]][0])
    return path[len(path) // 2]


def _draw_tree(
    axes: Axes,
    species: Sequence[str],
    rows: Sequence[Row],
    edges: Sequence[Numbers],
    prevalence: Sequence[float],
) -> None:
    for y, row in enumerate(rows):
        if row.edge >= 0:
            x = rows[row.parent].depth
            axes.plot([x, x], [row.parent, y], color="#bbbbbb", lw=0.8, zorder=1)
            known = (edges[row.edge][key] for key in ("weight", "sd"))
            style = link_style(*(float("nan") if value is None else float(value) for value in known))
            axes.plot([x, row.depth], [y, y], zorder=2, **style)
        text = safe_text(str(species[row.species]), 30)
        italic: dict[str, Any] = {"fontsize": SMALL, "fontstyle": "italic"}
        axes.annotate(text, (row.depth, y), xytext=(8, 0), textcoords="offset points", va="center", **italic)
    depth, size = [row.depth for row in rows], [12 + 90 * prevalence[row.species] for row in rows]
    axes.scatter(depth, range(len(rows)), s=size, c="white", edgecolors="black", linewidths=0.9, zorder=3)
    axes.set_axis_off()
    axes.set_title("Associations beyond the environment", fontsize=TITLE, loc="left")


def _draw_weights(axes: Axes, rows: Sequence[Row], edges: Sequence[Numbers]) -> None:
    """Draw the weight of every row's edge, with a whisker of one standard deviation to either side."""
    linked = [y for y, row in enumerate(rows) if row.edge >= 0]
    weights = np.array([edges[rows[y].edge]["weight"] for y in linked])
    spread = np.array([edges[rows[y].edge]["sd"] for y in linked], dtype=np.float64)
    known = np.isfinite(spread)
    if known.any():
        axes.errorbar(weights, linked, xerr=np.where(known, spread, 0), fmt="none", ecolor="#999999", elinewidth=1.0)
    for sure in (True, False):
        at = [k for k in range(len(linked)) if is_sure(weights[k], spread[k]) == sure]
        colours = [_colour(weights[k]) for k in at]
        faces = colours if sure else "white"
        axes.scatter(weights[at], np.array(linked)[at], c=faces, edgecolors=colours, s=16, linewidths=1.0, zorder=3)
    wide = np.where(known, spread, 0.0)
    low, high = float(np.min(weights - wide, initial=0.0)), float(np.max(weights + wide, initial=0.0))
    room = 0.04 * (high - low)  # and at least ten floors to either side, so that nothing looks like something
    axes.set_xlim(min(low - room, -10 * FLOOR), max(high + room, 10 * FLOOR))
    axes.axvline(0.0, color="black", lw=0.8)
    axes.tick_params(axis="x", labelsize=SMALL)
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.grid(axis="x", alpha=0.3)
    for weight, what in ((FULL, "found together"), (-FULL, "found apart")):
        axes.plot([], [], label=what, **{**link_style(weight, float("nan")), "lw": 2.5})
    axes.plot([], [], label=f"weight below {FLOOR:g}: none", **link_style(0.0, float("nan")))
    if known.any():
        axes.plot([], [], label="less than its deviation", **{**link_style(0.5 * FULL, FULL), "lw": 2.5})
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=SMALL, handlelength=3.2, frameon=False)
    what = "Weight of the link to the left"
    axes.set_xlabel(f"{what} (± standard deviation)" if known.any() else what, fontsize=SMALL)


def link_style(weight: float, sd: float) -> Numbers:
    """Return how a link is drawn: its width is that of its weight, and it is pale and broken if that is uncertain."""
    style: dict[str, Any] = {"color": _colour(weight), "lw": 0.6 + 5 * min(abs(weight) / FULL, 1.0), **BUTT}
    return style if is_sure(weight, sd) else {**style, "alpha": PALE, "ls": DASHES, "dash_capstyle": "butt"}


def is_sure(weight: float, sd: float) -> bool:
    """Whether a weight is at least as large as its standard error or posterior deviation, where that is known."""
    return not abs(weight) < sd


def _colour(weight: float) -> str:
    return NONE if abs(weight) < FLOOR else INK if weight > 0 else ACCENT
