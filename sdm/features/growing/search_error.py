"""Estimate the error of the search for trees by an exhaustive search at some nodes.

All trees with eight nodes cannot be enumerated, but all pairs of splits of one set of cells can. So the root, and nodes
of the proposed trees, are searched exhaustively for two further splits. The sum of |g| over the three leaves is
compared with the pair from the search. The search uses all its starts at the root, and greedy growth below it. Both use
the same cells and bins.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from sdm.features.growing.grown import Proposal
from sdm.features.growing.pairs import best_pair
from sdm.features.growing.tree import MOST_SETS, Tree, TreeOracle, systematic
from sdm.types import Array

NODES = 8  # number of nodes to search exhaustively
CELLS = 20_000  # number of cells that represent all in the comparison


def search_shares(oracle: TreeOracle, g: Array, *, nodes: int = NODES, seed: int = 1) -> Array:
    """Return the share of the best sum of |g| that the search finds, at the root and at nodes of the proposed trees."""
    if oracle.largest < 2:
        return np.empty(0)  # the search of single splits is exhaustive
    cells, part = systematic(g, CELLS)
    mass = np.zeros_like(g)
    mass[cells] = part
    shares = [_share(oracle, mass, oracle.propose(mass))]
    inner = [node for node in _nodes(oracle, oracle.propose(g)) if np.count_nonzero(mass[node]) > 2]
    for k in np.random.default_rng([seed, 5]).permutation(len(inner))[: nodes - 1]:
        node_mass = np.where(inner[k], mass, 0.0)
        shares.append(_share(oracle, node_mass, oracle.propose_quickly(node_mass, roots=1)))
    return np.array([share for share in shares if share is not None])


def _share(oracle: TreeOracle, mass: Array, proposals: list[Proposal]) -> float | None:
    """Return the share of the best gain that the search finds at one node; None if a second split does not help."""
    cells = np.flatnonzero(mass)
    start = best_pair(oracle.bins[cells], oracle.counts, oracle.categorical, mass[cells], MOST_SETS)
    if start is None:
        return None
    best = max(proposal.violation for proposal in oracle.grow(mass, [start]) if proposal.shape.size <= 2)
    reached = max((proposal.violation for proposal in proposals if proposal.shape.size <= 2), default=0.0)
    total = abs(float(mass.sum()))
    return min((2.0 * reached - total) / (2.0 * best - total), 1.0)


def _nodes(oracle: TreeOracle, proposals: list[Proposal]) -> list[NDArray[np.bool_]]:
    """Return the cells of every node that the proposed trees split, without the root and without duplicates."""
    nodes: dict[bytes, NDArray[np.bool_]] = {}
    for proposal in proposals:
        tree = cast(Tree, proposal.shape)
        for s in range(1, tree.size):
            label = (np.arange(s + 1) == tree.leaf[s]).astype(np.int8)
            before = Tree(tree.leaf[:s], tree.var[:s], tree.threshold[:s], tree.classes[:s], label)
            node = oracle.column(before).astype(np.bool_)
            nodes[node.tobytes()] = node
    return list(nodes.values())
