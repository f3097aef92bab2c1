"""Multivariate environmental similarity (Elith, Kearney and Phillips 2010), and the variable that is least similar.

Of a variable, f is the percentage of reference points with a smaller value than the point. Its similarity is 2 f up to
f = 50, 2 (100 - f) above, and outside the range of the reference minus the distance from it in percent of the range.
MESS is the least similarity of all variables: negative where a variable is outside its range, 100 at the median of all.

Two rules for what the paper leaves open. A variable with one value in the reference is 100 similar at that value and
-100 elsewhere. A category that was seen is 100 similar, and one that was not is -100.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm._jit.present import ends, gather, present
from sdm.features.ranks import place_in
from sdm.novelty.reference import Reference
from sdm.types import Array

UNSEEN = -100.0
_BINS = 4096  # of a table that finds the place of a value among the sorted ones
_BLOCK = 16_384  # points at a time of columns that are not rows of one array
_CHUNK = 96  # points that are measured together


@dataclass(frozen=True)
class SimilarityTable:
    """The similarity of one variable as steps: above `values[j - 1]`, up to `values[j]`, it is `similar[j]`. Of equal
    bins of the range, `begins[b]` is the first step that a value in bin b can be on, and `bounds[b]` the least
    similarity there: where that is more than another variable's, no step is looked up."""

    values: Array  # distinct ones of the reference, sorted; the categories that were seen
    similar: Array
    begins: NDArray[np.int32]
    bounds: Array
    scale: float  # bins per unit; 0 where all values are in the first

    @classmethod
    def of(cls, column: Array) -> "SimilarityTable":
        """Return the table of the reference's values of one variable."""
        values, counts = np.unique(column, return_counts=True)
        share = 100.0 * np.append(0, np.cumsum(counts)) / len(column)
        similar = np.where(share <= 50.0, 2.0 * share, 2.0 * (100.0 - share))
        low, span = float(values[0]), float(values[-1] - values[0])
        scale = _BINS / span if span > 0 else 0.0
        scale = scale if np.isfinite(scale) else 0.0
        # Computed as the kernel computes it, so that rounding can never begin a bin too late.
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

    @cached_property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """The tables of all variables, end to end, and which are of categories."""
        starts = np.append(0, np.cumsum([len(table.values) for table in self.tables]))
        values, similar = (np.concatenate([getattr(t, name) for t in self.tables]) for name in ("values", "similar"))
        begins, bounds = (np.stack([getattr(t, name) for t in self.tables]) for name in ("begins", "bounds"))
        scales = np.array([table.scale for table in self.tables])
        return starts, values, similar, begins, bounds, scales, np.array(self.categorical, dtype=np.bool_)

    def measure(self, columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Return MESS and the least similar variable, its number from 0, of points given as one column per variable;
        NaN and 255 where a value is missing. Of equally dissimilar variables the first counts."""
        n = len(columns[0])
        out, which = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.uint8)
        whole = isinstance(columns, np.ndarray) and columns.flags.c_contiguous
        step = max(n, 1) if whole else _BLOCK
        for start in range(0, n, step):
            some = slice(start, start + step)
            x = columns if whole else np.array([column[some] for column in columns])
            _measure(x, out[some], which[some], *self._arrays)
        return out, which


@jit
def _measure(x, out, which, starts, values, similar, begins, bounds, scales, categorical):  # type: ignore[no-untyped-def]
    """Measure the points `x[:, i]`, some at a time. Neighbours on a map are alike: the variable that can be least
    similar to the reference among them is looked up first, and those that cannot be less anywhere are not. The
    similarity of a variable rises up to the median and falls above it, so among some points it is least at an end."""
    n_variables = x.shape[0]
    u, at = np.empty((n_variables, _CHUNK)), np.empty(_CHUNK, np.int64)
    least, found = np.empty(_CHUNK), np.empty(_CHUNK, np.uint8)
    floor, order = np.empty(n_variables), np.empty(n_variables, np.int64)
    for begin in range(0, out.size, _CHUNK):
        stop = min(begin + _CHUNK, out.size)
        m = present(x, begin, stop, at)
        if m < stop - begin:
            out[begin:stop] = np.nan
            which[begin:stop] = 255
            if m == 0:
                continue
        for v in range(n_variables):
            row = u[v, :m]
            gather(x[v], begin, stop, at, m, row)
            here = UNSEEN
            if not categorical[v]:
                low, high = values[starts[v]], values[starts[v + 1] - 1]
                first, last = ends(row)
                here = min(
                    _floor(first, low, high, scales[v], bounds[v]), _floor(last, low, high, scales[v], bounds[v])
                )
            floor[v] = here
            place = v
            while place > 0 and floor[order[place - 1]] > here:
                order[place] = order[place - 1]
                place -= 1
            order[place] = v
        least[:m] = np.inf
        most = np.inf
        for k in range(n_variables):
            v = order[k]
            if floor[v] > most:
                break
            known = values[starts[v] : starts[v + 1]]
            if categorical[v]:
                _fold_classes(u[v, :m], known, v, least, found)
            else:
                steps = similar[starts[v] + v : starts[v + 1] + v + 1]
                _fold(u[v, :m], known, steps, begins[v], bounds[v], scales[v], v, least, found)
            most = ends(least[:m])[1]
        if m == stop - begin:
            out[begin:stop] = least[:m]
            which[begin:stop] = found[:m]
        else:
            for i in range(m):
                out[at[i]], which[at[i]] = least[i], found[i]


@jit
def _floor(value, low, high, scale, bounds):  # type: ignore[no-untyped-def]
    """Return what the similarity of a value is not less than."""
    if high == low:
        return 100.0 if value == low else UNSEEN
    if value <= low:
        return 100.0 * (value - low) / (high - low)
    if value > high:
        return 100.0 * (high - value) / (high - low)
    return bounds[min(int((value - low) * scale), bounds.size - 1)]


@jit
def _fold(x, known, steps, begins, bounds, scale, k, least, which):  # type: ignore[no-untyped-def]
    """Take the similarity of variable `k` where it is less than that of others, or the same as that of a later one."""
    low, high = known[0], known[known.size - 1]
    span, last = high - low, bounds.size - 1
    for i in range(x.size):
        value = x[i]
        if span == 0:
            similar = 100.0 if value == low else UNSEEN
        elif value <= low:
            similar = 100.0 * (value - low) / span
        elif value > high:
            similar = 100.0 * (high - value) / span
        else:
            at = min(int((value - low) * scale), last)
            if bounds[at] > least[i]:
                continue
            step = begins[at]
            while known[step] < value:  # the last is not
                step += 1
            similar = steps[step]
        if similar < least[i] or (similar == least[i] and k < which[i]):
            least[i] = similar
            which[i] = k


@jit
def _fold_classes(x, known, k, least, which):  # type: ignore[no-untyped-def]
    """The same for a variable of categories."""
    for i in range(x.size):
        similar = 100.0 if place_in(known, x[i]) >= 0 else UNSEEN
        if similar < least[i] or (similar == least[i] and k < which[i]):
            least[i] = similar
            which[i] = k
