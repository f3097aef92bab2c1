"""Held-out log loss along a complete relaxation path, exact on every segment.

Between two breakpoints each share is linear in the tolerance `x = 1/ν`: `u_j (Q − M x)/U` in I₀, `q_j ± x` outside. So
the loss of held-out records, `−Σ c_j ln(p_j / u_j)`, is convex in `x` there. The same holds for its mean over folds on
the union of their segments. The slopes at both ends of a segment therefore show whether the minimum is inside. Losses
are relative to the prior, in nats per record: zero is the loss of the prior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm._jit import jit
from sdm.errors import FoldsError, MismatchError
from sdm.maxent.paths.homotopy import RelaxationPath
from sdm.maxent.paths.tracking import SUMS, move, total_sums
from sdm.types import Array


@dataclass(frozen=True)
class Choice:
    """A point of the path: ν, the mean held-out loss and its standard error over the folds."""

    nu: float
    mean: float
    error: float


@dataclass(frozen=True)
class PathFold:
    """A path fitted to the training records, and the share of the held-out records in each atom (not of a copy)."""

    path: RelaxationPath = field(repr=False)
    held_out: Array = field(repr=False)


@dataclass(frozen=True)
class PathValidation:
    """The held-out loss of every fold at all K breakpoints, and its exact minimum."""

    folds: tuple[PathFold, ...] = field(repr=False)
    nu: Array = field(repr=False)  # (K,): all breakpoints, the last one infinite; the loss is zero up to the first
    losses: Array = field(repr=False)  # (folds, K)
    best: Choice  # the least mean loss of the path
    one_error: Choice  # the smallest ν (largest tolerance) whose mean is within one standard error of the least

    @property
    def mean(self) -> Array:
        """Return the mean over folds at every breakpoint."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def error(self) -> Array:
        """Return the standard error of the mean at every breakpoint (zero for a single fold)."""
        return _standard_error(self.losses)

    def at(self, nu: ArrayLike) -> Array:
        """Return the exact loss of every fold at any ν, in rising order: (folds, ν)."""
        grid = np.atleast_1d(np.asarray(nu, dtype=np.float64))
        return np.array([_fold_losses(fold, grid)[0] for fold in self.folds])


def validate_path(paths: Sequence[RelaxationPath], held_out: Sequence[ArrayLike]) -> PathValidation:
    """Evaluate held-out records along paths, one path per fold over the same atoms.

    `held_out` has each fold's held-out records in every atom (counts or weights).
    """
    folds = _make_folds(paths, held_out)
    knots = np.unique(np.concatenate([fold.path.knots[0][1:] for fold in folds]))
    nu = np.append(knots, np.inf)
    parts = [_fold_losses(fold, nu) for fold in folds]
    losses = np.array([part[0] for part in parts])
    before, after = (np.mean([part[k] for part in parts], axis=0) for k in (1, 2))
    dips = _Dips(folds, nu, losses.mean(axis=0), before, after)
    best_nu = dips.least()
    best = _choice(folds, best_nu)
    return PathValidation(folds, nu, losses, best, _choice(folds, dips.first_below(best.mean + best.error, best_nu)))


def _make_folds(paths: Sequence[RelaxationPath], tests: Sequence[ArrayLike]) -> tuple[PathFold, ...]:
    if not paths or len(paths) != len(tests):
        raise MismatchError(f"{len(paths)} paths and {len(tests)} held-out sets: expected one of each per fold")
    folds = []
    for k, (path, records) in enumerate(zip(paths, tests)):
        counts = np.asarray(records, dtype=np.float64)
        if counts.shape != paths[0].atoms.u.shape or path.atoms.n != paths[0].atoms.n:
            raise MismatchError(
                f"fold {k + 1} has {path.atoms.n:,} atoms and held-out records of shape {counts.shape}: expected "
                f"{paths[0].atoms.n:,} of each, as in the first fold"
            )
        if not np.all(counts >= 0) or not counts.any() or not np.all(np.isfinite(counts)):
            raise FoldsError(f"fold {k + 1} has no held-out record, or a negative or missing number of them")
        folds.append(PathFold(path, counts / counts.sum()))
    return tuple(folds)


def _standard_error(losses: Array) -> Array:
    """Return the standard error of the mean over the first axis."""
    if losses.shape[0] < 2:
        return np.zeros(losses.shape[1])
    finite = np.all(np.isfinite(losses), axis=0)
    out = np.full(losses.shape[1], np.inf)
    out[finite] = np.std(losses[:, finite], axis=0, ddof=1) / np.sqrt(losses.shape[0])
    return out


