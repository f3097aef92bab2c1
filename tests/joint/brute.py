"""Slow, obvious sums over all labelings, and small problems to try them on."""

import itertools

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.graph import Forest, chain

# Whether positions share their weights, and how many labels are missing.
KINDS = [(False, 0.0), (False, 0.3), (True, 0.0), (True, 0.2)]


def random_forest(rng, size, share=0.8) -> Forest:
    edges = [(int(rng.integers(t)), t) for t in range(1, size) if rng.random() < share]
    edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]
    relabel = rng.permutation(size)
    return Forest(size, relabel[np.array(edges, dtype=np.int64).reshape(-1, 2)].astype(np.int64))


def labelings(state):
    """Every labeling that a site's states allow; species left out have label −1."""
    choices = {-1: (-1,), 0: (0,), 1: (1,), 2: (0, 1)}
    return np.array(list(itertools.product(*(choices[int(s)] for s in state))), dtype=np.int8)


def score(forest, u, table, y):
    total = sum(u[s] for s in range(forest.size) if y[s] == 1)
    for e, (s, t) in enumerate(forest.edges):
        if y[s] >= 0 and y[t] >= 0:
            total += table[e, y[s], y[t]]
    return total


def gibbs(forest, u, table, state):
    """Log-partition, node and edge marginals, best score and labelings with their probability."""
    all_y = labelings(state)
    values = np.array([score(forest, u, table, y) for y in all_y])
    log_z = values.max() + np.log(np.exp(values - values.max()).sum())
    p = np.exp(values - log_z)
    nodes = (p[:, None] * (all_y == 1)).sum(axis=0)
    edges = np.array([(p * ((all_y[:, s] == 1) & (all_y[:, t] == 1))).sum() for s, t in forest.edges])
    return log_z, nodes, edges, values.max(), all_y, p


def problem(seed, tied=False, missing=0.0, n=25, size=4, features=3):
    """Sites with labels that depend on the environment and on each other."""
    rng = np.random.default_rng(seed)
    forest = chain(size) if tied else random_forest(rng, size, 0.9)
    x = rng.normal(size=(n, size if tied else 1, features))
    x[:, :, -1] = 1.0
    truth = Discriminant.of_chain(forest, features) if tied else Discriminant.of_species(forest, features)
    w = rng.normal(size=truth.size)
    unary = truth.unary(w, x) + rng.logistic(size=(n, size))
    labels = (unary > 0).astype(np.int8)
    for s, t in forest.edges:
        copy = rng.random(n) < 0.3
        labels[copy, t] = labels[copy, s]
    labels[rng.random(labels.shape) < missing] = -1
    return truth, LabelledSites(x, labels)


def hinge_of(d, sites):
    """Σ_i max_y [wrong labels − ΔF], over all labelings, which are listed once: a function of the weights."""
    listed = []
    for x, own, state in zip(sites.x, sites.labels, sites.states):
        all_y = labelings(state)
        difference = np.array([features_of(d, x, y) for y in all_y]) - features_of(d, x, own)
        listed.append((difference, np.sum(all_y != own, axis=1)))
    return lambda w: float(sum(np.max(difference @ w + wrong) for difference, wrong in listed))


def features_of(d, x, y):
    """f(x, y) of one labeling, by definition."""
    out = np.zeros(d.size)
    nodes, edges = d.split(out)
    for s in range(d.forest.size):
        if y[s] == 1:
            nodes[d.node_block[s]] += x[s if len(x) > 1 else 0]
    for e, (s, t) in enumerate(d.forest.edges):
        if y[s] >= 0 and y[t] >= 0:
            edges[d.edge_block[e]] += d.pair[:, y[s], y[t]]
    return out
