"""Figures of paths: μ(ν) with its breakpoints, shares of strata, held-out loss, multipliers, strengths."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter
from scipy.ndimage import binary_dilation

from sdm.assess.paths.strata import PathValidation
from sdm.maxent.paths.homotopy import RelaxationPath
from sdm.maxent.paths.multiplier import CertifiedPath
from sdm.report.charts import COLOURS
from sdm.report.figures.style import ACCENT, GREY, INK, log_ticks, new_figure, one_plot, safe_text, save, tidy
from sdm.report.paper import COLUMN, PAGE, PLAIN, SMALL, TEXT, TITLE, Paper
from sdm.report.results import column, number
from sdm.types import Array, Index, Row

LINES = 8  # largest number of atoms with drawn boundary lines
POINTS = 600  # points of a curve
UP, DOWN = ACCENT, "#2166ac"  # upper and lower boundary lines


def draw_mu(path: RelaxationPath, target: Path, *, title: str = "", paper: Paper = PLAIN) -> Path:
    """Draw μ(ν) with its breakpoints; for a few atoms also the lines `u μ − q ν = ±1` that define them."""
    nu, mu = path.knots
    right = 1.25 * float(nu[-1]) if nu.size > 1 else 1.0
    end = float(path.mu_at(right))
    figure, axes = one_plot(COLUMN, 66.0, paper)
    if path.atoms.n <= LINES:
        x = np.array([0.0, right])
        for u, q in zip(path.atoms.u, path.atoms.q):
            axes.plot(x, (q * x + 1.0) / u, color=UP, lw=0.8, alpha=0.7)
            axes.plot(x, (q * x - 1.0) / u, color=DOWN, lw=0.8, alpha=0.7)
        for colour, side in ((UP, "upper"), (DOWN, "lower")):
            axes.plot([], [], color=colour, lw=0.8, label=f"{side} end of the tolerance")
    axes.plot(np.append(nu, right), np.append(mu, end), color="#3a7d44", lw=2.0, label="μ(ν)")
    size = 5.0 if nu.size < 200 else 1.5
    breaks = f"{nu.size - 1:,} breakpoint{'' if nu.size == 2 else 's'}"
    axes.plot(nu[1:], mu[1:], "o", color="black", ms=size, ls="none", label=breaks)
    axes.set_xlim(0, right)
    axes.set_ylim(0, 1.08 * max(end, float(mu.max())))
    _label(axes, "ν (tolerance is 1/ν)", "μ", title)
    axes.legend(loc="upper left", fontsize=SMALL, framealpha=0.9)
    return save(figure, target)


def draw_strata(
    path: RelaxationPath,
    target: Path,
    *,
    names: Sequence[str] | None = None,
    marks: Sequence[tuple[str, float]] = (),
    most: int = 10,
    title: str = "",
    paper: Paper = PLAIN,
) -> Path:
    """Draw the share of each stratum (all its copies) against the tolerance, from the prior to the observed share.

    `marks` are labels with the ν of a vertical line. The `most` strata with the largest changes are coloured and
    labelled.
    """
    atoms = path.atoms
    tolerance = _tolerances(np.concatenate([path.knots[0], [nu for _, nu in marks if np.isfinite(nu)]]))
    shares = np.array([atoms.m * path.p(1.0 / x) for x in tolerance])
    moves = np.argsort(-np.ptp(shares, axis=0), kind="stable")
    figure, axes = one_plot(PAGE, 90.0, paper)
    labels = [f"stratum {j + 1}" for j in range(len(moves))] if names is None else names
    _lines(axes, tolerance, shares, moves, most, [safe_text(str(label), 24) for label in labels])
    for k, j in enumerate(moves[:most]):
        axes.plot([tolerance[-1]], [shares[-1, j]], "o", color=COLOURS[k % len(COLOURS)], ms=3)
    _tolerance_axis(axes, tolerance)
    for k, (label, nu) in enumerate(marks):
        if np.isfinite(nu):
            _mark(axes, 1.0 / nu, label, k)
    axes.set_ylim(bottom=0)
    _label(axes, "tolerance 1/ν (left: prior; right: observed shares)", "share of the stratum", title)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=SMALL, frameon=False)
    return save(figure, target)


def draw_validation(validation: PathValidation, target: Path, *, title: str = "", paper: Paper = PLAIN) -> Path:
    """Draw the mean held-out loss with its standard error along the path, and mark the two selected tolerances."""
    tolerance = _tolerances(np.append(0.0, validation.nu[np.isfinite(validation.nu)]))
    losses = validation.at(1.0 / tolerance)
    has_loss = np.all(np.isfinite(losses), axis=0)
    tolerance, losses = tolerance[has_loss], losses[:, has_loss]
    mean = losses.mean(axis=0)
    error = losses.std(axis=0, ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else np.zeros_like(mean)
    figure, axes = one_plot(1.5 * COLUMN, 85.0, paper)
    for row in losses:
        axes.plot(tolerance, row, color=GREY, lw=0.5, alpha=0.6)
    axes.fill_between(tolerance, mean - error, mean + error, color=INK, alpha=0.15, lw=0)
    axes.plot(tolerance, mean, color=INK, lw=1.8, label=f"mean of {len(losses)} folds ± standard error")
    axes.axhline(0.0, color=GREY, lw=0.8, ls=":")
    best, simple = validation.best, validation.one_error
    axes.axhline(best.mean + best.error, color=ACCENT, lw=0.7, ls="--")
    for choice, marker, label in ((best, "o", "least"), (simple, "s", "largest tolerance within one standard error")):
        if np.isfinite(choice.nu):
            x = 1.0 / choice.nu
            axes.plot([x], [choice.mean], marker, color=ACCENT, ms=6, ls="none", label=f"{label}: {1 / choice.nu:.3g}")
    _tolerance_axis(axes, tolerance)
    span = [float((mean - error).min()), max(float((mean + error)[0]), best.mean + 2 * best.error, 0.0)]
    margin = 0.08 * (span[1] - span[0]) or 0.1
    axes.set_ylim(span[0] - margin, span[1] + 3 * margin)
    _label(axes, "tolerance 1/ν", "held-out log loss relative to the prior (nats)", title)
    axes.legend(loc="upper center", fontsize=SMALL, framealpha=0.9)
    return save(figure, target)


def draw_multipliers(
    path: CertifiedPath,
    target: Path,
    *,
    names: Sequence[str] | None = None,
    loss: tuple[Array, Array] | None = None,
    marks: Sequence[tuple[str, float]] = (),
    most: int = 8,
    title: str = "",
    paper: Paper = PLAIN,
) -> Path:
    """Draw weights, number of features and gain of the fits against the multiplier, and the held-out loss if there is
    one.

    `loss` is the mean at every fit and its standard error; `marks` are labels with the multiplier of a vertical line.
    At most `most` features, those with the largest weights, are coloured.
    """
    t, weights = path.multipliers, path.coefficients()
    # A line starts and ends at zero, at the fits next to those with a non-zero weight.
    drawn = np.where(binary_dilation(weights != 0, np.ones((3, 1))), weights, np.nan)
    rows = 4 if loss is not None else 3
    figure = new_figure(PAGE, 45.0 * rows + 30.0, paper)
    panels = figure.subplots(rows, 1, sharex=True, height_ratios=[2.0] + [1.0] * (rows - 1))
    largest = np.abs(weights).max(axis=0)
    order = np.argsort(-largest, kind="stable")[: int(np.count_nonzero(largest))]
    top = panels[0]
    labels = [f"feature {j + 1}" for j in range(len(largest))] if names is None else names
    _lines(top, t, drawn, order, most, [safe_text(str(label), 34) for label in labels])
    top.axhline(0.0, color="black", lw=0.5)
    top.legend(loc="upper left", fontsize=SMALL, framealpha=0.85)
    panels[1].step(t, [knot.n_nonzero for knot in path.knots], color=INK, where="post")
    panels[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    panels[2].plot(t, [knot.unregularized_gain for knot in path.knots], color=INK, label="gain")
    panels[2].plot(t, [knot.gain for knot in path.knots], color=INK, ls="--", label="regularised gain")
    panels[2].legend(loc="upper left", fontsize=SMALL, frameon=False)
    if loss is not None:
        mean, error = loss
        panels[3].fill_between(t, mean - error, mean + error, color=INK, alpha=0.15, lw=0)
        panels[3].plot(t, mean, color=INK)
    heads = ("weight", "features", "gain (nats)", "held-out loss")
    for axes, head in zip(panels, heads):
        _label(axes, "", head, "")
        for k, (label, multiplier) in enumerate(marks):
            _mark(axes, multiplier, label if axes is top else "", k)
    panels[0].set_title(safe_text(title, 70), fontsize=TITLE, fontstyle="italic")
    last = panels[-1]
    last.set_xscale("log")
    last.set_xlim(t[0], t[-1])
    log_ticks(last.xaxis)
    proof = f"{len(path.knots)} fits; between them the gap is at most {path.gap:.1e} nats"
    last.set_xlabel(f"multiplier of every penalty ({proof})", fontsize=TEXT)
    return save(figure, target)


def _lines(axes: Axes, x: Array, values: Array, order: Index, most: int, names: Sequence[str]) -> None:
    """Plot columns of values as lines: the first ones of an order coloured and labelled, the others grey."""
    for j in order[most : most + 300]:
        axes.plot(x, values[:, j], color=GREY, lw=0.5, alpha=0.5)
    for k, j in enumerate(order[:most]):
        axes.plot(x, values[:, j], color=COLOURS[k % len(COLOURS)], lw=1.5, label=names[j])


def _tolerances(knots: Array) -> Array:
    """Return decreasing tolerances for a plot, from before the first breakpoint to after the last."""
    positive = np.sort(knots[knots > 0])
    if not positive.size:
        return np.geomspace(1.0, 0.01, 50)
    ends = 1.6 / positive[0], 0.4 / positive[-1]
    fine = np.geomspace(*ends, POINTS)
    inner = 1.0 / positive if positive.size <= POINTS else np.empty(0)
    return np.unique(np.concatenate([fine, inner]))[::-1]


def _tolerance_axis(axes: Axes, tolerance: Array) -> None:
    """Use a logarithmic axis on which the tolerance decreases from left to right."""
    axes.set_xscale("log")
    axes.set_xlim(tolerance[0], tolerance[-1])
    log_ticks(axes.xaxis)


def _mark(axes: Axes, x: float, label: str, k: int) -> None:
    axes.axvline(x, color=ACCENT, lw=1.0, ls=("--", ":", "-.")[k % 3])
    if label:
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(label, (x, 1.0), xytext=(3, -4 - 11 * k), fontsize=SMALL, color=ACCENT, va="top", **place)


def _label(axes: Axes, x: str, y: str, title: str) -> None:
    tidy(axes, x=x, y=y)
    if title:
        axes.set_title(safe_text(title, 70), fontsize=TITLE, fontstyle="italic")


def draw_strengths(rows: Sequence[Row], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the held-out loss with its standard error (or the training loss) and the number of axes against the strength
    of the penalty; mark the selected strength."""
    strength = [number(row["strength"]) or np.nan for row in rows]
    held = any(number(row.get("held_out")) is not None for row in rows)
    error = [number(row.get("held_out_se")) or 0.0 for row in rows] if held else None
    figure = new_figure(COLUMN, 75.0, paper)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.0, 1.0])
    look: dict[str, Any] = {"color": INK, "fmt": "o-", "ms": 4, "lw": 1.2, "ecolor": GREY, "capsize": 2}
    top.errorbar(strength, column(rows, "held_out" if held else "loss"), yerr=error, **look)
    tidy(top, y="Held-out loss (nats)" if held else "Training loss (nats)")
    bottom.plot(strength, [number(row.get("rank")) or 0.0 for row in rows], "o-", color=INK, ms=4, lw=1.2)
    tidy(bottom, x="Strength of the penalty on axes", y="Axes")
    bottom.set_ylim(bottom=0)
    bottom.yaxis.set_major_locator(MaxNLocator(integer=True))
    chosen = [x for x, row in zip(strength, rows) if str(row.get("chosen")) == "True"]
    for axes in (top, bottom):
        for x in chosen:
            axes.axvline(x, color=ACCENT, lw=1.0, ls="--", label=f"selected: {x:g}")
    if chosen:
        top.legend(fontsize=SMALL, frameon=False)
    bottom.set_xscale("log")
    bottom.set_xticks(strength, minor=False)
    bottom.xaxis.set_major_formatter(ScalarFormatter())
    bottom.xaxis.set_minor_formatter(NullFormatter())
    return save(figure, path)
