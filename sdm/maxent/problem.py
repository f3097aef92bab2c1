"""The one problem that everything solves, and the certificate of how near a solution is (MATH.md §1–2).

`min_λ F(λ) = Ω*(Fλ) − λ·π̃[f] + U*_π̃(λ)`; its negative `Q(λ)` is the regularised gain. For any distribution `p` with
`π̃[f] − p[f]` in the potential's domain, `Ω(p) + U_π̃(π̃[f] − p[f]) ≥ max Q`, so that value minus `Q(λ)` bounds what is
missing to the optimum. The features in it are all features of every family.
"""

from dataclasses import dataclass

import numpy as np

from sdm.features.domain import Array
from sdm.features.feature_set import FeatureSet
from sdm.maxent.entropy import Entropy, Gibbs
from sdm.maxent.penalty import Penalty


@dataclass(frozen=True)
class State:
    """A point `λ` and what follows from it.

    Attributes
    ----------
    lam : (J,) array
    theta : (n,) array
        Scores `Fλ`.
    gibbs : Gibbs
    p : (n,) array
        The distribution.
    eps : (J,) array
        `p[f] − π̃[f]`, the gradient without the penalty.
    objective : float
        `F(λ) = −Q(λ)`.
    """

    lam: Array
    theta: Array
    gibbs: Gibbs
    p: Array
    eps: Array
    objective: float


class Problem:
    """Entropy + penalty + features + sample.

    Parameters
    ----------
    features : FeatureSet
    sample : (n,) array
        The empirical distribution `π̃` as a probability on cells.
    entropy : Entropy
    penalty : Penalty
    mu : (J,) array, optional
        `π̃[f]`, where it is known already.
    """

    def __init__(
        self, features: FeatureSet, sample: Array, entropy: Entropy, penalty: Penalty, mu: Array | None = None
    ) -> None:
        self.features = features
        self.domain = features.domain
        self.q0 = features.domain.q0
        self.sample = sample
        self.entropy = entropy
        self.penalty = penalty
        self.mu = features.expectations(features.domain.measure(sample)) if mu is None else mu

    def scores(self, lam: Array) -> Array:
        """Return `Fλ`."""
        return self.features.scores(lam)

    def expectations(self, p: Array) -> Array:
        """Return `p[f]` for every feature."""
        return self.features.expectations(self.domain.measure(p))

    def negentropy(self, p: Array) -> float:
        """Return `Ω(p)`."""
        return self.entropy.value(p, self.q0)

    def state(self, lam: Array, tau: float = np.nan) -> State:
        """Evaluate everything at `λ`, from exact scores; `tau` is a guess of the normaliser."""
        theta = self.scores(lam)
        gibbs = self.entropy.gibbs(theta, self.q0, tau)
        p = self.q0 * gibbs.ratio
        objective = gibbs.conjugate - float(lam @ self.mu) + self.penalty.value(lam)
        return State(lam, theta, gibbs, p, self.expectations(p) - self.mu, objective)

    def curvature(self, state: State, floor: float = 0.0) -> Array:
        """Return each cell's curvature of `Ω*`; `floor` is the least, in units of its base measure."""
        return np.maximum(self.entropy.curvature(state.gibbs.ratio, self.q0), floor * self.q0)

    def tilt(self, w: Array, s: Array) -> Array:
        """Return how the distribution changes along scores `s`: `(diag(w) − w wᵀ/Σw) s` for curvatures `w`."""
        return w * (s - (w @ s) / w.sum())

    def bends(self, w: Array) -> Array:
        """Return the curvature of every single weight: the diagonal of `Fᵀ(diag(w) − w wᵀ/Σw)F`."""
        return w.sum() * self.features.variances(self.domain.measure(w))

    def shortfall(self, s: Array) -> tuple[float, float]:
        """Return how far the sample's mean of scores `s` is below their largest, and how far they range."""
        return float(s.max()) - float(s @ self.sample), float(np.ptp(s))

    def cost(self, lam: Array) -> float:
        """Return what the weights cost."""
        return self.penalty.value(lam)

    def gap(self, state: State) -> float:
        """Bound how far `state.objective` is above the optimum, by mixing in as much of the sample as it takes.

        `p_t = (1 − t) p + t π̃` has `π̃[f] − p_t[f] = (1 − t)(π̃[f] − p[f])`, and at `t = 1` is always feasible.
        """
        u = -state.eps
        t = self.penalty.mixing(u)
        mixed = state.p if t == 0.0 else (1.0 - t) * state.p + t * self.sample
        inside = (1.0 - t) * u if t < 1.0 else np.zeros_like(u)
        return self.negentropy(mixed) + self.penalty.potential(inside) + state.objective
