"""The correlation matrix of the features over the domain, for the mahalanobis penalty.

The covariance is under the base measure, over all cells, so it does not depend on the records. `λᵀAλ` is then the
variance of the scores over the domain, for features scaled to a variance of β. So the weights of correlated features
are penalised for their joint effect. Correlations are reduced by the share `uncorrelated`. The matrix can then be
inverted for linearly dependent features, or for more features than cells.
"""

from dataclasses import dataclass

import numpy as np

from sdm.errors import OptionError
from sdm.features.feature_set import FeatureSet
from sdm.types import Array

MOST = 3000  # largest number of features; 72 MB for a matrix, and some seconds to invert it
BLOCK = 40_000_000  # numbers in a block of columns
STILL = 1e-12  # variances of features in [0, 1] below this are rounding errors


@dataclass(frozen=True)
class Correlation:
    """The correlation matrix, and the number of constant features."""

    matrix: Array
    constant: int  # features that are constant over the base measure

    def notes(self, cells: int, uncorrelated: float) -> list[str]:
        """Return notes for the user about constant and dependent features."""
        out = []
        if self.constant:
            out.append(
                f"{self.constant:,} of {len(self.matrix):,} features have the same value all over the background: "
                "mahalanobis gives them the penalty of l2sq"
            )
        if len(self.matrix) > cells:
            out.append(
                f"{len(self.matrix):,} features are more than the {cells:,} points of the domain, so some are made of "
                f"others: uncorrelated={uncorrelated:g} keeps the mahalanobis penalty of all of them positive"
            )
        return out


def feature_correlation(features: FeatureSet, uncorrelated: float) -> Correlation:
    """Return `(1 − s) ρ + s I` for the correlations `ρ` of the features under the base measure, and the share `s`."""
    size, q0 = features.size, features.domain.q0
    if size > MOST:
        raise OptionError(
            f"regularization='mahalanobis' needs at most {MOST:,} features, and there are {size:,}: use fewer "
            "(features='lq', knots=20), or regularization='l2sq'"
        )
    mean, root = features.expectations(features.domain.measure(q0)), np.sqrt(q0)
    width = max(1, min(size, BLOCK // q0.size))
    covariance = np.empty((size, size))
    for a in range(0, size, width):
        rows = _centred(features, a, min(a + width, size), mean, root)
        covariance[a : a + len(rows), a : a + len(rows)] = rows @ rows.T
        for b in range(a + width, size, width):
            columns = _centred(features, b, min(b + width, size), mean, root)
            block = rows @ columns.T
            covariance[a : a + len(rows), b : b + len(columns)] = block
            covariance[b : b + len(columns), a : a + len(rows)] = block.T
    constant = np.diagonal(covariance) <= STILL
    spread = np.sqrt(np.where(constant, 1.0, np.diagonal(covariance)))
    matrix = (1.0 - uncorrelated) * covariance / np.outer(spread, spread)
    matrix[constant, :] = matrix[:, constant] = 0.0
    matrix[np.diag_indices(size)] = 1.0
    return Correlation(matrix, int(constant.sum()))


def _centred(features: FeatureSet, start: int, end: int, mean: Array, root: Array) -> Array:
    """Return centred features times the root of the base measure, one row each."""
    return np.array([(features.column(j) - mean[j]) * root for j in range(start, end)])
