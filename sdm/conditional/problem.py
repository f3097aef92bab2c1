"""The conditional problem: one distribution over the classes at every site (Cortes et al. 2015, §3).

`min_w F(w) = Σ_i q_i [Ω*(θ_i) − ⟨θ_i, y_i⟩ + Ω(y_i)] + U*(w)` with scores `θ_ic = Σ_j w_cj f_j(x_i)`, targets `y_i` in
the simplex (labels are its corners) and weights `q_i` of the sites. It is the problem of `sdm.maxent.problem` on the
product of sites and classes, with one normaliser per site. The expectation of feature `(c, j)` is `Σ_i q_i p_ic
f_j(x_i)`, which the families' oracles compute for the measure `q ∘ p_c`. By Theorem 4 of the paper, any distributions
`p_i` whose expectations are within the penalties of the targets' give a lower bound.

Every class has weights. Adding a constant to all classes' weights of a feature does not change predictions; the penalty
determines it. Under l1 the median of a feature's weights is zero, under l2² their mean. With two classes of equal
penalties only the differences `v = w_1 − w_0` matter. The problem is then the binary one, with the same penalty on
`|v|` under l1, and half of it on `v²/2` under l2². `w = ±v/2` is an optimum of both.

The intercepts, the weights of the constant feature, are free: a penalty on them would depend on the origin of the
features. Every state has the optimal intercepts for its other weights, up to rounding, as a distribution has its
normaliser. Then the classes' totals `Σ_i q_i p_ic` are equal to the targets' totals, and so are the totals of every
mixture with the targets. The certificate needs no more. The gap includes the remaining rounding errors, multiplied by
the intercepts.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdm.conditional.intercepts import NEAR, ConstantFamily, best_intercepts
from sdm.features.feature_set import FeatureSet
from sdm.maxent.columns import ColumnPool
from sdm.maxent.entropy import ClassEntropy, Gibbs
from sdm.maxent.penalty import Penalty
from sdm.maxent.problem import DENSE_NUMBERS, Hessian, Problem, State
from sdm.maxent.solution import Solution
from sdm.types import Array

BLOCK = 2048
# largest number of weights for a direct solve, with a Gram matrix per class; conjugate gradients are faster above
DENSE_WEIGHTS = 2000


class ClassProblem(Problem):
    """Entropy over classes, penalty, features and targets; a state's `theta` and `p`, and the targets, are `(C, n)`.

    The domain's base measure is the weights of the sites. An optional `ConstantFamily` is first among the features.
    Weights and penalties are sorted by class, then feature (`C·J`); penalties of constants are not used. `mu` are the
    targets' expectations, if they have been computed before.
    """

    entropy: ClassEntropy

    def __init__(
        self, features: FeatureSet, targets: Array, entropy: ClassEntropy, penalty: Penalty, mu: Array | None = None
    ) -> None:
        super().__init__(features, targets, entropy, penalty, mu)
        self.classes = int(targets.shape[0])
        constant = isinstance(features.families[0], ConstantFamily)
        self.intercepts = np.arange(self.classes if constant else 0) * features.size
        self.target_entropy = float(self.q0 @ entropy.values(targets))

    def masses(self, p: Array) -> Array:
        """Return `q_i p_ic` in one row for each class."""
        return self.q0 * p

    def scores(self, lam: Array) -> Array:
        """Return the score of every class at every site."""
        return np.array([self.features.scores(row) for row in lam.reshape(self.classes, -1)])

    def state(self, lam: Array, tau: float = np.nan) -> State:
        """Evaluate the problem at `w` with the optimal intercepts; `tau` is not used, since every site has a
        normaliser."""
        theta = self.scores(lam)
        if self.intercepts.size:
            b, p, conjugate = best_intercepts(theta, self.q0, self.sample @ self.q0, self.entropy)
            theta, lam = theta + b[:, None], lam.copy()
            lam[self.intercepts] += b
            middle = lam[self.intercepts].mean()  # does not change predictions
            lam[self.intercepts] -= middle
            theta, conjugate = theta - middle, conjugate - middle
        else:
            p, conjugate = self.entropy.distributions(theta)
        cost = self.cost(lam)
        objective = float(self.q0 @ conjugate) - float(lam @ self.mu) + self.target_entropy + cost
        eps = self.expectations(p) - self.mu
        if np.abs(eps[self.intercepts]).max(initial=0.0) <= NEAR:
            eps[self.intercepts] = 0.0
        return State(lam, theta, Gibbs(p, np.nan, objective), p, eps, objective, cost)

    def mirrored(self, state: State) -> bool:
        """Return whether the two classes' weights are opposite, with equal penalties; an optimum then has the same
        form."""
        return self._two_alike and _near(*np.split(state.lam * self._signs, 2))

    @cached_property
    def _two_alike(self) -> bool:
        """Return whether there are two classes with equal penalties."""
        return self.classes == 2 and all(_near(*np.split(one, 2)) for one in (self.penalty.beta, self.penalty.ridge))

    @cached_property
    def _signs(self) -> Array:
        """Return 1 for the weights of the first of two classes, and −1 for the second."""
        return np.repeat([1.0, -1.0], self.features.size)

    def cost(self, lam: Array) -> float:
        """Return the penalty of the weights; intercepts have none."""
        if self.intercepts.size:
            lam = lam.copy()
            lam[self.intercepts] = 0.0
        return self.penalty.value(lam)

    def gap(self, state: State, worst: float = 0.0) -> float:
        """Bound the distance of a state above the optimum, including rounding errors of the classes' totals."""
        bound = super().gap(state, worst)
        if not self.intercepts.size:
            return bound
        error = (state.p - self.sample) @ self.q0
        return bound + float(np.abs(error) @ np.abs(state.lam[self.intercepts]))

    def negentropy(self, p: Array) -> float:
        """Return `Σ_i q_i Ω(p_i)`, minus its value for the targets."""
        return float(self.q0 @ self.entropy.values(p)) - self.target_entropy

    def curvature(self, state: State, floor: float = 0.0) -> Array:
        """Return the curvature of each class at each site, at least `floor`."""
        return np.maximum(self.entropy.bends(state.p), floor)

    def tilt(self, w: Array, s: Array) -> Array:
        """Return the derivative of each site's distribution along scores `s`."""
        return np.asarray(w * (s - np.sum(w * s, axis=0) / _total(w)))

    def bends(self, w: Array) -> Array:
        """Return the curvature of every single weight."""
        total = _total(w)
        measures = [self.domain.measure(self.q0 * row * (1.0 - row / total)) for row in w]
        return np.concatenate([family.moments(m)[1] for m in measures for family in self.features.families])

    def hessian(self, pool: ColumnPool, members: NDArray[np.int64], w: Array) -> Array:
        """Return the Hessian of the loss for some weights (ascending), over blocks of the sampled sites.

        The curvature of a site is `diag(w) − w wᵀ/Σw` over its classes: one Gram matrix per class minus one for all.
        """
        of_class, feature = np.divmod(members, self.features.size)
        distinct, position = np.unique(feature, return_inverse=True)
        columns = pool.columns(distinct)
        q, w = self.q0[:: pool.stride], w[:, :: pool.stride]
        q = q / q.sum()
        total = _total(w)
        spans = np.searchsorted(of_class, np.arange(self.classes + 1))
        two = self.classes == 2  # one Gram matrix suffices: diag(w) − w wᵀ/Σw is w₀w₁/Σw · [1, −1; −1, 1]
        out = np.zeros((distinct.size, distinct.size) if two else (members.size, members.size))
        for a in range(0, q.size, BLOCK):
            b = min(a + BLOCK, q.size)
            x = np.array([column[a:b] for column in columns], dtype=np.float64)
            if two:
                x *= np.sqrt(q[a:b] * w[0, a:b] * w[1, a:b] / total[a:b])
                out += x @ x.T
                continue
            x = x[position]
            for c in range(self.classes):
                block = slice(spans[c], spans[c + 1])
                part = x[block] * np.sqrt(q[a:b] * w[c, a:b])
                out[block, block] += part @ part.T
                x[block] *= w[c, a:b] * np.sqrt(q[a:b] / total[a:b])
            out -= x @ x.T
        if two:
            sign = 1.0 - 2.0 * of_class
            out = out[np.ix_(position, position)] * np.outer(sign, sign)
        out[np.diag_indices(members.size)] *= 1.0 + 1e-8
        return out

    def dense_hessian(self) -> Hessian | None:
        """Return the Hessian of all weights, or None if there are too many."""
        if self.mu.size > DENSE_WEIGHTS or self.features.size * self.domain.n > DENSE_NUMBERS:
            return None
        pool, everything = ColumnPool(self.features, capacity=self.features.size), np.arange(self.mu.size)
        return lambda w: self.hessian(pool, everything, w)

    def shortfall(self, s: Array) -> tuple[float, float]:
        """Return the distance of the targets' scores below the largest of their site, and the range of scores."""
        return float(self.q0 @ (s.max(axis=0) - np.sum(s * self.sample, axis=0))), float(np.ptp(s, axis=0).max())


def _near(a: Array, b: Array) -> bool:
    """Return whether numbers are equal up to rounding."""
    return bool((np.abs(a - b) <= 1e-12 + 1e-9 * np.abs(b)).all())


def _total(w: Array) -> Array:
    """Return the sum over the classes at every site, limited below to avoid division by zero."""
    return np.asarray(np.maximum(w.sum(axis=0), np.finfo(np.float64).tiny))


def multiplied(finite: FeatureSet, beta: Array, multiplier: float) -> tuple[FeatureSet, Array]:
    """Return the features and their penalties at a multiplier; at infinity only the constant remains."""
    if np.isinf(multiplier):
        return FeatureSet(finite.domain, finite.families[:1]), beta[:, :1]
    return finite, np.hstack([beta[:, :1], multiplier * beta[:, 1:]])


def halved(solution: Solution, classes: int) -> Solution:
    """With two classes, assign each half of their difference: the predictions are equal and the penalty is not
    larger."""
    if classes != 2:
        return solution
    first, second = solution.weights.reshape(2, -1)
    half = 0.5 * (second - first)
    return replace(solution, weights=np.concatenate([-half, half]))
