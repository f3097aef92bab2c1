"""Sums over ridges at many cells: a few hundred cells at a time, in the same order for every cell.

What a cell gets does not depend on which other cells are computed with it, so that the same place always has the same
prediction, to the last digit. That is why no library of matrices is asked.
"""

import math

import numpy as np

from sdm._jit import jit, jit_sum
from sdm.features.ridges import WAVE, Ridges
from sdm.types import Array

BLOCK = 16_384  # cells whose variables are standardised at a time
_CHUNK = 512  # cells that are computed together: they stay in the fastest cache
_PER_TURN = 1.0 / (2.0 * math.pi)
_TURN = 6.2831853069365025  # 2π in two parts: the first has so few digits that its multiples are exact
_TURN_REST = 2.430840202602477e-10


class CompiledRidges:
    """Ridges for kernels; `lo, hi` are the training range of each variable, in which clamping holds it."""

    def __init__(self, ridges: Ridges, lo: Array, hi: Array) -> None:
        self.ridges = ridges
        self._used = np.flatnonzero(ridges.used)
        frame = (lo, hi, ridges.centre, ridges.scale)
        self._lo, self._hi, self._centre, self._scale = (part[self._used, None] for part in frame)
        self._directions = np.ascontiguousarray(ridges.directions[:, self._used])

    def standardised(self, x: Array, clamp: bool) -> Array:
        """Return `u` of the variables in use, (U, n), of cells given as a `(V, n)` array."""
        rows = x[self._used]
        held = np.clip(rows, self._lo, self._hi) if clamp else rows
        return (held - self._centre) / self._scale

    def add_scores(self, x: Array, clamp: bool, theta: Array) -> None:
        """Add the weighted ridges of cells given as a `(V, n)` array."""
        ridges = self.ridges
        for first in range(0, theta.size, BLOCK):
            some = slice(first, first + BLOCK)
            u = self.standardised(x[:, some], clamp)
            add_ridges(u, self._directions, ridges, ridges.weight, theta[some])


def add_ridges(u: Array, directions: Array, ridges: Ridges, weight: Array, theta: Array) -> None:
    """Add `Σ_k weight_k f_k` to `theta`, from standardised variables (U, n) and directions along them (K, U)."""
    used = np.flatnonzero(weight)
    if used.size:
        slope = weight[used] * ridges.slopes[used]
        _add_scores(u, directions[used], ridges.bend[used], ridges.kind[used] == WAVE, slope, ridges.lo[used], theta)


def ridge_values(u: Array, direction: Array, bend: float, wave: bool) -> Array:
    """Return the values of one ridge, not scaled, from standardised variables (U, n)."""
    out = np.empty(u.shape[1])
    _values(u, direction, bend, wave, out)
    return out


