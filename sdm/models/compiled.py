"""Prediction, compiled: one piecewise quadratic per variable, one product per pair, one lookup per class.

Linear, quadratic, hinge and threshold weights of one variable sum to a function that is quadratic between knots. It
is stored as segments; a cell finds its segment from a coarse grid over the knots, not by a search among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.centred import centre_of, less_product
from sdm.features.shapes import CompiledShapes, Shapes
from sdm.features.terms import CATEGORY, FORWARD, LINEAR, PRODUCT, QUADRATIC, REVERSE, THRESHOLD, Terms
from sdm.types import Array

BLOCK = 16_384


@dataclass(frozen=True)
class CompiledCurve:
    """The additive effect of one continuous variable: `a + (x − x0)(b + c (x − x0))` on each segment.

    Segment `s` holds the values from `breaks[s − 1]` (included) to `breaks[s]`; `first[g]` is the first segment that a
    value in grid cell `g` can be in, the grid being `(x − origin) · inverse`.
    """

    breaks: Array
    x0: Array
    a: Array
    b: Array
    c: Array
    origin: float
    inverse: float
    first: NDArray[np.int32]


class Compiled:
    """The score function of a model: terms and shapes with their weights, and the ranges that clamp variables."""

    def __init__(self, terms: Terms, lo: Array, hi: Array, shapes: Shapes | None = None) -> None:
        self.lo, self.hi = lo, hi
        self.shapes = CompiledShapes(shapes, lo, hi) if shapes is not None and len(shapes) else None
        self.curves: dict[int, CompiledCurve] = {}
        self.classes: dict[int, tuple[Array, Array]] = {}
        for v in np.unique(terms.var[terms.kind != PRODUCT]):
            members = np.flatnonzero((terms.var == v) & (terms.kind != PRODUCT))
            if np.all(terms.kind[members] == CATEGORY):
                classes, place = np.unique(terms.knot[members], return_inverse=True)
                weights = np.zeros(classes.size)
                np.add.at(weights, place, terms.weight[members])
                self.classes[int(v)] = classes, weights
            else:
                self.curves[int(v)] = _compile_curve(terms, members, lo[v])
        pairs = np.flatnonzero(terms.kind == PRODUCT)
        self.pairs = np.stack([terms.var[pairs], terms.other[pairs]])
        self.pair_slope, self.pair_weight = 1.0 / (terms.hi[pairs] - terms.lo[pairs]), terms.weight[pairs]
        self.centre = np.array([centre_of(*ends) for ends in zip(lo.tolist(), hi.tolist())])
        ends = zip(terms.lo[pairs].tolist(), *self.centre[self.pairs].tolist())
        self.pair_low = np.array([less_product(*row) for row in ends])

    def scores(self, columns: Sequence[NDArray[np.floating]], clamp: bool = True) -> Array:
        """Return `λ·f(x)` for cells given as one array per variable; missing values give NaN."""
        theta = np.zeros(len(columns[0]))
        for a in range(0, theta.size, BLOCK):
            self._score_block([column[a : a + BLOCK] for column in columns], clamp, theta[a : a + BLOCK])
        return theta

    def _score_block(self, columns: list[NDArray[np.floating]], clamp: bool, theta: Array) -> None:
        """Add the scores of some cells."""
        contiguous: dict[int, NDArray[np.floating]] = {}

        def column(v: int) -> NDArray[np.floating]:
            if v not in contiguous:
                contiguous[v] = np.ascontiguousarray(columns[v])
            return contiguous[v]

        for v in range(len(columns)):
            self._add_single(v, column(v), clamp, theta)
        for pair, (u, v) in enumerate(self.pairs.T):
            ranges = (self.lo[u], self.hi[u], self.lo[v], self.hi[v])
            scale = (self.pair_low[pair], self.pair_slope[pair], self.pair_weight[pair])
            centres = (self.centre[u], self.centre[v])
            _add_product(column(int(u)), column(int(v)), *ranges, *centres, *scale, clamp, theta)
        if self.shapes is not None:
            self.shapes.add_scores(np.array(columns, dtype=np.float64), clamp, theta)

    def contribution(self, v: int, x: Array, clamp: bool = True) -> Array:
        """Return variable `v`'s own part of the score at its values `x` (its products with others left out)."""
        out = np.zeros(x.size)
        self._add_single(v, np.ascontiguousarray(x), clamp, out)
        return out

    def _add_single(self, v: int, x: NDArray[np.floating], clamp: bool, theta: Array) -> None:
        """Add variable `v`'s own part of the scores."""
        low, high = (self.lo[v], self.hi[v]) if clamp else (-np.inf, np.inf)
        if v in self.curves:
            k = self.curves[v]
            _add_curve(x, low, high, k.breaks, k.x0, k.a, k.b, k.c, k.origin, k.inverse, k.first, theta)
        elif v in self.classes:
            _add_classes(x, *self.classes[v], theta)
        else:
            _spread_missing(x, theta)


