"""Product features: products of pairs of raw variables, with all expectations from one weighted Gram matrix."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.executors.ahead import over_cells
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.finite.single import check_products
from sdm.features.terms import PRODUCT, Terms, less_product, product_range
from sdm.types import Array

_BLOCK = 4096  # cells per block, whose variables fit into the cache


class ProductFamily(Family):
    """One feature per pair of continuous variables: the product of their raw values, scaled to [0, 1]."""

    letter = "p"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        check_products(domain, domain.continuous, self.letter)
        first, second = np.triu_indices(domain.continuous.size, k=1)
        a, b = domain.centre[first], domain.centre[second]
        values, ranges = domain.centred.T, np.empty((first.size, 2))
        for j, (u, v) in enumerate(zip(first, second)):
            varies = _varies(values[u], values[v], a[j], b[j])
            ranges[j] = product_range(float(varies.min()), float(varies.max()), float(a[j]), float(b[j]))
        lo, hi = ranges.T
        varied = hi > lo
        self._set(first[varied], second[varied], lo[varied], hi[varied])

    def _set(self, first: NDArray[np.int64], second: NDArray[np.int64], lo: Array, hi: Array) -> None:
        """Set the pairs, as columns of `domain.centred`, and their ranges."""
        self.first, self.second, self.lo, self.hi = first, second, lo, hi
        self._centres = self.domain.centre[first], self.domain.centre[second]
        self._low = np.array([less_product(*row) for row in zip(lo.tolist(), *(c.tolist() for c in self._centres))])
        self.var = self.domain.continuous[first]
        self.other = self.domain.continuous[second]

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Return means from the Gram matrix, and second moments by a pass over the cells with mass."""
        cells = np.flatnonzero(measure.mass)
        mass, values = measure.mass[cells], self.domain.centred[cells].T.copy()
        square = [mass @ np.square(self._scaled(j, values)) for j in range(self.size)]
        return self.expectations(measure), np.array(square)

    def _scaled(self, j: int, values: Array) -> Array:
        """Return feature `j` from centred values of cells (V, n)."""
        a, b = (centre[j] for centre in self._centres)
        varies = _varies(values[self.first[j]], values[self.second[j]], a, b)
        return np.asarray((varies - self._low[j]) / (self.hi[j] - self.lo[j]))

    def expectations(self, measure: Measure) -> Array:
        """Return means from the Gram matrix."""
        if not self.size:
            return np.empty(0)
        a, b = self._centres
        varies = measure.gram[self.first, self.second]
        if np.any(self.domain.centre):
            varies = varies + a * measure.sums[self.second] + b * measure.sums[self.first]
        return (varies - self._low * measure.total) / (self.hi - self.lo)

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        return self._scaled(j, self.domain.centred.T)

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted products of the pairs in use, as one quadratic form of the variables."""
        used = np.flatnonzero(weights)
        if not used.size:
            return
        slope = weights[used] / (self.hi[used] - self.lo[used])
        first, second, centred = self.first[used], self.second[used], self.domain.centred
        pairs, linear = np.zeros((centred.shape[1], centred.shape[1])), np.zeros(centred.shape[1])
        pairs[first, second] = slope
        np.add.at(linear, second, slope * self.domain.centre[first])
        np.add.at(linear, first, slope * self.domain.centre[second])
        theta -= slope @ self._low[used]

        def add(start: int) -> None:
            part = centred[start : start + _BLOCK].T
            slopes = np.dot(pairs.T, part) + linear[:, None]
            slopes *= part
            theta[start : start + _BLOCK] += slopes.sum(axis=0)

        for _ in over_cells(add, range(0, len(centred), _BLOCK), len(centred)):
            pass

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(PRODUCT, self.var, other=self.other, lo=self.lo, hi=self.hi)

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer pairs."""
        out = type(self).__new__(type(self))
        out.domain = self.domain
        out._set(self.first[keep], self.second[keep], self.lo[keep], self.hi[keep])
        return out


def _varies(u: Array, v: Array, a: float, b: float) -> Array:
    """Return the varying part of the product of centred variables `u`, `v` with centres `a`, `b`."""
    return u * v + a * v + b * u if a or b else u * v
