"""Monomials of the raw variables scaled to [0, 1], grown greedily (Cortes et al. 2015, §4).

The best monomial of degree `k + 1` is searched among products of the best one of degree `k` with each variable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Domain
from sdm.features.growing.grown import Proposal
from sdm.types import Array


@dataclass(frozen=True)
class Monomial:
    """A product of scaled variables; `var` lists them in ascending order, with repeats for powers."""

    var: NDArray[np.int32]

    @property
    def size(self) -> int:
        """Return the degree."""
        return int(self.var.size)

    def key(self) -> tuple[int, ...]:
        """Return the identifier of the monomial."""
        return tuple(self.var.tolist())

    def name(self, names: list[str]) -> str:
        """Return a readable name such as ``bio1^2*bio12``."""
        variables, powers = np.unique(self.var, return_counts=True)
        return "*".join(names[v] if power == 1 else f"{names[v]}^{power}" for v, power in zip(variables, powers))


class MonomialOracle:
    """`mono:K`: the greedily best monomial of degree 1, 2, … K over the continuous, non-constant variables."""

    def __init__(self, domain: Domain, largest: int) -> None:
        self.domain = domain
        self.largest = largest
        self.name = f"mono:{largest}"
        places = [k for k, v in enumerate(domain.continuous) if domain.variables[v].values.size > 1]
        self.usable = domain.continuous[places]
        lo = np.array([domain.variables[v].lo for v in self.usable])
        hi = np.array([domain.variables[v].hi for v in self.usable])
        self.scaled = (domain.centred[:, places] - (lo - domain.centre[places])) / (hi - lo)

    def complexity(self, size: int, m: float) -> float:
        """Return the bound of eq. (15) for monomials of degree `size`."""
        return float(np.sqrt(2 * size * np.log(max(self.usable.size, 2)) / m))

    def log_count(self, size: int, points: float) -> float:
        """Return the logarithm of the number of monomials: each factor is one of the variables."""
        return float(size * np.log(self.usable.size))

    def propose(self, g: Array) -> list[Proposal]:
        """Return the greedily best monomial of each degree."""
        out: list[Proposal] = []
        weighted = g.copy()
        chosen: list[int] = []
        for _ in range(self.largest):
            eps = weighted @ self.scaled
            j = int(np.argmax(np.abs(eps)))
            chosen.append(int(self.usable[j]))
            weighted *= self.scaled[:, j]
            out.append(Proposal(Monomial(np.array(sorted(chosen), dtype=np.int32)), abs(float(eps[j]))))
        return out

    def propose_quickly(self, g: Array) -> list[Proposal]:
        """Return all proposals."""
        return self.propose(g)

    def propose_further(self, g: Array) -> list[Proposal]:
        """Return an empty list: the complete search is quick."""
        return []

    def column(self, shape: Monomial) -> Array:
        """Return a monomial at every cell."""
        return np.asarray(np.prod(self.scaled[:, np.searchsorted(self.usable, shape.var)], axis=1))
