"""The optimality condition of every penalty."""

import numpy as np

from sdm.maxent.penalty import CODE_L2, CODE_LP, Penalty
from sdm.types import Array


def distance(penalty: Penalty, lam: Array, eps: Array) -> Array:
    """Return how far `−ε = π̃[f] − p[f]` is from the subdifferential of the penalty at `λ`, feature by feature."""
    away = np.abs(eps + penalty.gradient(lam))
    if penalty.sparse:
        return np.where(lam == 0, np.maximum(np.abs(eps) - penalty.beta, 0.0), away)
    if penalty.code in (CODE_L2, CODE_LP) and not np.any(lam):
        return np.abs(eps) * penalty.mixing(eps)  # what is outside the ball
    return away