def _compile_curve(terms: Terms, members: NDArray[np.int64], low: float) -> CompiledCurve:
    """Sum the terms of one variable into segments."""
    knotted = members[terms.kind[members] >= FORWARD]
    breaks = np.unique(terms.knot[knotted])
    x0 = np.concatenate([[min(low, breaks[0]) if breaks.size else low], breaks])
    a, b, c = (np.zeros(x0.size) for _ in range(3))
    for j in members:
        w, kind = terms.weight[j], int(terms.kind[j])
        lo, hi, knot = terms.lo[j], terms.hi[j], terms.knot[j]
        after = np.concatenate([[False], breaks >= knot])  # the first segment is left of every knot
        if kind == LINEAR:
            a += w * (x0 - lo) / (hi - lo)
            b += w / (hi - lo)
        elif kind == QUADRATIC:
            a += w * np.array([-less_product(lo, x, x) for x in x0.tolist()]) / (hi - lo)
            b += w * 2 * x0 / (hi - lo)
            c += w / (hi - lo)
        elif kind == FORWARD:
            a[after] += w * (x0[after] - knot) / (hi - knot)
            b[after] += w / (hi - knot)
        elif kind == REVERSE:
            a[~after] += w * (knot - x0[~after]) / (knot - lo)
            b[~after] -= w / (knot - lo)
        elif kind == THRESHOLD:
            a[after] += w
    return CompiledCurve(breaks, x0, a, b, c, *_grid(breaks))


def _grid(breaks: Array) -> tuple[float, float, NDArray[np.int32]]:
    """Lay a grid over the breaks, with the segment in which each of its cells begins.

    A break is before a grid cell if it falls in an earlier one: computed as the kernel computes it, so that rounding
    can never start a cell too late, however near to each other the breaks are.
    """
    size = int(min(4 * breaks.size, 65_536))
    inverse = size / (float(breaks[-1]) - float(breaks[0])) if breaks.size > 1 else np.inf
    if not np.isfinite(inverse):
        return 0.0, 0.0, np.zeros(1, dtype=np.int32)
    cells = np.floor((breaks - breaks[0]) * inverse)
    return float(breaks[0]), inverse, np.searchsorted(cells, np.arange(size), side="left").astype(np.int32)


@jit
def _add_curve(x, lo, hi, breaks, x0, a, b, c, origin, inverse, first, theta):  # type: ignore[no-untyped-def]
    """theta[i] += a_s + (x − x0_s)(b_s + c_s (x − x0_s)) on x's segment s."""
    last = first.size - 1
    n = breaks.size
    for i in range(x.size):
        u = np.float64(x[i])
        if u != u:
            theta[i] = np.nan
            continue
        u = min(max(u, lo), hi)
        g = (u - origin) * inverse
        s = first[last if g > last else int(g) if g > 0 else 0]  # 0 if g is NaN, too
        while s < n and u >= breaks[s]:
            s += 1
        d = u - x0[s]
        theta[i] += a[s] + d * (b[s] + c[s] * d)


@jit
def _add_classes(x, values, weights, theta):  # type: ignore[no-untyped-def]
    """theta[i] += the weight of x's class; a class without a weight, or never seen, adds nothing."""
    for i in range(x.size):
        u = np.float64(x[i])
        if u != u:
            theta[i] = np.nan
            continue
        low, high = 0, values.size
        while low < high:
            middle = (low + high) // 2
            if values[middle] < u:
                low = middle + 1
            else:
                high = middle
        if low < values.size and values[low] == u:
            theta[i] += weights[low]


@jit
def _spread_missing(x, theta):  # type: ignore[no-untyped-def]
    """A variable without weight still makes a cell missing where its value is."""
    for i in range(x.size):
        if x[i] != x[i]:
            theta[i] = np.nan


@jit
def _add_product(x, y, x_lo, x_hi, y_lo, y_hi, a, b, low, slope, weight, clamp, theta):  # type: ignore[no-untyped-def]
    """theta[i] += weight · (xy − lo) slope, variables and feature clamped to their training ranges if asked.

    `a` and `b` are what the values are counted from, and `low` is `lo − ab`.
    """
    for i in range(x.size):
        u, v = np.float64(x[i]), np.float64(y[i])
        if clamp:
            u = min(max(u, x_lo), x_hi)
            v = min(max(v, y_lo), y_hi)
        if a != 0.0 or b != 0.0:
            f = ((u - a) * (v - b) + a * (v - b) + b * (u - a) - low) * slope
        else:
            f = (u * v - low) * slope
        if clamp:
            f = min(max(f, 0.0), 1.0)
        theta[i] += weight * f
