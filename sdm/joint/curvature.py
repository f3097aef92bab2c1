"""The exact curvature of the log-partition of a joint model: covariances of its features at every site.

In a forest two species are independent given any species between them, and every function of one label is affine in it.
So with the slopes `b_(t|s) = P(t | s) − P(t | not s)` and `d_(e|s) = E[g_e | s] − E[g_e | not s]` of neighbours,

    Cov(y_r, y_t) = Cov(y_r, y_s) b_(t|s),   Cov(y_r, g_e) = Cov(y_r, y_s) d_(e|s)        (s next to t, towards r)
    Cov(g_e, g_f) = d_(e|a) Cov(y_a, y_b) d_(f|b)                                      (a, b the nearest ends)
"""

import numpy as np

from sdm._jit import jit
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import ABSENT, Marginals
from sdm.types import Array, Index

NUMBERS = 1 << 19  # number of covariances in memory


def curvature(discriminant: Discriminant, sites: LabelledSites, marginals: Marginals) -> Array:
    """Return `Σ_i Cov_i[∂F/∂w]`, `(size, size)`, of sites with these marginals; absent species do not contribute."""
    d, edges = discriminant, discriminant.forest.edges
    species, k, cut = d.forest.size, d.n_features, d.forest.size * d.n_features
    out = np.zeros((d.n_unshared, d.n_unshared))
    if not len(edges):  # species are independent
        for s, spread in enumerate(_label_variances(sites, marginals).T):
            out[s * k : (s + 1) * k, s * k : (s + 1) * k] = (sites.x.T * spread) @ sites.x
        return out if d.traits is None else _with_traits(d, out, d.traits)
    states, paths = sites.states, d.forest.paths
    step = min(sites.n, max(1, NUMBERS // (species * (species + len(edges)))))
    nodes, mixed = np.empty((step, species, species)), np.empty((step, species, len(edges)))
    between_edges = np.zeros((len(edges), len(edges)))
    first, second = np.triu_indices(k)  # products of features are symmetric: sum half of them
    half, of_edges = np.zeros((species * species, first.size)), np.zeros((species * len(edges), k))
    for begin in range(0, sites.n, step):
        rows = slice(begin, begin + step)
        x = sites.x[rows]
        m, u = nodes[: len(x)], mixed[: len(x)]
        site_data = states[rows], marginals.nodes[rows], marginals.edges[rows]
        _fill(*site_data, edges, paths.walk, paths.near, m, u, between_edges)
        half += m.reshape(len(x), -1).T @ (x[:, first] * x[:, second])
        of_edges += u.reshape(len(x), -1).T @ x
    blocks, sums = np.empty((k, k, species, species)), half.reshape(species, species, -1).transpose(2, 0, 1)
    blocks[first, second] = blocks[second, first] = sums
    out[:cut, :cut] = blocks.transpose(2, 0, 3, 1).reshape(cut, cut)
    out[:cut, cut:] = of_edges.reshape(species, len(edges), k).transpose(0, 2, 1).reshape(cut, -1)
    out[cut:, :cut] = out[:cut, cut:].T
    out[cut:, cut:] = between_edges + between_edges.T + np.diag(_agreement_variances(sites, edges, marginals))
    return out if d.traits is None else _with_traits(d, out, d.traits)


def variances(discriminant: Discriminant, sites: LabelledSites, marginals: Marginals) -> Array:
    """Return the diagonal of the curvature, which is the scale of every weight."""
    d, out = discriminant, np.zeros(discriminant.size)
    nodes, edges = d.split(out)
    nodes[:] = _label_variances(sites, marginals).T @ sites.x**2
    if d.traits is not None:
        d.corner(out)[:] = nodes[:, d.crossed].T @ d.traits**2
    edges[:] = _agreement_variances(sites, d.forest.edges, marginals)
    return out


def _label_variances(sites: LabelledSites, marginals: Marginals) -> Array:
    """Return the variance of every label, `(n, S)`; zero for missing labels."""
    return np.where(sites.labels >= 0, marginals.nodes * (1.0 - marginals.nodes), 0.0)


def _agreement_variances(sites: LabelledSites, edges: Index, marginals: Marginals) -> Array:
    """Return the variance of the function (1 or −1) of every edge, summed over sites."""
    observed, (first, second) = sites.labels >= 0, edges.T
    mean = 1.0 - 2.0 * marginals.nodes[:, first] - 2.0 * marginals.nodes[:, second] + 4.0 * marginals.edges
    return np.asarray(np.sum(np.maximum(1.0 - mean**2, 0.0), axis=0, where=observed[:, first] & observed[:, second]))


def _with_traits(d: Discriminant, unshared: Array, traits: Array) -> Array:
    """Return the curvature in all weights, from the curvature in the weights of species and edges."""
    species, k = d.forest.size, d.n_features
    of_crossed = unshared[:, : species * k].reshape(-1, species, k)[:, :, d.crossed]
    mixed = np.einsum("nsk,st->nkt", of_crossed, traits).reshape(len(unshared), -1)
    rows = mixed[: species * k].reshape(species, k, -1)[:, d.crossed]
    shared = np.einsum("skm,st->ktm", rows, traits).reshape(d.n_shared, d.n_shared)
    return np.block([[unshared, mixed], [mixed.T, shared]])


@jit
def _fill(states, nodes, both, edges, walk, near, out, mixed, total):  # type: ignore[no-untyped-def]
    """Fill the covariances of labels, and of labels with the edges' functions, for every site.

    Covariances of different edges are summed over sites, below the diagonal of `total`.
    """
    species, n_edges = nodes.shape[1], edges.shape[0]
    b, d = np.empty((n_edges, 2)), np.empty((n_edges, 2))
    for i in range(nodes.shape[0]):
        m, u, p = out[i], mixed[i], nodes[i]
        for e in range(n_edges):
            _slopes(states[i], p, both[i, e], edges[e], b[e], d[e])
        for r in range(species):
            absent = states[i, r] == ABSENT
            if absent or (species > 1 and walk[r, species - 2, 0] < 0):  # the walk does not visit all species
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
                u[r, e] = m[r, s] * d[e, end]
        for e in range(n_edges):
            for f in range(e):
                end_e, end_f = near[e, f], near[f, e]
                link = m[edges[e, end_e], edges[f, end_f]]
                total[e, f] += d[e, end_e] * link * d[f, end_f]


@jit
def _slopes(state, p, both, edge, b, d):  # type: ignore[no-untyped-def]
    """Compute the slopes of the other end's probability and of the edge's function, from either end of an edge."""
    for end in range(2):
        s, t = edge[end], edge[1 - end]
        b[end] = 0.0
        d[end] = 0.0
        if state[s] == ABSENT or state[t] == ABSENT or p[s] <= 0.0 or p[s] >= 1.0:
            continue
        if_present = min(max(both / p[s], 0.0), 1.0)
        if_absent = min(max((p[t] - both) / (1.0 - p[s]), 0.0), 1.0)
        b[end] = if_present - if_absent
        d[end] = 2.0 * (if_present + if_absent - 1.0)
