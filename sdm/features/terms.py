"""Terms: definitions of features without data, as stored in a model.

One row per feature. With raw values `x` of variable `var` (and `y` of `other`), the feature is

==========  ==================================  ========================= kind        value
scaled to [0, 1] by ==========  ==================================  ========================= linear      (x − lo) / (hi
− lo)                range of x quadratic   (x² − lo) / (hi − lo)               range of x² product     (x·y − lo) / (hi
− lo)              range of x·y forward     (x − knot)₊ / (hi − knot)           hi the largest x reverse     (knot − x)₊
/ (knot − lo)           lo the smallest x threshold   1 if x ≥ knot else 0 category    1 if x = knot else 0 ==========
==================================  =========================

Products of values far from zero are computed without cancellation. If a variable's range is farther from zero than it
is wide, its values are written as `x = c + u`, with `c` the lower end of the range, which is exact. Otherwise `c` is
zero. A product is then `c_x c_y + (u_x u_y + c_x u_y + c_y u_x)`, and only the bracket varies. The constant `lo − c_x
c_y` is subtracted from it, and is computed exactly, once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.types import Array

LINEAR, QUADRATIC, PRODUCT, FORWARD, REVERSE, THRESHOLD, CATEGORY = range(7)
KINDS = ("linear", "quadratic", "product", "forward", "reverse", "threshold", "category")


def centre_of(lo: float, hi: float) -> float:
    """Return the origin `c` of a variable with values from `lo` to `hi`."""
    return lo if min(abs(lo), abs(hi)) > hi - lo else 0.0


def centres(lo: Array, hi: Array) -> Array:
    """Return the origin `c` of every variable."""
    return np.array([centre_of(*ends) for ends in zip(lo.tolist(), hi.tolist())])


def less_product(value: float, a: float, b: float) -> float:
    """Return `value − a·b`, rounded once."""
    rough = value - a * b
    return float(Fraction(value) - Fraction(a) * Fraction(b)) if a and b and math.isfinite(rough) else rough


def product_range(low: float, high: float, a: float, b: float) -> tuple[float, float]:
    """Return the range `lo, hi` of a product whose bracket is between `low` and `high`, rounded outwards if necessary.

    A constant bracket is returned unchanged.
    """
    if not (a and b) or not low < high:
        return low, high
    lo, hi = (float(Fraction(end) + Fraction(a) * Fraction(b)) for end in (low, high))
    if less_product(lo, a, b) > low:
        lo = float(np.nextafter(lo, -np.inf))
    if less_product(hi, a, b) < high:
        hi = float(np.nextafter(hi, np.inf))
    return lo, hi


def bounded(*arrays: Array) -> bool:
    """Return whether all numbers are finite, and small enough to be multiplied."""
    return all(bool(np.all(np.abs(array) < 1e150)) for array in arrays)


@dataclass(frozen=True)
class Terms:
    """A table of features, column by column; all columns have the same length."""

    kind: NDArray[np.int8]
    var: NDArray[np.int32]
    other: NDArray[np.int32]
    knot: Array
    lo: Array
    hi: Array
    weight: Array

    def sound(self, variables: int) -> bool:
        """Return whether a table from a file can be evaluated: columns of one length, and bounded numbers."""
        empty = Terms.build(0, np.empty(0, dtype=np.int64))
        columns = {column.name: getattr(self, column.name) for column in fields(Terms)}
        return bool(
            self.kind.ndim == 1
            and all(column.shape == self.kind.shape for column in columns.values())
            and all(column.dtype == getattr(empty, name).dtype for name, column in columns.items())
            and np.all((self.kind >= 0) & (self.kind < len(KINDS)))
            and np.all((self.var >= 0) & (self.var < variables))
            and np.all((self.other >= np.where(self.kind == PRODUCT, 0, -1)) & (self.other < variables))
            and bounded(self.knot, self.lo, self.hi, self.weight)
        )

    @classmethod
    def build(
        cls,
        kind: int,
        var: NDArray[np.integer],
        *,
        other: ArrayLike = -1,
        knot: ArrayLike = 0.0,
        lo: ArrayLike = 0.0,
        hi: ArrayLike = 1.0,
        weight: ArrayLike = 0.0,
    ) -> "Terms":
        """Return a table of terms of one kind; columns that the kind does not use are zero (`other`: −1)."""
        size = len(var)
        first, second = (np.full(size, column, np.int32) for column in (var, other))
        numbers = (np.full(size, column, np.float64) for column in (knot, lo, hi, weight))
        return cls(np.full(size, kind, np.int8), first, second, *numbers)

    @classmethod
    def concatenate(cls, parts: Sequence["Terms"]) -> "Terms":
        """Join tables, in order."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: NDArray[np.integer], weight: Array) -> "Terms":
        """Return a subset of the terms, in the given order, with weights."""
        columns = {field.name: getattr(self, field.name)[rows] for field in fields(self)}
        return Terms(**{**columns, "weight": np.asarray(weight, dtype=np.float64)})

    def evaluate(self, x: Array, centre: Array | None = None) -> Array:
        """Return the dense feature matrix `(n, len(self))` of raw values `x`; slow, for a few terms.

        Squares and products are computed from `centre`, one value per variable (`centres`), or from zero.
        """
        out = np.empty((x.shape[0], len(self)))
        for j in range(len(self)):
            v = self.var[j]
            u = x[:, v]
            knot, lo, hi = self.knot[j], self.lo[j], self.hi[j]
            match int(self.kind[j]):
                case 0:
                    out[:, j] = (u - lo) / (hi - lo)
                case 1 | 2:
                    w = v if self.kind[j] == QUADRATIC else self.other[j]
                    a, b = (0.0, 0.0) if centre is None else (float(centre[v]), float(centre[w]))
                    s, t = u - a, x[:, w] - b
                    raw = s * t + a * t + b * s if a or b else s * t
                    out[:, j] = (raw - less_product(lo, a, b)) / (hi - lo)
                case 3:
                    out[:, j] = np.maximum(u - knot, 0.0) / (hi - knot)
                case 4:
                    out[:, j] = np.maximum(knot - u, 0.0) / (knot - lo)
                case 5:
                    out[:, j] = u >= knot
                case _:
                    out[:, j] = u == knot
        return out

    def evaluate_clamped(self, x: Array, lo: Array, hi: Array) -> Array:
        """Return the feature matrix with variables and features limited to their ranges, as accurate as over a
        domain."""
        clamped = np.clip(x, lo, hi)
        return np.clip(self.evaluate(clamped, centres(lo, hi)), 0.0, 1.0)

    def slopes(self) -> Array:
        """Return the slope of each scaled feature with its raw form (thresholds and categories: 1)."""
        slope = np.ones(len(self))
        span = np.where(self.kind == FORWARD, self.hi - self.knot, self.hi - self.lo)
        span = np.where(self.kind == REVERSE, self.knot - self.lo, span)
        scaled = self.kind <= REVERSE
        slope[scaled] = 1.0 / span[scaled]
        return slope

    def names(self, variables: Sequence[str], labels: Mapping[int, Mapping[int, str]] | None = None) -> list[str]:
        """Return readable names; `labels` contains the names of categories by code."""
        return [self._name(j, variables, labels or {}) for j in range(len(self))]

    def _name(self, j: int, variables: Sequence[str], labels: Mapping[int, Mapping[int, str]]) -> str:
        v, kind = int(self.var[j]), int(self.kind[j])
        name, other, knot = variables[v], variables[self.other[j]], f"{self.knot[j]:.10g}"
        if kind == CATEGORY:
            return f"({name}={labels.get(v, {}).get(int(self.knot[j]), knot)})"
        smooth = name, f"{name}^2", f"{name}*{other}"
        return (*smooth, f"hinge({name}, {knot}..)", f"hinge({name}, ..{knot})", f"threshold({name}, {knot})")[kind]
