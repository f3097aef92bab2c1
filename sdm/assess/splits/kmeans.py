"""k-means, seeded: the best of several k-means++ starts."""

import numpy as np

from sdm.errors import OptionError
from sdm.types import Array, Index

STARTS = 10
ROUNDS = 100


def kmeans(points: Array, k: int, *, seed: int = 1) -> tuple[Index, Array]:
    """Return the cluster of every point `(n, d)` and the centres, from the best of ten starts; no cluster is empty."""
    from scipy.cluster.vq import ClusterError, kmeans2

    distinct = np.unique(points, axis=0).shape[0]
    if not 1 <= k <= distinct:
        raise OptionError(f"{k} clusters were asked for, there are {distinct} distinct points: ask for 1 to {distinct}")
    rng = np.random.default_rng(seed)
    results: list[tuple[float, Index, Array]] = []
    while len(results) < STARTS:
        try:
            centres, label = kmeans2(points, k, ROUNDS, minit="++", missing="raise", rng=rng)
        except ClusterError:  # a cluster lost all its points
            continue
        results.append((float(np.sum((points - centres[label]) ** 2)), label.astype(np.int64), centres))
    _, label, centres = min(results, key=lambda result: result[0])
    return label, centres


def nearest(points: Array, centres: Array) -> Index:
    """Return the nearest centre of every point."""
    from scipy.cluster.vq import vq

    return np.asarray(vq(points, centres)[0], dtype=np.int64)
