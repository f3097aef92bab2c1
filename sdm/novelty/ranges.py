"""The range that a model was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.data.place import is_place
from sdm.novelty.reference import Reference
from sdm.types import AnyArray, Array


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
    def of(cls, reference: Reference, names: Sequence[str] = ()) -> "TrainingRange":
        """Return the range of a reference; variables without names are not variables of place."""
        category = np.array(reference.categorical, dtype=bool)
        low, high = np.where(category, -np.inf, reference.low), np.where(category, np.inf, reference.high)
        classes = tuple(reference.classes(k) if known else None for k, known in enumerate(category))
        return cls(tuple(names) or ("",) * len(low), low, high, classes)

    def mark(
        self, columns: Sequence[AnyArray], valid: NDArray[np.bool_], width: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which of the valid cells are outside in any variable, and how many in each `(V, rows)` of `width`
        cells."""
        outside = np.zeros(len(valid), dtype=np.bool_)
        counts = np.zeros((len(columns), len(valid) // width), dtype=np.int64)
        for k, (column, classes) in enumerate(zip(columns, self.classes)):
            if classes is None:
                marked = (column < self.low[k]) | (column > self.high[k])
            else:
                marked = ~np.isin(column, classes) & (column == column)
            marked &= valid
            if marked.any():
                outside |= marked
                counts[k] = np.count_nonzero(marked.reshape(-1, width), axis=1)
        return outside, counts

    def outside(self, columns: Sequence[AnyArray]) -> NDArray[np.bool_]:
        """Return which points have a value outside the range, or a category that training did not have."""
        return self.mark(columns, np.ones(len(columns[0]), dtype=np.bool_), 1)[0]
