"""From margins to probabilities: a max-margin model's scores times one factor, the likeliest for its sites."""

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.likelihood import LogLoss
from sdm.types import Array

ROUNDS = 30


def best_scale(discriminant: Discriminant, sites: LabelledSites, weights: Array) -> float:
    """Return the κ from 0.01 to 100 with the least log loss of `κ·weights`, which is convex in κ: bisect its slope."""
    loss = LogLoss(discriminant, sites)
    low, high = np.log(0.01), np.log(100.0)
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        if loss(np.exp(middle) * weights)[1] @ weights > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-3:
            break
    return float(np.exp(0.5 * (low + high)))
