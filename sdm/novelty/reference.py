"""The training environment of a model, with which other environments are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.data.place import is_place
from sdm.types import AnyArray, Array, Index

VARIABLES = 254  # largest number of variables in a map of the most dissimilar one
ROWS = 12_000  # largest reference in a model file: 10,000 background points, and presences
BYTES = 8 << 20  # largest size of a reference in bytes, for many variables
_SEED = 1


@dataclass(frozen=True)
class Reference:
    """Values of V variables at the n training places (presences and background, or sites)."""

    values: Array  # (n, V), finite
    categorical: tuple[bool, ...]  # True for categorical variables
    # (B, V): the mean (for categories the mode) at the places of each of B species or classes
    typical: Array | None = None

    @classmethod
    def of(cls, values: Array, names: Sequence[str], categorical: Sequence[str]) -> "Reference":
        """Return the reference of rows; rows with a missing value are dropped."""
        rows = np.asarray(values, dtype=np.float64)
        return cls(rows[np.isfinite(rows).all(axis=1)], tuple(name in categorical for name in names))

    @cached_property
    def continuous(self) -> tuple[int, ...]:
        """Return the positions of the continuous variables."""
        return tuple(k for k, category in enumerate(self.categorical) if not category)

    @cached_property
    def low(self) -> Array:
        """Return the least value of each variable."""
        return np.asarray(self.values.min(axis=0))

    @cached_property
    def high(self) -> Array:
        """Return the greatest value of each variable."""
        return np.asarray(self.values.max(axis=0))

    def pick(self, variables: Sequence[int]) -> "Reference":
        """Return the reference of a subset of the variables."""
        columns = list(variables)
        typical = None if self.typical is None else self.typical[:, columns]
        return Reference(self.values[:, columns], tuple(self.categorical[v] for v in columns), typical)

    def classes(self, variable: int) -> Array:
        """Return the categories of a variable in the reference."""
        return np.unique(self.values[:, variable])

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return the arrays for a file: one row per variable, in single precision if that is exact."""
        single = self.values.astype(np.float32)
        values = single if np.array_equal(single, self.values) else self.values
        arrays: dict[str, AnyArray] = {"reference": np.ascontiguousarray(values.T)}
        return arrays if self.typical is None else {**arrays, "reference_typical": self.typical}

    @classmethod
    def from_arrays(cls, arrays: dict[str, AnyArray], categorical: Sequence[bool], bands: int) -> "Reference":
        """Return the reference of a file; raise ValueError for values that no fit writes."""
        stored, typical = arrays["reference"], arrays.get("reference_typical")
        shapes = stored.shape[:1] == (len(categorical),) and stored.ndim == 2 and stored.size
        parts = [stored] if typical is None else [stored, typical]
        sound = all(part.dtype in (np.float32, np.float64) and np.isfinite(part).all() for part in parts)
        if not (shapes and sound and (typical is None or typical.shape == (bands, len(categorical)))):
            raise ValueError("a reference that no fit writes")
        return cls(np.ascontiguousarray(stored.T, dtype=np.float64), tuple(categorical), typical)


REFERENCE_ARRAYS = ("reference", "reference_typical")


def reference_rows(ranks: AnyArray, categorical: Sequence[bool]) -> Index:
    """Return the positions of the rows that a model stores, from `(V, n)` values or their ranks.

    These are all rows, or a fixed random sample of many. The sample includes the least and the greatest value of every
    variable, and every category.
    """
    n = ranks.shape[1]
    most = min(ROWS, BYTES // (8 * max(len(ranks), 1)))
    if n <= most:
        return np.arange(n)
    drawn: list[Any] = [np.random.default_rng(_SEED).choice(n, most, replace=False)]
    for values, category in zip(ranks, categorical):
        drawn.append(np.unique(values, return_index=True)[1] if category else [values.argmin(), values.argmax()])
    return np.unique(np.concatenate(drawn)).astype(np.int64)


@dataclass(frozen=True)
class TrainingRange:
    """The least and the greatest value of V variables in training, and the categories."""

    names: tuple[str, ...]
    low: Array  # (V,), minus infinity for categories
    high: Array
    classes: tuple[Array | None, ...]  # sorted; None for numbers, and for categories that the model does not list

    def __post_init__(self) -> None:
        """Remove the ranges of variables of place, which has a region instead (`sdm.data.place`)."""
        place = np.array([is_place(name) for name in self.names], dtype=bool)
        object.__setattr__(self, "low", np.where(place, -np.inf, self.low))
        object.__setattr__(self, "high", np.where(place, np.inf, self.high))

    @classmethod
    def of(cls, reference: Reference, names: Sequence[str] = ()) -> "TrainingRange":
        """Return the range of a reference; variables without names are not variables of place."""
        category = np.array(reference.categorical, dtype=bool)
        low, high = np.where(category, -np.inf, reference.low), np.where(category, np.inf, reference.high)
        classes = tuple(reference.classes(k) if is_category else None for k, is_category in enumerate(category))
        return cls(tuple(names) or ("",) * len(low), low, high, classes)

    def mark(
        self, columns: Sequence[AnyArray], valid: NDArray[np.bool_], width: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return the valid cells outside the range of any variable, and their number in each row of `width` cells, `(V,
        rows)`."""
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
        """Return a mask of points with a value outside the range, or with an unseen category."""
        return self.mark(columns, np.ones(len(columns[0]), dtype=np.bool_), 1)[0]
