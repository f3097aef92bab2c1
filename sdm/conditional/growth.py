"""Trees and monomials over classes: column generation with one call of every oracle a class (eq. 14).

A feature that was found for one class is there for all of them, each with a weight of its own at the same price
`λ·B_k + β`. The gap that a round proves covers all features of the finite families, all that were found so far, and the
best of the oracles' proposals for every class.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdm.conditional.losses import ClassEntropy
from sdm.conditional.problem import ClassProblem
from sdm.conditional.solver import choose_members, working_set_step
from sdm.features.domain import Array
from sdm.features.feature_set import FeatureSet
from sdm.features.grown import Grown, Oracle
from sdm.maxent.columns import ColumnPool, rough_stride
from sdm.maxent.penalty import L1
from sdm.maxent.problem import State
from sdm.maxent.search import Run, line_search
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution
from sdm.maxent.structural import ROUGH, SPARE, Prices


class ClassGrowth:
    """A conditional problem that gets more features as it is solved: the finite families first, then what was found.

    Parameters
    ----------
    finite : FeatureSet
        Families with an end, the constant among them.
    beta : (C, J) array
        Their prices.
    targets, entropy
        As for `ClassProblem`.
    oracles : sequence of Oracle
    prices : Prices
        Of the oracles' features.
    """

    def __init__(
        self,
        finite: FeatureSet,
        beta: Array,
        targets: Array,
        entropy: ClassEntropy,
        oracles: Sequence[Oracle],
        prices: Prices,
    ) -> None:
        self.finite, self.domain = finite, finite.domain
        self.targets, self.entropy = targets, entropy
        self.oracles, self.prices = list(oracles), prices
        self.grown = Grown(self.domain)
        self.beta = beta
        self.mu = ClassProblem(finite, targets, entropy, L1(beta.ravel())).mu.reshape(beta.shape)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.targets.shape[0])

    def _measured(self, p: Array, first: int) -> Array:
        """Return the expectations of what was grown, from the `first` on, for every class."""
        q = self.domain.q0
        return np.array([self.grown.expectations(self.domain.measure(q * row), first) for row in p])

    def propose(self, p: Array, limit: int) -> int:
        """Take in up to `limit` of the worst violators of any class that are not here yet; return how many."""
        found = []
        for g in self.domain.q0 * (p - self.targets):
            for oracle in self.oracles:
                for proposal in oracle.propose(g):
                    if not self.grown.knows(oracle, proposal.shape):
                        price = self.prices.of(oracle, proposal.shape.size)
                        if proposal.violation > price:
                            found.append((proposal.violation / price, price, oracle, proposal.shape))
        found.sort(key=lambda item: -item[0])
        first = self.grown.size
        added: list[float] = []
        for _, price, oracle, shape in found:
            if len(added) < limit and not self.grown.knows(oracle, shape):
                self.grown.add(oracle, shape)
                added.append(price)
        self.beta = np.hstack([self.beta, np.tile(added, (self.classes, 1))])
        self.mu = np.hstack([self.mu, self._measured(self.targets, first)])
        return len(added)

    def prune(self, state: State) -> tuple[State, NDArray[np.bool_]]:
        """Forget features without a weight in any class that are far from getting one; return also what was kept."""
        first = self.beta.shape[1] - self.grown.size
        lam, eps = state.lam.reshape(self.beta.shape), state.eps.reshape(self.beta.shape)
        near = (lam != 0) | (np.abs(eps) > 0.7 * self.beta)
        keep = near.any(axis=0)
        keep[:first] = True
        self.grown = self.grown.subset(keep[first:])
        self.beta, self.mu = self.beta[:, keep], self.mu[:, keep]
        return replace(state, lam=lam[:, keep].ravel(), eps=eps[:, keep].ravel()), keep

    def problem(self) -> ClassProblem:
        """Return the problem over the features so far."""
        features = FeatureSet(self.domain, [*self.finite.families, self.grown])
        return ClassProblem(features, self.targets, self.entropy, L1(self.beta.ravel()), self.mu.ravel())

    def widen(self, state: State, new: int) -> State:
        """Return a state over the features so far, of which the last `new` have no weight yet."""
        if not new:
            return state
        shape = (self.classes, -1)
        eps = self._measured(state.p, self.grown.size - new) - np.atleast_2d(self.mu)[:, -new:]
        return replace(
            state,
            lam=np.hstack([state.lam.reshape(shape), np.zeros((self.classes, new))]).ravel(),
            eps=np.hstack([state.eps.reshape(shape), eps]).ravel(),
        )


def solve_growing_classes(
    growth: ClassGrowth, *, tolerance: float = 1e-4, max_iterations: int = 200, per_round: int | None = None
) -> tuple[Solution, FeatureSet]:
    """Minimise over families that grow; return the solution and the features that its weights belong to.

    `per_round` features at most are taken in a round; by default two a class.
    """
    limit = per_round or 2 * growth.classes
    problem = growth.problem()
    run = Run(problem, tolerance)
    state = problem.state(np.zeros(problem.mu.size))
    pool = ColumnPool(problem.features, rough_stride(growth.domain.n))
    size, most = 0, 2 * SPARE
    for _ in range(max_iterations):
        if growth.grown.size > most:
            state, kept = growth.prune(state)
            problem = growth.problem()
            pool.renumber(problem.features, kept)
            most = growth.grown.size + SPARE
            run.best = None
        new = growth.propose(state.p, limit)
        if new:
            run.forget_bound()
            run.best = None  # of fewer features; the present state is as good but for rounding
            state = growth.widen(state, new)
            problem = growth.problem()
            pool.features = problem.features
        if run.record(state, problem.gap(state), size):
            return run.finish(CONVERGED), problem.features
        members = choose_members(state, problem.penalty, problem.stretches())
        size = members.size
        after = line_search(problem, state, working_set_step(problem, state, pool, members))
        if pool.stride == 1 and not new and (after is None or run.stuck()):
            return run.finish(STALLED), problem.features
        if after is None or state.objective - after.objective < ROUGH:
            pool.refine()
        state = after or state
    return run.finish(MAX_ITERATIONS), problem.features
