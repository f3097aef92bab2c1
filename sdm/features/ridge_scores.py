"""Sums over ridges at many cells, some hundred cells at a time.

The prediction of a place does not depend on which other places are computed with it, to the last digit. So every matrix
product has the same shape: the last cells are filled up with zeros.
"""

from collections.abc import Iterator

import numpy as np

from sdm.features.ridges import WAVE, Ridges
from sdm.types import Array

BLOCK = 16_384  # cells whose variables are standardised at a time
_CHUNK = 256  # cells that are computed together: they stay in the cache


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
    if not used.size:
        return
    slope, some_ridges = weight[used] * ridges.slopes[used], ridges.take(used)
    for some, values in _chunks(u, directions[used], some_ridges):
        theta[some] += (slope @ (values - some_ridges.lo[:, None]))[: some.stop - some.start]


def ridge_ranges(u: Array, directions: Array, ridges: Ridges) -> tuple[Array, Array]:
    """Return the smallest and the largest value of every ridge, from standardised variables (U, n)."""
    lo, hi = np.full(len(ridges), np.inf), np.full(len(ridges), -np.inf)
    for some, values in _chunks(u, directions, ridges):
        real = values[:, : some.stop - some.start]
        np.minimum(lo, real.min(axis=1), out=lo)
        np.maximum(hi, real.max(axis=1), out=hi)
    return lo, hi


def ridge_moments(u: Array, directions: Array, ridges: Ridges, mass: Array) -> tuple[Array, Array]:
    """Return `Σ_i mass_i f_k(i)` of every ridge, and the same of their squares."""
    mean, square = np.zeros(len(ridges)), np.zeros(len(ridges))
    for some, values in _chunks(u, directions, ridges):
        scaled = (values[:, : some.stop - some.start] - ridges.lo[:, None]) * ridges.slopes[:, None]
        mean += scaled @ mass[some]
        square += np.square(scaled) @ mass[some]
    return mean, square


def _chunks(u: Array, directions: Array, ridges: Ridges) -> Iterator[tuple[slice, Array]]:
    """Yield some cells at a time, with the values of the ridges there, not scaled: (K, _CHUNK)."""
    block, wave = np.zeros((len(u), _CHUNK)), (ridges.kind == WAVE)[:, None]
    for first in range(0, u.shape[1], _CHUNK):
        some = slice(first, min(first + _CHUNK, u.shape[1]))
        block[:, : some.stop - first] = u[:, some]
        values = directions @ block
        values += ridges.bend[:, None]
        yield some, np.where(wave, np.cos(values), np.maximum(values, 0.0)) if wave.any() else np.maximum(values, 0.0)
