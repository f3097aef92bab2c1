"""The cells of a window that have a value in every variable of a model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sdm._jit import jit_sum
from sdm.types import AnyArray, Array


class KnownCells:
    """The cells of a window with values in all variables, in a window of `width` columns. Models of the same variables
    share them.

    Attributes
    ----------
    known : (cells,) array of bool
        Which cells of the window they are.
    values : (V, n) array
        Of the variables, at these cells, row by row.
    """

    def __init__(
        self, flat: AnyArray, columns: Sequence[int], width: int, inside: NDArray[np.bool_] | None = None
    ) -> None:
        self.known: NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(flat[k]) for k in columns])
        if inside is not None:
            self.known &= inside
        self._places = np.flatnonzero(self.known)
        self._rows, self._height = self._places // width, len(self.known) // width
        self.values: Any = np.empty((len(columns), self.count), dtype=flat.dtype)
        for values, k in zip(self.values, columns):
            values[:] = flat[k].take(self._places)

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self._places)

    def spread(self, part: AnyArray, missing: float, dtype: DTypeLike | None = None) -> AnyArray:
        """Return an array of all cells of the window, with `part` at these cells and `missing` elsewhere."""
        out = np.full(len(self.known), missing, dtype=dtype or part.dtype)
        out[self.known] = part
        return out

    def size(self, area: Array, chosen: NDArray[np.bool_]) -> Array:
        """Return the number of chosen cells and their area; `area` is the area of one cell in each row."""
        by_row = np.bincount(self._rows[chosen], minlength=self._height)
        return np.array([by_row.sum(), area @ by_row])

    def sums(self, area: Array, chosen: NDArray[np.bool_] | None = None) -> Array:
        """Return the area of all cells, or of the chosen ones, and the area-weighted sum of each variable over them.
        `area` is the area of one cell in each row."""
        weight = area[self._rows] if chosen is None else area[self._rows] * chosen
        return np.append(weight.sum(), _sums(self.values, weight))


@jit_sum
def _sums(values, weight):  # type: ignore[no-untyped-def]
    """Return the weighted sum of each variable, Σ w x, in double precision."""
    out = np.zeros(values.shape[0])
    for v in range(out.size):
        total = 0.0
        for i in range(weight.size):
            total += weight[i] * float(values[v, i])
        out[v] = total
    return out
