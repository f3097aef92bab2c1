"""Product features: products of pairs of raw variables, all expectations from one weighted Gram matrix."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.domain import Array, Domain, Measure
from sdm.features.family import Family
from sdm.features.quadratic import check_products
from sdm.features.terms import PRODUCT, Terms


class Product(Family):
    """One feature a pair of continuous variables: the product of their raw values, scaled to [0, 1]."""

    letter = "p"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        check_products(domain, domain.continuous, self.letter)
        first, second = np.triu_indices(domain.continuous.size, k=1)
        lo, hi = np.empty(first.size), np.empty(first.size)
        _ranges(domain.raw, first, second, lo, hi)
        self._set(first, second, lo, hi)
        varied = hi > lo
        if not varied.all():
            self._set(first[varied], second[varied], lo[varied], hi[varied])

    def _set(self, first: NDArray[np.int64], second: NDArray[np.int64], lo: Array, hi: Array) -> None:
        """Take the pairs, as columns of `domain.raw`, and their ranges."""
        self.first, self.second, self.lo, self.hi = first, second, lo, hi
        self.var = self.domain.continuous[first]
        self.other = self.domain.continuous[second]

    @property
    def groups(self) -> NDArray[np.int64]:
        """Every product stands for itself."""
        return np.arange(self.size)

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Read the means off the Gram matrix; second moments take a pass over the cells that have mass."""
        mean = self.expectations(measure)
        square = np.zeros(self.size)
        cells = np.flatnonzero(measure.mass)
        _squares(self.domain.raw, cells, measure.mass, self.first, self.second, self.lo, self.hi, square)
        return mean, square

    def expectations(self, measure: Measure) -> Array:
        """Read the means off the Gram matrix."""
        if not self.size:
            return np.empty(0)
        return (measure.gram[self.first, self.second] - self.lo * measure.total) / (self.hi - self.lo)

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        raw = self.domain.raw
        return (raw[:, self.first[j]] * raw[:, self.second[j]] - self.lo[j]) / (self.hi[j] - self.lo[j])

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted products of the pairs in use."""
        used = np.flatnonzero(weights)
        if used.size:
            slope = weights[used] / (self.hi[used] - self.lo[used])
            _add_products(self.domain.raw, self.first[used], self.second[used], slope, theta)
            theta -= slope @ self.lo[used]

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(PRODUCT, self.var, other=self.other, lo=self.lo, hi=self.hi)

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer pairs."""
        out = type(self).__new__(type(self))
        out.domain = self.domain
        out._set(self.first[keep], self.second[keep], self.lo[keep], self.hi[keep])
        return out


@jit
def _ranges(raw, first, second, lo, hi):  # type: ignore[no-untyped-def]
    """Find the smallest and largest product of each pair over the cells."""
    lo[:] = np.inf
    hi[:] = -np.inf
    for i in range(raw.shape[0]):
        for j in range(first.size):
            x = raw[i, first[j]] * raw[i, second[j]]
            lo[j] = min(lo[j], x)
            hi[j] = max(hi[j], x)


@jit
def _squares(raw, cells, mass, first, second, lo, hi, out):  # type: ignore[no-untyped-def]
    """out[j] = Σ_i mass_i f_j(x_i)²."""
    for i in cells:
        for j in range(first.size):
            f = (raw[i, first[j]] * raw[i, second[j]] - lo[j]) / (hi[j] - lo[j])
            out[j] += mass[i] * f * f


@jit
def _add_products(raw, first, second, slope, theta):  # type: ignore[no-untyped-def]
    """theta[i] += Σ_j slope_j x_i[first_j] x_i[second_j]."""
    for i in range(raw.shape[0]):
        total = 0.0
        for j in range(first.size):
            total += slope[j] * raw[i, first[j]] * raw[i, second[j]]
        theta[i] += total
