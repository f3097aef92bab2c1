"""The environment that a model has seen: what other environments are compared with."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sdm.types import Array


@dataclass(frozen=True)
class Reference:
    """Values of V variables at the n places that a model was fitted to (presences and background, or sites)."""

    values: Array  # (n, V), finite
    categorical: tuple[bool, ...]  # which variables are categories

    @classmethod
    def of(cls, values: Array, names: Sequence[str], categorical: Sequence[str]) -> "Reference":
        """Return the reference of some rows; rows with a missing value are left out."""
        rows = np.asarray(values, dtype=np.float64)
        return cls(rows[np.isfinite(rows).all(axis=1)], tuple(name in categorical for name in names))

    @cached_property
    def continuous(self) -> tuple[int, ...]:
        """The variables that are numbers."""
        return tuple(k for k, category in enumerate(self.categorical) if not category)

    @cached_property
    def low(self) -> Array:
        """The least value of each variable."""
        return self.values.min(axis=0)

    @cached_property
    def high(self) -> Array:
        """The greatest value of each variable."""
        return self.values.max(axis=0)

    def classes(self, variable: int) -> Array:
        """Return the categories of a variable that were seen."""
        return np.unique(self.values[:, variable])
