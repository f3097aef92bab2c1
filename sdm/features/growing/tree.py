"""Trees: binary decision trees with leaves 0 and 1, grown one leaf split at a time (Cortes et al. 2015, §4).

Let `g_i = p_i − π̃_i`. A tree's violation is `|Σ g_i t(x_i)|`. For a given partition the best labels are 1 where a
leaf's sum of g is positive, or where it is negative if these sums are larger. The violation is then `½ (|Σ g| + Σ_leaf
|g_leaf|)`. So a split of a leaf gains `|g_left| + |g_right| − |g_leaf|`, and the best set of classes of a categorical
variable are the classes with positive g. Sums are from histograms with at most 256 bins per variable. Only the smaller
child's histogram is computed; the other is the parent's minus this one.

Greedy growth ignores later splits. So it has several starts: the best splits of some variables, the best pair of
splits, and the best three splits of a beam search (`pairs`). On a large domain pairs use a sample of the cells and
fewer bins, so that they take about as long as growth.

A tree is the list of its splits in the order of growth: split `s` sends cells of leaf `leaf[s]` with `x ≥ threshold`
(or with a class in the set) to the new leaf `s + 1`. The first `k` splits are the tree with `k` internal nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.domain import Domain
from sdm.features.growing.grown import Proposal
from sdm.features.growing.pairs import BEAM, Start, best_starts, cut_gain
from sdm.types import Array

LN2 = float(np.log(2.0))
MAX_BINS = 256
COARSE_BINS = 64  # largest number of bins for pairs
MOST_SETS = 5  # largest number of classes for which pairs try every set


@dataclass(frozen=True)
class Tree:
    """A tree as a list of k splits."""

    leaf: NDArray[np.int32]  # leaf that each split divides
    var: NDArray[np.int32]  # variable of each split
    threshold: Array  # cells with at least this value go to the new leaf (NaN for a categorical variable)
    classes: tuple[tuple[float, ...], ...]  # classes that go to the new leaf, for a categorical variable
    label: NDArray[np.int8]  # 0 or 1 for each of k + 1 leaves

    @property
    def size(self) -> int:
        """Return the number of internal nodes."""
        return int(self.leaf.size)

    def key(self) -> tuple[object, ...]:
        """Return the identifier of the tree."""
        return self.leaf.tobytes(), self.var.tobytes(), self.threshold.tobytes(), self.classes, self.label.tobytes()

    def rules(
        self, names: list[str], labels: Mapping[int, Mapping[int, str]] | None = None, where: int = 1
    ) -> list[str]:
        """Return each leaf with label `where` as a readable conjunction of conditions."""
        paths: list[list[str]] = [[]]
        for s in range(self.size):
            name, parent = names[self.var[s]], paths[self.leaf[s]]
            if self.classes[s]:
                by_code = (labels or {}).get(int(self.var[s]), {})
                words = ", ".join(by_code.get(int(c), f"{c:g}") for c in self.classes[s])
                yes, no = f"{name} in {{{words}}}", f"{name} not in {{{words}}}"
            else:
                yes, no = f"{name} ≥ {self.threshold[s]:.6g}", f"{name} < {self.threshold[s]:.6g}"
            paths.append([*parent, yes])
            paths[self.leaf[s]] = [*parent, no]
        return [" and ".join(path) or "everywhere" for path, label in zip(paths, self.label) if label == where]

    def describe(self, names: list[str], labels: Mapping[int, Mapping[int, str]] | None = None) -> str:
        """Return the rules for label 1, or for label 0 if they are shorter."""
        ones, zeros = self.rules(names, labels), self.rules(names, labels, where=0)
        if len(" or ".join(zeros)) < len(" or ".join(ones)) and zeros:
            return f"not ({' or '.join(zeros)})"
        return " or ".join(ones) or "nowhere"


class TreeOracle:
    """`trees:K`: the best tree with 1, 2, … K internal nodes by growth from several starts.

    Variables with more distinct values than `bins` are binned. Starts are the splits of `roots` variables, the best
    pair and the best three splits.
    """

    def __init__(self, domain: Domain, largest: int, bins: int = MAX_BINS, roots: int = 3) -> None:
        self.domain = domain
        self.largest = largest
        self.roots = roots
        self.name = f"trees:{largest}"
        binned = [_binned(domain, v, a.values.size if a.categorical else bins) for v, a in enumerate(domain.variables)]
        self.bins = np.column_stack([codes for codes, _ in binned])
        self.edges = [edges for _, edges in binned]
        self.counts = np.array([edges.size + 1 for edges in self.edges], dtype=np.int64)
        self.categorical = np.array([variable.categorical for variable in domain.variables])
        self._prepare_pairs()

    def _prepare_pairs(self) -> None:
        """Choose the number of cells and bins for pairs, so that the work is about one pass over all cells."""
        n, n_variables = self.bins.shape
        work = n * n_variables + 5e5
        width = int(np.clip(np.sqrt(work / (4 * BEAM)) / n_variables, 8, COARSE_BINS))
        self._pair_cells = int(min(n, max(work / ((BEAM + 1) * n_variables**2), 200)))
        self._pair_variables = np.flatnonzero(~self.categorical | (self.counts <= COARSE_BINS))
        # The coarse bin of each bin, by variable (rows).
        self._coarse = np.zeros((n_variables, int(self.counts.max())), dtype=np.uint16)
        for v, count in enumerate(self.counts):
            fewer = int(count) if self.categorical[v] else min(int(count), width)
            self._coarse[v, :count] = np.arange(count) * fewer // count
        self._pair_counts = self._coarse.max(axis=1).astype(np.int64) + 1

    def complexity(self, size: int, m: float) -> float:
        """Return the bound of eq. (15) for trees with `size` internal nodes; constant variables are not counted."""
        d = sum(variable.values.size > 1 for variable in self.domain.variables)
        return float(np.sqrt((4 * size + 2) * np.log2(d + 2) * np.log(m + 1) / m))

    def log_count(self, size: int, points: float) -> float:
        """Return the logarithm of the number of tree shapes, times cuts at their nodes, times labels of their leaves.

        A continuous variable has one cut per point, a categorical one with `c` classes has `2^(c − 1)`.
        """
        levels = [(min(v.values.size, points), v.categorical) for v in self.domain.variables]
        cuts = [(count - 1) * LN2 if categorical else np.log(count) for count, categorical in levels]
        shapes = comb(2 * size, size) // (size + 1)
        return float(np.log(shapes) + size * np.logaddexp.reduce(cuts) + (size + 1) * LN2)

    def propose(self, g: Array) -> list[Proposal]:
        """Return the best tree found of each size 1 … largest (fewer if splits stop helping)."""
        best: dict[int, Proposal] = {}
        for proposal in [*self.propose_quickly(g), *self.propose_further(g)]:
            size = proposal.shape.size
            if size not in best or proposal.violation > best[size].violation * (1 + 1e-12):
                best[size] = proposal
        return list(best.values())

    def propose_quickly(self, g: Array, roots: int | None = None) -> list[Proposal]:
        """Return the best trees by growth from the best splits of `roots` single variables."""
        root, total = self._root(g), float(g.sum())
        cuts = [cut_gain(root[v], self.counts[v], self.categorical[v], total) for v in range(len(self.counts))]
        starts = []
        for v in np.argsort([-gain for gain, _ in cuts], kind="stable")[: roots or self.roots]:
            gain, cut = cuts[v]
            if gain > 1e-14:
                right = root[v] > 0.0 if self.categorical[v] else np.arange(root.shape[1]) > cut
                starts.append(Start(np.zeros(1, np.int64), np.array([v]), right[None, :]))
        return self.grow(g, starts, root)

    def propose_further(self, g: Array) -> list[Proposal]:
        """Return the best trees by growth from the best pair and the best three splits."""
        if self.largest == 1:
            return []
        starts = [start for start in self._pairs(g) if start.leaf.size <= self.largest]
        return self.grow(g, starts)

    def _root(self, g: Array) -> Array:
        """Return the histogram of g over every variable."""
        return np.array([np.bincount(bins, g, int(self.counts.max())) for bins in self.bins.T])

    def _pairs(self, g: Array) -> list[Start]:
        """Return the best pair and three splits, from a sample of the cells and coarse bins on large domains."""
        cells, mass = systematic(g, self._pair_cells)
        variables = self._pair_variables
        codes = np.empty((cells.size, variables.size), dtype=np.uint16)
        for k, v in enumerate(variables):
            codes[:, k] = self._coarse[v][self.bins[cells, v]]
        counts, categorical = self._pair_counts[variables], self.categorical[variables]
        starts = best_starts(codes, counts, categorical, mass, MOST_SETS)
        for start in starts:
            start.var = variables[start.var]
            start.right = np.array([row[self._coarse[v]] for row, v in zip(start.right, start.var)])
        return starts

    def grow(self, g: Array, starts: Sequence[Start], root: Array | None = None) -> list[Proposal]:
        """Grow a tree from each start; return the best tree of each size. `root` is the histogram of all cells."""
        root = self._root(g) if root is None else root
        best: dict[int, Proposal] = {}
        k, sums = self.largest, np.zeros((self.largest + 1, self.largest + 1))
        leaf, var, sets = np.empty(k, np.int64), np.empty(k, np.int64), np.zeros((k, root.shape[1]), dtype=np.bool_)
        for start in starts:
            depth = start.leaf.size
            leaf[:depth], var[:depth], sets[:depth], sets[depth:] = start.leaf, start.var, start.right, False
            order, begin, end = np.arange(g.size, dtype=np.int32), np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
            hist = np.zeros((k + 1, *root.shape))
            hist[0], end[0] = root, g.size
            gains, best_var, best_cut = np.full(k + 1, -1.0), np.zeros(k + 1, np.int32), np.zeros(k + 1, np.int32)
            grown = _grow(
                self.bins, self.counts, self.categorical, g, depth, leaf, var, sets, sums,
                order, begin, end, hist, gains, best_var, best_cut,
            )  # fmt: skip
            for size in range(1, grown + 1):
                label, violation = best_leaf_labels(sums[size, : size + 1])
                if size not in best or violation > best[size].violation * (1 + 1e-12):
                    conditions = self._conditions(var[:size].tolist(), list(sets[:size]))
                    splits = leaf[:size].astype(np.int32), var[:size].astype(np.int32)
                    best[size] = Proposal(Tree(*splits, *conditions, label), violation)
        return list(best.values())

    def column(self, tree: Tree) -> NDArray[np.uint8]:
        """Return a tree's value at every cell of the domain."""
        codes, domain = self.domain.codes, self.domain
        leaf = np.zeros(domain.n, dtype=np.int32)
        for s in range(tree.size):
            v = int(tree.var[s])
            values = domain.variables[v].values
            side = np.isin(values, tree.classes[s]) if tree.classes[s] else values >= tree.threshold[s]
            leaf[(leaf == tree.leaf[s]) & side[codes[v]]] = s + 1
        return tree.label[leaf].astype(np.uint8)

    def _conditions(
        self, var: Sequence[int], sets: Sequence[NDArray[np.bool_]]
    ) -> tuple[Array, tuple[tuple[float, ...], ...]]:
        """Return the threshold (or NaN) and the classes (or none) of every split, from the bins of its right side."""
        thresholds, classes = np.full(len(var), np.nan), []
        for s, (v, chosen) in enumerate(zip(var, sets)):
            values = self.domain.variables[v].values
            classes.append(tuple(values[chosen[: values.size]].tolist()) if self.categorical[v] else ())
            if not self.categorical[v]:
                thresholds[s] = self.edges[v][int(np.argmax(chosen)) - 1]
        return thresholds, tuple(classes)


