"""Pictures of model performance: importance, jackknife, folds on a map, calibration, tuning, curves, bands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.curves import CurvePoint
from sdm.assess.importance import Contribution, Jackknife, Permutation
from sdm.assess.profiles import Band, Surface
from sdm.report.charts import (
    SCALES,
    TOP,
    ResponseCurve,
    calibration_chart,
    curve_chart,
    importance_chart,
    jackknife_charts,
)
from sdm.report.figures.charts import draw_bars, draw_curve, draw_panels
from sdm.report.figures.style import COLOURS, drawable, one_plot, safe_text, save
from sdm.types import Array, Index

MOST_FOLDS = 20  # beyond this number colours cannot be told apart on a map


def draw_importance(permutation: Sequence[Permutation], contribution: Sequence[Contribution], path: Path) -> Path:
    """Draw both kinds of importance as bars, the variable that contributes most on top."""
    rows = ([asdict(row) for row in part] for part in (permutation, contribution))
    return draw_bars(importance_chart(*rows, brief=True), path)


def draw_jackknife(rows: Sequence[Jackknife], measure: str, path: Path) -> Path:
    """Draw one measure of the jackknife: without each variable, with it only, and a line for all variables."""
    return draw_bars(jackknife_charts([asdict(row) for row in rows])[measure], path)


def draw_calibration(rows: Sequence[Mapping[str, Any]], path: Path, subject: str = "the species") -> Path:
    """Draw the share of sites with the species against the prediction; points grow with the number of sites."""
    return draw_curve(calibration_chart(rows, subject), path)


def draw_bands(bands: Sequence[Band], scale: str, path: Path) -> Path:
    """Draw every variable's response over the replicates: the mean, and between which limits they lie."""
    top = TOP.get(scale)
    charts = [
        curve_chart(
            band.variable,
            {"mean": ResponseCurve(*_listed(band.x, band.mean), band.classes, limits=_listed(band.lower, band.upper))},
            title=f"Response to {band.variable} over replicates",
            y_label=SCALES[scale],
            y_range=None if top is None else (0.0, top),
        )
        for band in bands
    ]
    return draw_panels(charts, path)


def _listed(one: Array, other: Array) -> tuple[list[float], list[float]]:
    return one.tolist(), other.tolist()


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
    figure, axes = one_plot(6.4, max(3.0, 5.2 * tall))
    if background is not None:
        shade = ["#c9ced2" if k < 0 else COLOURS[k % len(COLOURS)] for k in range(-1, len(names))]
        which = np.full(len(around[0]), -1) if background_group is None else background_group
        axes.scatter(*around, s=6, c=[shade[k + 1] for k in which], alpha=0.35, linewidths=0)
    for k, name in enumerate(names):
        mine = group == k
        label = f"{drawable(name, 18)} ({np.count_nonzero(mine)})"
        axes.plot(
            x[mine], y[mine], "o", ms=5, mfc=COLOURS[k % len(COLOURS)], mec="white", mew=0.6, ls="none", label=label
        )
    axes.set_aspect(aspect)
    axes.tick_params(labelsize=8)
    axes.set_title(safe_text(title, 70), fontsize=10)
    axes.legend(title="fold (presences)", fontsize=8, title_fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return save(figure, path)


def draw_tuning(rows: Sequence[Mapping[str, Any]], by: str, best: int, path: Path) -> Path:
    """Draw a measure against the multiplier, a line for each of the other settings; the chosen one is ringed."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["label"], []).append(row)
    figure, axes = one_plot(7.2, 4.4)
    for k, (label, own) in enumerate(list(groups.items())[:30]):
        own = sorted(own, key=lambda row: row["multiplier"])
        x, y = [row["multiplier"] for row in own], [row[by] for row in own]
        axes.plot(x, y, "o-", ms=4, lw=1.3, color=COLOURS[k % len(COLOURS)], label=drawable(label or "model", 30))
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
    return save(figure, path)


def draw_curves(points: Sequence[CurvePoint], kind: str, path: Path, title: str = "") -> Path:
    """Draw the held-out loss against the number of presences (`learning`) or the multiplier (`sensitivity`).

    The shade is one deviation over the partitions on either side.
    """
    figure, axes = one_plot(6.4, 4.2)
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
    axes.set_xlabel("Training presences" if kind == "learning" else "Regularisation multiplier (β₀)")
    axes.set_ylabel("Held-out log loss (nats)")
    axes.set_title(safe_text(title, 70), fontsize=10)
    axes.grid(alpha=0.3)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8)
    return save(figure, path)


def draw_surface(surface: Surface, scale: str, path: Path) -> Path:
    """Draw the prediction over two variables; the dashed box is what training knew."""
    figure, axes = one_plot(5.4, 4.4)
    top = 1.0 if scale in ("cloglog", "logistic") else None
    values = zip(surface.classes, (surface.x, surface.y))
    sides = [np.arange(len(names)) if names else own for names, own in values]
    image = axes.pcolormesh(*sides, surface.z.T, cmap="viridis", vmin=0, vmax=top, shading="nearest")
    for axis, names, mark in zip((axes.xaxis, axes.yaxis), surface.classes, (axes.axvline, axes.axhline)):
        if names:
            axis.set_ticks(range(len(names)), [drawable(name, 10) for name in names])
        else:
            for edge in surface.ranges[0 if axis is axes.xaxis else 1]:
                mark(edge, color="white", ls="--", lw=0.9)
    axes.set_xlabel(safe_text(surface.variables[0]))
    axes.set_ylabel(safe_text(surface.variables[1]))
    axes.tick_params(labelsize=8)
    figure.colorbar(image, ax=axes, label=SCALES[scale])
    return save(figure, path)
