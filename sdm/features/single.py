"""Families with one feature a variable, given by its values at the variable's distinct values."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Array, Domain, Measure
from sdm.features.family import Family, segments
from sdm.features.terms import Terms


class Single(Family):
    """`f(x) = (g(x) − lo) / (hi − lo)` with `g` of the subclass and `lo, hi` its range over the domain.

    A variable whose `g` is constant over the domain has no such feature.
    """

    kind: int

    def __init__(self, domain: Domain, var: NDArray[np.int64] | None = None) -> None:
        self.domain = domain
        candidates = domain.continuous if var is None else var
        ranges = []
        for v in candidates:
            raw = self.transform(domain.variables[v].values)
            ranges.append((int(v), float(raw.min()), float(raw.max())))
        ranges = [(v, lo, hi) for v, lo, hi in ranges if hi > lo]
        self.var = np.array([v for v, _, _ in ranges], dtype=np.int64)
        self.lo = np.array([lo for _, lo, _ in ranges])
        self.hi = np.array([hi for _, _, hi in ranges])
        self._where = segments(domain.start, self.var)
        self._tables = [
            (self.transform(domain.values[where]) - lo) / (hi - lo)
            for where, lo, hi in zip(self._where, self.lo, self.hi)
        ]

    @staticmethod
    def transform(x: Array) -> Array:
        """Return `g(x)` of raw values."""
        raise NotImplementedError

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Dot each feature's table with its variable's marginal."""
        mean, square = np.empty(self.size), np.empty(self.size)
        for j, (where, table) in enumerate(zip(self._where, self._tables)):
            weighted = measure.marginals[where] * table
            mean[j], square[j] = weighted.sum(), weighted @ table
        return mean, square

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        return self._tables[j][self.domain.codes[self.var[j]]]

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted tables of the features in use."""
        for j in np.flatnonzero(weights):
            table[self._where[j]] += weights[j] * self._tables[j]

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(self.kind, self.var, lo=self.lo, hi=self.hi)

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family on fewer variables."""
        return type(self)(self.domain, self.var[keep])
