"""The training AUC of a model when one variable is shuffled, without predicting everything again.

The score of a point is a sum of parts, one for each variable and for each product of two. When one variable is
shuffled, its part is shuffled with it, and only its products are new: the rest is added up once. Few presences among
many points need no sorting of all points either: a grid over the scores of the presences tells how many of them are
above a point. Where a point is so near to a presence that rounding may decide, their raw values are computed exactly as
a prediction computes them: the AUC is that of predictions, to the last digit.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit, jit_finite
from sdm.executors.ahead import MANY, ahead
from sdm.models.species import Model
from sdm.types import Array

_CHUNK = 512  # points that are scored together: they stay in the fastest cache
_CELLS = 4096  # of the grid
_NEAR = 1e-10  # sums in another order differ by less, relative to the size of what is added
_RAW = 1 << 20  # random numbers that are drawn at a time; the first are kept for the next species


class Shuffles:
    """Random orders of `n` points, those of `numpy.random.default_rng(seed).permutation`, one after the other."""

    def __init__(self, seed: int, n: int) -> None:
        self._seed, self._n, self._used = seed, n, 0
        self._halves = _first_halves(seed, _RAW)
        self._places = np.empty(n + 1, dtype=np.uint32)
        self._source: np.random.PCG64 | None = None

    def draw(self, count: int) -> Iterator[NDArray[np.uint32]]:
        """Give the next orders, one after the other."""
        for _ in range(count):
            self.skip(1)
            order = np.empty(self._n, dtype=np.uint32)
            _shuffle(self._places, order)
            yield order

    def skip(self, count: int) -> None:
        """Leave out the next orders."""
        for _ in range(count):
            left = self._n - 1
            while left > 0:
                self._used, left = _draw_places(self._halves, self._used, self._places, left)
                if left > 0:
                    self._draw_halves()

    def _draw_halves(self) -> None:
        """Draw more random numbers, after those that were used up."""
        if self._source is None:
            self._source = np.random.PCG64(self._seed)
            self._source.advance(_RAW)
        self._halves, self._used = _halves(self._source, _RAW), 0


@lru_cache(maxsize=1)
def _first_halves(seed: int, count: int) -> NDArray[np.uint32]:
    """Return the first random numbers of a seed: the same for every species of a run."""
    halves = _halves(np.random.PCG64(seed), count)
    halves.flags.writeable = False
    return halves


def _halves(source: np.random.PCG64, count: int) -> NDArray[np.uint32]:
    """Return the next random numbers of a source, in halves, the low one first."""
    return source.random_raw(count).astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)


class ShuffledModel:
    """A model of terms alone with Shannon's entropy, at points `(n, V)` of which the first `m` are presences."""

    def __init__(self, model: Model, rows: Array, m: int) -> None:
        compiled = model.compiled
        self._m, self._scale = m, (model.tau, float(model.n_domain))
        self._columns = np.clip(rows.T, compiled.lo[:, None], compiled.hi[:, None])
        own = sorted({*compiled.curves, *compiled.classes})
        self._row = {v: k for k, v in enumerate(own)}  # of a variable's own part
        parts = [compiled.contribution(v, self._columns[v]) for v in own]
        centre = compiled.centre[compiled.pairs]
        self._pairs = np.ascontiguousarray(compiled.pairs.T.astype(np.int64))
        self._ways = np.column_stack([*centre, compiled.pair_low, compiled.pair_slope, compiled.pair_weight])
        for (p, q), (a, b, low, slope, weight) in zip(self._pairs, self._ways):
            parts.append(np.zeros(len(rows)))
            _add_product(self._columns[p], self._columns[q], a, b, low, slope, weight, parts[-1])
        self._parts = np.array(parts).reshape(len(parts), len(rows))
        self._total = self._parts.sum(axis=0)
        self._near = _NEAR * (1.0 + abs(model.tau) + float(np.abs(self._parts).max(axis=1, initial=0.0).sum()))

    @staticmethod
    def serves(model: Model, rows: Array) -> bool:
        """Tell whether a model is of terms alone, with Shannon's entropy, and no value is missing."""
        plain = model.alpha == 1.0 and not len(model.shapes) and model.unseen != "error"
        return plain and bool(np.isfinite(rows).all())

    def uses(self, v: int) -> bool:
        """Tell whether a variable has any part in the scores."""
        return v in self._row or bool(np.any(self._pairs == v))

    def auc(self, v: int, orders: Iterable[NDArray[np.uint32]], threads: int = 1) -> Array:
        """Return the AUC of the presences against all points, with variable `v` in each of some orders; several at a
        time where there are many points."""
        own, pairs = self._row.get(v, -1), np.flatnonzero(np.any(self._pairs == v, axis=1))
        changed = [*([own] if own >= 0 else []), *(len(self._row) + pairs)]
        rest = self._total - self._parts[changed].sum(axis=0)
        exact = (len(self._row), self._columns, self._parts, self._pairs, self._ways, *self._scale)

        def twice_above(order: NDArray[np.uint32]) -> int:
            theta = np.empty(rest.size)
            _add_shuffled(v, own, order, rest, pairs, self._columns, self._parts, self._pairs, self._ways, theta)
            who = np.argsort(theta[: self._m])  # by numpy: a sort in a kernel takes seconds to compile
            presence = theta[who]
            low, width = presence[0], presence[-1] - presence[0]
            inverse = _CELLS / width if width > 0.0 else 0.0
            above, first = _grid(presence, self._near, low, inverse)
            near = (presence, self._near, low, inverse, above, first)
            return int(_twice_above(v, own, order, theta, who, *near, *exact))

        many = threads > 1 and rest.size >= MANY
        twice = list(ahead(twice_above, orders, threads) if many else map(twice_above, orders))
        return np.array(twice, dtype=np.int64) / 2.0 / self._m / rest.size


