"""The columns of the few features that Newton's method looks at, and the curvature on them."""

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit, jit_sum
from sdm.executors.ahead import in_parts, over_cells
from sdm.features.feature_set import FeatureSet
from sdm.types import Array

# The columns serve only to find a direction; objective, gradient and gap are computed in double precision. Single
# precision serves columns too, unless features are so similar that their difference is below its rounding.
ROUNDING = {np.float32: 1e-6, np.float64: 1e-13}  # of a Hessian, by the precision of its columns

SLAB = 32  # columns that are kept in one array
ROUGH_CELLS = 40_000  # a rough Hessian looks at about this many cells: enough to tell a few hundred features apart


def rough_stride(n: int) -> int:
    """Return how many of `n` cells to step over for a rough Hessian."""
    return max(1, min(16, n // ROUGH_CELLS))


class ColumnPool:
    """Columns of features that were in the working set at some time, so that none is computed twice: over every
    `stride`-th cell only, until `refine` is called. When `capacity` is full, those not asked for in the present round
    go. Columns are rows of a few arrays, so that many of them can be read by one kernel."""

    def __init__(self, features: FeatureSet, stride: int = 1, capacity: int = 400) -> None:
        self.features = features
        self.stride = stride
        self.capacity = capacity
        self.precision: type[np.float32] | type[np.float64] = np.float32
        self._slabs: list[NDArray[np.floating]] = []  # of SLAB rows each
        self._row: dict[int, int] = {}  # of every feature that is here, counted over all slabs
        self._free: list[int] = []  # rows without a feature

    def refine(self, times: int | None = None) -> None:
        """Look at every cell from now on, or at so many times more."""
        finer = 1 if times is None else max(self.stride // times, 1)
        if finer < self.stride:
            self.stride = finer
            self._slabs, self._row, self._free = [], {}, []

    def double(self) -> bool:
        """Use double precision, at every cell, from now on; return whether that is a change."""
        if self.precision is np.float64:
            return False
        self.stride, self.precision = 1, np.float64
        self._slabs, self._row, self._free = [], {}, []
        return True

    def renumber(self, features: FeatureSet, keep: NDArray[np.bool_]) -> None:
        """Go on with the features marked in `keep`, in their new numbering."""
        self.features = features
        place = np.cumsum(keep) - 1
        self._free += [row for j, row in self._row.items() if not keep[j]]
        self._row = {int(place[j]): row for j, row in self._row.items() if keep[j]}

    def columns(self, members: NDArray[np.int64]) -> list[NDArray[np.floating]]:
        """Return the members' columns, computing those that are missing."""
        return [self._slabs[row // SLAB][row % SLAB] for row in self._rows(members)]

    def _rows(self, members: NDArray[np.int64]) -> list[int]:
        """Return the rows of the members' columns, computing those that are missing."""
        wanted = [int(j) for j in members]
        missing = [j for j in wanted if j not in self._row]
        if len(self._row) + len(missing) > self.capacity:
            kept = {j: self._row[j] for j in wanted if j in self._row}
            self._free += [row for j, row in self._row.items() if j not in kept]
            self._row = kept
        n = self.features.domain.n
        for j in missing:
            if not self._free:
                first = SLAB * len(self._slabs)
                self._free = list(range(first + SLAB - 1, first - 1, -1))
                self._slabs.append(np.empty((SLAB, -(-n // self.stride)), dtype=self.precision))
            self._row[j] = self._free.pop()
        try:
            in_parts(lambda some: self._compute(missing[some]), len(missing), n)
        except BaseException:  # Ctrl-C too: another fit may go on with what is here
            self._free += [self._row.pop(j) for j in missing]
            raise
        return [self._row[j] for j in wanted]

    def _compute(self, features: list[int]) -> None:
        """Put the columns of features in their rows."""
        for j in features:
            row = self._row[j]
            self._slabs[row // SLAB][row % SLAB] = self.features.column(j)[:: self.stride]

    def hessian(self, members: NDArray[np.int64], weights: Array, block: int = 2048) -> Array:
        """Return the Hessian of `Ω*(Fλ)` on the members, `F (diag(w) − w wᵀ/Σw) Fᵀ`, from the cells looked at. Block by
        block of cells, from columns centred on their weighted means, so that no copy of them all is made."""
        if not np.any(weights[:: self.stride]):  # all of the density lies between the cells that are looked at
            self.refine()
        rows = np.array(self._rows(members), dtype=np.int64)
        total, weights = weights.sum(), weights[:: self.stride]
        weights = weights * (total / weights.sum())
        root, w = np.sqrt(weights).astype(self.precision), weights / total
        parts = [(slab, rows[at := np.flatnonzero(rows // SLAB == k)] % SLAB, at) for k, slab in enumerate(self._slabs)]
        centre = np.empty(members.size, dtype=self.precision)
        for slab, own, at in parts:
            _fill_means(slab, own, at, w, centre)
        out = np.zeros((members.size, members.size))
        idle: list[NDArray[np.floating]] = []  # memory for a block, of threads that have none at work

        def product(first: int) -> NDArray[np.floating]:
            width = min(block, root.size - first)
            try:
                centred = idle.pop()
            except IndexError:
                centred = np.empty((members.size, width), dtype=self.precision)
            if centred.shape[1] != width:  # the last is smaller
                centred = np.empty((members.size, width), dtype=self.precision)
            for slab, own, at in parts:
                _fill_centred(slab, own, at, centre, root, first, centred)
            made = centred @ centred.T
            idle.append(centred)
            return made

        for part in over_cells(product, range(0, root.size, block), self.features.domain.n):
            out += part
        out[np.diag_indices(members.size)] *= 1.0 + ROUNDING[self.precision]  # to stay positive definite
        return out


@jit
def _fill_means(slab, rows, at, w, means):  # type: ignore[no-untyped-def]
    """means[at[k]] = the weighted mean of a row of a slab."""
    for k in range(rows.size):
        means[at[k]] = _mean(slab[rows[k]], w)


@jit_sum
def _mean(x, w):  # type: ignore[no-untyped-def]
    """Σ w x, in double precision."""
    total = 0.0
    for i in range(x.size):
        total += np.float64(x[i]) * w[i]
    return total


@jit
def _fill_centred(slab, rows, at, centre, root, first, out):  # type: ignore[no-untyped-def]
    """out[at[k]] = the part of a row of a slab from `first` on, less its centre, times `root`."""
    end = first + out.shape[1]
    for k in range(rows.size):
        _centre(slab[rows[k], first:end], centre[at[k]], root[first:end], out[at[k]])


@jit
def _centre(x, centre, root, out):  # type: ignore[no-untyped-def]
    """out[i] = (x[i] − centre) root[i]."""
    for i in range(out.size):
        out[i] = (x[i] - centre) * root[i]
