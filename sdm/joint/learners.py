"""The learners by name, with one strength C for all: what a site's loss weighs against the price of the weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError
from sdm.joint.crf import fit_crf
from sdm.joint.discriminant import Discriminant, Sites
from sdm.joint.laplace import fit_laplace
from sdm.joint.learned import Learned
from sdm.joint.m3n import fit_m3n

LEARNERS = ("laplace", "m3n", "crf-l2", "crf-l1")

# A bias is a prevalence, not an effect: its prior is this much wider than that of the other weights.
BIAS_SCALE = 10.0

# The paper's choices for the price of a weight (§7.1.1), as C = 1/price, and 8 of its λ between 1 and 268.
C_RANGE = (0.0625, 1 / 9, 0.25, 1.0, 10.0, 100.0)
LAMBDA_RANGE = (1.0, 9.0, 25.0, 49.0, 81.0, 121.0, 196.0, 268.0)


@dataclass(frozen=True)
class Learner:
    """A learner with its settings.

    Attributes
    ----------
    name : {"laplace", "m3n", "crf-l2", "crf-l1"}
    c : float
        Price of the slack; a CRF's weights cost 1/C.
    lam : float
        λ of the Laplace prior.
    method : {"variational", "exact"}
        Of Laplace MEDN.
    rounds : int
        Of the variational algorithm.
    tolerance : float
    max_iterations : int
    seed : int
    """

    name: str
    c: float = 1.0
    lam: float = 25.0
    method: str = "variational"
    rounds: int = 3
    tolerance: float = 1e-3
    max_iterations: int = 300
    seed: int = 0

    def fit(
        self, discriminant: Discriminant, sites: Sites, bias: NDArray[np.bool_], start: Learned | None = None
    ) -> Learned:
        """Learn the weights; `bias` marks those that hardly have a price, `start` is a fit to the same sites."""
        if self.name not in LEARNERS:
            raise OptionError(f"learner={self.name!r}: expected one of {', '.join(LEARNERS)}")
        wide = np.where(bias, BIAS_SCALE, 1.0)
        if self.name.startswith("crf"):
            small = 1.0 / (self.c * BIAS_SCALE)
            l1 = np.where(bias, 0.0, 1.0 / self.c) if self.name == "crf-l1" else np.zeros(discriminant.size)
            l2 = np.where(bias, small, 0.0) if self.name == "crf-l1" else 1.0 / (self.c * wide)
            weights = None if start is None else start.weights
            limits: dict[str, Any] = {"tolerance": self.tolerance, "max_iterations": self.max_iterations}
            return fit_crf(discriminant, sites, l1, l2, start=weights, **limits)
        options: dict[str, Any] = {
            "start": None if start is None else start.dual,
            "tolerance": self.tolerance,
            "max_epochs": self.max_iterations,
            "seed": self.seed,
        }
        if self.name == "m3n":
            return fit_m3n(discriminant, sites, self.c, wide, **options)
        return fit_laplace(
            discriminant, sites, self.c, self.lam, wide, method=self.method, rounds=self.rounds, **options
        )
