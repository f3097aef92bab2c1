"""Linear chains whose positions share their weights, as in Zhu and Xing (2009), §7.1."""

import numpy as np

from sdm.joint.discriminant import Discriminant
from sdm.joint.graph import Forest

# One indicator for each pair of labels: the transitions of a linear chain.
TRANSITIONS = np.eye(4).reshape(4, 2, 2)


def chain_discriminant(forest: Forest, n_features: int) -> Discriminant:
    """Return the discriminant of a chain whose positions share their weights, with all transitions."""
    nodes, edges = np.zeros(forest.size, dtype=np.int64), np.zeros(len(forest.edges), dtype=np.int64)
    return Discriminant(forest, n_features, TRANSITIONS, nodes, edges)
