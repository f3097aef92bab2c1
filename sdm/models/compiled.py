"""Compiled prediction: one piecewise quadratic function per variable, one product per pair, one lookup per category.

Linear, quadratic, hinge and threshold weights of one variable sum to a function that is quadratic between knots. It is
stored as segments. A cell finds its segment from a coarse grid over the knots, without a search.

Cells are scored in chunks of some hundreds, which fit into the cache of the processor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit, jit_finite
from sdm.features.shapes import CompiledShapes, Shapes
from sdm.features.terms import (
    CATEGORY,
    FORWARD,
    LINEAR,
    PRODUCT,
    QUADRATIC,
    REVERSE,
    THRESHOLD,
    Terms,
    centre_of,
    less_product,
)
from sdm.types import AnyArray, Array

BLOCK = 16_384  # cells per block of columns that are not rows of one array of double precision
_CHUNK = 256  # cells that are scored together: their values fit into the fastest cache
_FEW = 4  # segments that are computed for all cells of a chunk, instead of a search per cell


@dataclass(frozen=True)
class CompiledCurve:
    """The additive effect of one continuous variable: `a + (x − x0)(b + c (x − x0))` on each segment.

    Segment `s` contains the values from `breaks[s − 1]` (included) to `breaks[s]`. The grid of a value is `(x − origin)
    · inverse`, and `first[g]` is the first possible segment of values in grid cell `g`.
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
    """The score function of a model: weighted terms and shapes, and the ranges that clamp variables."""

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
        squares = (terms.kind == QUADRATIC) & (terms.lo > 0.0) & (lo[terms.var] < 0.0) & (hi[terms.var] > 0.0)
        self._dips = [(int(terms.var[j]), float(terms.lo[j]), terms.weight[j] / (terms.hi[j] - terms.lo[j]))
                      for j in np.flatnonzero(squares)]  # fmt: skip
        variables = range(len(lo))
        self._tables = _tables([self.curves.get(v) for v in variables], [self.classes.get(v) for v in variables])
        self._products: tuple[Any, ...] = (*self.pairs, self.centre, self.pair_low, self.pair_slope, self.pair_weight)

    def scores(self, columns: Sequence[NDArray[np.floating]], clamp: bool = True) -> Array:
        """Return `λ·f(x)` for cells with one array per variable; NaN for missing values."""
        theta = np.zeros(len(columns[0]))
        lo, hi = self._limits(clamp)
        for x, block in self._blocks(columns):
            _score(x, lo, hi, clamp, theta[block], *self._tables, *self._products)
            for v, least, weight in self._dips if clamp else ():  # squares below the minimum of the training range
                if (near := np.flatnonzero(np.square(x[v]) < least)).size:
                    theta[block][near] += weight * (least - x[v][near] ** 2)
            if self.shapes is not None:
                self.shapes.add_scores(x, clamp, theta[block])
        return theta

    def contribution(self, v: int, x: Array, clamp: bool = True) -> Array:
        """Return the additive part of the score of variable `v` at its values `x`, without products."""
        out = np.zeros(x.size)
        lo, hi = (limit[v : v + 1] for limit in self._limits(clamp))
        none: tuple[Any, ...] = (*self.pairs[:, :0], self.centre, *(part[:0] for part in self._products[3:]))
        tables = _tables([self.curves.get(v)], [self.classes.get(v)])
        _score(np.ascontiguousarray(x)[None], lo, hi, clamp, out, *tables, *none)
        return out

    def _blocks(self, columns: Sequence[NDArray[np.floating]]) -> Iterator[tuple[Array, slice]]:
        """Yield cells as `(V, n)` arrays: all together if they are one array, else in blocks."""
        n = len(columns[0])
        if isinstance(columns, np.ndarray) and columns.flags.c_contiguous and columns.dtype == np.float64:
            yield columns, slice(0, n)
            return
        for first in range(0, n, BLOCK):
            block = slice(first, min(first + BLOCK, n))
            yield np.array([column[block] for column in columns], dtype=np.float64), block

    def _limits(self, clamp: bool) -> tuple[Array, Array]:
        """Return the ranges of the variables."""
        return (self.lo, self.hi) if clamp else (np.full_like(self.lo, -np.inf), np.full_like(self.hi, np.inf))


