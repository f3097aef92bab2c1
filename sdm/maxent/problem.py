"""The common problem of all solvers, and its duality gap (Dudík et al. 2007, §4).

`min_λ F(λ) = Ω*(Fλ) − λ·π̃[f] + U*_π̃(λ)`; its negative `Q(λ)` is the regularised gain. For any distribution `p` with
`π̃[f] − p[f]` in the potential's domain, `Ω(p) + U_π̃(π̃[f] − p[f]) ≥ max Q`. So this value minus `Q(λ)` bounds the
distance to the optimum. It includes all features of every family.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.features.feature_set import FeatureSet
from sdm.maxent.columns import ColumnPool
from sdm.maxent.entropy import Entropy, Gibbs
from sdm.maxent.penalty import Penalty
from sdm.types import Array

# Below these sizes (weights; numbers in the feature matrix) a dense solve is faster than conjugate gradients.
DENSE_WEIGHTS = 700
DENSE_NUMBERS = 25_000_000

# The Hessian of `Ω*(Fλ)` as a matrix, from the curvatures.
Hessian = Callable[[Array], Array]


@dataclass(frozen=True)
class State:
    """A point `λ` and its derived values."""

    lam: Array
    theta: Array  # scores Fλ
    gibbs: Gibbs
    p: Array  # the distribution
    eps: Array  # p[f] − π̃[f], the gradient without the penalty
    objective: float  # F(λ) = −Q(λ)
    cost: float  # the penalty


class Problem:
    """Entropy, penalty, features and sample.

    The sample is the empirical distribution `π̃` as a probability on cells. `mu` is `π̃[f]`, if it has been computed
    before.
    """

    classes = 1
    """Number of weights of a feature; weights are sorted by class, then feature."""

    def __init__(
        self, features: FeatureSet, sample: Array, entropy: Entropy, penalty: Penalty, mu: Array | None = None
    ) -> None:
        self.features, self.domain, self.q0 = features, features.domain, features.domain.q0
        self.sample, self.entropy, self.penalty = sample, entropy, penalty
        self.mu = self.expectations(sample) if mu is None else mu

    def over(self, features: FeatureSet, penalty: Penalty, mu: Array) -> Self:
        """Return the same problem over other features."""
        return type(self)(features, self.sample, self.entropy, penalty, mu)

    def scores(self, lam: Array) -> Array:
        """Return `Fλ`."""
        return self.features.scores(lam)

    def masses(self, p: Array) -> Array:
        """Return masses on cells, one row per class, whose sums of the features are the expectations."""
        return p[None, :]

    def expectations(self, p: Array) -> Array:
        """Return `p[f]` for every feature (of every class)."""
        return np.concatenate([self.features.expectations(self.domain.measure(mass)) for mass in self.masses(p)])

    def negentropy(self, p: Array) -> float:
        """Return `Ω(p)`."""
        return self.entropy.value(p, self.q0)

    def state(self, lam: Array, tau: float = np.nan) -> State:
        """Evaluate everything at `λ`, from exact scores; `tau` is an initial value of the normaliser."""
        theta = self.scores(lam)
        gibbs = self.entropy.gibbs(theta, self.q0, tau)
        p = self.q0 * gibbs.ratio
        cost = self.cost(lam)
        objective = gibbs.conjugate - float(lam @ self.mu) + cost
        return State(lam, theta, gibbs, p, self.expectations(p) - self.mu, objective, cost)

    def curvature(self, state: State, floor: float = 0.0) -> Array:
        """Return each cell's curvature of `Ω*`, at least `floor` in units of its base measure."""
        return np.maximum(self.entropy.curvature(state.gibbs.ratio, self.q0), floor * self.q0)

    def tilt(self, w: Array, s: Array) -> Array:
        """Return the derivative of the distribution along scores `s`: `(diag(w) − w wᵀ/Σw) s` for curvatures `w`."""
        return np.asarray(w * (s - (w @ s) / w.sum()))

    def bends(self, w: Array) -> Array:
        """Return the curvature of every single weight: the diagonal of `Fᵀ(diag(w) − w wᵀ/Σw)F`."""
        return np.asarray(w.sum() * self.features.variances(self.domain.measure(w)))

    def hessian(self, pool: ColumnPool, members: NDArray[np.int64], w: Array) -> Array:
        """Return the Hessian of `Ω*(Fλ)` for some weights (ascending), from the cells that the pool samples."""
        return pool.hessian(members, w)

    def dense_hessian(self) -> Hessian | None:
        """Return the Hessian of all weights from the feature matrix, or None if there are too many."""
        if self.mu.size > DENSE_WEIGHTS or self.mu.size * self.domain.n > DENSE_NUMBERS:
            return None
        matrix = np.array([self.features.column(j) for j in range(self.features.size)])

        def hessian(w: Array) -> Array:
            centred = (matrix - ((matrix @ w) / w.sum())[:, None]) * np.sqrt(w)
            return np.asarray(centred @ centred.T)

        return hessian

    @cached_property
    def stretches(self) -> NDArray[np.int64]:
        """Return the first weight of each group of near duplicates (one class, one group of features)."""
        groups = self.features.groups()
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        return np.concatenate([first + c * groups.size for c in range(self.classes)])

    def shortfall(self, s: Array) -> tuple[float, float]:
        """Return the distance of the sample's mean of scores `s` below their maximum, and their range."""
        return float(s.max()) - float(s @ self.sample), float(np.ptp(s))

    def mirrored(self, state: State) -> bool:
        """Return whether the two halves of the weights are opposite, and stay so (two classes, `ClassProblem`)."""
        return False

    def cost(self, lam: Array) -> float:
        """Return the penalty of the weights."""
        return self.penalty.value(lam)

    def gap(self, state: State, worst: float = 0.0) -> float:
        """Bound the distance of `state.objective` above the optimum, by mixing in the smallest sufficient share of the
        sample.

        `p_t = (1 − t) p + t π̃` has `π̃[f] − p_t[f] = (1 − t)(π̃[f] − p[f])`, and is always feasible at `t = 1`.
        `worst` is the largest `|π̃[f] − p[f]|/β` of further features that the bound must cover.
        """
        u = -state.eps
        t = max(self.penalty.mixing(u), 1.0 - 1.0 / max(worst, 1.0))
        mixed = state.p if t == 0.0 else (1.0 - t) * state.p + t * self.sample
        inside = (1.0 - t) * u if t < 1.0 else np.zeros_like(u)
        return self.negentropy(mixed) + self.penalty.potential(inside) + state.objective
