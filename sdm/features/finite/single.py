"""Linear, quadratic and category features: functions of one variable, tabulated at its distinct values."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError
from sdm.features.domain import Domain, DomainVariable, Measure
from sdm.features.family import Family
from sdm.features.terms import CATEGORY, LINEAR, QUADRATIC, Terms, less_product, product_range
from sdm.types import Array

LARGEST = 1e150  # products of larger values, and their differences, may overflow


class SingleFamily(Family):
    """`f(x) = (g(x) − lo) / (hi − lo)` with `g` of the subclass and its range `lo, hi` over the domain.

    Variables with a constant `g` over the domain have no such feature.
    """

    kind: int

    def __init__(self, domain: Domain, var: NDArray[np.int64] | None = None) -> None:
        self.domain = domain
        candidates = domain.continuous if var is None else var
        scaled = [(int(v), *self.transform(domain.variables[v])) for v in candidates]
        scaled = [row for row in scaled if row[2] > row[1]]
        self.var = np.array([row[0] for row in scaled], dtype=np.int64)
        self.lo, self.hi = np.array([row[1] for row in scaled]), np.array([row[2] for row in scaled])
        self._where = [slice(int(domain.start[v]), int(domain.start[v + 1])) for v in self.var]
        self._tables = [above / (hi - lo) for _, lo, hi, above in scaled]

    @staticmethod
    def transform(variable: DomainVariable) -> tuple[float, float, Array]:
        """Return `lo`, `hi` and `g(x) − lo` at every distinct value."""
        raise NotImplementedError

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Return the dot products of each feature's table, and of its square, with its variable's marginal."""
        mean, square = np.empty(self.size), np.empty(self.size)
        for j, (where, table) in enumerate(zip(self._where, self._tables)):
            weighted = measure.marginals[where] * table
            mean[j], square[j] = weighted.sum(), weighted @ table
        return mean, square

    def expectations(self, measure: Measure) -> Array:
        """Return the dot products of each feature's table with its variable's marginal."""
        mass, total = measure.marginals, np.add.reduce
        return np.array([total(mass[where] * table) for where, table in zip(self._where, self._tables)])

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        return self.domain.spread(int(self.var[j]), self._tables[j])

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted tables of the features in use."""
        for j in np.flatnonzero(weights):
            table[self._where[j]] += weights[j] * self._tables[j]

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(self.kind, self.var, lo=self.lo, hi=self.hi)

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family for fewer variables."""
        return type(self)(self.domain, self.var[keep])


class LinearFamily(SingleFamily):
    """One feature per continuous variable: its value, scaled to [0, 1]."""

    letter = "l"
    kind = LINEAR

    @staticmethod
    def transform(variable: DomainVariable) -> tuple[float, float, Array]:
        """Return the range and the shifted values."""
        return variable.lo, variable.hi, variable.values - variable.lo


class QuadraticFamily(SingleFamily):
    """One feature per continuous variable: its square, scaled to [0, 1] (not the square of the scaled variable)."""

    letter = "q"
    kind = QUADRATIC

    def __init__(self, domain: Domain, var: NDArray[np.int64] | None = None) -> None:
        check_products(domain, domain.continuous if var is None else var, self.letter)
        super().__init__(domain, var)

    @staticmethod
    def transform(variable: DomainVariable) -> tuple[float, float, Array]:
        """Return the range and the shifted squares of the raw values."""
        c = variable.centre
        varies = (variable.values - c) * (variable.values + c)
        lo, hi = product_range(float(varies.min()), float(varies.max()), c, c)
        return lo, hi, varies - less_product(lo, c, c)


class CategoryFamily(Family):
    """`1 if x is the category else 0`, for the distinct values at `positions` of `domain.values`.

    By default there is a feature for every category of the categorical variables with at least two.
    """

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
        """Add each category's weight at its position."""
        table[self.positions] += weights

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(CATEGORY, self.var, knot=self.domain.values[self.positions])

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer categories."""
        return type(self)(self.domain, self.positions[keep])


def check_products(domain: Domain, var: NDArray[np.int64], letter: str) -> None:
    """Raise for variables with values too large to be multiplied."""
    for variable in (domain.variables[v] for v in var):
        if (most := max(abs(variable.lo), abs(variable.hi))) > LARGEST:
            raise OptionError(
                f"features '{letter}' multiply values, and variable '{variable.name}' is too large for that (up to "
                f"{most:.3g}): change its unit, or remove '{letter}'"
            )
