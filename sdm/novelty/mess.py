"""Multivariate environmental similarity (Elith, Kearney and Phillips 2010), and the least similar variable.

For each variable, f is the percentage of reference points with a smaller value than the point. The similarity is 2 f up
to f = 50 and 2 (100 − f) above. Outside the range of the reference it is minus the distance from the range, in percent
of the range. MESS is the least similarity of all variables: negative outside a range, 100 at the median of all.

Two rules are not in the paper. A constant variable in the reference has similarity 100 at its value and −100 elsewhere.
A category has similarity 100 if it is in the reference, else −100.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.novelty.reference import Reference
from sdm.types import AnyArray, Array

UNSEEN, MISSING = -100.0, 255
_BINS = 4096  # bins of a table to look up the position of a value among the sorted ones
_BLOCK = 16_384  # points per block, which fit into the cache of the processor


@dataclass(frozen=True)
class SimilarityTable:
    """The similarity of one variable as steps: `similar[j]` above `values[j - 1]`, up to `values[j]`.

    The range has equal bins. `begins[b]` is the first possible step of values in bin b, and `bounds[b]` the least
    similarity there. If it is larger than another variable's similarity, no step is looked up.
    """

    values: Array  # distinct values of the reference, sorted; or its categories
    similar: Array
    begins: NDArray[np.int32]
    bounds: Array
    scale: float  # bins per unit; 0 if all values are in the first bin

    @classmethod
    def of(cls, column: Array) -> "SimilarityTable":
        """Return the table of the reference's values of one variable."""
        values, counts = np.unique(column, return_counts=True)
        share = 100.0 * np.append(0, np.cumsum(counts)) / len(column)
        similar = np.where(share <= 50.0, 2.0 * share, 2.0 * (100.0 - share))
        low, span = float(values[0]), float(values[-1] - values[0])
        scale = _BINS / span if span > 0 else 0.0
        scale = scale if np.isfinite(scale) else 0.0
        # Compute bins in the same way as the kernel, so that rounding never skips a step.
        bins = np.minimum(np.floor((values - low) * scale), _BINS - 1)
        begins = np.searchsorted(bins, np.arange(_BINS + 1)).astype(np.int32)
        return cls(values, similar, begins, np.minimum(similar[begins[:-1]], similar[begins[1:]]), scale)


@dataclass(frozen=True)
class Similarity:
    """The similarity of points to a reference."""

    tables: tuple[SimilarityTable, ...]  # by variable
    categorical: tuple[bool, ...]

    @classmethod
    def of(cls, reference: Reference) -> "Similarity":
        """Return the similarity to a reference."""
        columns = np.ascontiguousarray(reference.values.T)
        return cls(tuple(SimilarityTable.of(column) for column in columns), reference.categorical)

    def measure(self, columns: Sequence[AnyArray]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Return MESS and the index of the least similar variable, for points with one column per variable.

        They are NaN and 255 where a value is missing. For ties, the first variable is returned.
        """
        n = len(columns[0])
        out, which = np.empty(n, dtype=np.float32), np.full(n, MISSING, dtype=np.uint8)
        for start in range(0, n, _BLOCK):
            block = slice(start, start + _BLOCK)
            least = np.full(len(out[block]), np.inf)
            for k, (column, table) in enumerate(zip(columns, self.tables)):
                if self.categorical[k]:
                    _fold_classes(column[block], table.values, k, least, which[block])
                else:
                    steps = table.values, table.similar, table.begins, table.bounds, table.scale
                    _fold(column[block], *steps, k, least, which[block])
            out[block] = least
        which[np.isnan(out)] = MISSING
        return out, which


@jit
def _fold(x, values, steps, begins, bounds, scale, k, least, which):  # type: ignore[no-untyped-def]
    """Update the least similarity and its variable with variable `k`; NaN where a value is missing."""
    low, high = values[0], values[values.size - 1]
    span, last = high - low, bounds.size - 1
    for i in range(x.size):
        value = x[i]
        if value != value:
            similar = np.nan
        elif span == 0:
            similar = 100.0 if value == low else UNSEEN
        elif value <= low:
            similar = 100.0 * (value - low) / span
        elif value > high:
            similar = 100.0 * (high - value) / span
        else:
            place = min(int((value - low) * scale), last)
            if bounds[place] > least[i]:
                continue
            step = begins[place]
            while values[step] < value:  # always ends: the last value is not smaller
                step += 1
            similar = steps[step]
        if similar < least[i] or similar != similar:  # NaN is kept
            least[i] = similar
            which[i] = k


@jit
def _fold_classes(x, categories, k, least, which):  # type: ignore[no-untyped-def]
    """Update the least similarity and its variable with the categorical variable `k`."""
    for i in range(x.size):
        position = np.searchsorted(categories, x[i])
        seen = position < categories.size and categories[position] == x[i]
        similar = np.nan if x[i] != x[i] else 100.0 if seen else UNSEEN
        if similar < least[i] or similar != similar:
            least[i] = similar
            which[i] = k
