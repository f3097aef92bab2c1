"""The learners by name, with a common strength C: the weight of a site's loss relative to the penalty on the
weights."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdm.errors import expect_one_of
from sdm.joint.bound import MarginBound, pac_bayes
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.learners.crf import fit_crf, squared_errors
from sdm.joint.learners.learned_weights import LearnedWeights
from sdm.joint.learners.margin import fit_m3n
from sdm.joint.learners.priors import divergence, gaussian_divergence
from sdm.joint.learners.shrinking import Limits, fit_l1_m3n, fit_laplace
from sdm.types import Array, Numbers

LEARNERS = ("crf-l2", "crf-l1", "m3n", "l1-m3n", "laplace")

# The bias represents prevalence, not an effect. In a max-margin model its prior is wider by this factor. In a CRF it
# has this penalty, independent of C, so that species without presences have a finite bias.
BIAS_SCALE, BIAS_PENALTY = 10.0, 1e-4
C_PATH = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # candidates, from strong regularisation to weak

C_FIRST = C_PATH.index(0.1)  # the first candidate of a CRF: stronger regularisation is tried if this one is best

# Candidates: 8 of the λ between 1 and 268 of Zhu & Xing 2009, §7.1.1.
LAMBDA_RANGE = (1.0, 9.0, 25.0, 49.0, 81.0, 121.0, 196.0, 268.0)
NATS, WRONG = 1e-4, 1e-3  # default tolerances per species and site, for a CRF and for a max-margin model
SAME = 0.02  # smallest relative difference of a posterior variance from the variance of a zero weight


@dataclass(frozen=True)
class Learner:
    """A learner with its settings."""

    name: str  # one of LEARNERS
    c: float = 1.0  # penalty on the slack; a CRF's weights have the penalty 1/C
    lam: float = 25.0  # λ of the Laplace prior
    method: str = "variational"  # posterior of Laplace MEDN: "variational" or "exact"
    rounds: int | None = None  # rounds of Algorithm 1 of Zhu & Xing 2009; None: up to the tolerance
    tolerance: float | None = None  # largest accepted duality gap, in the learner's loss per site
    max_iterations: int = 300

    @property
    def is_crf(self) -> bool:
        """Return whether the learner maximises a likelihood, with a loss in nats."""
        return self.name.startswith("crf")

    def fit(
        self,
        discriminant: Discriminant,
        sites: LabelledSites,
        bias: NDArray[np.bool_],
        start: LearnedWeights | None = None,
    ) -> LearnedWeights:
        """Fit the weights; `bias` marks weights with a weak penalty, and `start` is a fit to the same sites."""
        expect_one_of("learner", self.name, LEARNERS)
        share = np.count_nonzero(sites.labels >= 0) / sites.n
        limits: Numbers = {"tolerance": self.largest_gap(share) / share}
        if self.is_crf:
            limits |= {"start": None if start is None else start.weights, "max_iterations": self.max_iterations}
            solution = fit_crf(discriminant, sites, *self.penalties(bias), **limits)
        else:
            wide = np.where(bias, BIAS_SCALE, 1.0)
            limits["start"] = None if start is None else start.dual
            limits["max_steps"] = self.max_iterations
            if self.name == "m3n":
                solution = fit_m3n(discriminant, sites, self.c, wide, **limits)
            elif self.name == "l1-m3n":
                solution = fit_l1_m3n(discriminant, sites, self.c, wide, **limits)
            else:
                solution = fit_laplace(
                    discriminant, sites, self.c, self.lam, wide,
                    method=self.method, rounds=self.rounds, limits=Limits(**limits),
                )  # fmt: skip
        return replace(solution, gap=solution.gap * share)

    @property
    def unit(self) -> str:
        """Return the unit of the loss."""
        return "nats" if self.is_crf else "wrong labels"

    def largest_gap(self, labels: float) -> float:
        """Return the largest accepted gap per site, for a number of labels per site."""
        return (NATS if self.is_crf else WRONG) * labels if self.tolerance is None else self.tolerance

    def penalties(self, bias: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return a CRF's l1 and l2 penalty on every weight."""
        shrunk = np.where(bias, 0.0, 1.0 / self.c)
        free = np.where(bias, BIAS_PENALTY, 0.0)
        return (shrunk, free) if self.name == "crf-l1" else (np.zeros(bias.size), shrunk + free)

    def spread(
        self, discriminant: Discriminant, sites: LabelledSites, bias: NDArray[np.bool_], solution: LearnedWeights
    ) -> Array | None:
        """Return the variance of every weight; zero where it would only repeat the prior.

        For a CRF these are squared standard errors from the exact curvature. The posterior of Laplace MEDN depends on
        the sites only through its means, so zero weights have the prior's variance. M³N has the prior's variance
        everywhere, and L1-M³N has no posterior: None.
        """
        if self.is_crf:
            return squared_errors(discriminant, sites, solution.weights, *self.penalties(bias))
        if self.name == "m3n" or solution.variance is None:
            return None
        prior = self._variance_at_zero(np.where(bias, BIAS_SCALE, 1.0))
        return np.where(np.abs(solution.variance / prior - 1.0) > SAME, solution.variance, 0.0)

    def bound(
        self, discriminant: Discriminant, sites: LabelledSites, bias: NDArray[np.bool_], solution: LearnedWeights
    ) -> MarginBound | None:
        """Return the PAC-Bayes estimate of wrong labellings at new sites; None for learners without a posterior."""
        if self.name not in ("m3n", "laplace") or solution.variance is None:
            return None
        wide, weights = np.where(bias, BIAS_SCALE, 1.0), solution.weights
        if self.name == "m3n":
            kl = 0.5 * float(np.sum(weights**2 / wide))
        elif self.method == "exact":
            kl = divergence(weights, self.lam / wide)
        else:
            kl = gaussian_divergence(weights, solution.variance, self.lam / wide)
        return pac_bayes(discriminant, sites, weights, kl)

    def _variance_at_zero(self, scale: Array) -> Array:
        """Return the posterior variance of weights with mean zero, which the sites do not inform."""
        if self.method == "exact" or self.rounds is None:
            return (2.0 if self.method == "exact" else 1.0) * scale / self.lam
        variance = scale.copy()
        for _ in range(self.rounds - 1):
            variance = np.sqrt(variance * scale / self.lam)
        return variance
