"""The columns of the few features that Newton's method looks at, and the curvature on them."""

import numpy as np
from numpy.typing import NDArray

from sdm.features.feature_set import FeatureSet
from sdm.types import Array

# The columns serve only to find a direction; objective, gradient and gap are computed in double precision.
DTYPE = np.float32


ROUGH_CELLS = 40_000  # a rough Hessian looks at about this many cells: enough to tell a few hundred features apart


def rough_stride(n: int) -> int:
    """Return how many of `n` cells to step over for a rough Hessian."""
    return max(1, min(16, n // ROUGH_CELLS))


class ColumnPool:
    """Columns of features that were in the working set at some time, so that none is computed twice: over every
    `stride`-th cell only, until `refine` is called. When `capacity` is full, those not asked for in the present round
    go."""

    def __init__(self, features: FeatureSet, stride: int = 1, capacity: int = 400) -> None:
        self.features = features
        self.stride = stride
        self.capacity = capacity
        self._columns: dict[int, NDArray[np.float32]] = {}

    def refine(self, times: int | None = None) -> None:
        """Look at every cell from now on, or at so many times more."""
        finer = 1 if times is None else max(self.stride // times, 1)
        if finer < self.stride:
            self.stride = finer
            self._columns.clear()

    def renumber(self, features: FeatureSet, keep: NDArray[np.bool_]) -> None:
        """Go on with the features marked in `keep`, in their new numbering."""
        self.features = features
        place = np.cumsum(keep) - 1
        self._columns = {int(place[j]): column for j, column in self._columns.items() if keep[j]}

    def columns(self, members: NDArray[np.int64]) -> list[NDArray[np.float32]]:
        """Return the members' columns, computing those that are missing."""
        wanted = [int(j) for j in members]
        missing = [j for j in wanted if j not in self._columns]
        if len(self._columns) + len(missing) > self.capacity:
            self._columns = {j: self._columns[j] for j in wanted if j in self._columns}
        for j in missing:
            self._columns[j] = self.features.column(j)[:: self.stride].astype(DTYPE)
        return [self._columns[j] for j in wanted]

    def hessian(self, members: NDArray[np.int64], weights: Array, block: int = 2048) -> Array:
        """Return the Hessian of `Ω*(Fλ)` on the members, `F (diag(w) − w wᵀ/Σw) Fᵀ`, from the cells looked at. Block by
        block of cells, from columns centred on their weighted means, so that no copy of them all is made."""
        if not np.any(weights[:: self.stride]):  # all of the density lies between the cells that are looked at
            self.refine()
        columns = self.columns(members)
        total, weights = weights.sum(), weights[:: self.stride]
        weights = weights * (total / weights.sum())
        root, w = np.sqrt(weights).astype(DTYPE), (weights / total).astype(DTYPE)
        centre = np.array([column @ w for column in columns], dtype=DTYPE)[:, None]
        out = np.zeros((members.size, members.size))
        part = np.empty((members.size, block), dtype=DTYPE)
        for a in range(0, root.size, block):
            b = min(a + block, root.size)
            centred = part[:, : b - a] if b - a == block else np.empty((members.size, b - a), dtype=DTYPE)
            for k, column in enumerate(columns):
                np.subtract(column[a:b], centre[k], out=centred[k])
            centred *= root[a:b]
            out += centred @ centred.T
        # Single precision leaves an error of about a millionth: lift the diagonal by that, to stay positive definite.
        out[np.diag_indices(members.size)] *= 1.0 + 1e-6
        return out