def systematic(g: Array, most: int) -> tuple[NDArray[np.int64], Array]:
    """Return a sample of about `most` cells with a mass that represents `g`.

    It contains every cell with a large |g|, and one cell in each stretch of equal `Σ|g|` of the others.
    """
    if g.size <= most:
        return np.arange(g.size), g
    size = np.abs(g)
    large = size >= size.sum() / most
    rest = np.where(large, 0.0, size)
    step = float(rest.sum()) / max(most - int(large.sum()), 1)
    reached = np.floor(np.cumsum(rest) / step + 0.5) if step > 0 else rest
    times = np.diff(reached, prepend=0.0)
    cells = np.flatnonzero(large | (times > 0))
    return cells, np.where(large, g, np.sign(g) * times * step)[cells]


def best_leaf_labels(sums: Array) -> tuple[NDArray[np.int8], float]:
    """Return the labels of leaves with the largest violation, from their sums of g, and the violation.

    If g sums to zero, a tree and its complement have the same violation; then positive leaves have label 1.
    """
    above, below = float(sums[sums > 0].sum()), float(-sums[sums < 0].sum())
    return ((sums < 0) if below > above * (1 + 1e-9) else (sums > 0)).astype(np.int8), max(above, below)


def _binned(domain: Domain, v: int, bins: int) -> tuple[NDArray[np.uint16], Array]:
    """Return each cell's bin, and the lower ends of bins 1, 2, … (mid-points of distinct values)."""
    values = domain.variables[v].values
    if values.size <= bins:
        first = np.arange(values.size)
    else:
        share = np.cumsum(np.bincount(domain.codes[v], minlength=values.size)) / domain.n
        first = np.unique(np.searchsorted(share, np.arange(bins) / bins, side="right"))
        first = first[first < values.size]
        first[0] = 0
    of_value = np.searchsorted(first, np.arange(values.size), side="right") - 1
    edges = 0.5 * values[first[1:] - 1] + 0.5 * values[first[1:]]
    return of_value[domain.codes[v]].astype(np.uint16), edges


