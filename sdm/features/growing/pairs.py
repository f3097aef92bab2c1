"""The best two further splits of a set of cells, all of them tried: what a search one split at a time cannot see.

Write `V_k(S)` for the largest `Σ_leaf |g_leaf|` that `k` splits of the cells `S` can reach. A table of the sums of g
over the bins of two variables gives the histograms of both sides of every split of the first variable, and so `V_1` of
both sides. From these follow `V_2(S) = max (V_1(left) + |g_right|, |g_left| + V_1(right))` and, of the trees with three
nodes, those that split both sides, `V_1(left) + V_1(right)`. Trees with three nodes in a row are found by a beam: for
the best roots of pairs, the best pair of either side.

Tables hold running sums over the second variable's bins (`table[bin of v, bin of u, u]`). With `L` such a sum and `T`
the total, `|L| + |T − L| − |T|` is largest where `L` is smallest or largest, so only these two are looked for. Sets of
classes are all tried for up to `most_sets` classes; of more, those that are best without a second split: classes in the
order of their sum of g, cut in two.
"""

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit, jit_finite
from sdm.types import Array

BEAM = 6  # roots whose sides are searched for pairs
NONE = -1.0


class Start:
    """The first splits of a tree: which leaf each divides, by which variable, and the bins that go to the new leaf."""

    def __init__(self, leaf: NDArray[np.int64], var: NDArray[np.int64], right: NDArray[np.bool_]) -> None:
        self.leaf, self.var, self.right = leaf, var, right


def best_pair(
    codes: NDArray[np.uint16], counts: NDArray[np.int64], categorical: NDArray[np.bool_], g: Array, most_sets: int
) -> Start | None:
    """Return the two splits with the largest sum of |g|, of all that there are; None if no second split helps."""
    found = _all_gains(counts, categorical, most_sets)
    table = np.empty((int(counts.max()), int(counts.max()), counts.size))
    cells, places = np.arange(g.size), _places(codes)
    for v in range(counts.size):
        _fill(places, codes, g, cells, v, table[: counts[v]])
        _scan(table[: counts[v]], v, counts, categorical, most_sets, found[v])
    leaf, var, right = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros((2, table.shape[0]), dtype=np.bool_)
    value = _read_pair(codes, counts, categorical, g, cells, most_sets, found, leaf, var, right)
    return Start(leaf, var, right) if value > 0.0 else None


def best_starts(
    codes: NDArray[np.uint16], counts: NDArray[np.int64], categorical: NDArray[np.bool_], g: Array, most_sets: int
) -> list[Start]:
    """Return the best pair, and the best three splits that a beam over its roots finds."""
    n_variables, width = counts.size, int(counts.max())
    right = np.zeros((2, 3, width), dtype=np.bool_)
    leaf, var, size = np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64), np.zeros(2, np.int64)
    tables = np.empty((n_variables, width, width, n_variables))  # of all cells
    sides = np.empty((2, width, width, n_variables))  # of the sides of a root, for one variable
    found = np.array([_all_gains(counts, categorical, most_sets)] * 3)  # of all cells, and of the sides
    cells, places = np.arange(g.size), _places(codes)
    _beam(codes, counts, categorical, g, most_sets, cells, places, tables, sides, found, leaf, var, right, size)
    return [Start(leaf[k, :s], var[k, :s], right[k, :s]) for k, s in enumerate(size) if s > 0]


def _all_gains(counts: NDArray[np.int64], categorical: NDArray[np.bool_], most_sets: int) -> Array:
    """Return room for what `_scan` finds: for every variable and split |g_left| + |g_right| (`NONE`: no such split),
    and what the best split of the left and of the right side gain."""
    sets = categorical & (counts <= most_sets)
    most = max(1, *(2 ** (int(n) - 1) - 1 if every else int(n) - 1 for n, every in zip(counts, sets)))
    return np.full((counts.size, most, 3), NONE)


