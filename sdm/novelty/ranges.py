"""The range that a model was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.data.place import is_place
from sdm.features.ranks import place_in
from sdm.novelty.reference import Reference
from sdm.types import Array


@dataclass(frozen=True)
class TrainingRange:
    """The least and the greatest value of V variables in training, and the categories that were there."""

    names: tuple[str, ...]
    low: Array  # (V,), minus infinity for categories
    high: Array
    classes: tuple[Array | None, ...]  # sorted; None for numbers, and for categories that the model does not list

    def __post_init__(self) -> None:
        """Place has no range: a model that knows where it is has a region (`sdm.data.place`)."""
        place = np.array([is_place(name) for name in self.names], dtype=bool)
        object.__setattr__(self, "low", np.where(place, -np.inf, self.low))
        object.__setattr__(self, "high", np.where(place, np.inf, self.high))

    @classmethod
    def of(cls, reference: Reference, names: Sequence[str]) -> "TrainingRange":
        """Return the range of a reference."""
        category = np.array(reference.categorical, dtype=bool)
        low, high = np.where(category, -np.inf, reference.low), np.where(category, np.inf, reference.high)
        classes = tuple(reference.classes(k) if known else None for k, known in enumerate(category))
        return cls(tuple(names), low, high, classes)

    def mark(self, columns: Sequence[NDArray[Any]], valid: NDArray[np.bool_], width: int) -> tuple[Any, Any]:
        """Return which of the valid cells are outside in any variable, and how many in each `(V, rows)` of `width`
        cells."""
        outside, valid = np.zeros(len(valid), dtype=np.uint8), np.ascontiguousarray(valid).view(np.uint8)
        counts = np.zeros((len(columns), len(valid) // width), dtype=np.int64)
        for k, (column, known) in enumerate(zip(columns, self.classes)):
            if known is None:
                _mark_outside(column, self.low[k], self.high[k], valid, width, outside, counts[k])
            else:
                _mark_unseen(column, known, valid, width, outside, counts[k])
        return outside.view(np.bool_), counts

    def outside(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Return which points have a value outside the range, or a category that training did not have."""
        n = len(columns[0])
        marked: NDArray[np.bool_] = self.mark(columns, np.ones(n, dtype=np.bool_), 1)[0]
        return marked


@jit
def _mark_outside(column, low, high, valid, width, outside, counts):  # type: ignore[no-untyped-def]
    """Mark and count the valid cells with a value outside a range."""
    for row in range(counts.size):
        some = slice(row * width, (row + 1) * width)
        values, there, marked = column[some], valid[some], outside[some]
        count = np.int32(0)
        for i in range(width):  # without a branch, so that several cells are done at once
            bad = np.uint8(there[i] & ((values[i] < low) | (values[i] > high)))
            marked[i] |= bad
            count += np.int32(bad)
        counts[row] = count


@jit
def _mark_unseen(column, known, valid, width, outside, counts):  # type: ignore[no-untyped-def]
    """Mark and count the valid cells with a category that is not known."""
    for row in range(counts.size):
        count = 0
        for i in range(row * width, (row + 1) * width):
            value = np.float64(column[i])
            if valid[i] == 1 and value == value and place_in(known, value) < 0:
                outside[i] = 1
                count += 1
        counts[row] = count
