"""Families with one feature per knot, hinges and thresholds, for any number of knots per variable in one sorted pass.

The sums of hinges are built in steps from the far end, `S1(k − d) = S1(k) + d·S0`. All additions have the same sign. So
a hinge near the end of its variable has full relative accuracy, which a difference of prefix sums would lose.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.terms import FORWARD, REVERSE, THRESHOLD, Terms
from sdm.types import Array


class KnottedFamily(Family):
    """Features of one variable and one knot, sorted by variable, then by ascending knot."""

    def __init__(self, domain: Domain, knots: Sequence[Array]) -> None:
        self.domain = domain
        sizes = [len(k) for k in knots]
        self.knots = np.concatenate([*knots, np.empty(0)]).astype(np.float64)
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.var = np.repeat(np.arange(len(sizes)), sizes)

    def spans(self) -> list[tuple[slice, slice]]:
        """Return the slices of the knots and of the distinct values, for every variable with knots."""
        each = [[slice(a, b) for a, b in pairwise(start.tolist())] for start in (self.start, self.domain.start)]
        return [(knots, values) for knots, values in zip(*each) if knots.stop > knots.start]

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return the variables as groups, because features with neighbouring knots are near duplicates."""
        return self.var

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        v = int(self.var[j])
        where = slice(int(self.domain.start[v]), int(self.domain.start[v + 1]))
        return self.domain.spread(v, self.profile(j, self.domain.values[where]))

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of the raw values `x` of its variable."""
        raise NotImplementedError

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer knots."""
        selected = [self.knots[a:b][keep[a:b]] for a, b in zip(self.start[:-1], self.start[1:])]
        return self.rebuild(selected)

    def rebuild(self, knots: Sequence[Array]) -> Self:
        """Return this family with other knots."""
        return type(self)(self.domain, knots)


class ThresholdFamily(KnottedFamily):
    """`1 if x ≥ knot else 0`, without knots that do not divide the distinct values."""

    letter = "t"

    def __init__(self, domain: Domain, knots: Sequence[Array]) -> None:
        super().__init__(
            domain, [k[(k > variable.lo) & (k <= variable.hi)] for k, variable in zip(knots, domain.variables)]
        )
        self._first = np.empty(self.size, dtype=np.int64)
        for where, values in self.spans():
            self._first[where] = values.start + np.searchsorted(domain.values[values], self.knots[where], side="left")

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sum each variable's marginal from its upper end; a step function is its own square."""
        mean = self.expectations(measure)
        return mean, mean.copy()

    def expectations(self, measure: Measure) -> Array:
        """Sum each variable's marginal from its upper end."""
        mean = np.empty(self.size)
        _suffix_sums(self.domain.start, measure.marginals, self.start, self._first, mean)
        return mean

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of its variable."""
        return np.asarray((x >= self.knots[j]).astype(np.float64))

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the step function of the thresholds in use."""
        _staircase(self.domain.start, self.start, self._first, weights, table)

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(THRESHOLD, self.var, knot=self.knots)