@jit
def _draw_places(halves, used, places, last):  # type: ignore[no-untyped-def]
    """Draw for each place i, from `last` to the second, one of the places 0 to i, as numpy does: by the lowest bits of
    the next random number, until they are no more than i. Return how many numbers were used in all, and the last place
    that there were not enough for, or 0. `places` has room for one more."""
    i = np.uint64(last)
    mask = np.uint64(1)
    while mask < i:
        mask = (mask << np.uint64(1)) | np.uint64(1)
    at, end = np.uint64(used), np.uint64(halves.size)
    one = np.uint64(1)
    while i > 0:
        bottom = mask >> one  # down to here the same bits count
        while i > bottom:
            stop = min(at + (i - bottom), end)  # as many numbers at least
            if at == end:
                return np.int64(at), np.int64(i)
            while at < stop:
                j = np.uint64(halves[at]) & mask
                places[i] = j
                i -= np.uint64(j <= i)
                at += one
        mask = bottom
    return np.int64(at), np.int64(0)


@jit
def _shuffle(places, order):  # type: ignore[no-untyped-def]
    """Exchange each place, from the last to the second, with the one that was drawn for it."""
    for i in range(order.size):
        order[i] = i
    for i in range(order.size - 1, 0, -1):
        j = places[i]
        order[i], order[j] = order[j], order[i]


@jit_finite
def _part(u, v, a, b, low, slope, weight):  # type: ignore[no-untyped-def]
    """Return the part of a product, held in its range, as `sdm.models.compiled` computes it."""
    if a != 0.0 or b != 0.0:
        d, e = u - a, v - b
        return weight * min(max((d * e + a * e + b * d - low) * slope, 0.0), 1.0)
    return weight * min(max((u * v - low) * slope, 0.0), 1.0)


@jit_finite
def _add_product(u, v, a, b, low, slope, weight, out):  # type: ignore[no-untyped-def]
    """out[i] += the part of a product."""
    for i in range(u.size):
        out[i] += _part(u[i], v[i], a, b, low, slope, weight)


@jit
def _add_shuffled(v, own, order, rest, pairs, columns, parts, every, ways, theta):  # type: ignore[no-untyped-def]
    """Fill the scores of the points with variable `v` in another order. `rest` is the sum of the parts without it,
    `own` the row of its own part, and `pairs` are its products."""
    moved = np.empty(_CHUNK)
    for a in range(0, theta.size, _CHUNK):
        b = min(a + _CHUNK, theta.size)
        t, place = theta[a:b], order[a:b]
        for i in range(t.size):
            t[i] = rest[a + i]
        if own >= 0:
            part = parts[own]
            for i in range(t.size):
                t[i] += part[place[i]]
        if pairs.size:
            column = columns[v]
            for i in range(t.size):
                moved[i] = column[place[i]]
        for k in pairs:
            p, q = every[k, 0], every[k, 1]
            first = moved[: t.size] if p == v else columns[p, a:b]
            second = moved[: t.size] if q == v else columns[q, a:b]
            _add_product(first, second, ways[k, 0], ways[k, 1], ways[k, 2], ways[k, 3], ways[k, 4], t)


