"""Exact oracles for trees with one and two internal nodes: every threshold, every pair of them.

For a root split on `v`, running sums over `v` of the two-way histograms with every other variable give the histograms
of both children for all root thresholds at once; the best split of a child is then read off as for a single split.
Sets of classes at the root are enumerated, so categorical variables may have at most ten classes here.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.errors import OptionError
from sdm.features.domain import Domain
from sdm.features.growing.grown import Proposal
from sdm.features.growing.tree import Tree, TreeOracle, best_leaf_labels, cut_gain
from sdm.types import Array

MOST_CLASSES = 10
MOST_VALUES = 4096


class ExactTreeOracle(TreeOracle):
    """`trees:1` or `trees:2` over the whole class: a gap of zero here is zero over every such tree. Variables are not
    binned, so they may have at most 4,096 distinct values (and categorical ones ten classes)."""

    def __init__(self, domain: Domain, largest: int = 2) -> None:
        if largest not in (1, 2):
            raise OptionError(f"exact trees have 1 or 2 internal nodes, got {largest}")
        for variable in domain.variables:
            most = MOST_CLASSES if variable.categorical else MOST_VALUES
            if variable.values.size > most:
                raise OptionError(
                    f"variable '{variable.name}' has {variable.values.size:,} values: exact trees take up to {most:,}"
                )
        super().__init__(domain, largest, bins=MOST_VALUES, roots=len(domain.variables))
        self.name = f"exacttrees:{largest}"

    def propose(self, g: Array) -> list[Proposal]:
        """Return the best tree of each size, of all there are."""
        stump = [proposal for proposal in super().propose(g) if proposal.shape.size == 1]
        return stump if self.largest == 1 else [*stump, *self._best_pair(g)]

    def _best_pair(self, g: Array) -> list[Proposal]:
        """Try every root split with every split of either child."""
        best, splits = 0.0, None
        width = int(self.counts.max())
        for v in range(len(self.counts)):
            table = np.zeros((len(self.counts), int(self.counts[v]), width))
            _two_way(self.bins, v, g, table)
            for side in _sides(int(self.counts[v]), bool(self.categorical[v])):
                value, child, u, cut, chosen = _best_child(table, side, self.counts, self.categorical)
                if value > best + 1e-15:
                    best, splits = value, (v, side.copy(), child, u, cut, chosen.copy())
        if splits is None:
            return []
        return [self._pair(g, *splits)]

    def _pair(
        self, g: Array, v: int, side: NDArray[np.bool_], child: int, u: int, cut: int, chosen: NDArray[np.bool_]
    ) -> Proposal:
        """Make the tree: root on `v`, then child `child` (0 left, 1 right) on `u`."""
        conditions = self._conditions([v, u], [int(np.argmax(side)) - 1, cut], [side, chosen])
        splits = np.array([0, child], np.int32), np.array([v, u], np.int32), *conditions
        leaves = [self.column(Tree(*splits, one)) for one in np.eye(3, dtype=np.int8)]  # which cells end in each
        label, violation = best_leaf_labels(np.array([float(g @ leaf) for leaf in leaves]))
        return Proposal(Tree(*splits, label), violation)


def _sides(count: int, categorical: bool) -> list[NDArray[np.bool_]]:
    """Return which bins go right, for every root split of a variable."""
    if not categorical:
        return [np.arange(count) > b for b in range(count - 1)]
    rest = range(1, count)  # the first class stays left: a set and its complement are the same split
    return [np.isin(np.arange(count), chosen) for k in range(1, count) for chosen in itertools.combinations(rest, k)]


@jit
def _two_way(bins, v, g, table):  # type: ignore[no-untyped-def]
    """table[u, bin of v, bin of u] = the sum of g."""
    for i in range(g.size):
        for u in range(bins.shape[1]):
            table[u, bins[i, v], bins[i, u]] += g[i]


@jit
def _best_child(table, side, counts, categorical):  # type: ignore[no-untyped-def]
    """Return the largest sum of |g| over the three leaves for one root split, and the child's split."""
    best, best_child, best_u, best_at = -1.0, 0, 0, 0
    chosen = np.zeros(table.shape[2], np.bool_)
    hist = np.zeros((2, table.shape[2]))
    for u in range(counts.size):
        hist[:] = 0.0
        for b in range(side.size):
            row = 1 if side[b] else 0
            for c in range(counts[u]):
                hist[row, c] += table[u, b, c]
        totals = hist.sum(axis=1)
        for child in range(2):
            gain, cut = cut_gain(hist[child], counts[u], categorical[u], totals[child])
            value = abs(totals[0]) + abs(totals[1]) + max(gain, 0.0)
            if value > best + 1e-15 and gain > 1e-15:
                best, best_child, best_u, best_at = value, child, u, cut
                chosen[:] = hist[child] > 0.0
    return best, best_child, best_u, best_at, chosen
