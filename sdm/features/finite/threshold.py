"""Threshold features: steps at knots, all expectations by one suffix sum per variable."""

from collections.abc import Sequence

import numpy as np

from sdm.features.domain import Domain, Measure
from sdm.features.finite.knotted import KnottedFamily
from sdm.features.terms import THRESHOLD, Terms
from sdm.types import Array


class ThresholdFamily(KnottedFamily):
    """`1 if x ≥ knot else 0`; a knot that does not split the distinct values is left out."""

    letter = "t"

    def __init__(self, domain: Domain, knots: Sequence[Array]) -> None:
        super().__init__(
            domain, [k[(k > variable.lo) & (k <= variable.hi)] for k, variable in zip(knots, domain.variables)]
        )
        self._first = np.empty(self.size, dtype=np.int64)
        for where, values in self.spans():
            self._first[where] = values.start + np.searchsorted(domain.values[values], self.knots[where], side="left")

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sum each variable's marginal from its top; a step is its own square."""
        mean = self.expectations(measure)
        return mean, mean.copy()

    def expectations(self, measure: Measure) -> Array:
        """Sum each variable's marginal from its top."""
        mean = np.empty(self.size)
        for knots, values in self.spans():
            above = np.cumsum(measure.marginals[values][::-1])[::-1]
            mean[knots] = above[self._first[knots] - values.start]
        return mean

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of its variable."""
        return (x >= self.knots[j]).astype(np.float64)

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the staircase of the thresholds in use."""
        for knots, values in self.spans():
            if np.any(weights[knots]):
                steps = np.bincount(self._first[knots] - values.start, weights[knots], values.stop - values.start)
                table[values] += np.cumsum(steps)

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(THRESHOLD, self.var, knot=self.knots)
