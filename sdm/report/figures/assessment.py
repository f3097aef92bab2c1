"""Pictures of what a model is worth: importance, jackknife, folds on a map, calibration, tuning, curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sdm.assess.curves import CurvePoint
from sdm.assess.importance import Contribution, Jackknife, Permutation
from sdm.assess.profiles import Band, Surface
from sdm.report.figures.species import ACCENT, DPI, INK, LABELS, save, short
from sdm.types import Array, Index

COLOURS = (
    INK, ACCENT, "#5b8e55", "#8a6fa8", "#d9a441", "#4a90a4", "#9c5b3b", "#6b7a8f", "#b5527f", "#7d8c2c",
)  # fmt: skip
MOST_FOLDS = 20  # beyond so many, colours on a map tell nothing


def draw_importance(permutation: Sequence[Permutation], contribution: Sequence[Contribution], path: Path) -> Path:
    """Draw both kinds of importance as bars, the variable that contributes most on top."""
    parts = {row.variable: row.percent for row in contribution}
    rows = sorted(permutation, key=lambda row: (-parts.get(row.variable, 0.0), -row.percent))
    figure, axes, places = _bars(len(rows), 0.42)
    axes.barh(places - 0.2, [parts.get(row.variable, 0.0) for row in rows], 0.38, color=INK, label="contribution")
    errors = [0.0 if np.isnan(row.deviation) else row.deviation for row in rows]
    axes.barh(
        places + 0.2,
        [row.percent for row in rows],
        0.38,
        xerr=errors,
        color=ACCENT,
        ecolor="#555555",
        error_kw={"lw": 0.8},
        label="permutation",
    )
    _name(axes, places, [row.variable for row in rows])
    axes.set_xlim(left=0)
    axes.set_xlabel("Importance (%)")
    axes.legend(fontsize=8, loc="lower right")
    save(figure, path)
    return path


def draw_jackknife(rows: Sequence[Jackknife], measure: str, path: Path) -> Path:
    """Draw one measure of the jackknife as Java Maxent does: without each variable, with it only, and with all."""
    titles = {"train_gain": "Regularised training gain", "test_gain": "Test gain", "test_auc": "Test AUC"}
    names = list(dict.fromkeys(row.variable for row in rows if row.variable))
    value = {(row.variable, row.kind): float(getattr(row, measure)) for row in rows}
    figure, axes, places = _bars(len(names) + 1, 0.42)
    own = places[:-1]
    axes.barh(own - 0.2, [value[name, "without"] for name in names], 0.38, color="#4a90a4", label="without variable")
    axes.barh(own + 0.2, [value[name, "only"] for name in names], 0.38, color=INK, label="with only variable")
    axes.barh(places[-1:], [value["", "all"]], 0.5, color=ACCENT, label="with all variables")
    _name(axes, places, [*names, "all"])
    if measure == "test_auc":
        axes.set_xlim(left=min(0.5, *value.values()))
    axes.set_xlabel(titles[measure])
    figure.legend(fontsize=8, loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)
    return path


def draw_folds(
    presence: tuple[Array, Array],
    group: Index,
    names: Sequence[str],
    path: Path,
    *,
    background: tuple[Array, Array] | None = None,
    background_group: Index | None = None,
    geographic: bool = False,
    title: str = "",
) -> Path:
    """Draw which fold each presence is held out in; where the background is divided too, its points lie below."""
    x, y = presence
    around = (x, y) if background is None else background
    span = [float(np.ptp(np.concatenate([a, b]))) or 1.0 for a, b in zip((x, y), around)]
    middle = np.radians(np.clip(float(np.mean(around[1])), -85, 85))
    aspect = 1.0 / float(np.cos(middle)) if geographic else 1.0
    tall = min(max(span[1] * aspect / span[0], 0.4), 2.0)
    figure = Figure(figsize=(6.4, max(3.0, 5.2 * tall)), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    if background is not None:
        shade = ["#c9ced2" if k < 0 else COLOURS[k % len(COLOURS)] for k in range(-1, len(names))]
        which = np.full(len(around[0]), -1) if background_group is None else background_group
        axes.scatter(*around, s=6, c=[shade[k + 1] for k in which], alpha=0.35, linewidths=0)
    for k, name in enumerate(names):
        mine = group == k
        label = f"{short(name, 18)} ({np.count_nonzero(mine)})"
        axes.plot(
            x[mine], y[mine], "o", ms=5, mfc=COLOURS[k % len(COLOURS)], mec="white", mew=0.6, ls="none", label=label
        )
    axes.set_aspect(aspect)
    axes.tick_params(labelsize=8)
    axes.set_title(short(title, 70).replace("$", r"\$"), fontsize=10)
    axes.legend(title="fold (presences)", fontsize=8, title_fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(figure, path)
    return path


def draw_calibration(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw the share of sites with the species against the prediction; points grow with the number of sites."""
    figure = Figure(figsize=(4.6, 4.4), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#999999", lw=1, ls="--", label="perfectly calibrated")
    predicted, observed = [row["predicted"] for row in rows], [row["observed"] for row in rows]
    axes.plot(predicted, observed, color=INK, lw=1.2)
    count = np.array([row["count"] for row in rows], dtype=float)
    axes.scatter(predicted, observed, s=20 + 160 * count / count.max(), color=INK, zorder=3)
    for a, b, n in zip(predicted, observed, count):
        axes.annotate(f"{n:.0f}", (a, b), (6, -10), textcoords="offset points", fontsize=7, color="#555555")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("Predicted suitability (cloglog)")
    axes.set_ylabel("Share of sites with the species")
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8, loc="upper left")
    save(figure, path)
    return path


