"""The cells of a window that have a value in every variable of a model, side by side.

They come in runs: neighbours in a row. What is computed at them alone goes back to its place run by run.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit, jit_sum
from sdm.types import Array


class KnownCells:
    """The cells of a window, `width` cells wide, that are known: models of the same variables predict them alone.

    Attributes
    ----------
    known : (cells,) array of bool
        Which cells of the window they are.
    values : (V, n) array
        Of the variables, at these cells, row by row.
    """

    def __init__(
        self, flat: NDArray[Any], columns: Sequence[int], width: int, inside: NDArray[np.bool_] | None = None
    ) -> None:
        at = np.array(columns)
        self.known: NDArray[np.bool_] = _known(flat, at)
        if inside is not None:
            self.known &= inside
        self._begins, self._ends, _ = _runs(self.known, np.arange(0, len(self.known) + 1, width))
        self.firsts = np.append(0, np.cumsum(self.known.reshape(-1, width).sum(axis=1)))  # of each row
        self.values: Any = np.empty((len(at), self.firsts[-1]), dtype=flat.dtype)
        _pack(flat, at, self._begins, self._ends, self.values)

    @property
    def count(self) -> int:
        """The number of cells."""
        return int(self.firsts[-1])

    def spread(self, part: NDArray[Any], missing: float, dtype: Any = None) -> NDArray[Any]:
        """Return an array of every cell of the window from one of these cells: `missing` elsewhere."""
        out = np.full(len(self.known), missing, dtype=dtype or part.dtype)
        _unpack(part, self._begins, self._ends, out)
        return out

    def gather(self, whole: NDArray[Any]) -> NDArray[Any]:
        """Return an array of these cells from one of every cell of the window."""
        out = np.empty((1, self.count), dtype=whole.dtype)
        _pack(whole[None], np.zeros(1, dtype=np.int64), self._begins, self._ends, out)
        return out[0]

    def by_row(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many cells of each row are chosen."""
        return _count_rows(chosen.view(np.uint8), self.firsts)

    def sums(self, area: Array, chosen: NDArray[np.bool_] | None = None) -> Array:
        """Return the area of all cells, or of the chosen ones, and the sums over them of every variable times area;
        `area` is that of a cell in each row."""
        if chosen is None:
            begins, ends, weight = self.firsts[:-1], self.firsts[1:], area
        else:
            begins, ends, rows = _runs(chosen, self.firsts)
            weight = area[rows]
        return np.append(weight @ (ends - begins), _sums(self.values, begins, ends, weight))


@jit
def _known(flat, at):  # type: ignore[no-untyped-def]
    """Return which cells have a value in every variable of a model."""
    out = np.ones(flat.shape[1], dtype=np.bool_)
    for v in at:
        for i in range(flat.shape[1]):
            out[i] &= flat[v, i] - flat[v, i] == 0  # neither missing nor infinite
    return out


@jit
def _runs(chosen, firsts):  # type: ignore[no-untyped-def]
    """Return where each run of chosen cells in a row begins and ends, and in which row it is; `firsts` are where rows
    begin, and the end of the last."""
    most = (chosen.size + firsts.size) // 2 + 1
    begins, ends, rows = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    m = 0
    for row in range(firsts.size - 1):
        before = False
        for i in range(firsts[row], firsts[row + 1]):
            if chosen[i] and not before:
                begins[m], rows[m] = i, row
            elif before and not chosen[i]:
                ends[m] = i
                m += 1
            before = chosen[i]
        if before:
            ends[m] = firsts[row + 1]
            m += 1
    return begins[:m].copy(), ends[:m].copy(), rows[:m].copy()


@jit
def _copy(source, out):  # type: ignore[no-untyped-def]
    for i in range(source.size):
        out[i] = source[i]


@jit
def _pack(flat, columns, begins, ends, out):  # type: ignore[no-untyped-def]
    """Copy runs of some rows of a window, one after the other."""
    for k in range(columns.size):
        source, m = flat[columns[k]], 0
        for run in range(begins.size):
            size = ends[run] - begins[run]
            _copy(source[begins[run] : ends[run]], out[k, m : m + size])
            m += size


@jit
def _unpack(part, begins, ends, out):  # type: ignore[no-untyped-def]
    """Copy one run after the other to where they are in a window."""
    m = 0
    for run in range(begins.size):
        size = ends[run] - begins[run]
        _copy(part[m : m + size], out[begins[run] : ends[run]])
        m += size


@jit_sum
def _count_rows(chosen, firsts):  # type: ignore[no-untyped-def]
    out = np.zeros(firsts.size - 1, np.int64)
    for row in range(out.size):
        part, count = chosen[firsts[row] : firsts[row + 1]], 0
        for i in range(part.size):
            count += part[i]
        out[row] = count
    return out


@jit_sum
def _sum(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(values.size):
        total += float(values[i])  # in double precision, also where the values are not, and without the compiler
    return total


@jit
def _sums(values, begins, ends, weight):  # type: ignore[no-untyped-def]
    """Return the sums of every variable over runs, each times its weight."""
    out = np.zeros(values.shape[0])
    for v in range(out.size):
        for run in range(begins.size):
            out[v] += weight[run] * _sum(values[v, begins[run] : ends[run]])
    return out
