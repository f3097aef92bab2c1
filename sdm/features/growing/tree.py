"""Trees: binary decision trees with leaves 0 and 1, grown one leaf split at a time (Cortes et al. 2015, §4).

Write `g_i = p_i − π̃_i`. A tree's violation is `|Σ g_i t(x_i)|`; for a given partition the best labels (1 where a
leaf's sum of g is positive, or where it is negative if those weigh more) give `½ (|Σ g| + Σ_leaf |g_leaf|)`. So a split
of a leaf gains `|g_left| + |g_right| − |g_leaf|`, and for a categorical variable the best set of classes is simply
those with positive g. Sums come from histograms over at most 256 bins per variable; the smaller child's is computed,
the larger one's is what is left of the parent's.

A tree is its list of splits in the order of growth: split `s` sends cells of leaf `leaf[s]` with `x ≥ threshold` (or
whose class is in the set) to the new leaf `s + 1`. The first `k` splits are the tree with `k` internal nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.domain import Domain
from sdm.features.growing.grown import Proposal
from sdm.types import Array

MAX_BINS = 256


@dataclass(frozen=True)
class Tree:
    """A tree as a list of k splits."""

    leaf: NDArray[np.int32]  # which leaf each split divides
    var: NDArray[np.int32]  # by which variable
    threshold: Array  # cells with at least this value go to the new leaf (NaN for a categorical variable)
    classes: tuple[tuple[float, ...], ...]  # those that go to the new leaf, for a categorical variable
    label: NDArray[np.int8]  # 0 or 1 for each of k + 1 leaves

    @property
    def size(self) -> int:
        """Number of internal nodes."""
        return int(self.leaf.size)

    def key(self) -> tuple[object, ...]:
        """Identify the tree."""
        return self.leaf.tobytes(), self.var.tobytes(), self.threshold.tobytes(), self.classes, self.label.tobytes()

    def rules(
        self, names: list[str], labels: Mapping[int, Mapping[int, str]] | None = None, where: int = 1
    ) -> list[str]:
        """Write each leaf with label 1 (or 0, if that is `where`) as a readable conjunction of conditions."""
        paths: list[list[str]] = [[]]
        for s in range(self.size):
            name, parent = names[self.var[s]], paths[self.leaf[s]]
            if self.classes[s]:
                known = (labels or {}).get(int(self.var[s]), {})
                words = ", ".join(known.get(int(c), f"{c:g}") for c in self.classes[s])
                yes, no = f"{name} in {{{words}}}", f"{name} not in {{{words}}}"
            else:
                yes, no = f"{name} ≥ {self.threshold[s]:.6g}", f"{name} < {self.threshold[s]:.6g}"
            paths.append([*parent, yes])
            paths[self.leaf[s]] = [*parent, no]
        return [" and ".join(path) or "everywhere" for path, label in zip(paths, self.label) if label == where]

    def describe(self, names: list[str], labels: Mapping[int, Mapping[int, str]] | None = None) -> str:
        """Write where the tree is one, or where it is not if that is shorter."""
        ones, zeros = self.rules(names, labels), self.rules(names, labels, where=0)
        if len(" or ".join(zeros)) < len(" or ".join(ones)) and zeros:
            return f"not ({' or '.join(zeros)})"
        return " or ".join(ones) or "nowhere"


class TreeOracle:
    """`trees:K`: the best tree with 1, 2, … K internal nodes, greedily. Variables with more distinct values than `bins`
    are binned; growth starts from `roots` variables, since from the best split alone it can miss better trees."""

    def __init__(self, domain: Domain, largest: int, bins: int = MAX_BINS, roots: int = 3) -> None:
        self.domain = domain
        self.largest = largest
        self.roots = roots
        self.name = f"trees:{largest}"
        n_variables = len(domain.variables)
        self.bins = np.empty((domain.n, n_variables), dtype=np.uint16)
        self.edges: list[Array] = []
        for v, variable in enumerate(domain.variables):
            code, edges = _binned(domain, v, variable.values.size if variable.categorical else bins)
            self.bins[:, v] = code
            self.edges.append(edges)
        self.counts = np.array([edges.size + 1 for edges in self.edges], dtype=np.int64)
        self.categorical = np.array([variable.categorical for variable in domain.variables])

    def complexity(self, size: int, m: float) -> float:
        """Return the bound of eq. (15) for trees with `size` internal nodes."""
        d = len(self.domain.variables)
        return float(np.sqrt((4 * size + 2) * np.log2(d + 2) * np.log(m + 1) / m))

    def propose(self, g: Array) -> list[Proposal]:
        """Return the best tree found of each size 1 … largest (fewer when splits stop helping)."""
        root = np.zeros((len(self.counts), int(self.counts.max())))
        _histograms(self.bins, g, root)
        gain_of = np.empty(len(self.counts))
        _split_gains(root, self.counts, self.categorical, float(g.sum()), gain_of)
        best: dict[int, Proposal] = {}
        for v in np.argsort(-gain_of, kind="stable")[: self.roots]:
            for proposal in self._grow_from(g, root, int(v)):
                size = proposal.shape.size
                if size not in best or proposal.violation > best[size].violation:
                    best[size] = proposal
        return list(best.values())

    def _grow_from(self, g: Array, root: Array, v: int) -> list[Proposal]:
        """Grow a tree whose first split is on variable `v`; return it at each of its sizes."""
        k = self.largest
        leaf, var, cut = np.empty(k, np.int32), np.empty(k, np.int32), np.empty(k, np.int32)
        sets = np.zeros((k, root.shape[1]), dtype=np.bool_)
        sums = np.zeros((k + 1, k + 1))
        grown = _grow(self.bins, self.counts, self.categorical, g, root, v, leaf, var, cut, sets, sums)
        proposals = []
        for size in range(1, grown + 1):
            label, violation = best_leaf_labels(sums[size, : size + 1])
            conditions = self._conditions(var[:size].tolist(), cut[:size].tolist(), list(sets[:size]))
            proposals.append(Proposal(Tree(leaf[:size].copy(), var[:size].copy(), *conditions, label), violation))
        return proposals

    def column(self, tree: Tree) -> NDArray[np.uint8]:
        """Return a tree's value at every cell of the domain."""
        codes, domain = self.domain.codes, self.domain
        leaf = np.zeros(domain.n, dtype=np.int32)
        for s in range(tree.size):
            v = int(tree.var[s])
            values = domain.variables[v].values
            side = np.isin(values, tree.classes[s]) if tree.classes[s] else values >= tree.threshold[s]
            _divide(codes[v], side, leaf, tree.leaf[s], s + 1)
        return tree.label[leaf].astype(np.uint8)

    def _conditions(
        self, var: Sequence[int], cut: Sequence[int], sets: Sequence[NDArray[np.bool_]]
    ) -> tuple[Array, tuple[tuple[float, ...], ...]]:
        """Return the threshold (or NaN) and the classes (or none) of every split, from the last bin of its left side
        and the bins of its right one."""
        thresholds, classes = np.full(len(var), np.nan), []
        for s, (v, last, chosen) in enumerate(zip(var, cut, sets)):
            values = self.domain.variables[v].values
            classes.append(tuple(values[chosen[: values.size]].tolist()) if self.categorical[v] else ())
            if not self.categorical[v]:
                thresholds[s] = self.edges[v][last]
        return thresholds, tuple(classes)