@jit
def _grow(  # type: ignore[no-untyped-def]
    bins, counts, categorical, g, n_start, leaf, var, sets, sums, order, begin, end, hist, gains, best_var, best_cut
):
    """Make the first `n_start` splits, then grow by the best split of any leaf; return the number of splits.

    `sums[k, l]` is the sum of g in leaf `l` of the tree with `k` nodes, whose cells are `order[begin[l]:end[l]]`. On
    entry `hist` contains the histograms of leaf 0, and zeros for the others.
    """
    total = 0.0
    for i in range(g.size):
        total += g[i]
    sums[0, 0] = total
    for k in range(leaf.size):
        if k >= n_start:
            leaf[k] = 0
            for j in range(1, k + 1):
                if gains[j] > gains[leaf[k]]:
                    leaf[k] = j
            if gains[leaf[k]] <= 1e-14:
                return k
            var[k] = best_var[leaf[k]]
            for b in range(counts[var[k]]):
                sets[k, b] = hist[leaf[k], var[k], b] > 0.0 if categorical[var[k]] else b > best_cut[leaf[k]]
        parent, v, child = leaf[k], var[k], k + 1
        # Move cells of the new leaf to the end of their parent's stretch.
        low, high = begin[parent], end[parent]
        while low < high:
            if sets[k, bins[order[low], v]]:
                high -= 1
                order[low], order[high] = order[high], order[low]
            else:
                low += 1
        begin[child], end[child], end[parent] = low, end[parent], low
        _split_histograms(bins, g, order, begin, end, hist, parent, child)
        for j in range(k + 1):
            sums[k + 1, j] = sums[k, j]
        for j in (parent, child):
            total = 0.0
            for i in range(begin[j], end[j]):
                total += g[order[i]]
            sums[k + 1, j] = total
            gains[j], best_var[j], best_cut[j] = _best_split(hist[j], counts, categorical, total)
    return leaf.size


@jit
def _split_histograms(bins, g, order, begin, end, hist, parent, child):  # type: ignore[no-untyped-def]
    """Compute the histograms of the smaller of two siblings; the other's are the parent's minus these."""
    small = child if end[child] - begin[child] <= end[parent] - begin[parent] else parent
    for i in range(begin[small], end[small]):
        cell = order[i]
        for v in range(bins.shape[1]):
            hist[child, v, bins[cell, v]] += g[cell]
    for v in range(hist.shape[1]):
        for b in range(hist.shape[2]):
            fresh = hist[child, v, b]
            rest = hist[parent, v, b] - fresh
            if small == child:
                hist[parent, v, b] = rest
            else:
                hist[child, v, b], hist[parent, v, b] = rest, fresh


@jit
def _best_split(hist, counts, categorical, total):  # type: ignore[no-untyped-def]
    """Return the best split of any variable: its gain, variable and cut."""
    best, best_var, best_cut = -1.0, 0, 0
    for v in range(counts.size):
        gain, cut = cut_gain(hist[v], counts[v], categorical[v], total)
        if gain > best + 1e-15:
            best, best_var, best_cut = gain, v, cut
    return best, best_var, best_cut
