"""k-means: Lloyd's algorithm from k-means++ starts, seeded."""

import numpy as np

from sdm.errors import OptionError
from sdm.types import Array, Index

STARTS = 10
ROUNDS = 300


def kmeans(points: Array, k: int, *, seed: int = 1) -> tuple[Index, Array]:
    """Return the cluster of every point `(n, d)` and the centres, from the best of ten starts; no cluster is empty."""
    distinct = np.unique(points, axis=0).shape[0]
    if not 1 <= k <= distinct:
        raise OptionError(f"{k} clusters were asked for, there are {distinct} distinct points: ask for 1 to {distinct}")
    rng = np.random.default_rng(seed)
    found = [_lloyd(points, _spread_out(points, k, rng)) for _ in range(STARTS)]
    _, label, centres = min(found, key=lambda start: start[0])
    return label, centres


def nearest(points: Array, centres: Array) -> Index:
    """Return the nearest centre of every point."""
    return np.argmin(_squares(points, centres), axis=1)


def _squares(points: Array, centres: Array) -> Array:
    """Return the squared distance of every point to every centre."""
    return np.stack([np.sum((points - centre) ** 2, axis=1) for centre in centres], axis=1)


def _spread_out(points: Array, k: int, rng: np.random.Generator) -> Array:
    """Choose centres one by one, with probability proportional to the squared distance to those chosen (k-means++)."""
    chosen = [int(rng.integers(len(points)))]
    distance = np.sum((points - points[chosen[0]]) ** 2, axis=1)
    while len(chosen) < k:
        chosen.append(int(rng.choice(len(points), p=distance / distance.sum())))
        distance = np.minimum(distance, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
    return points[chosen].copy()


def _lloyd(points: Array, centres: Array) -> tuple[float, Index, Array]:
    """Move centres to their points' mean until no point changes; a centre that lost all takes the farthest point."""
    label = np.full(len(points), -1)
    for _ in range(ROUNDS):
        squares = _squares(points, centres)
        new = np.argmin(squares, axis=1)
        own = squares[np.arange(len(points)), new]
        for empty in np.flatnonzero(np.bincount(new, minlength=len(centres)) == 0):
            far = int(np.argmax(own))
            new[far], own[far] = empty, 0.0
        if np.array_equal(new, label):
            break
        label = new
        centres = np.stack([points[label == c].mean(axis=0) for c in range(len(centres))])
    return float(np.sum((points - centres[label]) ** 2)), label, centres
