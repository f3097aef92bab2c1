"""Search all pairs of splits of a set of cells, which a greedy search of single splits cannot find.

Let `V_k(S)` be the largest `Σ_leaf |g_leaf|` that `k` splits of the cells `S` can reach. A table of the sums of g over
the bins of two variables contains the histograms of both sides of every split of the first variable. They give `V_1` of
both sides. Then `V_2(S) = max (V_1(left) + |g_right|, |g_left| + V_1(right))`. For trees with three nodes that split
both sides, the value is `V_1(left) + V_1(right)`. Chains of three nodes are found by a beam search: for the best roots
of pairs, the best pair of either side.

Tables contain running sums over the second variable's bins (`table[bin of v, bin of u, u]`). With such a sum `L` and
the total `T`, `|L| + |T − L| − |T|` is largest where `L` is smallest or largest, so only these two are needed. All sets
of classes are searched for up to `most_sets` classes. With more, classes are sorted by their sum of g and cut in two,
which is optimal without a second split.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.types import Array, Index

BEAM = 6  # number of roots whose sides are searched for pairs
_LEAST = 1e-15  # gains below this are rounding errors
_NUMBERS = 1 << 20  # numbers of a table per block

Marks = NDArray[np.bool_]


@dataclass(eq=False)
class Start:
    """The first splits of a tree: the leaf and variable of each, and the bins that go to the new leaf."""

    leaf: Index
    var: Index
    right: Marks


@dataclass(frozen=True)
class _Gains:
    """All first splits: variable and number, |g_left| + |g_right|, and the gain of the best split of each side."""

    var: Index
    split: Index
    sums: Array
    sides: Array  # (splits, 2)

    @property
    def pairs(self) -> Array:
        """Return the largest sum of |g| of two splits, for each first split."""
        return np.asarray(self.sums + self.sides.max(axis=1))


@dataclass(frozen=True)
class _Search:
    """The bins of cells (n, V), the number of bins of each variable, and the limit for sets of classes."""

    codes: NDArray[np.uint16]
    counts: Index
    categorical: Marks
    g: Array
    most_sets: int

    def table(self, cells: Index, v: int) -> Array:
        """Return the sum of g over the cells in bin b of variable v and in bins up to c of variable u, (b, c, u)."""
        shape = int(self.counts[v]), int(self.counts.max()), self.counts.size
        codes = self.codes[cells].astype(np.int64)
        place = (codes[:, v, None] * shape[1] + codes) * shape[2] + np.arange(shape[2])
        sums = np.bincount(place.ravel(), np.repeat(self.g[cells], shape[2]), np.prod(shape))
        return np.cumsum(sums.reshape(shape), axis=1)

    def right(self, sums: Array, v: int) -> Marks:
        """Return the bins that each split of a variable sends right, (splits, bins); `sums` are the sums of its
        bins."""
        count = sums.size
        if not self.categorical[v]:
            return ~np.tri(count - 1, count, dtype=np.bool_)
        # every set without the first class, because a set and its complement are the same split
        if count <= self.most_sets:
            bits = np.arange(1, 2 ** (count - 1))[:, None] >> np.arange(count - 1)
            return np.hstack([np.zeros((len(bits), 1), dtype=np.bool_), (bits & 1).astype(np.bool_)])
        rank = np.argsort(np.argsort(-sums, kind="stable"))
        return np.asarray(rank <= np.arange(count - 1)[:, None])

    def gains(self, tables: Iterable[Array]) -> _Gains:
        """Return the gains of all first splits, from the tables of all variables."""
        per_variable = [self._scan(table, v) for v, table in enumerate(tables)]
        var = np.repeat(np.arange(len(per_variable)), [len(rows) for rows in per_variable])
        split = np.concatenate([np.arange(len(rows)) for rows in per_variable])
        rows = np.concatenate(per_variable)
        return _Gains(var, split, rows[:, 0], rows[:, 1:])

    def _scan(self, table: Array, v: int) -> Array:
        """Return |g_left| + |g_right| and the gains of the best split of either side, for every split of a variable."""
        total, before = table.sum(axis=0), np.zeros(table.shape[1:])
        left_bins = ~self.right(table[:, -1, v], v)
        step = max(1, _NUMBERS // before.size)
        out = np.empty((len(left_bins), 3))
        for first in range(0, len(left_bins), step):
            block = slice(first, min(first + step, len(left_bins)))
            if self.categorical[v]:
                left_sums = np.tensordot(left_bins[block].astype(np.float64), table, 1)
            else:
                left_sums = before + np.cumsum(table[block], axis=0)
                before = left_sums[-1]
            sides = left_sums, total - left_sums
            totals = [side[:, -1, v] for side in sides]
            out[block, 0] = np.abs(totals[0]) + np.abs(totals[1])
            out[block, 1:] = np.transpose([self._best_gain(*one) for one in zip(sides, totals)])
        return out

    def _best_gain(self, sums: Array, total: Array) -> Array:
        """Return the gain of the best split of each set of cells, from its running sums (sets, c, u)."""
        low, high = np.minimum(sums.min(axis=1), 0.0), np.maximum(sums.max(axis=1), 0.0)
        total = total[:, None]
        gain = 2.0 * np.maximum(high - np.maximum(total, 0.0), np.minimum(total, 0.0) - low)
        if self.categorical.any():
            single = np.diff(sums[:, :, self.categorical], axis=1, prepend=0.0)
            right = np.maximum(single, 0.0).sum(axis=1)
            gain[:, self.categorical] = np.abs(right) + np.abs(total - right) - np.abs(total)
        return np.asarray(np.maximum(gain.max(axis=1), 0.0))

    def root(self, cells: Index, v: int, split: int) -> Marks:
        """Return the bins that a split of the cells sends right."""
        out = np.zeros(int(self.counts.max()), dtype=np.bool_)
        sums: Array = np.bincount(self.codes[cells, v], self.g[cells], int(self.counts[v])).astype(np.float64)
        out[: sums.size] = self.right(sums, v)[split]
        return out

    def child(self, cells: Index) -> tuple[int, Marks]:
        """Return the variable of the best split of the cells, and the bins that it sends right."""
        g, width = self.g[cells], int(self.counts.max())
        sums = [np.bincount(codes, g, width) for codes in self.codes[cells].T]
        cuts = [cut_gain(*one, float(g.sum())) for one in zip(sums, self.counts, self.categorical)]
        u = int(np.argmax([gain for gain, _ in cuts]))
        return u, sums[u] > 0.0 if self.categorical[u] else self._beyond(cuts[u][1], u)

    def _beyond(self, cut: int, u: int) -> Marks:
        """Return the bins of a variable above a cut."""
        bins = np.arange(int(self.counts.max()))
        return np.asarray((bins > cut) & (bins < self.counts[u]))

    def parts(self, cells: Index, v: int, right: Marks) -> tuple[Index, Index]:
        """Return the cells on either side of a split."""
        goes = right[self.codes[cells, v]]
        return cells[~goes], cells[goes]

    def pair(self, cells: Index, gains: _Gains) -> Start | None:
        """Return the best two splits of the cells; None if a second split does not help."""
        values = np.where(gains.sides > _LEAST, gains.sums[:, None] + gains.sides, 0.0)
        if not values.size or values.max() <= _LEAST:
            return None
        first, side = divmod(int(values.argmax()), 2)
        v = int(gains.var[first])
        right = self.root(cells, v, int(gains.split[first]))
        u, child = self.child(self.parts(cells, v, right)[side])
        return Start(np.array([0, side]), np.array([v, u]), np.array([right, child]))

    def both_sides(self, cells: Index, gains: _Gains) -> tuple[float, Start | None]:
        """Return the best three splits that divide both sides of the root, with their sum of |g|; zero and None without
        any."""
        values = np.where(gains.sides.min(axis=1) > _LEAST, gains.sums + gains.sides.sum(axis=1), 0.0)
        if not values.size or values.max() <= _LEAST:
            return 0.0, None
        first = int(values.argmax())
        v = int(gains.var[first])
        right = self.root(cells, v, int(gains.split[first]))
        children = [self.child(part) for part in self.parts(cells, v, right)]
        var = np.array([v, *(u for u, _ in children)])
        return float(values[first]), Start(np.array([0, 0, 1]), var, np.array([right, *(bins for _, bins in children)]))


def best_pair(codes: NDArray[np.uint16], counts: Index, categorical: Marks, g: Array, most_sets: int) -> Start | None:
    """Return the two splits with the largest sum of |g| of all pairs; None if a second split does not help."""
    search, cells = _Search(codes, counts, categorical, g, most_sets), np.arange(g.size)
    return search.pair(cells, search.gains(search.table(cells, v) for v in range(counts.size)))


def best_starts(codes: NDArray[np.uint16], counts: Index, categorical: Marks, g: Array, most_sets: int) -> list[Start]:
    """Return the best pair, and the best three splits of a beam search over its roots."""
    search, cells, variables = _Search(codes, counts, categorical, g, most_sets), np.arange(g.size), range(counts.size)
    tables = [search.table(cells, v) for v in variables]
    gains = search.gains(tables)
    best, three = search.both_sides(cells, gains)
    value = gains.pairs
    for _ in range(min(BEAM, value.size)):
        first = int(value.argmax())
        if value[first] <= 0.0:
            break
        v, split = int(gains.var[first]), int(gains.split[first])
        near = 0 if categorical[v] else 1  # neighbouring cuts are similar
        value[(gains.var == v) & (np.abs(gains.split - split) <= near)] = 0.0
        right = search.root(cells, v, split)
        parts = search.parts(cells, v, right)
        few = int(parts[0].size > parts[1].size)
        fewer = [search.table(parts[few], u) for u in variables]
        rest = [table - part for table, part in zip(tables, fewer)]
        for side in range(2):
            of_side = search.gains(fewer if side == few else rest)
            most = float(of_side.pairs.max()) + abs(float(g[parts[1 - side]].sum()))
            pair = search.pair(parts[side], of_side) if most > best + _LEAST else None
            if pair is not None:
                leaf = np.array([0, side, 2 if pair.leaf[1] == 1 else side])
                best, three = most, Start(leaf, np.array([v, *pair.var]), np.array([right, *pair.right]))
    return [start for start in (search.pair(cells, gains), three) if start is not None]


@jit
def cut_gain(hist, count, categorical, total):  # type: ignore[no-untyped-def]
    """Return the largest `|g_left| + |g_right| − |g|` of one variable, and the last bin of the left side."""
    if categorical:
        positive = 0.0
        for b in range(count):
            if hist[b] > 0.0:
                positive += hist[b]
        return abs(positive) + abs(total - positive) - abs(total), 0
    best, cut, below = -1.0, 0, 0.0
    for b in range(count - 1):
        below += hist[b]
        gain = abs(below) + abs(total - below) - abs(total)
        if gain > best + 1e-15:
            best, cut = gain, b
    return best, cut
