"""Mobility-oriented parity (Owens et al. 2013): the mean distance of a point to the nearest share of the reference.

Variables are standardised over the reference; categories are not used. A point is strict extrapolation if a variable is
outside the range of the reference, or has an unseen category.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.novelty.reference import Reference, TrainingRange
from sdm.types import AnyArray, Array

POINTS = 2000  # reference points that distances are measured to; larger references are subsampled with a seed
SHARE = 0.05
_ROWS = 500  # rows whose distances to all points are in memory together


@dataclass(frozen=True)
class Parity:
    """Standardised points of the reference."""

    points: Array  # (n, k)
    mean: Array
    scale: Array
    nearest: int  # number of nearest points to average over
    seen: TrainingRange
    continuous: tuple[int, ...]  # continuous variables

    @classmethod
    def of(cls, reference: Reference, *, share: float = SHARE, points: int = POINTS, seed: int = 1) -> "Parity":
        """Return the parity with a reference, for the nearest `share` of at most `points` of its points."""
        values = reference.values[:, list(reference.continuous)]
        mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1) if len(values) > 1 else values.std(axis=0)
        scale = np.where(deviation > 0, deviation, 1.0)
        if len(values) > points:
            values = values[np.sort(np.random.default_rng(seed).choice(len(values), points, replace=False))]
        nearest = max(1, round(share * len(values)))
        scaled, seen = np.ascontiguousarray((values - mean) / scale), TrainingRange.of(reference)
        return cls(scaled, mean, scale, nearest, seen, reference.continuous)

    def measure(self, columns: Sequence[AnyArray]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the mean distance to the nearest points of the reference, and a mask of strict extrapolation.

        The distance is NaN where a value is missing.
        """
        values = [np.asarray(column, dtype=np.float64) for column in columns]
        strict = self.seen.outside(values)
        if not self.continuous:
            return np.zeros(len(strict), dtype=np.float32), strict
        x = np.column_stack([values[k] for k in self.continuous])
        missing = ~np.isfinite(values).all(axis=0)
        distance = np.full(len(x), np.nan, dtype=np.float32)
        complete = np.flatnonzero(~missing)
        distance[complete] = _mean_nearest((x[complete] - self.mean) / self.scale, self.points, self.nearest)
        return distance, strict & ~missing


def _mean_nearest(x: Array, points: Array, nearest: int) -> Array:
    """Return the mean distance of each row to its nearest points."""
    from scipy.spatial.distance import cdist

    out = np.empty(len(x))
    for first in range(0, len(x), _ROWS):
        distances = np.partition(cdist(x[first : first + _ROWS], points), nearest - 1, axis=1)
        out[first : first + _ROWS] = distances[:, :nearest].mean(axis=1)
    return out
