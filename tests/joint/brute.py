"""Slow, obvious sums over all labelings."""

import itertools

import numpy as np

from sdm.joint.graph import Forest


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
