"""Ridges: functions of one weighted sum of all continuous variables, drawn at random and stored in the model.

With `u` the variables, each centred and divided by its scale, a ridge is

====  ======================  ========================================================== kind  value
purpose ====  ======================  ========================================================== relu  max(0, a·u + b)
interactions: a hinge along a random direction wave  cos(a·u + b)            smooth functions of place ====
======================  ==========================================================

scaled to [0, 1] by its range over the domain: `(value − lo) / (hi − lo)`.

Cells are computed in chunks of some hundreds. The prediction at a place is the same to the last digit, whatever other
places are in the chunk. So every matrix product has the same shape: the last chunk is filled up with zeros.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from sdm.features.terms import bounded
from sdm.types import AnyArray, Array, Numbers

RELU, WAVE = range(2)
RIDGE_KINDS = ("relu", "wave")
MOST_RIDGES = 100_000  # largest number in a model file; no fit has as many
BLOCK = 16_384  # cells per block of standardised variables
_CHUNK = 256  # cells per chunk, which fits into the cache
_NAMED = 2  # variables in the name of a ridge: the ones with the largest coefficients


@dataclass(frozen=True)
class Ridges:
    """K ridges of the V variables of a model.

    Directions are zero for categorical variables. A variable that is not used has centre 0 and scale 1.
    """

    kind: NDArray[np.int8]  # (K,)
    number: NDArray[np.int32]  # (K,): number in its name, by the order of drawing
    directions: Array  # (K, V)
    bend: Array  # (K,): offset b; the phase of a wave
    centre: Array  # (V,)
    scale: Array  # (V,)
    lo: Array  # (K,)
    hi: Array  # (K,)
    weight: Array  # (K,)

    @classmethod
    def none(cls) -> "Ridges":
        """Return an empty table of ridges."""
        empty = np.empty(0)
        return cls.build(RELU, np.empty((0, 0)), empty, empty, empty)

    @classmethod
    def build(cls, kind: int, directions: Array, bend: Array, centre: Array, scale: Array) -> "Ridges":
        """Return ridges of one kind with weight zero, not yet scaled to [0, 1] (`with_range`)."""
        count = len(bend)
        order, zero = np.arange(1, count + 1, dtype=np.int32), np.zeros(count)
        used = np.any(directions != 0, axis=0)
        frame = np.where(used, centre, 0.0), np.where(used, scale, 1.0)
        return cls(np.full(count, kind, dtype=np.int8), order, directions, bend, *frame, zero, np.ones(count), zero)

    @classmethod
    def concatenate(cls, parts: Sequence["Ridges"]) -> "Ridges":
        """Join ridges of the same variables, in order.

        If parts have another centre or scale for a variable, later parts are converted to the first that uses it. The
        functions are equal up to rounding.
        """
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.none()
        centre, scale = np.zeros_like(parts[0].centre), np.ones_like(parts[0].scale)
        for part in reversed(parts):
            centre, scale = np.where(part.used, part.centre, centre), np.where(part.used, part.scale, scale)
        same = [part._counted_from(centre, scale) for part in parts]
        rows = [f.name for f in fields(cls) if f.name not in ("centre", "scale")]
        joined = {name: np.concatenate([getattr(part, name) for part in same]) for name in rows}
        return cls(**joined, centre=centre, scale=scale)

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Return a mask of the variables that any ridge depends on, (V,)."""
        return np.asarray(np.any(self.directions != 0, axis=0))

    @property
    def slopes(self) -> Array:
        """Return the slope of each scaled ridge with its value."""
        return 1.0 / (self.hi - self.lo)

    def shares(self) -> Array:
        """Return the share of each variable in each ridge, (K, V): squares of its direction, which sum to one."""
        size = np.maximum(np.abs(self.directions).max(axis=1, keepdims=True), np.finfo(float).tiny)
        squares = (self.directions / size) ** 2
        return np.asarray(squares / squares.sum(axis=1, keepdims=True))

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_], weight: Array | None = None) -> "Ridges":
        """Return a subset of the ridges, with their weights or with `weight`."""
        shared = ("centre", "scale")
        columns: Numbers = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name not in shared}
        out = Ridges(**columns, centre=self.centre, scale=self.scale)
        return out if weight is None else replace(out, weight=np.asarray(weight, dtype=np.float64))

    def standardised(self, x: Array) -> Array:
        """Return the standardised variables `u` of cells `x`, (n, V)."""
        return (x - self.centre) / self.scale

    def evaluate(self, x: Array) -> Array:
        """Return the dense feature matrix `(n, len(self))` of raw values `x`, (n, V)."""
        used = self.used
        z = self.standardised(x)[:, used] @ self.directions[:, used].T + self.bend
        wave = self.kind == WAVE
        z[:, wave] = np.cos(z[:, wave])
        np.maximum(z, 0.0, out=z, where=~wave)
        return (z - self.lo) / (self.hi - self.lo)

    def names(self, variables: Sequence[str]) -> list[str]:
        """Return readable names: the number of each ridge and its largest coefficients.

        An example is `relu 17 (0.6 bio1 − 0.3 bio12 …)`.
        """
        return [self._name(k, variables) for k in range(len(self))]

    def _name(self, k: int, variables: Sequence[str]) -> str:
        direction = self.directions[k]
        order = [int(v) for v in np.argsort(-np.abs(direction), kind="stable") if direction[v] != 0]
        text = ""
        for v in order[:_NAMED]:
            sign = ("−" if direction[v] < 0 else "") if not text else " − " if direction[v] < 0 else " + "
            text += f"{sign}{abs(direction[v]):.2g} {variables[v]}"
        more = " …" if len(order) > _NAMED else ""
        return f"{RIDGE_KINDS[self.kind[k]]} {self.number[k]} ({text}{more})"

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all fields as arrays, for a file."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, AnyArray]) -> "Ridges":
        """Return ridges from `to_arrays`; raise ValueError for invalid ones."""
        out = cls(**{f.name: arrays[f.name] for f in fields(cls)})
        if not out.sound():
            raise ValueError("ridges that no fit draws")
        return out

    def sound(self) -> bool:
        """Return whether ridges from a file can be evaluated: matching shapes, and bounded numbers."""
        count, width = len(self.kind), self.directions.shape[-1]
        shapes = {"directions": (count, width), "centre": (width,), "scale": (width,)}
        empty = Ridges.none()
        named = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return bool(
            count <= MOST_RIDGES
            and all(array.shape == shapes.get(name, (count,)) for name, array in named)
            and all(array.dtype == getattr(empty, name).dtype for name, array in named)
            and np.all((self.kind >= 0) & (self.kind < len(RIDGE_KINDS)))
            and bounded(self.directions, self.bend, self.centre, self.scale, self.lo, self.hi, self.weight)
            and np.all(self.directions.any(axis=1))
            and np.all(self.scale > 0)
            and np.all(self.hi > self.lo)
            and bounded(1.0 / self.scale, self.slopes)
        )

    def _counted_from(self, centre: Array, scale: Array) -> "Ridges":
        """Return the same functions with other centres and scales of the variables."""
        moved = self.used & ((centre != self.centre) | (scale != self.scale))
        if not moved.any():
            return self
        shift = np.where(moved, (centre - self.centre) / self.scale, 0.0)
        stretch = np.where(moved, scale / self.scale, 1.0)
        return replace(self, directions=self.directions * stretch, bend=self.bend + self.directions @ shift)


