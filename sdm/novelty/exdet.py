"""Extrapolation detection (Mesgaran, Cousens and Webber 2014): novel values, novel combinations and their causes.

Type 1 novelty is the distance of values outside the ranges of the reference, in units of the range, summed over
variables: 0 inside, negative outside. At points with type 1 novelty 0, type 2 novelty is the squared Mahalanobis
distance from the mean of the reference. It is relative to the largest one in the reference, so values above 1 are novel
combinations. Categories are not part of distances; an unseen category is outside by 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.novelty.reference import Reference, TrainingRange
from sdm.types import AnyArray, Array, Index

NONE = 255
_RCOND_RANK = 1e-8  # below this relative variance, inverses are computed without each variable
_RCOND = 1e-10  # directions with less relative variance in the reference are ignored


@dataclass(frozen=True)
class Extrapolation:
    """Ranges, mean and inverse covariance of the reference."""

    seen: TrainingRange
    continuous: tuple[int, ...]  # continuous variables
    mean: Array  # mean of the continuous variables
    inverse: Array  # inverse of their covariance
    without: Array  # (k, k, k): the inverse without each variable, with zeros in its place; empty if not needed
    greatest: float  # largest squared distance within the reference

    @classmethod
    def of(cls, reference: Reference) -> "Extrapolation":
        """Return the extrapolation measures for a reference."""
        cols = list(reference.continuous)
        values = reference.values[:, cols]
        mean = values.mean(axis=0)
        covariance = np.atleast_2d(np.cov(values, rowvar=False)) if len(values) > 1 else np.zeros((len(cols),) * 2)
        scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0)) if cols else np.ones(0)
        inverse = _inverse(covariance, scale)
        # Without variable j the distance decreases by (S⁻¹x)_j² / (S⁻¹)_jj (Schur's complement) if S is invertible.
        regular = bool(cols) and np.linalg.matrix_rank(covariance / np.outer(scale, scale), _RCOND_RANK) == len(cols)
        size = 0 if regular else len(cols)
        without = np.zeros((size, size, size))
        for j in range(size):
            rest = [k for k in range(len(cols)) if k != j]
            without[j][np.ix_(rest, rest)] = _inverse(covariance[np.ix_(rest, rest)], scale[rest])
        centred = values - mean
        greatest = float(np.einsum("ij,jk,ik->i", centred, inverse, centred).max()) if cols else 0.0
        return cls(TrainingRange.of(reference), reference.continuous, mean, inverse, without, greatest)

    def measure(self, columns: Sequence[AnyArray]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Return the novelty of points with one column per variable, and the variable with the largest effect.

        Novelty is negative for type 1, above 1 for type 2, and NaN where a value is missing. The variable of type 1 is
        the one farthest outside. The variable of type 2 is the one without which the distance decreases most. It is 255
        at points without novelty.
        """
        n, total, worst = len(columns[0]), np.zeros(len(columns[0])), np.zeros(len(columns[0]))
        which = np.full(n, NONE, dtype=np.uint8)
        for k, column in enumerate(columns):
            outside = self._outside(k, column)
            total += outside
            further = outside < worst
            worst[further], which[further] = outside[further], k
        novelty = total.astype(np.float32)
        inside = np.flatnonzero(total == 0)
        numbers = self.continuous
        if len(inside) and numbers and self.greatest > 0:
            points = np.column_stack([np.asarray(columns[k], dtype=np.float64)[inside] for k in numbers]) - self.mean
            distance, cause = _mahalanobis(points, self.inverse, self.without, self.greatest)
            relative = distance / self.greatest
            novelty[inside] = relative
            beyond = relative > 1
            which[inside[beyond]] = np.array(numbers, dtype=np.uint8)[cause[beyond]]
        which[np.isnan(novelty)] = NONE
        return novelty, which

    def _outside(self, variable: int, column: AnyArray) -> Array:
        """Return the distance of values outside the range of a variable, at most 0; NaN for missing values."""
        values = np.asarray(column, dtype=np.float64)
        low, high, classes = self.seen.low[variable], self.seen.high[variable], self.seen.classes[variable]
        if classes is not None:
            return np.where(np.isnan(values), np.nan, np.where(np.isin(values, classes), 0.0, -1.0))
        span = high - low if high > low else 1.0
        return np.asarray(np.minimum(np.minimum(values - low, high - values) / span, 0.0))


def _inverse(covariance: Array, scale: Array) -> Array:
    """Return the inverse of a covariance, computed from the correlations."""
    if not len(scale):
        return np.zeros((0, 0))
    correlation = covariance / np.outer(scale, scale)
    inverse: Array = np.linalg.pinv(correlation, rcond=_RCOND, hermitian=True) / np.outer(scale, scale)
    return inverse


def _mahalanobis(points: Array, inverse: Array, without: Array, greatest: float) -> tuple[Array, Index]:
    """Return the squared distances of points from the mean, and the variable without which each decreases most.

    The variables are computed for distances above the largest one of the reference.
    """
    parts = points @ inverse
    distance = np.einsum("ij,ij->i", parts, points)
    cause, beyond = np.zeros(len(points), dtype=np.int64), np.flatnonzero(distance > greatest)
    if len(without):
        rest = np.einsum("ia,jab,ib->ij", points[beyond], without, points[beyond], optimize=True)
    else:
        rest = distance[beyond, None] - parts[beyond] ** 2 / np.diag(inverse)
    cause[beyond] = np.argmin(rest, axis=1)
    return distance, cause
