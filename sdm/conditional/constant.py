"""The constant feature: its weights are the intercepts of the classes, which cost nothing (`ClassProblem`)."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.terms import Terms
from sdm.types import Array

# Its penalty, where solvers need a positive number; below rounding, and not counted.
FREE_PENALTY = 1e-15


class ConstantFamily(Family):
    """One feature that is one everywhere."""

    letter = "1"

    def __init__(self, domain: Domain, size: int = 1) -> None:
        self.domain = domain
        self.var = np.full(size, -1, dtype=np.int64)

    @property
    def groups(self) -> NDArray[np.int64]:
        """It stands for itself."""
        return np.arange(self.size)

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Return the mass in all."""
        mass = np.full(self.size, measure.total)
        return mass, mass.copy()

    def column(self, j: int) -> Array:
        """Return ones."""
        return np.ones(self.domain.n)

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weight everywhere."""
        theta += weights.sum()

    def terms(self) -> Terms:
        """Refuse: a model keeps it as its intercepts."""
        raise DataError("the constant feature is kept as intercepts, not as terms")

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return it, or nothing."""
        return type(self)(self.domain, int(keep.sum()))
