"""Figures of joint models: associations as a matrix and as a network, and the parts of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sdm.joint.graph import Forest
from sdm.joint.levels import HALF_WIDTH, RandomEffect
from sdm.joint.pairs import SURE
from sdm.report.figures.style import ACCENT, GREY, INK, drawable, few_ticks, new_figure, one_plot, safe_text, save
from sdm.report.paper import INCH, PAGE, PLAIN, SMALL, TITLE, Paper
from sdm.types import Array, Numbers, Row

CELL = 4.2  # millimetres per species
TALLEST = 3800.0
NARROW = 110.0
MOST_LEVELS = 60
PALE = 0.3  # of pairs without a significant association
ROW = 4.8  # millimetres per species
LETTER = 0.22  # width of a letter relative to the distance between parent and child
BUTT: dict[str, Any] = {"solid_capstyle": "butt"}
# Links have one scale in all figures. The full width is this weight or more. Below the floor, at which the log odds
# ratio of two species is less than 4 × 0.02, links are grey.
FULL, FLOOR = 1.0, 0.02
NONE = "#aaaaaa"
PALE_LINK = 0.45
DASHES = (0, (3, 1.5))
COLOURS = "RdBu"  # blue is positive, red negative, as in the network


def draw_matrix(species: Sequence[str], weights: Array, q: Array, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the associations of all pairs, with species ordered by similarity of their associations.

    `weights` and `q` (adjusted p-values) are symmetric matrices, NaN for missing pairs. A dot marks significant pairs
    (false discovery rate 5 %); the others are pale.
    """
    order = likeness_order(weights)
    shown, sure = weights[np.ix_(order, order)], q[np.ix_(order, order)] <= SURE
    names = [str(species[k]) for k in order]
    text = "Residual co-occurrence of all pairs of species", "negative – association – positive (dot: q < 0.05)"
    figure = _table_figure(shown, ~sure, names, names, *text, paper)
    axes = figure.axes[0]
    y, x = np.nonzero(sure)
    axes.scatter(x, y, s=3, c="black", linewidths=0)
    for name in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        name.set_fontstyle("italic")
    return save(figure, path)


