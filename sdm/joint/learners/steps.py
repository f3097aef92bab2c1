"""Dual ascent steps of the max-margin problem on one site's marginals, compiled.

With `μ_s = P(y_s)` and `ν_e = P(y_s, y_t)`, a step `t` along a direction `d` gains
`C (E_d[Δℓ] + w·f_d) t − ½ C² f_dᵀΣf_d t²` and changes the weights by `−C t Σ f_d`: all in closed form. Sites,
weights and work space travel as named tuples.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import ABSENT, States, best_labeling
from sdm.types import Array


class _Problem(NamedTuple):
    """What does not move."""

    x: Array
    labels: States
    states: States
    edges: NDArray[np.int64]
    order: NDArray[np.int64]
    parent: NDArray[np.int64]
    link: NDArray[np.int64]
    start: NDArray[np.int64]
    around: NDArray[np.int64]
    pair: Array
    slopes: Array
    node_block: NDArray[np.int64]
    edge_block: NDArray[np.int64]
    node_variance: Array
    edge_variance: Array
    c: float


class _Point(NamedTuple):
    """What moves: node weights `w`, edge weights `v`, marginals `mu` and `nu`."""

    w: Array
    v: Array
    mu: Array
    nu: Array


class _Work(NamedTuple):
    """A direction in the weights (`dw`, `dv`), and which blocks of `dv` are in use."""

    dw: Array
    dv: Array
    used: NDArray[np.bool_]
    blocks: NDArray[np.int64]


def sweep(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    variance: Array,
    weights: Array,
    nodes: Array,
    edges: Array,
    visits: NDArray[np.int64],
) -> None:
    """Visit sites in the given order, moving their marginals in place; `weights` are those at the start."""
    d, forest = discriminant, discriminant.forest
    topology = (forest.edges, forest.order, forest.parent, forest.link, forest.start, forest.around)
    shape = (d.pair, d.slopes, d.node_block, d.edge_block, *d.split(variance))
    problem = _Problem(sites.x, sites.labels, sites.states, *topology, *shape, float(c))
    point = _Point(*discriminant.split(weights.copy()), nodes, edges)
    blocks = discriminant.n_edge_blocks
    work = _Work(
        np.zeros(point.w.shape), np.zeros(point.v.shape), np.zeros(blocks, dtype=bool), np.empty(blocks, dtype=np.int64)
    )
    _sweep(visits, problem, point, work)


@jit
def _sweep(visits, p, q, work):  # type: ignore[no-untyped-def]
    """At each site one Frank–Wolfe step, then one step of every node and of every edge."""
    size = p.order.size
    up, choice = np.empty((size, 2)), np.empty((size, 2), dtype=np.int8)
    best, u = np.empty(size, dtype=np.int8), np.empty(size)
    table = np.empty((p.edges.shape[0], 2, 2))
    for i in visits:
        state = p.states[i]
        _scores(p, q, i, u, table)
        best_labeling(u, table, state, p.edges, p.order, p.parent, p.link, up, choice, best)
        _frank_wolfe(p, q, work, i, u, best)
        for s in range(size):
            if state[s] != ABSENT:
                _node_step(p, q, work, i, s)
        for e in range(p.edges.shape[0]):
            if state[p.edges[e, 0]] != ABSENT and state[p.edges[e, 1]] != ABSENT:
                _edge_step(p, q, i, e)


@jit
def _scores(p, q, i, u, table):  # type: ignore[no-untyped-def]
    """Fill site i's loss-augmented node scores and its edges' tables."""
    for s in range(u.size):
        if p.states[i, s] != ABSENT:
            row, block_weights = p.x[i, s if p.x.shape[1] > 1 else 0], q.w[p.node_block[s]]
            total = -1.0 if p.labels[i, s] > 0 else 1.0
            for k in range(row.size):
                total += block_weights[k] * row[k]
            u[s] = total
    for e in range(table.shape[0]):
        for a in range(2):
            for b in range(2):
                total = 0.0
                for g in range(p.pair.shape[0]):
                    total += q.v[p.edge_block[e], g] * p.pair[g, a, b]
                table[e, a, b] = total


@jit
def _frank_wolfe(p, q, work, i, u, best):  # type: ignore[no-untyped-def]
    """Move site i's marginals towards its loss-augmented best labeling."""
    slope, curve = 0.0, 0.0
    for s in range(u.size):
        if p.states[i, s] != ABSENT:
            d = best[s] - q.mu[i, s]
            slope += u[s] * d
            row, block_weights = p.x[i, s if p.x.shape[1] > 1 else 0], work.dw[p.node_block[s]]
            for k in range(row.size):
                block_weights[k] += d * row[k]
    for e in range(p.edges.shape[0]):
        a, b, block = p.edges[e, 0], p.edges[e, 1], p.edge_block[e]
        if p.states[i, a] != ABSENT and p.states[i, b] != ABSENT:
            da, db, dn = best[a] - q.mu[i, a], best[b] - q.mu[i, b], best[a] * best[b] - q.nu[i, e]
            for g in range(p.slopes.shape[1]):
                d = p.slopes[0, g] * da + p.slopes[1, g] * db + p.slopes[2, g] * dn
                work.dv[block, g] += d
                slope += q.v[block, g] * d
    curve = p.c * (_weighted(work.dw, p.node_variance) + _weighted(work.dv, p.edge_variance))
    length = max(_clipped(slope, curve, 0.0, 1.0), 0.0)
    _move(q.w, work.dw, p.node_variance, p.c * length)
    _move(q.v, work.dv, p.edge_variance, p.c * length)
    for s in range(u.size):
        if p.states[i, s] != ABSENT:
            q.mu[i, s] += length * (best[s] - q.mu[i, s])
    for e in range(p.edges.shape[0]):
        a, b = p.edges[e, 0], p.edges[e, 1]
        if p.states[i, a] != ABSENT and p.states[i, b] != ABSENT:
            q.nu[i, e] += length * (best[a] * best[b] - q.nu[i, e])


