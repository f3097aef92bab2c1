"""Axes as they are shown: uncorrelated over the sites, in the order of what they explain."""

import numpy as np

from sdm.shared.factors import Factors
from sdm.shared.problem import SharedProblem
from sdm.types import Array


def shown_axes(problem: SharedProblem, factors: Factors) -> tuple[Array, Array, Array]:
    """Return axes that have deviation 1 over the sites and are uncorrelated there, the places of species on them, and
    how much of the variance of log densities each explains."""
    if not factors.rank:
        return factors.a, factors.b, np.empty(0)
    values, vectors = problem.covariance
    turned = vectors.T @ factors.a
    size, turn = np.linalg.eigh(turned.T @ (values[:, None] * turned))
    keep = size > 1e-12 * size[-1]
    root = turn[:, keep] * np.sqrt(size[keep])  # cov = root rootᵀ
    inverse = turn[:, keep] / np.sqrt(size[keep])
    rotation, spread, _ = np.linalg.svd((root.T @ factors.b) * np.sqrt(problem.records.weight), full_matrices=False)
    axes, places = factors.a @ inverse @ rotation, rotation.T @ root.T @ factors.b
    sign = np.where(places[np.arange(len(places)), np.abs(places).argmax(axis=1)] < 0, -1.0, 1.0)
    return axes * sign, places * sign[:, None], spread**2 / np.sum(spread**2)