def _choice(folds: Sequence[PathFold], nu: float) -> Choice:
    losses = np.array([_fold_losses(fold, np.array([nu]))[0] for fold in folds])
    return Choice(nu, float(losses.mean()), float(_standard_error(losses)[0]))


class _Dips:
    """Segments where the mean loss may be below its values at both ends.

    Segment `k` is from `nu[k]` to `nu[k + 1]`, with `x` falling. `after[k]` and `before[k + 1]` are the slopes in `x`
    at these ends.
    """

    def __init__(self, folds: Sequence[PathFold], nu: Array, mean: Array, before: Array, after: Array) -> None:
        self.folds, self.nu, self.mean = folds, nu, mean
        self.x = 1.0 / nu
        self.dips = np.flatnonzero((after[:-1] > 0.0) & (before[1:] < 0.0))
        self.bound = self._tangents(self.dips, before, after)
        self.minima: dict[int, tuple[float, float]] = {}

    def _tangents(self, k: NDArray[np.int64], before: Array, after: Array) -> Array:
        """Return the loss where the tangents at both ends of segments meet: a lower bound of the loss."""
        lower_slope, upper_slope, width = before[k + 1], after[k], self.x[k] - self.x[k + 1]
        a, b = self.mean[k + 1], self.mean[k]
        out = np.full(k.size, -np.inf)
        finite = np.isfinite(a) & np.isfinite(lower_slope)
        share = (b - a - upper_slope * width)[finite] / (lower_slope - upper_slope)[finite]
        out[finite] = a[finite] + lower_slope[finite] * share
        return out

    def least(self) -> float:
        """Return the ν with the least mean loss."""
        knot = int(np.argmin(self.mean))
        best, nu = float(self.mean[knot]), float(self.nu[knot])
        for i in np.argsort(self.bound, kind="stable"):
            if self.bound[i] >= best:
                break
            value, dip_nu = self._bottom(int(self.dips[i]))
            if value < best:
                best, nu = value, dip_nu
        return nu

    def first_below(self, level: float, best: float) -> float:
        """Return the smallest ν whose mean loss is at most `level`; the loss is at most `level` at ν = `best`."""
        low = np.flatnonzero(self.mean <= level)
        first = int(low[0]) if low.size else self.nu.size
        ends = float(self.nu[first]) if low.size else best
        for dip, bound in zip(self.dips, self.bound):
            if dip < first and bound <= level:
                value, dip_nu = self._bottom(int(dip))
                if value <= level:
                    first, ends = int(dip) + 1, dip_nu
                    break
        if first == 0 or first == self.nu.size:  # the prior, or only the best up to rounding
            return ends
        mean = _segment_mean(self.folds, float(self.nu[first - 1]), float(self.nu[first]))
        return 1.0 / _bisect(lambda x: level - mean(x)[0], 1.0 / ends, float(self.x[first - 1]))

    def _bottom(self, k: int) -> tuple[float, float]:
        """Return the least mean loss within segment `k`, and its ν."""
        if k not in self.minima:
            mean = _segment_mean(self.folds, float(self.nu[k]), float(self.nu[k + 1]))
            x = _bisect(lambda x: -mean(x)[1], float(self.x[k + 1]), float(self.x[k]))
            self.minima[k] = mean(x)[0], 1.0 / x
        return self.minima[k]


def _bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of a decreasing function in [low, high], rounded to the side where it is not negative."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if falling(middle) >= 0.0:
            low = middle
        else:
            high = middle
    return low if low > 0.0 else high


def _segment_mean(folds: Sequence[PathFold], start: float, end: float) -> Callable[[float], tuple[float, float]]:
    """Return the mean loss on the segment between two ν, and its slope, as a function of the tolerance `x`."""
    pieces = []
    for fold in folds:
        atoms = fold.path.atoms
        sign = fold.path.signs(start * (1 + 1e-12) if np.isinf(end) else 0.5 * (start + end))
        used = (fold.held_out > 0) & (sign != 0)
        sums = np.zeros(SUMS)
        inside, _ = total_sums(atoms.u, atoms.q, atoms.m, sign, sums)
        flat, tilt = (sums[4] / sums[2], -sums[0] / sums[2]) if inside else (1.0, 0.0)
        outside = (fold.held_out[used], atoms.u[used], atoms.q[used], sign[used])
        pieces.append((*outside, fold.held_out[sign == 0].sum(), flat, tilt))

    def mean(x: float) -> tuple[float, float]:
        value, slope = 0.0, 0.0
        for held_out, u, q, sign, middle, flat, tilt in pieces:
            p, ratio = q + sign * x, flat + tilt * x
            value -= float(held_out @ np.log(p / u)) + (middle * np.log(ratio) if middle else 0.0)
            slope -= float(held_out @ (sign / p)) + (middle * tilt / ratio if middle else 0.0)
        return value / len(pieces), slope / len(pieces)

    return mean