def draw_tuning(rows: Sequence[Mapping[str, Any]], by: str, best: int, path: Path) -> Path:
    """Draw a measure against the multiplier, a line for each of the other settings; the chosen one is ringed."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["label"], []).append(row)
    figure = Figure(figsize=(7.2, 4.4), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    for k, (label, own) in enumerate(list(groups.items())[:30]):
        own = sorted(own, key=lambda row: row["multiplier"])
        x, y = [row["multiplier"] for row in own], [row[by] for row in own]
        axes.plot(x, y, "o-", ms=4, lw=1.3, color=COLOURS[k % len(COLOURS)], label=short(label or "model", 30))
    chosen = rows[best]
    axes.plot(chosen["multiplier"], chosen[by], "o", ms=12, mfc="none", mec="black", mew=1.5, label="chosen")
    if len({row["multiplier"] for row in rows}) > 1:
        axes.set_xscale("log")
        ticks = sorted({row["multiplier"] for row in rows})
        if len(ticks) <= 12:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    axes.set_xlabel("Regularisation multiplier")
    axes.set_ylabel(by)
    axes.grid(alpha=0.3)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(figure, path)
    return path


def draw_curves(points: Sequence[CurvePoint], kind: str, path: Path, title: str = "") -> Path:
    """Draw the held-out loss against the number of presences (`learning`) or the multiplier (`sensitivity`).

    The shade is one deviation over the partitions on either side.
    """
    figure = Figure(figsize=(6.4, 4.2), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    groups: dict[tuple[str, int], list[CurvePoint]] = {}
    for point in points:
        groups.setdefault((point.label, 0 if kind == "learning" else point.presences), []).append(point)
    several = len({size for _, size in groups}) > 1
    for k, ((label, size), own) in enumerate(groups.items()):
        x = np.array([p.presences if kind == "learning" else p.multiplier for p in own], dtype=float)
        loss = np.array([p.loss for p in own])
        spread = np.array([p.loss_sd for p in own])
        text = f"{label}, {size} presences" if several else label
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(x, loss, "o-", ms=3.5, lw=1.4, color=colour, label=text)
        if np.isfinite(spread).all():
            axes.fill_between(x, loss - spread, loss + spread, color=colour, alpha=0.1, lw=0)
    axes.set_xscale("log")
    if kind == "learning":
        ticks = sorted({point.presences for point in points})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    axes.set_xlabel("Training presences" if kind == "learning" else "Multiplier of the price (β₀)")
    axes.set_ylabel("Held-out log loss (nats)")
    axes.set_title(short(title, 70).replace("$", r"\$"), fontsize=10)
    axes.grid(alpha=0.3)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8)
    save(figure, path)
    return path


def draw_surface(surface: Surface, scale: str, path: Path) -> Path:
    """Draw the prediction over two variables; the dashed box is what training knew."""
    figure = Figure(figsize=(5.4, 4.4), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    top = 1.0 if scale in ("cloglog", "logistic") else None
    values = zip(surface.classes, (surface.x, surface.y))
    sides = [np.arange(len(names)) if names else own for names, own in values]
    image = axes.pcolormesh(*sides, surface.z.T, cmap="viridis", vmin=0, vmax=top, shading="nearest")
    for axis, names, mark in zip((axes.xaxis, axes.yaxis), surface.classes, (axes.axvline, axes.axhline)):
        if names:
            axis.set_ticks(range(len(names)), [short(name, 10) for name in names])
        else:
            for edge in surface.ranges[0 if axis is axes.xaxis else 1]:
                mark(edge, color="white", ls="--", lw=0.9)
    axes.set_xlabel(short(surface.variables[0]).replace("$", r"\$"))
    axes.set_ylabel(short(surface.variables[1]).replace("$", r"\$"))
    axes.tick_params(labelsize=8)
    figure.colorbar(image, ax=axes, label=LABELS[scale])
    save(figure, path)
    return path


def draw_bands(bands: Sequence[Band], scale: str, path: Path) -> Path:
    """Draw every variable's response over the replicates: the mean, and between which limits they lie."""
    across = min(4, len(bands))
    down = -(-len(bands) // across)
    figure = Figure(figsize=(3.0 * across, 2.3 * down), dpi=DPI, layout="constrained")
    for k, one in enumerate(bands):
        axes = figure.add_subplot(down, across, k + 1)
        if one.classes is None:
            axes.fill_between(one.x, one.lower, one.upper, color=INK, alpha=0.2, lw=0)
            axes.plot(one.x, one.mean, color=INK, lw=1.4)
        else:
            places = np.arange(len(one.classes))
            limits = np.maximum(np.array([one.mean - one.lower, one.upper - one.mean]), 0.0)
            axes.bar(places, one.mean, 0.7, yerr=limits, color=INK, ecolor=ACCENT)
            axes.set_xticks(places, [short(name, 8) for name in one.classes], size=7)
        if scale in ("cloglog", "logistic"):
            axes.set_ylim(0, 1)
        axes.set_xlabel(short(one.variable, 28).replace("$", r"\$"), fontsize=8)
        axes.tick_params(labelsize=7)
    figure.supylabel(LABELS[scale], fontsize=9)
    save(figure, path)
    return path


def _bars(rows: int, step: float) -> tuple[Figure, Axes, Array]:
    """Return a figure that is high enough for so many rows of bars, its axes, and where the rows lie."""
    figure = Figure(figsize=(6.4, 1.1 + step * rows), dpi=DPI, layout="constrained")
    return figure, figure.add_subplot(), np.arange(rows, dtype=float)


def _name(axes: Axes, places: Array, names: Sequence[str]) -> None:
    """Write names beside rows of bars, the first on top."""
    axes.set_yticks(places, [short(name, 28).replace("$", r"\$") for name in names], size=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.invert_yaxis()
