"""Columns of the features in Newton's working set, and the curvature on them."""

import numpy as np
from numpy.typing import NDArray

from sdm.executors.ahead import over_cells
from sdm.features.feature_set import FeatureSet
from sdm.types import Array

# Columns only determine a direction; objective, gradient and gap are in double precision. Single precision suffices for
# columns unless features differ by less than its rounding.
ROUNDING = {np.float32: 1e-6, np.float64: 1e-13}  # relative rounding of a Hessian, by the precision of its columns

ROUGH_CELLS = 40_000  # number of cells for an approximate Hessian, which separates a few hundred features


def rough_stride(n: int) -> int:
    """Return the stride over `n` cells for an approximate Hessian."""
    return max(1, min(16, n // ROUGH_CELLS))


class ColumnPool:
    """Columns of features in the working sets of a run, each computed once.

    Columns are over every `stride`-th cell, until `refine` is called. When `capacity` is reached, columns outside the
    current working set are removed.
    """

    def __init__(self, features: FeatureSet, stride: int = 1, capacity: int = 400) -> None:
        self.features = features
        self.stride = stride
        self.capacity = capacity
        self.precision: type[np.float32] | type[np.float64] = np.float32
        self._columns: dict[int, NDArray[np.floating]] = {}

    def refine(self, times: int | None = None) -> None:
        """Use every cell from now on, or `times` as many."""
        finer = 1 if times is None else max(self.stride // times, 1)
        if finer < self.stride:
            self.stride, self._columns = finer, {}

    def double(self) -> bool:
        """Use double precision, at every cell, from now on; return whether this is a change."""
        if self.precision is np.float64:
            return False
        self.stride, self.precision, self._columns = 1, np.float64, {}
        return True

    def renumber(self, features: FeatureSet, keep: NDArray[np.bool_]) -> None:
        """Continue with the features marked in `keep`, in their new numbering."""
        self.features = features
        position = np.cumsum(keep) - 1
        self._columns = {int(position[j]): column for j, column in self._columns.items() if keep[j]}

    def columns(self, members: NDArray[np.int64]) -> list[NDArray[np.floating]]:
        """Return the columns of the members; compute missing ones."""
        requested = members.tolist()
        missing = [j for j in requested if j not in self._columns]
        if len(self._columns) + len(missing) > self.capacity:
            self._columns = {j: self._columns[j] for j in requested if j in self._columns}

        def compute(j: int) -> NDArray[np.floating]:
            return np.ascontiguousarray(self.features.column(j)[:: self.stride], dtype=self.precision)

        self._columns |= zip(missing, over_cells(compute, missing, self.features.domain.n))
        return [self._columns[j] for j in requested]

    def hessian(self, members: NDArray[np.int64], weights: Array, numbers: int = 2**21) -> Array:
        """Return the Hessian of `Ω*(Fλ)` on the members, `F (diag(w) − w wᵀ/Σw) Fᵀ`, from the sampled cells.

        It is computed in blocks of `numbers` values, from columns centred on their weighted means, so that they are not
        copied all at once.
        """
        if not np.any(weights[:: self.stride]):  # all of the density is between the sampled cells
            self.refine()
        columns = self.columns(members)
        total, weights = weights.sum(), weights[:: self.stride]
        weights = weights * (total / weights.sum())
        root, share = np.sqrt(weights).astype(self.precision), (weights / total).astype(self.precision)
        centre = np.array([column @ share for column in columns], dtype=self.precision)[:, None]
        block = max(numbers // max(members.size, 1), 1)

        def product(first: int) -> NDArray[np.floating]:
            centred = np.array([column[first : first + block] for column in columns])
            centred -= centre
            centred *= root[first : first + block]
            return np.asarray(centred @ centred.T)

        out = np.zeros((members.size, members.size))
        for part in over_cells(product, range(0, root.size, block), self.features.domain.n):
            out += part
        out[np.diag_indices(members.size)] *= 1.0 + ROUNDING[self.precision]  # to stay positive definite
        return out