def _fold_losses(fold: PathFold, nu: Array) -> tuple[Array, Array, Array]:
    """Return a fold's loss at increasing ν, and its slopes in `x` on the segments before and after each ν."""
    atoms, path = fold.path.atoms, fold.path
    used = fold.held_out > 0
    level, position = np.unique(atoms.q[used], return_inverse=True)
    group = np.full(atoms.n, -1, dtype=np.int64)
    group[used] = position
    value, before, after = np.empty(nu.size), np.empty(nu.size), np.empty(nu.size)
    sums, sign = np.zeros(SUMS), np.zeros(atoms.n, dtype=np.int8)
    counts = np.array(total_sums(atoms.u, atoms.q, atoms.m, sign, sums), dtype=np.int64)
    records = (fold.held_out, np.log(atoms.u), group, level)
    moves = (path.nu, path.atom, path.step, sign, sums, counts)
    _sweep(atoms.u, atoms.q, atoms.m, *records, *moves, nu, value, before, after)
    return value, before, after


@jit
def _sweep(u, q, m, held_out, log_u, group, level, nu, atom, step, sign, sums, counts, grid, value, before, after):  # type: ignore[no-untyped-def]
    """Make the moves of a path; write the loss, and its slopes in x before and after the moves, at each ν of the
    grid."""
    upper, lower = np.zeros(level.size), np.zeros(level.size)  # held-out share in I₊ and in I₋, by level of q
    middle, outside = held_out.sum(), 0.0  # held-out share in I₀; Σ held_out ln u outside
    k = 0
    for g in range(grid.size):
        x = 1.0 / grid[g]
        while k < nu.size and nu[k] < grid[g] * (1 - 1e-12):
            share, part = _pass(u, q, m, held_out, log_u, group, atom[k], step[k], sign, sums, counts, upper, lower)
            middle, outside = middle + share, outside + part
            k += 1
        value[g], before[g] = _loss(level, upper, lower, middle, outside, sums, counts, x)
        while k < nu.size and nu[k] <= grid[g] * (1 + 1e-12):
            share, part = _pass(u, q, m, held_out, log_u, group, atom[k], step[k], sign, sums, counts, upper, lower)
            middle, outside = middle + share, outside + part
            k += 1
        after[g] = _loss(level, upper, lower, middle, outside, sums, counts, x)[1]


@jit
def _pass(u, q, m, held_out, log_u, group, j, step, sign, sums, counts, upper, lower):  # type: ignore[no-untyped-def]
    """Make one move and update the shares of held-out records; return the changes in I₀ and in Σ held_out ln u
    outside."""
    leaves = sign[j] == 0
    side = upper if (step > 0) == leaves else lower
    move(u, q, m, sign, j, step, sums, counts)
    if held_out[j] == 0.0:
        return 0.0, 0.0
    share = held_out[j] if leaves else -held_out[j]
    side[group[j]] += share
    return -share, share * log_u[j]


@jit
def _loss(level, upper, lower, middle, outside, sums, counts, x):  # type: ignore[no-untyped-def]
    """Return −Σ held_out ln(p/u) on the current segment at tolerance x, and its derivative."""
    out, slope = outside, 0.0
    if counts[0] and middle > 1e-14:
        flat = (sums[4] + sums[5]) / (sums[2] + sums[3])
        tilt = -(sums[0] + sums[1]) / (sums[2] + sums[3])
        ratio = flat + tilt * x if tilt != 0.0 else flat  # at ν = 0 x is infinite, before any move
        out -= middle * np.log(ratio)
        slope -= middle * tilt / ratio
    for g in range(level.size):
        if upper[g] > 1e-14:
            out -= upper[g] * np.log(level[g] + x)
            slope -= upper[g] / (level[g] + x)
        if lower[g] > 1e-14:
            out -= lower[g] * np.log(level[g] - x)
            slope += lower[g] / (level[g] - x)
    return out, slope