def _tables(
    curves: Sequence[CompiledCurve | None], classes: Sequence[tuple[Array, Array] | None]
) -> tuple[AnyArray, ...]:
    """Return the curves and the classes of all variables, concatenated.

    The first array has the positions at which each variable's segments, grid cells and classes begin. Then come the
    upper ends and the coefficients of segments, the grids, and the classes with their weights.
    """
    empty = np.empty(0)
    none = CompiledCurve(empty, empty, empty, empty, empty, 0.0, 0.0, np.empty(0, dtype=np.int32))
    listed = [curve or none for curve in curves]
    by_code = [each or (empty, empty) for each in classes]
    sizes = [[len(curve.x0), len(curve.first), len(values)] for curve, (values, _) in zip(listed, by_code)]
    starts = np.vstack([np.zeros((1, 3), dtype=np.int64), np.cumsum(np.array(sizes, dtype=np.int64), axis=0)])
    breaks = [np.append(curve.breaks, np.inf)[: len(curve.x0)] for curve in listed]  # the last segment has no end
    segments = [np.concatenate([getattr(curve, name) for curve in listed]) for name in ("x0", "a", "b", "c")]
    grids = np.array([[curve.origin, curve.inverse] for curve in listed])
    first = np.concatenate([curve.first for curve in listed]).astype(np.int32)
    values, weights = (np.concatenate([each[k] for each in by_code]) for k in (0, 1))
    return starts, np.concatenate(breaks), *segments, grids, first, values, weights


def _compile_curve(terms: Terms, members: NDArray[np.int64], low: float) -> CompiledCurve:
    """Sum the terms of one variable into segments."""
    knotted = members[terms.kind[members] >= FORWARD]
    breaks = np.unique(terms.knot[knotted])
    x0 = np.concatenate([[min(low, breaks[0]) if breaks.size else low], breaks])
    a, b, c = (np.zeros(x0.size) for _ in range(3))
    for j in members:
        w, kind = terms.weight[j], int(terms.kind[j])
        lo, hi, knot = terms.lo[j], terms.hi[j], terms.knot[j]
        after = np.concatenate([[False], breaks >= knot])  # the first segment is below every knot
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
    """Return a grid over the breaks, with the first segment of each of its cells.

    A break is before a grid cell if it is in an earlier one. This is computed in the same way as in the kernel, so that
    rounding never skips a segment, however close the breaks are.
    """
    size = int(min(4 * breaks.size, 65_536))
    inverse = size / (float(breaks[-1]) - float(breaks[0])) if breaks.size > 1 else np.inf
    if not np.isfinite(inverse):
        return 0.0, 0.0, np.zeros(1, dtype=np.int32)
    cells = np.floor((breaks - breaks[0]) * inverse)
    return float(breaks[0]), inverse, np.searchsorted(cells, np.arange(size), side="left").astype(np.int32)


@jit
def _score(  # type: ignore[no-untyped-def]
    x, lo, hi, clamp, theta, starts, breaks, x0, a, b, c, grids, first, classes, weights,
    one, other, centre, low, slope, weight,
):  # fmt: skip
    """theta[i] = the score of the cell `x[:, i]`; NaN where a value is missing."""
    u, part, missing_count = np.empty((x.shape[0], _CHUNK)), np.empty(_CHUNK), np.empty(_CHUNK)
    for begin in range(0, theta.size, _CHUNK):
        m, empty = min(theta.size - begin, _CHUNK), 0
        t = part
        for i in range(m):
            t[i] = missing_count[i] = 0.0
        for v in range(x.shape[0]):
            _hold(x[v, begin : begin + m], lo[v], hi[v], u[v, :m], missing_count[:m])
        for i in range(m):
            empty += missing_count[i] > 0.0
        for v in range(x.shape[0] if empty < m else 0):
            row = u[v, :m]
            s, e = starts[v, 0], starts[v + 1, 0]
            if e > s:
                g, h = starts[v, 1], starts[v + 1, 1]
                _add_curve(row, breaks[s:e], x0[s:e], a[s:e], b[s:e], c[s:e], grids[v, 0], grids[v, 1], first[g:h], t)
            elif starts[v + 1, 2] > starts[v, 2]:
                s, e = starts[v, 2], starts[v + 1, 2]
                _add_classes(row, classes[s:e], weights[s:e], t)
        for k in range(weight.size if empty < m else 0):
            p, q = one[k], other[k]
            _add_product(u[p, :m], u[q, :m], centre[p], centre[q], low[k], slope[k], weight[k], clamp, t)
        for i in range(m):
            theta[begin + i] = np.nan if missing_count[i] > 0.0 else t[i]


