"""The result of a solver, with its status as data instead of an exception."""

from dataclasses import dataclass, field

import numpy as np

from sdm.notebook import facts_html
from sdm.types import Array

CONVERGED = "converged"
MAX_ITERATIONS = "max_iterations"
SEPARABLE = "separable"
STALLED = "stalled"

MEANING = {
    CONVERGED: "the gap is within the tolerance",
    MAX_ITERATIONS: "the iteration limit was reached first; the gap bounds the distance to the optimum",
    SEPARABLE: "without a penalty the weights grow without bound, because the records are at the limits of the "
    "features; use a penalty",
    STALLED: "no step improves the objective at this precision; the gap bounds the distance to the optimum",
}


@dataclass(frozen=True)
class Round:
    """One round of a solver: size of the working set, objective, duality gap."""

    working_set: int
    objective: float
    gap: float


@dataclass
class Solution:
    """The weights, and the duality gap of their objective."""

    status: str  # `converged`, `max_iterations`, `separable` or `stalled`; see `message`
    weights: Array
    objective: float  # F(λ), minimised; the regularised gain is its negative
    gap: float  # upper bound on F(λ) − min F over the features of the problem, in nats
    iterations: int
    seconds: float
    tau: float  # normaliser of the fitted distribution
    p: Array = field(repr=False)  # the fitted distribution over the domain
    history: list[Round] = field(default_factory=list, repr=False)

    @property
    def message(self) -> str:
        """Return the meaning of the status."""
        return MEANING[self.status]

    @property
    def gain(self) -> float:
        """Return the regularised gain."""
        return -self.objective

    @property
    def n_nonzero(self) -> int:
        """Return the number of features with a nonzero weight."""
        return int(np.count_nonzero(self.weights))

    def _repr_html_(self) -> str:
        facts = {
            "status": f"{self.status}: {self.message}",
            "duality gap": f"{self.gap:.3g} nats",
            "regularised gain": self.gain,
            "features with a weight": f"{self.n_nonzero:,} of {self.weights.size:,}",
            "rounds": self.iterations,
            "seconds": self.seconds,
        }
        return facts_html("Solution", facts)
