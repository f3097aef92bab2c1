"""Ridge features: random hinges along combinations of the continuous variables, and random waves of place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.finite.single import check_products
from sdm.features.ridges import RELU, WAVE, Ridges, add_ridges, draw_rectified, draw_waves, ridge_moments, ridge_ranges
from sdm.features.terms import Terms
from sdm.types import Array

LENGTHS = (0.05, 0.15)  # lengths of waves, as shares of the extent
_LEAST = 1e-9  # ridges with a smaller range over the domain are constant up to rounding


class RidgeFamily(Family):
    """Ridges of a domain, each scaled to [0, 1] by its range there, without constant ones."""

    letter = "r"

    def __init__(self, domain: Domain, ridges: Ridges) -> None:
        self.domain = domain
        self._used = np.flatnonzero(ridges.used)
        columns = [domain.spread(int(v), domain.variables[v].values) for v in self._used]
        frame = ridges.centre[self._used, None], ridges.scale[self._used, None]
        self._u = (np.array(columns).reshape(len(columns), domain.n) - frame[0]) / frame[1]
        lo, hi = ridge_ranges(self._u, ridges.directions[:, self._used], ridges)
        self._set(replace(ridges, lo=lo, hi=hi).take(hi - lo > _LEAST))

    @classmethod
    def rectified(
        cls, domain: Domain, count: int, rng: "np.random.Generator", variables: Sequence[int] | None = None
    ) -> Self:
        """Draw random ReLU features `max(0, a·u + b)` of the given (by default all) continuous, non-constant variables.

        Variables are standardised under the base measure.
        """
        chosen = _varying(domain, domain.continuous if variables is None else variables)
        check_products(domain, chosen, "relu")
        centre, scale = np.zeros(len(domain.variables)), np.ones(len(domain.variables))
        base = np.split(domain.measure(domain.q0).marginals, domain.start[1:-1])
        for v in chosen:
            a = domain.variables[v]
            share = (a.values - a.lo) / (a.hi - a.lo)
            mean = float(base[v] @ share)
            centre[v] = a.lo + mean * (a.hi - a.lo)
            scale[v] = float(np.sqrt(base[v] @ (share - mean) ** 2)) * (a.hi - a.lo)
        return cls(domain, _over(RELU, *draw_rectified(count, chosen.size, rng), chosen, centre, scale))

    @classmethod
    def waves(cls, domain: Domain, count: int, rng: "np.random.Generator", variables: Sequence[int]) -> Self:
        """Draw `cos(a·u + b)` over variables of place, each centred and divided by its extent."""
        chosen = _varying(domain, variables)
        check_products(domain, chosen, "waves")
        centre, scale = np.zeros(len(domain.variables)), np.ones(len(domain.variables))
        for v in chosen:
            a = domain.variables[v]
            centre[v], scale[v] = a.lo + 0.5 * (a.hi - a.lo), a.hi - a.lo
        return cls(domain, _over(WAVE, *draw_waves(count, chosen.size, LENGTHS, rng), chosen, centre, scale))

    def _set(self, ridges: Ridges) -> None:
        self.ridges = ridges
        self._directions = np.ascontiguousarray(ridges.directions[:, self._used])
        main = np.abs(ridges.directions).argmax(axis=1) if len(ridges) else np.empty(0)
        self.var = main.astype(np.int64)  # the variable with the largest coefficient

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sum every ridge and its square over the cells with mass."""
        u, mass = self._u, measure.mass
        cells = np.flatnonzero(mass)
        if 2 * cells.size < mass.size:  # a sample with few cells
            u, mass = np.ascontiguousarray(u[:, cells]), mass[cells]
        return ridge_moments(u, self._directions, self.ridges, mass)

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        one, z = self.ridges, self._directions[j] @ self._u + self.ridges.bend[j]
        values = np.cos(z) if one.kind[j] == WAVE else np.maximum(z, 0.0)
        return np.asarray((values - one.lo[j]) / (one.hi[j] - one.lo[j]))

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted ridges in use."""
        add_ridges(self._u, self._directions, self.ridges, weights, theta)

    def terms(self) -> Terms:
        """Refuse: ridges are not terms."""
        raise DataError("ridge features are kept as ridges, not as terms")

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer ridges."""
        out = type(self).__new__(type(self))
        out.domain, out._used, out._u = self.domain, self._used, self._u
        out._set(self.ridges.take(keep))
        return out


def _varying(domain: Domain, variables: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the non-constant variables."""
    return np.array([v for v in variables if domain.variables[v].values.size > 1], dtype=np.int64)


def _over(kind: int, directions: Array, bend: Array, chosen: NDArray[np.int64], centre: Array, scale: Array) -> Ridges:
    """Return ridges over all variables, from directions along chosen ones; none without chosen variables."""
    full = np.zeros((len(bend) if chosen.size else 0, centre.size))
    full[:, chosen] = directions[: len(full)]
    return Ridges.build(kind, full, bend[: len(full)], centre, scale)