@jit
def _twice_above(  # type: ignore[no-untyped-def]
    v, own, order, theta, who, presence, near, low, inverse, above, first, owns, columns, parts, every, ways, tau, n
):
    """Return Σ over the points of twice how many presences have a greater raw value, plus how many have the same, from
    their scores, those of the presences in the order `who` of them, and the grid over these."""
    m = who.size
    twice = 0
    cell, doubtful = np.empty(_CHUNK, np.uint32), np.empty(_CHUNK + 1, np.int64)
    for a in range(0, theta.size, _CHUNK):
        t = theta[a : min(a + _CHUNK, theta.size)]
        _cells(t, low, inverse, cell)
        found = 0
        for i in range(t.size):
            count = above[cell[i]]
            doubtful[found] = i
            found += count & 1
            twice += count
        for d in doubtful[:found]:
            i, k = a + d, first[cell[d]]
            twice -= above[cell[d]]
            while k < m and presence[k] < t[d] - near:
                k += 1
            while k < m and presence[k] <= t[d] + near:
                twice += 1
                if who[k] != i:
                    x = _raw(i, v, own, order, owns, columns, parts, every, ways, tau, n)
                    y = _raw(who[k], v, own, order, owns, columns, parts, every, ways, tau, n)
                    twice += np.int64(y > x) - np.int64(y < x)
                k += 1
            twice += 2 * (m - k)
    return twice


@jit_finite
def _cells(t, low, inverse, out):  # type: ignore[no-untyped-def]
    """Find the cell of the grid that each score is in; the first is below all presences, the last above."""
    for i in range(t.size):
        out[i] = np.uint32(min(max((t[i] - low) * inverse + 1.0, 0.0), _CELLS + 1.0))


@jit
def _grid(presence, near, low, inverse):  # type: ignore[no-untyped-def]
    """Return for each cell twice how many presences (sorted) are above any point in it, plus one where a presence may
    be near to a point in it; and how many presences are clearly below all points in it, or fewer."""
    above, first = np.empty(_CELLS + 2, np.int64), np.empty(_CELLS + 2, np.int64)
    m = presence.size
    here, down, up = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m, np.uint32)
    shifted = np.empty(m)
    _cells(presence, low, inverse, here)
    for k in range(m):
        shifted[k] = presence[k] - near
    _cells(shifted, low, inverse, down)
    for k in range(m):
        shifted[k] = presence[k] + near
    _cells(shifted, low, inverse, up)
    g = 0
    for k in range(m):
        while g < here[k]:
            above[g] = 2 * (m - k)
            g += 1
    while g < above.size:
        above[g] = 0
        g += 1
    g, k = 0, 0  # those whose reach ends below a cell are clearly less than what is in it
    for j in range(m):
        while g <= up[j]:
            first[g] = k
            g += 1
        k = j + 1
    while g < first.size:
        first[g] = m
        g += 1
    for k in range(m):
        for g in range(down[k], up[k] + 1):
            above[g] |= 1
    return above, first


@jit
def _raw(i, v, own, order, owns, columns, parts, every, ways, tau, n):  # type: ignore[no-untyped-def]
    """Return the raw value of a point, from its parts in the order in which a prediction adds them."""
    theta = 0.0
    for k in range(owns):
        theta += parts[k, order[i]] if k == own else parts[k, i]
    for k in range(every.shape[0]):
        p, q = every[k, 0], every[k, 1]
        if p == v or q == v:
            first = columns[p, order[i]] if p == v else columns[p, i]
            second = columns[q, order[i]] if q == v else columns[q, i]
            theta += _part(first, second, ways[k, 0], ways[k, 1], ways[k, 2], ways[k, 3], ways[k, 4])
        else:
            theta += parts[owns + k, i]
    return np.exp(theta - tau) / n