def best_leaf_labels(sums: Array) -> tuple[NDArray[np.int8], float]:
    """Return the labels of leaves with these sums of g that give the largest violation, and the violation. Where g sums
    to zero a tree and its complement do alike, and rounding may not choose: the positive leaves are one."""
    above, below = float(sums[sums > 0].sum()), float(-sums[sums < 0].sum())
    return ((sums < 0) if below > above * (1 + 1e-9) else (sums > 0)).astype(np.int8), max(above, below)


def _binned(domain: Domain, v: int, bins: int) -> tuple[NDArray[np.uint16], Array]:
    """Return each cell's bin, and the values at which bins 1, 2, … begin (mid-points of distinct values)."""
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
def _divide(codes, side, leaf, parent, child):  # type: ignore[no-untyped-def]
    """Send the cells of leaf `parent` whose value is on the right side to leaf `child`."""
    for i in range(leaf.size):
        if leaf[i] == parent and side[codes[i]]:
            leaf[i] = child


@jit
def _histograms(bins, g, hist):  # type: ignore[no-untyped-def]
    """hist[v, b] += the sum of g over the cells in bin b of variable v."""
    for i in range(g.size):
        for v in range(bins.shape[1]):
            hist[v, bins[i, v]] += g[i]


@jit
def _grow(bins, counts, categorical, g, root, first, leaf, var, cut, sets, sums):  # type: ignore[no-untyped-def]
    """Grow by the best split of any leaf, again and again, the first on variable `first`; return how many helped.
    `sums[k, l]` is the sum of g in leaf `l` of the tree with `k` nodes."""
    n, n_variables = bins.shape
    largest, width = leaf.size, sets.shape[1]
    order = np.arange(n).astype(np.int32)
    begin, end = np.zeros(largest + 1, np.int64), np.zeros(largest + 1, np.int64)
    end[0] = n
    hist = np.zeros((largest + 1, n_variables, width))
    hist[0] = root
    total = 0.0
    for i in range(n):
        total += g[i]
    sums[0, 0] = total
    gains = np.full(largest + 1, -1.0)
    best_var, best_cut = np.zeros(largest + 1, np.int32), np.zeros(largest + 1, np.int32)
    gains[0], best_cut[0] = cut_gain(hist[0, first], counts[first], categorical[first], total)
    best_var[0] = first
    for k in range(largest):
        parent = int(np.argmax(gains[: k + 1]))
        if gains[parent] <= 1e-14:
            return k
        v, c, child = best_var[parent], best_cut[parent], k + 1
        leaf[k], var[k], cut[k] = parent, v, c
        if categorical[v]:
            for b in range(counts[v]):
                sets[k, b] = hist[parent, v, b] > 0.0
        # Cells of the new leaf move to the end of their parent's stretch.
        low, high = begin[parent], end[parent]
        while low < high:
            b = bins[order[low], v]
            right = sets[k, b] if categorical[v] else b > c
            if right:
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
    return largest