def draw_rectified(count: int, variables: int, rng: "np.random.Generator") -> tuple[Array, Array]:
    """Return random directions, uniform on the unit sphere, and normal offsets, for `max(0, a·u + b)`.

    With variables `u` of mean zero and standard deviation one, the kinks are in the range of the cells.
    """
    directions = rng.standard_normal((count, variables))
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(float).tiny)
    return directions, rng.standard_normal(count)


def draw_waves(count: int, variables: int, lengths: Sequence[float], rng: "np.random.Generator") -> tuple[Array, Array]:
    """Return directions and phases of random waves, for variables `u` divided by their extent.

    `lengths` are shares of the extent; each has the same number of waves. A sum of many waves of a length is a smooth
    function with similar values at distances below it (random Fourier features, Rahimi and Recht 2007).
    """
    each = np.repeat(np.asarray(lengths, dtype=np.float64), -(-count // len(lengths)))[:count]
    return rng.standard_normal((count, variables)) / each[:, None], rng.uniform(0.0, 2.0 * np.pi, count)


class CompiledRidges:
    """Ridges for kernels; `lo, hi` are the training ranges of the variables, for clamping."""

    def __init__(self, ridges: Ridges, lo: Array, hi: Array) -> None:
        self.ridges = ridges
        self._used = np.flatnonzero(ridges.used)
        frame = (lo, hi, ridges.centre, ridges.scale)
        self._lo, self._hi, self._centre, self._scale = (part[self._used, None] for part in frame)
        self._directions = np.ascontiguousarray(ridges.directions[:, self._used])

    def standardised(self, x: Array, clamp: bool) -> Array:
        """Return the standardised variables in use, (U, n), of cells in a `(V, n)` array."""
        rows = x[self._used]
        clamped = np.clip(rows, self._lo, self._hi) if clamp else rows
        return (clamped - self._centre) / self._scale

    def add_scores(self, x: Array, clamp: bool, theta: Array) -> None:
        """Add the weighted ridges of cells in a `(V, n)` array."""
        ridges = self.ridges
        for first in range(0, theta.size, BLOCK):
            block = slice(first, first + BLOCK)
            u = self.standardised(x[:, block], clamp)
            add_ridges(u, self._directions, ridges, ridges.weight, theta[block])


def add_ridges(u: Array, directions: Array, ridges: Ridges, weight: Array, theta: Array) -> None:
    """Add `Σ_k weight_k f_k` to `theta`, from standardised variables (U, n) and directions along them (K, U)."""
    used = np.flatnonzero(weight)
    if not used.size:
        return
    slope, subset = weight[used] * ridges.slopes[used], ridges.take(used)
    for chunk, values in _chunks(u, directions[used], subset):
        theta[chunk] += (slope @ (values - subset.lo[:, None]))[: chunk.stop - chunk.start]


def ridge_ranges(u: Array, directions: Array, ridges: Ridges) -> tuple[Array, Array]:
    """Return the smallest and the largest value of every ridge, from standardised variables (U, n)."""
    lo, hi = np.full(len(ridges), np.inf), np.full(len(ridges), -np.inf)
    for chunk, values in _chunks(u, directions, ridges):
        real = values[:, : chunk.stop - chunk.start]
        np.minimum(lo, real.min(axis=1), out=lo)
        np.maximum(hi, real.max(axis=1), out=hi)
    return lo, hi


def ridge_moments(u: Array, directions: Array, ridges: Ridges, mass: Array) -> tuple[Array, Array]:
    """Return `Σ_i mass_i f_k(i)` and `Σ_i mass_i f_k(i)²` of every ridge."""
    mean, square = np.zeros(len(ridges)), np.zeros(len(ridges))
    for chunk, values in _chunks(u, directions, ridges):
        scaled = (values[:, : chunk.stop - chunk.start] - ridges.lo[:, None]) * ridges.slopes[:, None]
        mean += scaled @ mass[chunk]
        square += np.square(scaled) @ mass[chunk]
    return mean, square


def _chunks(u: Array, directions: Array, ridges: Ridges) -> Iterator[tuple[slice, Array]]:
    """Yield slices of cells with the unscaled values of the ridges there, (K, _CHUNK)."""
    block, wave = np.zeros((len(u), _CHUNK)), (ridges.kind == WAVE)[:, None]
    for first in range(0, u.shape[1], _CHUNK):
        chunk = slice(first, min(first + _CHUNK, u.shape[1]))
        block[:, : chunk.stop - first] = u[:, chunk]
        values = directions @ block
        values += ridges.bend[:, None]
        yield chunk, np.where(wave, np.cos(values), np.maximum(values, 0.0)) if wave.any() else np.maximum(values, 0.0)