def _places(codes: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """Return where each cell's bins are in a row of a table, so that they need not be computed for every table."""
    return (codes.astype(np.int64) * codes.shape[1] + np.arange(codes.shape[1])).astype(np.uint32)


# Kernels have loops where arrays could be assigned, compared or sorted at once: each of these takes seconds to compile.


@jit
def cut_gain(hist, count, categorical, total):  # type: ignore[no-untyped-def]
    """Return the largest `|g_left| + |g_right| − |g|` of one variable, and the last bin of the left side."""
    if categorical:
        right = 0.0
        for b in range(count):
            if hist[b] > 0.0:
                right += hist[b]
        return abs(right) + abs(total - right) - abs(total), 0
    best, cut, left = -1.0, 0, 0.0
    for b in range(count - 1):
        left += hist[b]
        gain = abs(left) + abs(total - left) - abs(total)
        if gain > best + 1e-15:
            best, cut = gain, b
    return best, cut


@jit
def _goes_right(s, b, count, categorical, most_sets, rank):  # type: ignore[no-untyped-def]
    """Tell whether split `s` of a variable sends bin `b` right; `rank` is the place of each class by its sum of g."""
    if not categorical:
        return b > s
    if count <= most_sets:  # every set without the first class: a set and its complement are the same split
        return b > 0 and ((s + 1) >> (b - 1)) & 1 == 1
    return rank[b] <= s


@jit
def _rank(sums, rank):  # type: ignore[no-untyped-def]
    """Fill the place of every class when the largest sum comes first; of equals, the first in the list."""
    for b in range(sums.size):
        rank[b] = 0
        for c in range(sums.size):
            if sums[c] > sums[b] or (sums[c] == sums[b] and c < b):
                rank[b] += 1


@jit
def _clear(out):  # type: ignore[no-untyped-def]
    """out = 0."""
    for c in range(out.shape[0]):
        for u in range(out.shape[1]):
            out[c, u] = 0.0


@jit
def _add(part, total):  # type: ignore[no-untyped-def]
    """total += part."""
    for c in range(total.shape[0]):
        for u in range(total.shape[1]):
            total[c, u] += part[c, u]


@jit
def _fill(places, codes, g, cells, v, table):  # type: ignore[no-untyped-def]
    """table[b, c, u] = the sum of g over the cells in bin b of variable v and in a bin up to c of variable u."""
    count, width, n_variables = table.shape
    flat, step = table.reshape(count * width * n_variables), np.uint32(width * n_variables)
    for k in range(flat.size):
        flat[k] = 0.0
    for i in cells:
        row, mass = codes[i, v] * step, g[i]
        for u in range(n_variables):
            flat[row + places[i, u]] += mass
    for b in range(count):
        for c in range(1, width):
            for u in range(n_variables):
                table[b, c, u] += table[b, c - 1, u]


@jit_finite
def _scan(table, v, counts, categorical, most_sets, found):  # type: ignore[no-untyped-def]
    """Fill `found[s]` for every split `s` of variable `v`."""
    count, width, n_variables = table.shape
    sums, rank = np.empty(count), np.empty(count, np.int64)
    if categorical[v]:
        for b in range(count):
            sums[b] = table[b, width - 1, v]
        _rank(sums, rank)
    whole, left = np.empty((width, n_variables)), np.empty((width, n_variables))
    _clear(whole)
    _clear(left)
    for b in range(count):
        _add(table[b], whole)
    low, high = np.empty((2, n_variables)), np.empty((2, n_variables))
    n_splits = 2 ** (count - 1) - 1 if categorical[v] and count <= most_sets else count - 1
    for s in range(n_splits):
        if not categorical[v]:  # one more bin goes left
            _add(table[s], left)
        else:
            _clear(left)
            for b in range(count):
                if not _goes_right(s, b, count, True, most_sets, rank):
                    _add(table[b], left)
        _clear(low)
        _clear(high)
        for c in range(width):
            for u in range(n_variables):
                x, y = left[c, u], whole[c, u] - left[c, u]
                low[0, u], high[0, u] = min(low[0, u], x), max(high[0, u], x)
                low[1, u], high[1, u] = min(low[1, u], y), max(high[1, u], y)
        found[s, 0] = 0.0
        for side in range(2):
            total = left[width - 1, v] if side == 0 else whole[width - 1, v] - left[width - 1, v]
            gain = 0.0
            for u in range(n_variables):
                if categorical[u]:
                    right, before = 0.0, 0.0
                    for c in range(counts[u]):
                        now = left[c, u] if side == 0 else whole[c, u] - left[c, u]
                        right += max(now - before, 0.0)
                        before = now
                    gain = max(gain, abs(right) + abs(total - right) - abs(total))
                else:
                    gain = max(gain, 2.0 * max(high[side, u] - max(total, 0.0), min(total, 0.0) - low[side, u]))
            found[s, 0] += abs(total)
            found[s, 1 + side] = gain


@jit
def _root(codes, counts, categorical, g, cells, most_sets, v, s, right):  # type: ignore[no-untyped-def]
    """Fill `right` with the bins that split `s` of variable `v` sends right."""
    sums, rank = np.empty(counts[v]), np.empty(counts[v], np.int64)
    for b in range(counts[v]):
        sums[b] = 0.0
    for i in cells:
        sums[codes[i, v]] += g[i]
    if categorical[v]:
        _rank(sums, rank)
    for b in range(right.size):
        right[b] = b < counts[v] and _goes_right(s, b, counts[v], categorical[v], most_sets, rank)


@jit
def _child(codes, counts, categorical, g, cells, right):  # type: ignore[no-untyped-def]
    """Fill `right` with the bins that the best split of the cells sends right; return its variable."""
    hist = np.empty((counts.size, right.size))
    _clear(hist)
    total = 0.0
    for i in cells:
        total += g[i]
        for u in range(counts.size):
            hist[u, codes[i, u]] += g[i]
    best, best_u, best_at = -1.0, 0, 0
    for u in range(counts.size):
        gain, cut = cut_gain(hist[u], counts[u], categorical[u], total)
        if gain > best + 1e-15:
            best, best_u, best_at = gain, u, cut
    for b in range(right.size):
        right[b] = b < counts[best_u] and (hist[best_u, b] > 0.0 if categorical[best_u] else b > best_at)
    return best_u


@jit
def _part(codes, cells, v, right, side):  # type: ignore[no-untyped-def]
    """Return the cells on one side of a split."""
    out = np.empty(cells.size, np.int64)
    n = 0
    for i in cells:
        if right[codes[i, v]] == (side == 1):
            out[n] = i
            n += 1
    return out[:n]


@jit
def _read_pair(codes, counts, categorical, g, cells, most_sets, found, leaf, var, right):  # type: ignore[no-untyped-def]
    """Fill the best two splits of the cells; return their sum of |g| (zero if no second split helps)."""
    best, v, s, side = 0.0, -1, 0, 0
    for a in range(found.shape[0]):
        for b in range(found.shape[1]):
            for k in range(2):
                if found[a, b, 1 + k] > 1e-15 and found[a, b, 0] + found[a, b, 1 + k] > best + 1e-15:
                    best, v, s, side = found[a, b, 0] + found[a, b, 1 + k], a, b, k
    if v >= 0:
        _root(codes, counts, categorical, g, cells, most_sets, v, s, right[0])
        leaf[0], leaf[1], var[0] = 0, side, v
        var[1] = _child(codes, counts, categorical, g, _part(codes, cells, v, right[0], side), right[1])
    return best


@jit
def _beam(  # type: ignore[no-untyped-def]
    codes, counts, categorical, g, most_sets, cells, places, tables, sides, found, leaf, var, right, size
):
    """Fill the best pair (row 0) and the best three splits found (row 1), with their sizes."""
    n_variables, width = counts.size, right.shape[2]
    for v in range(n_variables):
        _fill(places, codes, g, cells, v, tables[v, : counts[v]])
        _scan(tables[v, : counts[v]], v, counts, categorical, most_sets, found[0, v])
    if _read_pair(codes, counts, categorical, g, cells, most_sets, found[0], leaf[0], var[0], right[0]) > 0.0:
        size[0] = 2
    best = _both_sides(codes, counts, categorical, g, cells, most_sets, found[0], leaf[1], var[1], right[1])
    size[1] = 3 if best > 0.0 else 0
    value = np.empty((n_variables, found.shape[2]))
    for a in range(n_variables):
        for b in range(value.shape[1]):
            value[a, b] = found[0, a, b, 0] + max(found[0, a, b, 1], found[0, a, b, 2])
    root, sub = np.empty(width, np.bool_), np.empty((2, width), np.bool_)
    sub_leaf, sub_var, totals = np.empty(2, np.int64), np.empty(2, np.int64), np.empty(2)
    for _ in range(BEAM):
        v, s = 0, 0
        for a in range(n_variables):
            for b in range(value.shape[1]):
                if value[a, b] > value[v, s]:
                    v, s = a, b
        if value[v, s] <= 0.0:
            break
        value[v, s] = 0.0
        if not categorical[v]:  # cuts next to it divide almost alike
            for b in range(max(s - 1, 0), min(s + 2, value.shape[1])):
                value[v, b] = 0.0
        _root(codes, counts, categorical, g, cells, most_sets, v, s, root)
        parts = (_part(codes, cells, v, root, 0), _part(codes, cells, v, root, 1))
        few = 0 if parts[0].size <= parts[1].size else 1
        for u in range(n_variables):
            count = counts[u]
            _fill(places, codes, g, parts[few], u, sides[few, :count])
            _rest(tables[u, :count], sides[few, :count], sides[1 - few, :count])
            for side in range(2):
                _scan(sides[side, :count], u, counts, categorical, most_sets, found[1 + side, u])
        for side in range(2):
            totals[side] = 0.0
            for i in parts[side]:
                totals[side] += g[i]
        for side in range(2):
            most = _largest_pair(found[1 + side]) + abs(totals[1 - side])
            if most > best + 1e-15:
                own, gains = parts[side], found[1 + side]
                if _read_pair(codes, counts, categorical, g, own, most_sets, gains, sub_leaf, sub_var, sub) > 0.0:
                    best, size[1] = most, 3
                    leaf[1, 0], leaf[1, 1], leaf[1, 2] = 0, side, 2 if sub_leaf[1] == 1 else side
                    var[1, 0], var[1, 1], var[1, 2] = v, sub_var[0], sub_var[1]
                    for b in range(width):
                        right[1, 0, b], right[1, 1, b], right[1, 2, b] = root[b], sub[0, b], sub[1, b]


@jit
def _rest(whole, part, rest):  # type: ignore[no-untyped-def]
    """rest = whole − part."""
    for b in range(whole.shape[0]):
        for c in range(whole.shape[1]):
            for u in range(whole.shape[2]):
                rest[b, c, u] = whole[b, c, u] - part[b, c, u]


@jit
def _largest_pair(found):  # type: ignore[no-untyped-def]
    """Return the largest sum of |g| of two splits."""
    best = 0.0
    for a in range(found.shape[0]):
        for b in range(found.shape[1]):
            best = max(best, found[a, b, 0] + max(found[a, b, 1], found[a, b, 2]))
    return best


@jit
def _both_sides(codes, counts, categorical, g, cells, most_sets, found, leaf, var, right):  # type: ignore[no-untyped-def]
    """Fill the best three splits that divide both sides of the root; return their sum of |g|, or zero."""
    best, v, s = 0.0, -1, 0
    for a in range(found.shape[0]):
        for b in range(found.shape[1]):
            value = found[a, b, 0] + found[a, b, 1] + found[a, b, 2]
            if min(found[a, b, 1], found[a, b, 2]) > 1e-15 and value > best + 1e-15:
                best, v, s = value, a, b
    if v >= 0:
        _root(codes, counts, categorical, g, cells, most_sets, v, s, right[0])
        leaf[0], var[0] = 0, v
        for side in range(2):
            leaf[side + 1] = side
            part = _part(codes, cells, v, right[0], side)
            var[side + 1] = _child(codes, counts, categorical, g, part, right[side + 1])
    return best