def ridge_ranges(u: Array, directions: Array, bend: Array, wave: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest value of every ridge, from standardised variables (U, n)."""
    lo, hi = np.full(len(bend), np.inf), np.full(len(bend), -np.inf)
    _ranges(u, directions, bend, wave, lo, hi)
    return lo, hi


def ridge_moments(u: Array, directions: Array, ridges: Ridges, mass: Array, squares: bool) -> tuple[Array, Array]:
    """Return `Σ_i mass_i f_k(i)` of every ridge and, where asked for, the same of their squares."""
    mean, square = np.zeros(len(ridges)), np.zeros(len(ridges))
    wave, slope = ridges.kind == WAVE, ridges.slopes
    _moments(u, directions, ridges.bend, wave, slope, ridges.lo, mass, squares, mean, square)
    return mean, square


@jit
def _cosines(z):  # type: ignore[no-untyped-def]
    """z[i] = cos z[i], several at a time, as exact as z itself up to a million turns: less whole turns it is `r`, and
    `cos r = 1 − 2 sin²(r/2)`, the sine by its series up to the 21st power."""
    for i in range(z.size):
        turns = math.floor(z[i] * _PER_TURN + 0.5)
        h = 0.5 * ((z[i] - turns * _TURN) - turns * _TURN_REST)
        s = h * h
        sine = 1.0 / 51090942171709440000.0
        sine = sine * s - 1.0 / 121645100408832000.0
        sine = sine * s + 1.0 / 355687428096000.0
        sine = sine * s - 1.0 / 1307674368000.0
        sine = sine * s + 1.0 / 6227020800.0
        sine = sine * s - 1.0 / 39916800.0
        sine = sine * s + 1.0 / 362880.0
        sine = sine * s - 1.0 / 5040.0
        sine = sine * s + 1.0 / 120.0
        sine = sine * s - 1.0 / 6.0
        sine = h * (sine * s + 1.0)
        z[i] = 1.0 - 2.0 * (sine * sine)


@jit
def _values(u, direction, bend, wave, out):  # type: ignore[no-untyped-def]
    """out[i] = max(0, Σ_v direction_v u[v, i] + bend), or the cosine; four variables at a time."""
    out[:] = bend
    whole = direction.size // 4 * 4
    for v in range(0, whole, 4):
        a, b, c, d = direction[v], direction[v + 1], direction[v + 2], direction[v + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            first, second, third, fourth = u[v], u[v + 1], u[v + 2], u[v + 3]
            for i in range(out.size):
                out[i] += (a * first[i] + b * second[i]) + (c * third[i] + d * fourth[i])
    for v in range(whole, direction.size):
        a = direction[v]
        if a != 0.0:
            row = u[v]
            for i in range(out.size):
                out[i] += a * row[i]
    if wave:
        _cosines(out)
    else:
        for i in range(out.size):
            out[i] = out[i] if out[i] > 0.0 else 0.0


@jit
def _copied(u, begin, stop, rows):  # type: ignore[no-untyped-def]
    """Return the variables of some cells, (U, n), each in one piece of memory."""
    for v in range(u.shape[0]):
        rows[v, : stop - begin] = u[v, begin:stop]
    return rows


@jit
def _add_scores(u, directions, bend, wave, slope, lo, theta):  # type: ignore[no-untyped-def]
    """theta[i] += Σ_k slope_k (value_k(i) − lo_k)."""
    rows, room = np.empty((u.shape[0], _CHUNK)), np.empty(_CHUNK)
    for begin in range(0, theta.size, _CHUNK):
        stop = min(begin + _CHUNK, theta.size)
        some, out, t = _copied(u, begin, stop, rows), room[: stop - begin], theta[begin:stop]
        for k in range(bend.size):
            _values(some, directions[k], bend[k], wave[k], out)
            w, low = slope[k], lo[k]
            for i in range(out.size):
                t[i] += w * (out[i] - low)


@jit
def _ranges(u, directions, bend, wave, lo, hi):  # type: ignore[no-untyped-def]
    """Widen the ranges to the values at every cell."""
    rows, room = np.empty((u.shape[0], _CHUNK)), np.empty(_CHUNK)
    for begin in range(0, u.shape[1], _CHUNK):
        stop = min(begin + _CHUNK, u.shape[1])
        some, out = _copied(u, begin, stop, rows), room[: stop - begin]
        for k in range(bend.size):
            _values(some, directions[k], bend[k], wave[k], out)
            lo[k], hi[k] = min(lo[k], out.min()), max(hi[k], out.max())


@jit
def _moments(u, directions, bend, wave, slope, lo, mass, squares, mean, square):  # type: ignore[no-untyped-def]
    """mean[k] = Σ_i mass_i f_k(i), and square[k] = Σ_i mass_i f_k(i)²."""
    rows, room = np.empty((u.shape[0], _CHUNK)), np.empty(_CHUNK)
    for begin in range(0, mass.size, _CHUNK):
        stop = min(begin + _CHUNK, mass.size)
        some, out, m = _copied(u, begin, stop, rows), room[: stop - begin], mass[begin:stop]
        for k in range(bend.size):
            _values(some, directions[k], bend[k], wave[k], out)
            mean[k] += slope[k] * _sum(out, lo[k], m)
            if squares:
                square[k] += slope[k] * slope[k] * _square_sum(out, lo[k], m)


@jit_sum
def _sum(values, low, mass):  # type: ignore[no-untyped-def]
    """Return Σ mass (value − low)."""
    total = 0.0
    for i in range(values.size):
        total += mass[i] * (values[i] - low)
    return total


@jit_sum
def _square_sum(values, low, mass):  # type: ignore[no-untyped-def]
    """Return Σ mass (value − low)²."""
    total = 0.0
    for i in range(values.size):
        d = values[i] - low
        total += mass[i] * (d * d)
    return total
