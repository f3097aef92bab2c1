"""Find duplicate features through the oracle, without a matrix.

Features that agree on every cell have the same expectation under every probability. The expectations of f and 1 − f sum
to one. So each feature has a signature, its expectations under two random probabilities. Features with equal signatures
are then compared cell by cell.
"""

import numpy as np
from numpy.typing import NDArray

from sdm.features.feature_set import FeatureSet
from sdm.types import Array

_TOLERANCE = 1e-12


# Penalties under which duplicates do not matter: the one with the lowest β gets all weight. Any other penalty is
# smaller if a weight is divided among duplicates, each with its β, so duplicates change the problem.
INDIFFERENT = ("none", "l1")


def find_duplicates(features: FeatureSet, beta: Array, penalty: str = "l1") -> tuple[NDArray[np.bool_], dict[int, int]]:
    """Return a mask of the features to keep, and for each dropped feature the one that it duplicates.

    The duplicate with the lowest penalty is kept (the first for ties). All are kept under penalties for which
    duplicates matter.
    """
    keep = np.ones(features.size, dtype=bool)
    copies: dict[int, int] = {}
    if penalty not in INDIFFERENT:
        return keep, copies
    signatures = _signatures(features)
    order = np.lexsort((signatures[1], signatures[0]))
    for run in _runs(signatures, order):
        by_beta = sorted(run, key=lambda j: (beta[j], j))
        columns: list[tuple[int, Array]] = []
        for j in by_beta:
            column = features.column(j)
            twin = next((i for i, existing in columns if _same(existing, column)), None)
            if twin is None:
                columns.append((j, column))
            else:
                keep[j] = False
                copies[j] = twin
    return keep, copies


def _signatures(features: FeatureSet) -> Array:
    """Return the expectations under two random probabilities, reflected so that f and 1 − f agree."""
    rng = np.random.default_rng(20260714)
    out = np.empty((2, features.size))
    for row in out:
        mass = rng.random(features.domain.n) + 0.5
        mass /= mass.sum()
        row[:] = features.expectations(features.domain.measure(mass))
    flip = out[0] > 0.5
    out[:, flip] = 1.0 - out[:, flip]
    return out


def _runs(signatures: Array, order: NDArray[np.int64]) -> list[list[int]]:
    """Return the sets of two or more features, consecutive in `order`, with equal signatures."""
    near = np.diff(signatures[0, order]) < _TOLERANCE
    (places,) = near.nonzero()
    second = signatures[1]
    near[places] = np.abs(second[order[places + 1]] - second[order[places]]) < _TOLERANCE
    edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(np.int8)))
    return [order[a : b + 1].tolist() for a, b in zip(edges[::2], edges[1::2])]


def _same(a: Array, b: Array) -> bool:
    """Return whether two columns are the same feature, or one is one minus the other."""
    return bool(np.abs(a - b).max() < 1e-9 or np.abs(a + b - 1.0).max() < 1e-9)
