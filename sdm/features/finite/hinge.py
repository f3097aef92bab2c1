"""Hinge features, forward and reverse: all expectations of a direction in one sorted pass per variable.

The sums are built by steps from the far end, `S1(k − d) = S1(k) + d·S0`: only additions of like sign, so a hinge near
the end of its variable keeps its relative accuracy where a difference of prefix sums would lose it.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.domain import Domain, Measure
from sdm.features.finite.knotted import KnottedFamily
from sdm.features.terms import FORWARD, REVERSE, Terms
from sdm.types import Array


class HingeFamily(KnottedFamily):
    """Forward: `(x − knot)₊ / (max − knot)`. Reverse: `(knot − x)₊ / (knot − min)`. Knots at or beyond the far end
    (where the feature is zero everywhere) are left out."""

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
        mean, square = np.empty(self.size), np.empty(self.size)
        domain = self.domain
        _sweep(domain.values, domain.start, measure.marginals, self.knots, self.start, self.sign, mean, square)
        mean *= self._inverse_span
        square *= self._inverse_span**2
        return mean, square

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of its variable."""
        return np.maximum(self.sign * (x - self.knots[j]), 0.0) * self._inverse_span[j]

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the piecewise linear sum of the hinges in use."""
        slopes = weights * self._inverse_span
        for knots, values in self.spans():
            used = knots.start + np.flatnonzero(slopes[knots])[:: int(self.sign)]
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
def _sweep(values, start, mass, knots, knot_start, sign, first, second):  # type: ignore[no-untyped-def]
    """first[k] = Σ mass (sign·(x − knot))₊ and second[k] the same of its square, swept from the far end inwards."""
    for v in range(start.size - 1):
        a, b = start[v], start[v + 1]
        d, step_d = (b - 1, -1) if sign > 0 else (a, 1)
        k_from, k_to, step_k = knot_start[v + 1] - 1, knot_start[v] - 1, -1
        if sign < 0:
            k_from, k_to, step_k = knot_start[v], knot_start[v + 1], 1
        at = values[d]
        s0, s1, s2 = 0.0, 0.0, 0.0
        for k in range(k_from, k_to, step_k):
            knot = knots[k]
            while a <= d < b and sign * (values[d] - knot) > 0:
                step = sign * (at - values[d])
                s2 += step * (2.0 * s1 + step * s0)
                s1 += step * s0
                s0 += mass[d]
                at = values[d]
                d += step_d
            step = sign * (at - knot)
            s2 += step * (2.0 * s1 + step * s0)
            s1 += step * s0
            at = knot
            first[k] = s1
            second[k] = s2
