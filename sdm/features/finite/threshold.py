"""Threshold features: steps at knots, all expectations by one suffix sum per variable."""

from collections.abc import Sequence

import numpy as np

from sdm._jit import jit
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
        for v in range(len(knots)):
            where = slice(int(self.start[v]), int(self.start[v + 1]))
            values = domain.values[domain.start[v] : domain.start[v + 1]]
            self._first[where] = domain.start[v] + np.searchsorted(values, self.knots[where], side="left")

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sum each variable's marginal from its top; a step is its own square."""
        mean = self.expectations(measure)
        return mean, mean.copy()

    def expectations(self, measure: Measure) -> Array:
        """Sum each variable's marginal from its top."""
        mean = np.empty(self.size)
        _suffix_sums(self.domain.start, measure.marginals, self.start, self._first, mean)
        return mean

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of its variable."""
        return (x >= self.knots[j]).astype(np.float64)

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the staircase of the thresholds in use."""
        _staircase(self.domain.start, self.start, self._first, weights, table)

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(THRESHOLD, self.var, knot=self.knots)


@jit
def _suffix_sums(start, mass, knot_start, first, out):  # type: ignore[no-untyped-def]
    """out[k] = mass on the distinct values from `first[k]` to the end of its variable."""
    for v in range(start.size - 1):
        d = start[v + 1] - 1
        total = 0.0
        for k in range(knot_start[v + 1] - 1, knot_start[v] - 1, -1):
            while d >= first[k]:
                total += mass[d]
                d -= 1
            out[k] = total


@jit
def _staircase(start, knot_start, first, weights, table):  # type: ignore[no-untyped-def]
    """table[d] += Σ weights[k] over the knots with first[k] ≤ d."""
    for v in range(start.size - 1):
        k, k_end = knot_start[v], knot_start[v + 1]
        height = 0.0
        if k == k_end:
            continue
        for d in range(first[k], start[v + 1]):
            while k < k_end and first[k] <= d:
                height += weights[k]
                k += 1
            table[d] += height
