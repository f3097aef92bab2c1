"""Pictures of a community: the matrix of all associations, and the parts of what a joint model says of each species."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.joint.levels import HALF_WIDTH, RandomEffect
from sdm.joint.pairs import SURE
from sdm.report.figures.style import GREY, Sheet, few_ticks, new_figure, safe_text, save
from sdm.report.paper import PAGE, PLAIN, SMALL, TITLE, Paper
from sdm.types import Array, Row

CELL = 4.2  # millimetres per species
TALLEST = 3800.0
NARROW = 110.0
MOST_LEVELS = 60
PALE = 0.3  # of pairs that are not certain
COLOURS = "RdBu"  # blue is together, red apart, as in the picture of the network


def draw_matrix(species: Sequence[str], weights: Array, q: Array, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the associations of all pairs, species in an order that puts those with like associations side by side.

    `weights` and `q` (adjusted p-values) are symmetric matrices, NaN where a pair has none. A dot marks those that are
    certain at a false discovery rate of 5 %, the others are pale.
    """
    order = likeness_order(weights)
    shown, sure = weights[np.ix_(order, order)], q[np.ix_(order, order)] <= SURE
    side = CELL * len(species)
    figure = new_figure(max(side + 60.0, NARROW), min(max(side + 35.0, NARROW - 25.0), TALLEST), paper)
    axes = figure.subplots()
    most = float(np.nanmax(np.abs(shown), initial=0.1))
    scale: dict[str, Any] = {"cmap": COLOURS, "vmin": -most, "vmax": most, "interpolation": "nearest"}
    axes.imshow(shown, alpha=np.where(sure, 1.0, PALE), **scale)
    image = axes.imshow(np.where(sure, shown, np.nan), **scale)  # whose colours the strip beside has
    y, x = np.nonzero(sure)
    axes.scatter(x, y, s=3, c="black", linewidths=0)
    names = [safe_text(str(species[k]), 30) for k in order]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL, fontstyle="italic")
    axes.set_yticks(range(len(names)), names, fontsize=SMALL, fontstyle="italic")
    axes.set_title("Associations of all pairs beyond the environment", fontsize=TITLE, loc="left")
    strip = figure.colorbar(image, ax=axes, shrink=0.6)
    few_ticks(strip)
    strip.set_label("apart  –  weight  –  together (dot: q below 0.05)", fontsize=SMALL)
    return save(figure, path)


def draw_levels(random: RandomEffect, species: Sequence[str], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the effect of every level on every species as a table of colours, pale where the 95 % interval has zero.

    Levels and species are in an order that puts those with like effects side by side; of many levels, those with the
    largest effects are shown.
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
        "rarer – log-odds – more common (pale: not certain)",
    )
    figure = _table_figure(effect[np.ix_(rows, columns)], unsure[np.ix_(rows, columns)], *names, *text, paper)
    for name in figure.axes[0].get_yticklabels():
        name.set_fontstyle("italic")
    return save(figure, path)


def draw_corner(rows: Sequence[Row], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw how the effects of features change with traits, pale where the 95 % interval has zero.

    `rows` are those of the fourth corner.
    """
    traits, features = (list(dict.fromkeys(sorted(str(row[key]) for row in rows))) for key in ("trait", "feature"))
    weight, unsure = np.zeros((len(traits), len(features))), np.zeros((len(traits), len(features)), dtype=bool)
    for row in rows:
        at = traits.index(str(row["trait"])), features.index(str(row["feature"]))
        weight[at], unsure[at] = row["weight"], row.get("low", 1.0) <= 0 <= row.get("high", 1.0)
    text = "Traits and the environment", "weaker – effect – stronger with the trait (pale: not certain)"
    return save(_table_figure(weight, unsure, traits, features, *text, paper), path)


def _table_figure(
    values: Array,
    unsure: NDArray[np.bool_],
    row_names: Sequence[str],
    column_names: Sequence[str],
    title: str,
    label: str,
    paper: Paper,
) -> Sheet:
    """Return the picture of a table of effects as colours, those that are unsure pale."""
    rows, columns = values.shape
    figure = new_figure(max(CELL * columns + 75.0, NARROW), min(max(CELL * rows + 45.0, 75.0), TALLEST), paper)
    axes = figure.subplots()
    most = float(np.max(np.abs(values), initial=0.1))
    scale: dict[str, Any] = {"cmap": COLOURS, "vmin": -most, "vmax": most, "interpolation": "nearest"}
    axes.imshow(values, alpha=np.where(unsure, PALE, 1.0), **scale)
    image = axes.imshow(np.where(unsure, np.nan, values), **scale)  # whose colours the strip beside has
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
    """Return the leading singular vectors of a matrix, with a sign of their own."""
    left, _, right = np.linalg.svd(effect, full_matrices=False)
    sign = 1.0 if right[0, int(np.argmax(np.abs(right[0])))] > 0 else -1.0
    return sign * left[:, 0], sign * right[0]


def likeness_order(weights: Array) -> list[int]:
    """Return species by the leading eigenvector of their associations: those that are found together are neighbours."""
    filled = np.nan_to_num(weights)
    if len(filled) < 3:
        return list(range(len(filled)))
    vector = np.linalg.eigh(filled)[1][:, -1]
    vector = vector if vector[int(np.argmax(np.abs(vector)))] > 0 else -vector
    return [int(k) for k in np.argsort(vector, kind="stable")]


def draw_partition(rows: Sequence[Row], parts: Sequence[str], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the shares of variables and associations in every species' log-odds, one bar per species.

    `rows` are those of `partition_variance`; the largest part on average is at the left, associations are at the right.
    """
    last = parts[-1]
    ranked = sorted(parts[:-1], key=lambda part: -np.mean([max(row[part], 0.0) for row in rows]))
    shown = [*ranked[:8], *(["other variables"] if len(ranked) > 8 else []), last]
    values = {
        part: np.array(
            [sum(row[name] for name in ranked[8:]) if part == "other variables" else row[part] for row in rows]
        )
        for part in shown
    }
    figure = new_figure(PAGE, min(32.0 + CELL * len(rows), TALLEST), paper)
    axes = figure.subplots()
    colours = _colours(len(shown) - 1)
    right, left = np.zeros(len(rows)), np.zeros(len(rows))
    for part, colour in zip(shown, [*colours, GREY]):
        width = values[part]
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


def _colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](k / max(count - 1, 1)) for k in range(count)]
