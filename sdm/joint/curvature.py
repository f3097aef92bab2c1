"""How the features of a joint model vary together at every site: the curvature of its log-partition, exactly.

In a forest every pair of species is independent given any species between them, and any function of one label is affine
in it. So with the slopes `b_(t|s) = P(t | s) − P(t | not s)` and `d_(e|s) = E[g_e | s] − E[g_e | not s]` of neighbours,

    Cov(y_r, y_t) = Cov(y_r, y_s) b_(t|s),   Cov(y_r, g_e) = Cov(y_r, y_s) d_(e|s)        (s next to t, towards r)
    Cov(g_e, g_f) = d_(e|a) Cov(y_a, y_b) d_(f|b)                                      (a, b the nearest ends)
"""

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import ABSENT, Marginals
from sdm.types import Array

NUMBERS = 1 << 19  # covariances that are held at once


def curvature(discriminant: Discriminant, sites: LabelledSites, marginals: Marginals) -> Array:
    """Return `Σ_i Cov_i[∂F/∂w]`, `(size, size)`, of sites with these marginals; species left out count nothing."""
    d, n_pairs, paths = discriminant, len(discriminant.pair), discriminant.forest.paths
    species, edges, k = d.forest.size, len(d.forest.edges), d.n_features
    of_nodes = d.node_block[:, None] * k + np.arange(k)
    of_edges = d.n_node_blocks * k + d.edge_block[:, None] * n_pairs + np.arange(n_pairs)
    index = np.concatenate([of_nodes.ravel(), of_edges.ravel()])
    whole = np.zeros((index.size, index.size))
    cut, units = species * k, edges * n_pairs
    if not edges:
        _alone(sites, marginals, whole)
        return _in_weights(d, whole, index)
    states = sites.states
    step = min(sites.n, max(1, NUMBERS // (species * (species + units))))
    nodes, mixed = np.empty((step, species, species)), np.empty((step, species, units))
    between_edges = np.zeros((units, units))
    sums = _Shared(species, units, k) if sites.x.shape[1] == 1 else _Apart(species, units, k)
    for first in range(0, sites.n, step):
        rows = slice(first, first + step)
        x = sites.x[rows]
        m, u = nodes[: len(x)], mixed[: len(x)]
        fixed = (d.forest.edges, paths.walk, paths.near, d.pair, d.slopes)
        _fill(states[rows], marginals.nodes[rows], marginals.edges[rows], *fixed, m, u, between_edges)
        sums.add(x, m, u)
    whole[:cut, :cut], whole[:cut, cut:] = sums.blocks()
    lower = np.tril(between_edges)
    whole[cut:, cut:] = lower + lower.T - np.diag(np.diag(lower))
    whole[cut:, :cut] = whole[:cut, cut:].T
    return _in_weights(d, whole, index)


def variances(discriminant: Discriminant, sites: LabelledSites, marginals: Marginals) -> Array:
    """Return the diagonal of the curvature, but for what tied weights share: the scale of every weight."""
    d, known = discriminant, (sites.labels >= 0).astype(np.float64)
    spread = known * marginals.nodes * (1.0 - marginals.nodes)
    out = np.zeros(d.size)
    nodes, edges = d.split(out)
    squares = np.einsum("ns,nsk->sk", spread, np.broadcast_to(sites.x**2, (sites.n, d.forest.size, d.n_features)))
    np.add.at(nodes, d.node_block, squares)
    if d.traits is not None:
        d.corner(out)[:] = squares[:, d.crossed].T @ d.traits**2
    first, second = d.forest.edges.T
    p, q, both = marginals.nodes[:, first], marginals.nodes[:, second], marginals.edges
    share = np.stack([1.0 - p - q + both, q - both, p - both, both]) * (known[:, first] * known[:, second])
    values = d.pair.reshape(-1, 4)
    mean = np.einsum("ane,ga->neg", share, values)
    np.add.at(edges, d.edge_block, np.einsum("ane,ga->eg", share, values**2) - np.sum(mean**2, axis=0))
    return out


def _in_weights(d: Discriminant, whole: Array, index: NDArray[np.int64]) -> Array:
    """Return the curvature in the weights, from that in the weights of every node and edge."""
    if d.traits is None:
        return whole if np.array_equal(index, np.arange(d.size)) else _tied(whole, index, d.size)
    out = np.empty((d.size, d.size))
    own, species, k = d.own_size, d.forest.size, d.n_features
    out[:own, :own] = whole if np.array_equal(index, np.arange(own)) else _tied(whole, index, own)
    of_crossed = whole[:, : species * k].reshape(-1, species, k)[:, :, d.crossed]
    mixed = np.einsum("nsk,st->nkt", of_crossed, d.traits).reshape(len(whole), -1)
    rows = mixed[: species * k].reshape(species, k, -1)[:, d.crossed]
    out[own:, own:] = np.einsum("skm,st->ktm", rows, d.traits).reshape(d.n_shared, d.n_shared)
    summed = np.zeros((own, d.n_shared))
    np.add.at(summed, index, mixed)
    out[:own, own:], out[own:, :own] = summed, summed.T
    return out


def _tied(whole: Array, index: NDArray[np.int64], size: int) -> Array:
    """Return the curvature in weights that nodes or edges share."""
    out = np.zeros((size, size))
    np.add.at(out, (index[:, None], index[None, :]), whole)
    return out


def _alone(sites: LabelledSites, marginals: Marginals, whole: Array) -> None:
    """Fill the blocks of species without edges, which do not vary together."""
    k, p = sites.x.shape[2], marginals.nodes
    spread = np.where(sites.labels >= 0, p * (1.0 - p), 0.0)
    for s in range(p.shape[1]):
        x = sites.x[:, s if sites.x.shape[1] > 1 else 0]
        whole[s * k : (s + 1) * k, s * k : (s + 1) * k] = (x.T * spread[:, s]) @ x


class _Shared:
    """Sums over sites where all species have the same features: `Σ_i m_i[s, t] x_i x_iᵀ` and `Σ_i u_i[s, e] x_i`. The
    products of features are symmetric, and half of them are summed."""

    def __init__(self, species: int, units: int, k: int) -> None:
        self.shape = (species, units, k)
        self.pair = np.triu_indices(k)
        self.nodes = np.zeros((species * species, len(self.pair[0])))
        self.mixed = np.zeros((species * units, k))

    def add(self, x: Array, m: Array, u: Array) -> None:
        """Add some sites, with the covariances of their labels, and of labels and edges."""
        first, second = self.pair
        shared = x[:, 0]
        self.nodes += m.reshape(len(m), -1).T @ (shared[:, first] * shared[:, second])
        self.mixed += u.reshape(len(u), -1).T @ shared

    def blocks(self) -> tuple[Array, Array]:
        """Return the sums, species by species in blocks: `(S K, S K)` and `(S K, U)`."""
        species, units, k = self.shape
        first, second = self.pair
        out = np.empty((species, k, species, k))
        half = self.nodes.reshape(species, species, -1).transpose(2, 0, 1)
        out.transpose(1, 3, 0, 2)[first, second] = half
        out.transpose(1, 3, 0, 2)[second, first] = half
        mixed = self.mixed.reshape(species, units, k).transpose(0, 2, 1)
        return out.reshape(species * k, species * k), mixed.reshape(species * k, units)


class _Apart:
    """The same where every species has features of its own: `Σ_i m_i[s, t] x_is x_itᵀ` and `Σ_i u_i[s, e] x_is`."""

    def __init__(self, species: int, units: int, k: int) -> None:
        self.nodes, self.mixed = np.zeros((species * k, species * k)), np.zeros((species * k, units))

    def add(self, x: Array, m: Array, u: Array) -> None:
        """Add some sites, with the covariances of their labels, and of labels and edges."""
        n, species, k = x.shape
        for s in range(species):
            weighted = (m[:, s, :, None] * x).reshape(n, species * k)
            self.nodes[s * k : (s + 1) * k] += x[:, s].T @ weighted
        self.mixed += np.einsum("nsk,nsu->sku", x, u).reshape(species * k, -1)

    def blocks(self) -> tuple[Array, Array]:
        """Return the sums."""
        return self.nodes, self.mixed


@jit
def _fill(states, nodes, both, edges, walk, near, pair, slopes, out, mixed, total):  # type: ignore[no-untyped-def]
    """Fill every site's covariances of labels, and of them with the edges' functions; sum those of the latter, of which
    the lower triangle is filled."""
    species, n_edges, n_pairs = nodes.shape[1], edges.shape[0], pair.shape[0]
    b, d = np.empty((n_edges, 2)), np.empty((n_edges, 2, n_pairs))
    mean = np.empty(n_pairs)
    for i in range(nodes.shape[0]):
        m, u, p = out[i], mixed[i], nodes[i]
        for e in range(n_edges):
            _slopes(states[i], p, both[i, e], edges[e], slopes, b[e], d[e])
        for r in range(species):
            absent = states[i, r] == ABSENT
            if absent or (species > 1 and walk[r, species - 2, 0] < 0):  # the walk does not pass all species
                m[r] = 0.0
                u[r] = 0.0
            if absent:
                continue
            m[r, r] = p[r] * (1.0 - p[r])
            for j in range(walk.shape[1]):
                t, s, e = walk[r, j, 0], walk[r, j, 1], walk[r, j, 2]
                if t < 0:
                    break
                end = 0 if edges[e, 0] == s else 1
                m[r, t] = m[r, s] * b[e, end]
                for g in range(n_pairs):
                    u[r, e * n_pairs + g] = m[r, s] * d[e, end, g]
        for e in range(n_edges):
            for f in range(e):
                end_e, end_f = near[e, f], near[f, e]
                link = m[edges[e, end_e], edges[f, end_f]]
                for g in range(n_pairs):
                    for h in range(n_pairs):
                        total[e * n_pairs + g, f * n_pairs + h] += d[e, end_e, g] * link * d[f, end_f, h]
            _within_edge(states[i], p, both[i, e], edges[e], pair, mean, total, e * n_pairs)


@jit
def _slopes(state, p, both, edge, slopes, b, d):  # type: ignore[no-untyped-def]
    """From either end of an edge: what the other end's probability gains, and what the edge's functions gain."""
    for end in range(2):
        s, t = edge[end], edge[1 - end]
        b[end] = 0.0
        d[end] = 0.0
        if state[s] == ABSENT or state[t] == ABSENT or p[s] <= 0.0 or p[s] >= 1.0:
            continue
        with_s = min(max(both / p[s], 0.0), 1.0)
        without = min(max((p[t] - both) / (1.0 - p[s]), 0.0), 1.0)
        b[end] = with_s - without
        for g in range(d.shape[1]):
            d[end, g] = slopes[end, g] + (slopes[1 - end, g] + slopes[2, g]) * with_s - slopes[1 - end, g] * without


@jit
def _within_edge(state, p, both, edge, pair, mean, m, at):  # type: ignore[no-untyped-def]
    """Add the covariances of one edge's functions with each other."""
    s, t = edge[0], edge[1]
    if state[s] == ABSENT or state[t] == ABSENT:
        return
    share = (1.0 - p[s] - p[t] + both, p[t] - both, p[s] - both, both)  # of labels 00, 01, 10, 11
    for g in range(pair.shape[0]):
        mean[g] = 0.0
        for a in range(4):
            mean[g] += share[a] * pair[g, a // 2, a % 2]
    for g in range(pair.shape[0]):
        for h in range(pair.shape[0]):
            total = 0.0
            for a in range(4):
                total += share[a] * (pair[g, a // 2, a % 2] - mean[g]) * (pair[h, a // 2, a % 2] - mean[h])
            m[at + g, at + h] += total
