"""Product features: products of pairs of raw variables, all expectations from one weighted Gram matrix."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.executors.ahead import in_parts
from sdm.features.centred import less_product, product_range
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.finite.single import check_products
from sdm.features.terms import PRODUCT, Terms
from sdm.types import Array

_RANGES = 64  # of the same cells that are kept: what products are counted from may change with the presences


class ProductFamily(Family):
    """One feature per pair of continuous variables: the product of their raw values, scaled to [0, 1]."""

    letter = "p"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        check_products(domain, domain.continuous, self.letter)
        first, second = np.triu_indices(domain.continuous.size, k=1)
        a, b = domain.centre[first], domain.centre[second]
        lo, hi = _shared_ranges(domain, first, second, a, b)
        _widen_ranges(domain.centred[domain.shared :], first, second, a, b, lo, hi)
        for j, ends in enumerate(zip(lo.tolist(), hi.tolist(), a.tolist(), b.tolist())):
            lo[j], hi[j] = product_range(*ends)
        varied = hi > lo
        self._set(first[varied], second[varied], lo[varied], hi[varied])

    def _set(self, first: NDArray[np.int64], second: NDArray[np.int64], lo: Array, hi: Array) -> None:
        """Take the pairs, as columns of `domain.centred`, and their ranges."""
        self.first, self.second, self.lo, self.hi = first, second, lo, hi
        self._centres = self.domain.centre[first], self.domain.centre[second]
        self._low = np.array([less_product(*row) for row in zip(lo.tolist(), *(c.tolist() for c in self._centres))])
        self.var = self.domain.continuous[first]
        self.other = self.domain.continuous[second]

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Read the means off the Gram matrix; second moments take a pass over the cells that have mass."""
        mean = self.expectations(measure)
        square = np.zeros(self.size)
        cells = np.flatnonzero(measure.mass)
        pairs = (self.first, self.second, *self._centres, self._low, self.hi - self.lo)
        _squares(self.domain.centred, cells, measure.mass, *pairs, square)
        return mean, square

    def expectations(self, measure: Measure) -> Array:
        """Read the means off the Gram matrix."""
        if not self.size:
            return np.empty(0)
        a, b = self._centres
        varies = measure.gram[self.first, self.second]
        if np.any(self.domain.centre):
            varies = varies + a * measure.sums[self.second] + b * measure.sums[self.first]
        return (varies - self._low * measure.total) / (self.hi - self.lo)

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        out = np.empty(self.domain.n)
        a, b = (centre[j] for centre in self._centres)
        low, span = self._low[j], self.hi[j] - self.lo[j]
        _column(self.domain.centred, self.first[j], self.second[j], a, b, low, span, out)
        return out

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted products of the pairs in use."""
        used = np.flatnonzero(weights)
        if used.size:
            slope = weights[used] / (self.hi[used] - self.lo[used])
            first, second = self.first[used], self.second[used]
            centred, n = self.domain.centred, self.domain.n
            in_parts(lambda cells: _add_products(centred[cells], first, second, slope, theta[cells]), n, n)
            theta -= slope @ self._low[used]
            if np.any(self.domain.centre):
                linear = np.zeros_like(self.domain.centre)
                np.add.at(linear, second, slope * self.domain.centre[first])
                np.add.at(linear, first, slope * self.domain.centre[second])
                theta += self.domain.centred @ linear

    def terms(self) -> Terms:
        """Return the definition of every feature."""
        return Terms.build(PRODUCT, self.var, other=self.other, lo=self.lo, hi=self.hi)

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer pairs."""
        out = type(self).__new__(type(self))
        out.domain = self.domain
        out._set(self.first[keep], self.second[keep], self.lo[keep], self.hi[keep])
        return out


def _shared_ranges(
    domain: Domain, first: NDArray[np.int64], second: NDArray[np.int64], a: Array, b: Array
) -> tuple[Array, Array]:
    """Return the ranges of products over the cells that other domains share, which know them."""
    known, key = domain.product_ranges, domain.continuous.tobytes() + domain.centre.tobytes()
    if key not in known:
        lo, hi = np.full(first.size, np.inf), np.full(first.size, -np.inf)
        _widen_ranges(domain.centred[: domain.shared], first, second, a, b, lo, hi)
        if len(known) >= _RANGES:
            known.clear()
        known[key] = lo, hi
    lo, hi = known[key]
    return lo.copy(), hi.copy()


@jit
def _widen_ranges(values, first, second, a, b, lo, hi):  # type: ignore[no-untyped-def]
    """Widen the ranges to the smallest and largest product of each pair over the cells, less that of the centres."""
    for i in range(values.shape[0]):
        for j in range(first.size):
            u, v = values[i, first[j]], values[i, second[j]]
            x = u * v + a[j] * v + b[j] * u
            lo[j] = min(lo[j], x)
            hi[j] = max(hi[j], x)


@jit
def _column(values, first, second, a, b, low, span, out):  # type: ignore[no-untyped-def]
    """out[i] = f(x_i) of one pair."""
    for i in range(out.size):
        u, v = values[i, first], values[i, second]
        out[i] = (u * v + a * v + b * u - low) / span


@jit
def _squares(values, cells, mass, first, second, a, b, low, span, out):  # type: ignore[no-untyped-def]
    """out[j] = Σ_i mass_i f_j(x_i)²."""
    for i in cells:
        for j in range(first.size):
            u, v = values[i, first[j]], values[i, second[j]]
            f = (u * v + a[j] * v + b[j] * u - low[j]) / span[j]
            out[j] += mass[i] * f * f


@jit
def _add_products(values, first, second, slope, theta):  # type: ignore[no-untyped-def]
    """theta[i] += Σ_j slope_j u_i[first_j] u_i[second_j]."""
    for i in range(values.shape[0]):
        total = 0.0
        for j in range(first.size):
            total += slope[j] * values[i, first[j]] * values[i, second[j]]
        theta[i] += total
