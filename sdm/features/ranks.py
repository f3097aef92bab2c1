"""Cells as ranks of distinct values. Species of one run share their background: it is sorted once, and the presences of
each are put in their places."""

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.executors.ahead import over_cells
from sdm.types import Array

_MOST = 64 << 20  # bytes of cells that are kept for the next species
_KEPT: list["CellRanks"] = []  # the cells that were ranked last


class CellRanks:
    """Cells `(n, V)` with the distinct values of every variable, and their ranks."""

    def __init__(self, cells: Array) -> None:
        self.cells = cells
        found = list(over_cells(lambda column: np.unique(column, return_inverse=True), cells.T, len(cells)))
        self.values = [values for values, _ in found]
        self.codes = np.array([code for _, code in found], dtype=np.int32)

    def with_rows(self, rows: Array) -> tuple[list[Array], NDArray[np.int32]]:
        """Return the distinct values of the cells and of some more rows, and the ranks of both."""
        n = len(self.cells)
        codes = np.empty((self.codes.shape[0], n + len(rows)), dtype=np.int32)
        every = []
        for v, values in enumerate(self.values):
            asked = np.unique(rows[:, v])
            place = np.searchsorted(values, asked)
            is_new = values[np.minimum(place, values.size - 1)] != asked if values.size else np.ones(asked.size, bool)
            if is_new.any():
                every.append(np.insert(values, place[is_new], asked[is_new]))
                smaller = np.cumsum(np.bincount(place[is_new], minlength=values.size)[: values.size])
                codes[v, :n] = (np.arange(values.size) + smaller).astype(np.int32)[self.codes[v]]
            else:
                every.append(values)
                codes[v, :n] = self.codes[v]
            codes[v, n:] = np.searchsorted(every[-1], rows[:, v])
        return every, codes


def rank_cells(cells: Array) -> CellRanks:
    """Return the ranks of cells, from the last time if they are the same; more than some are not kept."""
    for known in _KEPT:
        if known.cells.shape == cells.shape and np.array_equal(known.cells, cells):
            return known
    made = CellRanks(cells)
    if cells.nbytes <= _MOST:
        _KEPT[:] = [made, *_KEPT[:1]]
    return made


@jit
def place_in(known, value):  # type: ignore[no-untyped-def]
    """Return where a value is among sorted ones, or -1 where it is not (compiled faster than `searchsorted`)."""
    low, high = 0, known.size
    while low < high:
        middle = (low + high) // 2
        if known[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < known.size and known[low] == value else -1