class HingeFamily(KnottedFamily):
    """Hinges, without knots at or beyond the far end, for which the feature is zero everywhere.

    Forward: `(x − knot)₊ / (max − knot)`. Reverse: `(knot − x)₊ / (knot − min)`.
    """

    letter = "h"

    def __init__(self, domain: Domain, knots: Sequence[Array], direction: str) -> None:
        self.sign = {"forward": 1.0, "reverse": -1.0}[direction]
        self.direction = direction
        ends = [variable.hi if self.sign > 0 else variable.lo for variable in domain.variables]
        super().__init__(domain, [k[self.sign * (end - k) > 0] for k, end in zip(knots, ends)])
        self.end = np.array(ends)
        self._inverse_span = 1.0 / np.abs(self.end[self.var] - self.knots)

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sweep every variable once from its far end."""
        square = np.empty(self.size)
        mean = self._swept(measure, square)
        square *= self._inverse_span**2
        return mean, square

    def expectations(self, measure: Measure) -> Array:
        """Sweep every variable once from its far end."""
        return self._swept(measure, np.empty(0))

    def _swept(self, measure: Measure, square: Array) -> Array:
        """Return the means; fill the sums of squares unless `square` is empty."""
        mean, domain = np.empty(self.size), self.domain
        _sweep(domain.values, domain.start, measure.marginals, self.knots, self.start, self.sign, mean, square)
        mean *= self._inverse_span
        return mean

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of its variable."""
        return np.asarray(np.maximum(self.sign * (x - self.knots[j]), 0.0) * self._inverse_span[j])

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the piecewise linear sum of the hinges in use."""
        slopes, in_use = weights * self._inverse_span, np.flatnonzero(weights)
        for knots, values in self.spans():
            first, last = np.searchsorted(in_use, (knots.start, knots.stop))
            used = in_use[first:last][:: int(self.sign)]
            if used.size:
                bends = self.sign * np.append(self.knots[used], self.end[self.var[used[0]]])
                heights = np.cumsum(np.cumsum(slopes[used]) * np.diff(bends))
                table[values] += np.interp(self.sign * self.domain.values[values], bends, np.append(0.0, heights))

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        end = self.end[self.var]
        if self.sign > 0:
            return Terms.build(FORWARD, self.var, knot=self.knots, lo=self.knots, hi=end)
        return Terms.build(REVERSE, self.var, knot=self.knots, lo=end, hi=self.knots)

    def rebuild(self, knots: Sequence[NDArray[np.float64]]) -> Self:
        """Return this family with other knots."""
        return type(self)(self.domain, knots, self.direction)


@jit
def _suffix_sums(start, mass, knot_start, first, out):  # type: ignore[no-untyped-def]
    """out[k] = mass on the distinct values from `first[k]` to the end of its variable."""
    for v in range(start.size - 1):
        d, total = start[v + 1] - 1, 0.0
        for k in range(knot_start[v + 1] - 1, knot_start[v] - 1, -1):
            while d >= first[k]:
                total += mass[d]
                d -= 1
            out[k] = total


@jit
def _staircase(start, knot_start, first, weights, table):  # type: ignore[no-untyped-def]
    """table[d] += Σ weights[k] over the knots with first[k] ≤ d."""
    for v in range(start.size - 1):
        k, end, height = knot_start[v], knot_start[v + 1], 0.0
        if k < end:
            for d in range(first[k], start[v + 1]):
                while k < end and first[k] <= d:
                    height += weights[k]
                    k += 1
                table[d] += height


@jit
def _sweep(values, start, mass, knots, knot_start, sign, first, second):  # type: ignore[no-untyped-def]
    """first[k] = Σ mass (sign·(x − knot))₊, and second[k] the sum with its square, unless `second` is empty.

    The sweep goes from the far end inwards.
    """
    squares = second.size > 0
    for v in range(start.size - 1):
        a, b = start[v], start[v + 1]
        d, step_d = (b - 1, -1) if sign > 0 else (a, 1)
        k_from, k_to, step_k = knot_start[v + 1] - 1, knot_start[v] - 1, -1
        if sign < 0:
            k_from, k_to, step_k = knot_start[v], knot_start[v + 1], 1
        position = values[d]
        s0, s1, s2 = 0.0, 0.0, 0.0
        for k in range(k_from, k_to, step_k):
            knot = knots[k]
            while a <= d < b and sign * (values[d] - knot) > 0:
                step = sign * (position - values[d])
                if squares:
                    s2 += step * (2.0 * s1 + step * s0)
                s1 += step * s0
                s0 += mass[d]
                position = values[d]
                d += step_d
            step = sign * (position - knot)
            if squares:
                s2 += step * (2.0 * s1 + step * s0)
                second[k] = s2
            s1 += step * s0
            position = knot
            first[k] = s1