@jit
def _hold(x, lo, hi, out, missing_count):  # type: ignore[no-untyped-def]
    """Limit values to a range and count missing ones, which become zero."""
    for i in range(x.size):
        present = x[i] == x[i]
        out[i] = min(max(x[i], lo), hi) if present else 0.0
        missing_count[i] += 0.0 if present else 1.0


@jit
def _segment(u, breaks, origin, inverse, first):  # type: ignore[no-untyped-def]
    """Return the segment of a value; the last break is infinite."""
    last = first.size - 1
    g = (u - origin) * inverse
    s = first[last if g > last else int(g) if g > 0 else 0]  # 0 also if g is NaN
    while s < breaks.size - 1 and u >= breaks[s]:
        s += 1
    return s


@jit_finite
def _ends(x):  # type: ignore[no-untyped-def]
    """Return the least and the largest value; even and odd cells have separate accumulators, which the processor
    overlaps."""
    a = b = c = d = x[0]
    for i in range(1, x.size, 2):
        a, b = min(a, x[i - 1]), max(b, x[i - 1])
        c, d = min(c, x[i]), max(d, x[i])
    return min(a, c, x[-1]), max(b, d, x[-1])


@jit_finite
def _add_segment(x, begin, end, x0, a, b, c, theta):  # type: ignore[no-untyped-def]
    """theta[i] += a + (x − x0)(b + c (x − x0)) where x is from `begin` to before `end`."""
    for i in range(x.size):
        d = x[i] - x0
        theta[i] += a + d * (b + c * d) if (x[i] >= begin) & (x[i] < end) else 0.0


@jit
def _add_curve(x, breaks, x0, a, b, c, origin, inverse, first, theta):  # type: ignore[no-untyped-def]
    """theta[i] += a_s + (x − x0_s)(b_s + c_s (x − x0_s)) on x's segment s.

    Neighbouring cells are similar. If all are in a few segments, there is one plain loop per segment instead of a
    search per cell.
    """
    least, most = _ends(x)
    s = _segment(least, breaks, origin, inverse, first)
    if most < breaks[min(s + _FEW, breaks.size) - 1]:
        begin = -np.inf
        while begin <= most:
            _add_segment(x, begin, breaks[s], x0[s], a[s], b[s], c[s], theta)
            begin, s = breaks[s], s + 1
        return
    for i in range(x.size):
        s = _segment(x[i], breaks, origin, inverse, first)
        d = x[i] - x0[s]
        theta[i] += a[s] + d * (b[s] + c[s] * d)


@jit
def _add_classes(x, values, weights, theta):  # type: ignore[no-untyped-def]
    """theta[i] += the weight of x's category; zero for categories without a weight."""
    previous, weight = np.nan, 0.0
    for i in range(x.size):
        if x[i] != previous:  # neighbours mostly have the same category
            previous = x[i]
            position = np.searchsorted(values, previous)
            weight = weights[position] if position < values.size and values[position] == previous else 0.0
        theta[i] += weight


@jit_finite
def _add_product(u, v, a, b, low, slope, weight, clamp, theta):  # type: ignore[no-untyped-def]
    """theta[i] += weight · (uv − lo) slope, limited to [0, 1] with `clamp`.

    `a` and `b` are the centres of the values, and `low` is `lo − ab`.
    """
    least, most = (0.0, 1.0) if clamp else (-np.inf, np.inf)
    if a == 0.0 and b == 0.0:
        for i in range(u.size):
            theta[i] += weight * min(max((u[i] * v[i] - low) * slope, least), most)
        return
    for i in range(u.size):
        d, e = u[i] - a, v[i] - b
        f = (d * e + a * e + b * d - low) * slope
        theta[i] += weight * min(max(f, least), most)