@jit
def _split_histograms(bins, g, order, begin, end, hist, parent, child):  # type: ignore[no-untyped-def]
    """Compute the histograms of the smaller of two siblings; the other's are what is left of the parent's."""
    small = child if end[child] - begin[child] <= end[parent] - begin[parent] else parent
    fresh = np.zeros(hist.shape[1:])
    for i in range(begin[small], end[small]):
        cell = order[i]
        for v in range(bins.shape[1]):
            fresh[v, bins[cell, v]] += g[cell]
    rest = hist[parent] - fresh
    if small == child:
        hist[child], hist[parent] = fresh, rest
    else:
        hist[child], hist[parent] = rest, fresh


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
def _best_split(hist, counts, categorical, total):  # type: ignore[no-untyped-def]
    """Return the best split of any variable: its gain, variable and cut."""
    best, best_var, best_cut = -1.0, 0, 0
    for v in range(counts.size):
        gain, cut = cut_gain(hist[v], counts[v], categorical[v], total)
        if gain > best + 1e-15:
            best, best_var, best_cut = gain, v, cut
    return best, best_var, best_cut


@jit
def _split_gains(hist, counts, categorical, total, gain_of):  # type: ignore[no-untyped-def]
    """gain_of[v] = the gain of the best split of variable v."""
    for v in range(counts.size):
        gain_of[v], _ = cut_gain(hist[v], counts[v], categorical[v], total)
