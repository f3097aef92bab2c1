"""The conditional problem: one distribution over the classes at every site (Cortes et al. 2015, §3).

`min_w F(w) = Σ_i q_i [Ω*(θ_i) − ⟨θ_i, y_i⟩ + Ω(y_i)] + U*(w)` with scores `θ_ic = Σ_j w_cj f_j(x_i)`, targets `y_i` in
the simplex (a label is a corner of it) and weights `q_i` of the sites. It is the one problem of `sdm.maxent.problem` on
the product of sites and classes, with one normaliser per site: the expectation of feature `(c, j)` is `Σ_i q_i p_ic
f_j(x_i)`, which is what the families' oracles answer for the measure `q ∘ p_c`. By their Theorem 4, any distributions
`p_i` whose expectations are within the penalties of the targets' bound the optimum from below.

Every class has weights of its own, so the same is added to all classes' weights of a feature without any change to the
predictions. Penalties settle it: under l1 the median of a feature's weights is zero, under l2² their mean. With two
classes of equal penalties only the differences `v = w_1 − w_0` matter: the problem is the binary one with the same
penalty on `|v|` under l1, and half of it on `v²/2` under l2², and `w = ±v/2` is an optimum of both.

The weights of the constant feature, the intercepts, are free: a penalty on them would depend on where the features have
their zero. Every state has the best intercepts for its other weights, found to rounding, much as a distribution has its
normaliser. There the classes' totals `Σ_i q_i p_ic` are those of the targets, and so are those of every mixture with
the targets, which is all that the certificate needs; what rounding leaves is charged at the size of the intercepts.
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
DENSE_WEIGHTS = 2000  # up to which a direct solve beats conjugate gradients: a Gram matrix for each class


class ClassProblem(Problem):
    """Entropy over classes + penalty + features + targets; a state's `theta` and `p`, and the targets, are `(C, n)`.

    The domain's base measure is the sites' weights; a `ConstantFamily` comes first among the features, if at all.
    Weights and penalties are in the order of classes, then features: `C·J` of them, those of constants not counted.
    `mu` are the targets' expectations, where they are known already.
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
        """Return every class's score at every site."""
        return np.array([self.features.scores(row) for row in lam.reshape(self.classes, -1)])

    def state(self, lam: Array, tau: float = np.nan) -> State:
        """Evaluate everything at `w` with the best intercepts; normalisers are the sites' own, so there is no guess."""
        theta = self.scores(lam)
        if self.intercepts.size:
            b, p, conjugate = best_intercepts(theta, self.q0, self.sample @ self.q0, self.entropy)
            theta, lam = theta + b[:, None], lam.copy()
            lam[self.intercepts] += b
            middle = lam[self.intercepts].mean()  # which predictions do not see
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
        """Tell whether two classes' weights are mirrored, at the same penalties: so are those of an optimum, then."""
        return self._two_alike and _near(*np.split(state.lam * self._signs, 2))

    @cached_property
    def _two_alike(self) -> bool:
        """Whether there are two classes, of the same penalties."""
        return self.classes == 2 and all(_near(*np.split(one, 2)) for one in (self.penalty.beta, self.penalty.ridge))

    @cached_property
    def _signs(self) -> Array:
        """One for the weights of the first of two classes, minus one for those of the other."""
        return np.repeat([1.0, -1.0], self.features.size)

    def cost(self, lam: Array) -> float:
        """Return the penalty of the weights; intercepts have none."""
        if self.intercepts.size:
            lam = lam.copy()
            lam[self.intercepts] = 0.0
        return self.penalty.value(lam)

    def gap(self, state: State, worst: float = 0.0) -> float:
        """Bound how far a state is above the optimum; rounding in the classes' totals is charged at the intercepts."""
        bound = super().gap(state, worst)
        if not self.intercepts.size:
            return bound
        off = (state.p - self.sample) @ self.q0
        return bound + float(np.abs(off) @ np.abs(state.lam[self.intercepts]))

    def negentropy(self, p: Array) -> float:
        """Return `Σ_i q_i Ω(p_i)`, less that of the targets."""
        return float(self.q0 @ self.entropy.values(p)) - self.target_entropy

    def curvature(self, state: State, floor: float = 0.0) -> Array:
        """Return each class's curvature at each site; `floor` is the least."""
        return np.maximum(self.entropy.bends(state.p), floor)

    def tilt(self, w: Array, s: Array) -> Array:
        """Return how each site's distribution changes along scores `s`."""
        return np.asarray(w * (s - np.sum(w * s, axis=0) / _total(w)))

    def bends(self, w: Array) -> Array:
        """Return the curvature of every single weight."""
        total = _total(w)
        measures = [self.domain.measure(self.q0 * row * (1.0 - row / total)) for row in w]
        return np.concatenate([family.moments(m)[1] for m in measures for family in self.features.families])

    def hessian(self, pool: ColumnPool, members: NDArray[np.int64], w: Array) -> Array:
        """Return the Hessian of the loss on some weights (ascending), block by block of the sites looked at.

        A site's curvature is `diag(w) − w wᵀ/Σw` over its classes: one Gram matrix for each class less one of them all.
        """
        of_class, feature = np.divmod(members, self.features.size)
        distinct, place = np.unique(feature, return_inverse=True)
        columns = pool.columns(distinct)
        q, w = self.q0[:: pool.stride], w[:, :: pool.stride]
        q = q / q.sum()
        total = _total(w)
        spans = np.searchsorted(of_class, np.arange(self.classes + 1))
        two = self.classes == 2  # one Gram matrix is enough: diag(w) − w wᵀ/Σw is w₀w₁/Σw · [1, −1; −1, 1]
        out = np.zeros((distinct.size, distinct.size) if two else (members.size, members.size))
        for a in range(0, q.size, BLOCK):
            b = min(a + BLOCK, q.size)
            x = np.array([column[a:b] for column in columns], dtype=np.float64)
            if two:
                x *= np.sqrt(q[a:b] * w[0, a:b] * w[1, a:b] / total[a:b])
                out += x @ x.T
                continue
            x = x[place]
            for c in range(self.classes):
                block = slice(spans[c], spans[c + 1])
                part = x[block] * np.sqrt(q[a:b] * w[c, a:b])
                out[block, block] += part @ part.T
                x[block] *= w[c, a:b] * np.sqrt(q[a:b] / total[a:b])
            out -= x @ x.T
        if two:
            sign = 1.0 - 2.0 * of_class
            out = out[np.ix_(place, place)] * np.outer(sign, sign)
        out[np.diag_indices(members.size)] *= 1.0 + 1e-8
        return out

    def dense_hessian(self) -> Hessian | None:
        """Return the Hessian of all weights, if they are few."""
        if self.mu.size > DENSE_WEIGHTS or self.features.size * self.domain.n > DENSE_NUMBERS:
            return None
        pool, everything = ColumnPool(self.features, capacity=self.features.size), np.arange(self.mu.size)
        return lambda w: self.hessian(pool, everything, w)

    def shortfall(self, s: Array) -> tuple[float, float]:
        """Return how far the targets' scores are below the largest of their sites, and how far sites' scores range."""
        return float(self.q0 @ (s.max(axis=0) - np.sum(s * self.sample, axis=0))), float(np.ptp(s, axis=0).max())


def _near(a: Array, b: Array) -> bool:
    """Tell whether numbers are the same but for rounding."""
    return bool((np.abs(a - b) <= 1e-12 + 1e-9 * np.abs(b)).all())


def _total(w: Array) -> Array:
    """Return every site's sum over the classes, which is never zero."""
    return np.asarray(np.maximum(w.sum(axis=0), np.finfo(np.float64).tiny))


def multiplied(finite: FeatureSet, beta: Array, multiplier: float) -> tuple[FeatureSet, Array]:
    """Return the features and their penalties at a multiplier; at infinity the constant is left."""
    if np.isinf(multiplier):
        return FeatureSet(finite.domain, finite.families[:1]), beta[:, :1]
    return finite, np.hstack([beta[:, :1], multiplier * beta[:, 1:]])


def halved(solution: Solution, classes: int) -> Solution:
    """With two classes, give each half of their difference: the same predictions, at no higher penalty."""
    if classes != 2:
        return solution
    first, second = solution.weights.reshape(2, -1)
    half = 0.5 * (second - first)
    return replace(solution, weights=np.concatenate([-half, half]))
