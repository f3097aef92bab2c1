"""Multivariate environmental similarity (Elith, Kearney and Phillips 2010), and the variable that is least similar.

Of a variable, f is the percentage of reference points with a smaller value than the point. Its similarity is 2 f up to
f = 50, 2 (100 - f) above, and outside the range of the reference minus the distance from it in percent of the range.
MESS is the least similarity of all variables: negative where a variable is outside its range, 100 at the median of all.

Two rules for what the paper leaves open. A variable with one value in the reference is 100 similar at that value and
-100 elsewhere. A category that was seen is 100 similar, and one that was not is -100.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.novelty.reference import Reference
from sdm.types import Array

UNSEEN = -100.0
_BINS = 4096  # of a table that finds the place of a value among the sorted ones
_BLOCK = 16_384  # points at a time, which stay in the cache


@dataclass(frozen=True)
class Similarity:
    """Sorted values of the reference, and a table of where each of equal bins of the range begins among them."""

    sorted: tuple[Array, ...]  # by variable
    begins: tuple[NDArray[np.int64], ...]
    bounds: tuple[
        Array, ...
    ]  # the least similarity of each bin: where that is not less than another's, none is looked up
    categorical: tuple[bool, ...]

    @classmethod
    def of(cls, reference: Reference) -> "Similarity":
        """Return the similarity to a reference."""
        columns, begins, bounds = [], [], []
        for k, category in enumerate(reference.categorical):
            column = reference.classes(k) if category else np.sort(reference.values[:, k])
            edges = np.linspace(column[0], column[-1], _BINS + 1)
            columns.append(column)
            begin = np.searchsorted(column, edges).astype(np.int64)
            begins.append(begin)
            # Rounding may put a value one bin too far, so a bound is that of its neighbours too.
            first, last = begin[np.maximum(np.arange(_BINS) - 1, 0)], begin[np.minimum(np.arange(_BINS) + 2, _BINS)]
            ends = 200.0 * np.stack([first, last]) / len(column)
            bounds.append(np.minimum(ends, 200.0 - ends).min(axis=0) - 1e-9)
        return cls(tuple(columns), tuple(begins), tuple(bounds), reference.categorical)

    def measure(self, columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Return MESS and the least similar variable, its number from 0, of points given as one column per variable;
        NaN and 255 where a value is missing. Of equally dissimilar variables the first counts."""
        n = len(columns[0])
        out, which = np.empty(n, dtype=np.float32), np.zeros(n, dtype=np.uint8)
        for start in range(0, n, _BLOCK):
            some = slice(start, start + _BLOCK)
            least = np.full(len(which[some]), np.inf)  # in double precision, in which equal values are equal
            for k, column in enumerate(columns):
                self._fold(k, column[some], k, least, which[some])
            out[some] = least
        return out, which

    def _fold(self, variable: int, column: NDArray[Any], k: int, least: Array, which: NDArray[np.uint8]) -> None:
        """Take the similarity of one variable, called `k`, where it is less than that of those before."""
        if self.categorical[variable]:
            _fold_classes(column, self.sorted[variable], k, least, which)
        else:
            _fold(column, self.sorted[variable], self.begins[variable], self.bounds[variable], k, least, which)

    def of_variable(self, variable: int, column: NDArray[Any]) -> NDArray[np.float32]:
        """Return the similarity of one variable at points."""
        least, which = np.full(len(column), np.inf), np.zeros(len(column), dtype=np.uint8)
        self._fold(variable, column, 0, least, which)
        return least.astype(np.float32)


@jit
def _fold(column, known, begin, bound, k, least, which):  # type: ignore[no-untyped-def]
    """Take the similarity of one variable where it is less than that of those before."""
    n, low, high = known.size, known[0], known[known.size - 1]
    span = high - low
    scale = (begin.size - 1) / span if span > 0 else 0.0
    for i in range(column.size):
        value = np.float64(column[i])
        if value != value:
            least[i] = np.nan
            which[i] = 255
            continue
        if least[i] != least[i]:
            continue
        if span == 0:
            similar = 100.0 if value == low else UNSEEN
        elif value <= low:
            similar = 100.0 * (value - low) / span
        elif value > high:
            similar = 100.0 * (high - value) / span
        else:
            at = min(int((value - low) * scale), begin.size - 2)
            if bound[at] >= least[i]:
                continue
            first, last = begin[at], begin[at + 1]
            # Rounding may put a value one bin too far: widen until it is between.
            while first > 0 and known[first - 1] >= value:
                first -= 1
            while last < n and known[last] < value:
                last += 1
            while first < last:
                middle = (first + last) // 2
                if known[middle] < value:
                    first = middle + 1
                else:
                    last = middle
            share = 100.0 * first / n
            similar = 2.0 * share if share <= 50.0 else 2.0 * (100.0 - share)
        if similar < least[i]:
            least[i] = similar
            which[i] = k


@jit
def _fold_classes(column, known, k, least, which):  # type: ignore[no-untyped-def]
    """The same for a variable of categories."""
    for i in range(column.size):
        value = np.float64(column[i])
        if value != value:
            least[i] = np.nan
            which[i] = 255
            continue
        if least[i] != least[i]:
            continue
        at = np.searchsorted(known, value)
        similar = 100.0 if at < known.size and known[at] == value else UNSEEN
        if similar < least[i]:
            least[i] = similar
            which[i] = k