def draw_levels(random: RandomEffect, species: Sequence[str], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the effect of every level on every species as a heat map, pale if the 95 % interval includes zero.

    Levels and species are ordered by similarity of their effects. The levels with the largest effects are shown.
    """
    strongest = np.argsort(-np.square(random.effect).sum(axis=0), kind="stable")[:MOST_LEVELS]
    effect = random.effect[:, strongest]
    unsure = np.zeros(effect.shape, dtype=bool)
    if random.variance.size:
        unsure = np.abs(effect) < HALF_WIDTH * np.sqrt(random.variance[:, strongest])
    rows, columns = (np.argsort(vector, kind="stable") for vector in _leading(effect))
    more = f" (the {len(columns)} strongest of {len(random.levels)})" if len(columns) < len(random.levels) else ""
    names = [species[k] for k in rows], [random.levels[strongest[k]] for k in columns]
    text = (
        f"Random effect of {safe_text(random.column, 24)}{more}",
        "negative – effect (log-odds) – positive (pale: 95 % interval includes 0)",
    )
    figure = _table_figure(effect[np.ix_(rows, columns)], unsure[np.ix_(rows, columns)], *names, *text, paper)
    for name in figure.axes[0].get_yticklabels():
        name.set_fontstyle("italic")
    return save(figure, path)


def draw_corner(rows: Sequence[Row], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the interactions of traits and features, pale if the 95 % interval includes zero.

    `rows` are the rows of the fourth-corner table.
    """
    traits, features = (list(dict.fromkeys(sorted(str(row[key]) for row in rows))) for key in ("trait", "feature"))
    weight, unsure = np.zeros((len(traits), len(features))), np.zeros((len(traits), len(features)), dtype=bool)
    for row in rows:
        cell = traits.index(str(row["trait"])), features.index(str(row["feature"]))
        weight[cell], unsure[cell] = row["weight"], row.get("low", 1.0) <= 0 <= row.get("high", 1.0)
    text = "Interactions of traits and features", "negative – interaction – positive (pale: 95 % interval includes 0)"
    return save(_table_figure(weight, unsure, traits, features, *text, paper), path)


def _table_figure(
    values: Array,
    unsure: NDArray[np.bool_],
    row_names: Sequence[str],
    column_names: Sequence[str],
    title: str,
    label: str,
    paper: Paper,
) -> Figure:
    """Return the figure of a table of effects as a heat map; entries that are not significant are pale."""
    rows, columns = values.shape
    figure, axes = one_plot(max(CELL * columns + 75.0, NARROW), min(max(CELL * rows + 45.0, 75.0), TALLEST), paper)
    most = float(np.nanmax(np.abs(values), initial=0.1))
    scale: dict[str, Any] = {"cmap": COLOURS, "vmin": -most, "vmax": most, "interpolation": "nearest"}
    axes.imshow(values, alpha=np.where(unsure, PALE, 1.0), **scale)
    image = axes.imshow(np.where(unsure, np.nan, values), **scale)  # image of the colour bar
    names = [safe_text(str(name), 24) for name in column_names]
    axes.set_xticks(range(columns), names, rotation=90, fontsize=SMALL)
    names = [safe_text(str(name), 30) for name in row_names]
    axes.set_yticks(range(rows), names, fontsize=SMALL)
    axes.set_title(title, fontsize=TITLE, loc="left")
    strip = figure.colorbar(image, ax=axes, shrink=0.9)
    few_ticks(strip)
    strip.set_label(label.replace(" (", "\n("), fontsize=SMALL)
    return figure


def _leading(effect: Array) -> tuple[Array, Array]:
    """Return the leading singular vectors of a matrix with a fixed sign."""
    vectors, _, right = np.linalg.svd(effect, full_matrices=False)
    sign = 1.0 if right[0, int(np.argmax(np.abs(right[0])))] > 0 else -1.0
    return sign * vectors[:, 0], sign * right[0]


def likeness_order(weights: Array) -> list[int]:
    """Return the order of species in the leading eigenvector of their associations, so that co-occurring species are
    adjacent."""
    filled = np.nan_to_num(weights)
    if len(filled) < 3:
        return list(range(len(filled)))
    vector = np.linalg.eigh(filled)[1][:, -1]
    vector = vector if vector[int(np.argmax(np.abs(vector)))] > 0 else -vector
    return [int(k) for k in np.argsort(vector, kind="stable")]


def draw_partition(rows: Sequence[Row], parts: Sequence[str], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the variance partitioning of the log-odds, one bar per species.

    `rows` are the rows of `partition_variance`. Variables are ordered by their mean share; associations are last.
    """
    last = parts[-1]
    ranked = sorted(parts[:-1], key=lambda part: -np.mean([max(row[part], 0.0) for row in rows]))
    shown = [*ranked[:8], *(["other variables"] if len(ranked) > 8 else []), last]
    figure, axes = one_plot(PAGE, min(32.0 + CELL * len(rows), TALLEST), paper)
    colours = colormaps["viridis"](np.linspace(0.0, 1.0, len(shown) - 1))
    right, left = np.zeros(len(rows)), np.zeros(len(rows))
    for part, colour in zip(shown, [*colours, GREY]):
        summed = ranked[8:] if part == "other variables" else [part]
        width = np.array([sum(row[name] for name in summed) for row in rows])
        start = np.where(width >= 0, right, left)
        axes.barh(range(len(rows)), width, left=start, color=colour, label=safe_text(part, 24), height=0.8)
        right, left = right + np.maximum(width, 0.0), left + np.minimum(width, 0.0)
    axes.axvline(0.0, color="black", lw=0.8)
    names = [safe_text(str(row["species"]), 30) for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=SMALL, fontstyle="italic")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=SMALL)
    axes.set_xlabel("Share of the variance of the log-odds", fontsize=SMALL)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, fontsize=SMALL, frameon=False)
    return save(figure, path)


def draw_network(
    species: Sequence[str],
    forest: Forest,
    edges: Sequence[Numbers],
    prevalence: Sequence[float],
    path: Path,
    paper: Paper = PLAIN,
) -> Path:
    """Draw the tree of associations, one row per species, and next to it the weight of each link with its deviation.

    Widths and colours have one scale in all figures. Every species but the root of a tree has one link to the left, so
    tree and weights share rows. `edges` are the rows of `FittedJoint.associations`, in the order of the forest. The
    area of a dot increases with the prevalence of the species at its known sites.
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
class TreeRow:
    """A species in the tree: the row of its parent, the edge to it, and the number of edges from the root."""

    species: int
    parent: int
    edge: int
    depth: int


def hang(forest: Forest) -> list[TreeRow]:
    """Return the species as rows, each tree from its centre: parents before children, small branches first."""
    rows: list[TreeRow] = []
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
        row_of: dict[int, int] = {-1: -1}
        todo = [(middle, 0)]
        while todo:
            s, depth = todo.pop()
            row_of[s] = len(rows)
            rows.append(TreeRow(s, row_of[parent[s][0]], parent[s][1], depth))
            children = [t for t in parent if parent[t][0] == s]
            todo += [(t, depth + 1) for t in sorted(children, key=lambda t: -below[t])]
    return rows


def _walk(forest: Forest, root: int) -> dict[int, tuple[int, int]]:
    """Return the parent of every species in the tree of `root`, and the edge to it, in order of distance."""
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
    """Return the centre of the longest path in the tree of a species."""
    parent = _walk(forest, list(_walk(forest, s))[-1])
    path = [list(parent)[-1]]
    while parent[path[-1]][0] >= 0:
        path.append(parent[path[-1]][0])
    return path[len(path) // 2]


def _draw_tree(
    axes: Axes,
    species: Sequence[str],
    rows: Sequence[TreeRow],
    edges: Sequence[Numbers],
    prevalence: Sequence[float],
) -> None:
    for y, row in enumerate(rows):
        if row.edge >= 0:
            x = rows[row.parent].depth
            axes.plot([x, x], [row.parent, y], color="#bbbbbb", lw=0.8, zorder=1)
            values = (edges[row.edge][key] for key in ("weight", "sd"))
            style = link_style(*(float("nan") if value is None else float(value) for value in values))
            axes.plot([x, row.depth], [y, y], zorder=2, **style)
        text = safe_text(str(species[row.species]), 30)
        italic: dict[str, Any] = {"fontsize": SMALL, "fontstyle": "italic"}
        axes.annotate(text, (row.depth, y), xytext=(8, 0), textcoords="offset points", va="center", **italic)
    depth, size = [row.depth for row in rows], [12 + 90 * prevalence[row.species] for row in rows]
    axes.scatter(depth, range(len(rows)), s=size, c="white", edgecolors="black", linewidths=0.9, zorder=3)
    axes.set_axis_off()
    axes.set_title("Residual co-occurrence of species", fontsize=TITLE, loc="left")


def _draw_weights(axes: Axes, rows: Sequence[TreeRow], edges: Sequence[Numbers]) -> None:
    """Draw the weight of the edge of every row, with a whisker of one standard deviation to each side."""
    linked = [y for y, row in enumerate(rows) if row.edge >= 0]
    weights = np.array([edges[rows[y].edge]["weight"] for y in linked])
    spread = np.array([edges[rows[y].edge]["sd"] for y in linked], dtype=np.float64)
    finite = np.isfinite(spread)
    if finite.any():
        axes.errorbar(weights, linked, xerr=np.where(finite, spread, 0), fmt="none", ecolor="#999999", elinewidth=1.0)
    for sure in (True, False):
        part = [k for k in range(len(linked)) if is_sure(weights[k], spread[k]) == sure]
        colours = [_colour(weights[k]) for k in part]
        faces = colours if sure else "white"
        axes.scatter(weights[part], np.array(linked)[part], c=faces, edgecolors=colours, s=16, linewidths=1.0, zorder=3)
    wide = np.where(finite, spread, 0.0)
    low, high = float(np.min(weights - wide, initial=0.0)), float(np.max(weights + wide, initial=0.0))
    room = 0.04 * (high - low)  # at least ten floors to each side, so that negligible weights look negligible
    axes.set_xlim(min(low - room, -10 * FLOOR), max(high + room, 10 * FLOOR))
    axes.axvline(0.0, color="black", lw=0.8)
    axes.tick_params(axis="x", labelsize=SMALL)
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.grid(axis="x", alpha=0.3)
    for weight, label in ((FULL, "co-occurrence"), (-FULL, "avoidance")):
        axes.plot([], [], label=label, **{**link_style(weight, float("nan")), "lw": 2.5})
    axes.plot([], [], label=f"weight below {FLOOR:g}", **link_style(0.0, float("nan")))
    if finite.any():
        axes.plot([], [], label="below its standard deviation", **{**link_style(0.5 * FULL, FULL), "lw": 2.5})
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=SMALL, handlelength=3.2, frameon=False)
    text = "Association with the parent on the left"
    axes.set_xlabel(f"{text} (± standard deviation)" if finite.any() else text, fontsize=SMALL)


def link_style(weight: float, sd: float) -> Numbers:
    """Return the style of a link: the width is the weight, and uncertain weights are pale and dashed."""
    style: dict[str, Any] = {"color": _colour(weight), "lw": 0.6 + 5 * min(abs(weight) / FULL, 1.0), **BUTT}
    return style if is_sure(weight, sd) else {**style, "alpha": PALE_LINK, "ls": DASHES, "dash_capstyle": "butt"}


def is_sure(weight: float, sd: float) -> bool:
    """Whether a weight is at least its standard error or posterior deviation, if that is known."""
    return not abs(weight) < sd


def _colour(weight: float) -> str:
    return NONE if abs(weight) < FLOOR else INK if weight > 0 else ACCENT
