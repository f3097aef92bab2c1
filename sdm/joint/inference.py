"""Exact inference on a forest, for many sites at once: best labelling, log-partition, marginals.

A labelling `y` of site `i` scores `Σ_s u_is y_s + Σ_e table_e[y_s, y_t]`. Messages run once from the leaves to the
roots and, for marginals, once back. Every species has a state at each site:

=======  ================================================================== ABSENT   excluded at the site with its edges
(its label is missing) 0, 1     fixed at this label FREE     summed or maximised over =======
==================================================================
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.joint.graph import Forest
from sdm.types import Array

ABSENT, FREE = -1, 2

States = NDArray[np.int8]


@dataclass(frozen=True)
class Marginals:
    """The Gibbs distribution of every site, `p(y) ∝ exp(score)`."""

    log_partition: Array  # (n,)
    nodes: Array  # (n, S): probability of presence (zero for excluded species)
    edges: Array  # (n, E): probability that both ends are present


def free_states(sites: int, species: int) -> States:
    """Return states in which all labels are free."""
    return np.full((sites, species), FREE, dtype=np.int8)


def maximise(forest: Forest, unary: Array, table: Array, states: States) -> tuple[NDArray[np.int8], Array]:
    """Return the best labelling of every site (0 for excluded species) and its score."""
    best = np.zeros(unary.shape, dtype=np.int8)
    value = np.empty(unary.shape[0])
    _maximise(unary, table, states, forest.edges, *forest.messages, best, value)
    return best, value


def marginals(forest: Forest, unary: Array, table: Array, states: States) -> Marginals:
    """Return log-partition and marginals of every site."""
    nodes = np.zeros(unary.shape)
    edges = np.zeros((unary.shape[0], len(forest.edges)))
    log_partition = np.empty(unary.shape[0])
    if not len(forest.edges):  # independent species
        free, fixed = states == FREE, states == 1
        small = np.exp(-np.abs(unary))
        probability = np.where(unary >= 0, 1.0, small) / (1.0 + small)
        each = np.where(free, np.maximum(unary, 0.0) + np.log1p(small), np.where(fixed, unary, 0.0))
        return Marginals(each.sum(axis=1), np.where(free, probability, fixed.astype(np.float64)), edges)
    _marginals(unary, table, states, forest.edges, *forest.messages, log_partition, nodes, edges)
    return Marginals(log_partition, nodes, edges)


def scores(forest: Forest, unary: Array, table: Array, labels: States) -> Array:
    """Return the score of one labelling per site; species with negative labels are excluded with their edges."""
    observed = labels >= 0
    out: Array = np.where(observed & (labels > 0), unary, 0.0).sum(axis=1)
    first, second = forest.edges.T
    clipped = np.maximum(labels, 0)
    values = table[np.arange(len(table)), clipped[:, first], clipped[:, second]]
    out += np.where(observed[:, first] & observed[:, second], values, 0.0).sum(axis=1)
    return out


@jit
def entry(table, edges, e, s, label, other):  # type: ignore[no-untyped-def]
    """Return the value of edge e if its end s has label `label` and the other end has label `other`."""
    return table[e, label, other] if edges[e, 0] == s else table[e, other, label]


@jit
def best_labeling(u, table, state, edges, order, parent, link, up, choice, best):  # type: ignore[no-untyped-def]
    """Fill `best` by max-product on one site and return its score; `up` (S, 2) and `choice` (S, 2) are work space."""
    size = order.size
    for s in range(size):
        up[s, 0] = -np.inf if state[s] == 1 else 0.0
        up[s, 1] = -np.inf if state[s] == 0 else u[s]
    total = 0.0
    for position in range(size - 1, -1, -1):
        s = order[position]
        if state[s] == ABSENT:
            continue
        p = parent[s]
        if p < 0 or state[p] == ABSENT:
            total += max(up[s, 0], up[s, 1])
            continue
        for other in range(2):
            zero = up[s, 0] + entry(table, edges, link[s], s, 0, other)
            one = up[s, 1] + entry(table, edges, link[s], s, 1, other)
            choice[s, other] = 1 if one > zero else 0
            up[p, other] += max(zero, one)
    for position in range(size):
        s = order[position]
        p = parent[s]
        if state[s] == ABSENT:
            best[s] = 0
        elif p < 0 or state[p] == ABSENT:
            best[s] = 1 if up[s, 1] > up[s, 0] else 0
        else:
            best[s] = choice[s, best[p]]
    return total


@jit
def _maximise(unary, table, states, edges, order, parent, link, best, value):  # type: ignore[no-untyped-def]
    """Fill the best labelling of each row of `unary`."""
    size = unary.shape[1]
    up, choice = np.empty((size, 2)), np.empty((size, 2), dtype=np.int8)
    for i in range(unary.shape[0]):
        value[i] = best_labeling(unary[i], table, states[i], edges, order, parent, link, up, choice, best[i])


@jit
def _log_add(a, b):  # type: ignore[no-untyped-def]
    """Return ln(e^a + e^b); a or b may be minus infinity."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@jit
def _share(zero, one):  # type: ignore[no-untyped-def]
    """Return e^one / (e^zero + e^one); either may be minus infinity."""
    small = np.exp(-abs(one - zero))
    return (1.0 if one >= zero else small) / (1.0 + small)


@jit
def _marginals(unary, table, states, edges, order, parent, link, log_z, nodes, pairs):  # type: ignore[no-untyped-def]
    """Sum-product: up to the roots for ln Z, then down; `present[s]` is P(y_s = 1 | label of the parent).

    Marginals are sums of products of these, so they are consistent whatever the rounding of messages.
    """
    n, size = unary.shape
    up, present = np.empty((size, 2)), np.empty((size, 2))
    for i in range(n):
        state = states[i]
        for s in range(size):
            up[s, 0] = -np.inf if state[s] == 1 else 0.0
            up[s, 1] = -np.inf if state[s] == 0 else unary[i, s]
        total = 0.0
        for position in range(size - 1, -1, -1):
            s = order[position]
            if state[s] == ABSENT:
                continue
            p = parent[s]
            if p < 0 or state[p] == ABSENT:
                total += _log_add(up[s, 0], up[s, 1])
                continue
            for other in range(2):
                zero = up[s, 0] + entry(table, edges, link[s], s, 0, other)
                one = up[s, 1] + entry(table, edges, link[s], s, 1, other)
                present[s, other] = _share(zero, one)
                up[p, other] += _log_add(zero, one)
        log_z[i] = total
        for position in range(size):
            s = order[position]
            if state[s] == ABSENT:
                continue
            p = parent[s]
            if p < 0 or state[p] == ABSENT:
                nodes[i, s] = _share(up[s, 0], up[s, 1])
            else:
                pairs[i, link[s]] = nodes[i, p] * present[s, 1]
                nodes[i, s] = (1.0 - nodes[i, p]) * present[s, 0] + pairs[i, link[s]]
