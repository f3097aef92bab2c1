"""Category features: one indicator per class of a categorical variable; its expectation is the class's marginal."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.terms import CATEGORY, Terms
from sdm.types import Array


class CategoryFamily(Family):
    """`1 if x is the class else 0`, for the distinct values at `positions` of `domain.values`; by default for every
    class of every categorical variable that has at least two."""

    letter = "c"

    def __init__(self, domain: Domain, positions: NDArray[np.int64] | None = None) -> None:
        self.domain = domain
        if positions is None:
            spans = [
                np.arange(domain.start[v], domain.start[v + 1])
                for v, variable in enumerate(domain.variables)
                if variable.categorical and variable.values.size > 1
            ]
            positions = np.concatenate([*spans, np.empty(0)]).astype(np.int64)
        self.positions = positions
        self.var = np.searchsorted(domain.start, positions, side="right") - 1

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Read the marginals; an indicator is its own square."""
        mean = measure.marginals[self.positions]
        return mean, mean.copy()

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        v = int(self.var[j])
        return np.asarray((self.domain.codes[v] == self.positions[j] - self.domain.start[v]).astype(np.float64))

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add each class's weight at its place."""
        table[self.positions] += weights

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(CATEGORY, self.var, knot=self.domain.values[self.positions])

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer classes."""
        return type(self)(self.domain, self.positions[keep])