@jit
def _node_step(p, q, work, i, s):  # type: ignore[no-untyped-def]
    """Move μ_s alone as far as its edges allow: max_e ν_e ≤ μ_s ≤ min_e (1 + ν_e − μ_t)."""
    low, high, count = 0.0, 1.0, 0
    for j in range(p.start[s], p.start[s + 1]):
        e = p.around[j]
        side = 0 if p.edges[e, 0] == s else 1
        t = p.edges[e, 1 - side]
        if p.states[i, t] != ABSENT:
            low, high = max(low, q.nu[i, e]), min(high, 1.0 + q.nu[i, e] - q.mu[i, t])
            count = _use(work, p.edge_block[e], count)
            for g in range(p.slopes.shape[1]):
                work.dv[p.edge_block[e], g] += p.slopes[side, g]
    row, block = p.x[i, s if p.x.shape[1] > 1 else 0], p.node_block[s]
    block_weights, variance = q.w[block], p.node_variance[block]
    slope, curve = (-1.0 if p.labels[i, s] > 0 else 1.0), 0.0
    for k in range(row.size):
        slope += block_weights[k] * row[k]
        curve += variance[k] * row[k] * row[k]
    for j in range(count):
        b = work.blocks[j]
        for g in range(p.slopes.shape[1]):
            slope += q.v[b, g] * work.dv[b, g]
            curve += p.edge_variance[b, g] * work.dv[b, g] * work.dv[b, g]
    step = _clipped(slope, p.c * curve, min(low - q.mu[i, s], 0.0), max(high - q.mu[i, s], 0.0))
    for j in range(count):
        b = work.blocks[j]
        work.used[b] = False
        for g in range(p.slopes.shape[1]):
            q.v[b, g] -= p.c * step * p.edge_variance[b, g] * work.dv[b, g]
            work.dv[b, g] = 0.0
    if step != 0.0:
        q.mu[i, s] += step
        for k in range(row.size):
            block_weights[k] -= p.c * step * variance[k] * row[k]


@jit
def _edge_step(p, q, i, e):  # type: ignore[no-untyped-def]
    """Move ν_e alone: between max(0, μ_s + μ_t − 1) and min(μ_s, μ_t)."""
    a, b, nu = q.mu[i, p.edges[e, 0]], q.mu[i, p.edges[e, 1]], q.nu[i, e]
    edge_weights, variance, direction = q.v[p.edge_block[e]], p.edge_variance[p.edge_block[e]], p.slopes[2]
    slope, curve = 0.0, 0.0
    for g in range(direction.size):
        slope += edge_weights[g] * direction[g]
        curve += variance[g] * direction[g] * direction[g]
    step = _clipped(slope, p.c * curve, min(max(0.0, a + b - 1.0) - nu, 0.0), max(min(a, b) - nu, 0.0))
    q.nu[i, e] += step
    for g in range(direction.size):
        edge_weights[g] -= p.c * step * variance[g] * direction[g]


@jit
def _use(work, block, count):  # type: ignore[no-untyped-def]
    """Note that a block of `dv` is in use, once."""
    if work.used[block]:
        return count
    work.used[block] = True
    work.blocks[count] = block
    return count + 1


@jit
def _clipped(slope, curve, low, high):  # type: ignore[no-untyped-def]
    """The step from 0 to the maximum of slope·t − ½ curve·t² within [low, high]."""
    if curve > 0.0:
        return min(max(slope / curve, low), high)
    return high if slope > 0.0 else low if slope < 0.0 else 0.0


@jit
def _weighted(direction, variance):  # type: ignore[no-untyped-def]
    """Σ variance · direction²."""
    total = 0.0
    for b in range(direction.shape[0]):
        for k in range(direction.shape[1]):
            total += variance[b, k] * direction[b, k] * direction[b, k]
    return total


@jit
def _move(weights, direction, variance, length):  # type: ignore[no-untyped-def]
    """weights −= length · variance · direction, and clear the direction."""
    for b in range(direction.shape[0]):
        for k in range(direction.shape[1]):
            weights[b, k] -= length * variance[b, k] * direction[b, k]
            direction[b, k] = 0.0
