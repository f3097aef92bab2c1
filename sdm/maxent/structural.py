"""Structural maxent: families that grow, each feature paying `β_k = λ·B_k + β` for the complexity of its family.

The solver is fully corrective column generation: each round asks every oracle for its most violated features, takes the
worst in, and makes a proximal Newton step over the working set. The gap that a round proves covers all features of the
finite families, all that were found so far, and the best of the oracles' proposals: over the current columns it is
exact, over the families without end it is as good as their oracles.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import truediv

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Array, Domain
from sdm.features.feature_set import FeatureSet
from sdm.features.grown import Grown, Oracle
from sdm.maxent.columns import ColumnPool, rough_stride
from sdm.maxent.entropy import Entropy
from sdm.maxent.newton import choose_members, newton_step
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem, State
from sdm.maxent.search import Run, line_search
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution

# Features without weight to keep at hand before looking which of them can go.
SPARE = 60

# While a round still gains this much (in nats), its Hessian may come from a part of the cells.
ROUGH = 1e-4


@dataclass(frozen=True)
class Prices:
    """What a feature of size `k` pays: `λ·B_k + β`; `bounds[name][k − 1]` is `B_k` of an oracle."""

    lam: float
    beta: float
    bounds: dict[str, Array]

    @classmethod
    def from_bounds(cls, lam: float, beta: float, oracles: Sequence[Oracle], m: float) -> "Prices":
        """Take `B_k` from eq. (15), with `m` presences."""
        bounds = {o.name: np.array([o.complexity(k, m) for k in range(1, o.largest + 1)]) for o in oracles}
        return cls(lam, beta, bounds)

    def of(self, oracle: Oracle, size: int) -> float:
        """Return the price of a feature."""
        return float(self.lam * self.bounds[oracle.name][size - 1] + self.beta)


class Growth:
    """A problem that gets more features as it is solved: the finite families first, then what was found.

    Parameters
    ----------
    domain, sample, entropy
        As for `Problem`.
    oracles : sequence of Oracle
    prices : Prices
        Of the oracles' features.
    finite : FeatureSet, optional
        Families with an end, whose prices are `beta`.
    """

    def __init__(
        self,
        domain: Domain,
        sample: Array,
        entropy: Entropy,
        oracles: Sequence[Oracle],
        prices: Prices,
        finite: FeatureSet | None = None,
        beta: Array | None = None,
    ) -> None:
        self.domain, self.sample, self.entropy = domain, sample, entropy
        self.oracles, self.prices = list(oracles), prices
        self.families = list(finite.families) if finite is not None else []
        self.grown = Grown(domain)
        self._measure = domain.measure(sample)
        self.beta = np.empty(0) if beta is None else beta
        self.mu = np.empty(0) if finite is None else finite.expectations(self._measure)

    def adopt(self, grown: Grown) -> None:
        """Start with the features that an earlier problem on the same domain has found, at this one's prices."""
        first = self.beta.size - self.grown.size
        self.grown = grown.subset(np.ones(grown.size, dtype=bool))
        found = [self.prices.of(o, s.size) for o, s in zip(grown.sources, grown.shapes)]
        self.beta = np.concatenate([self.beta[:first], found])
        self.mu = np.concatenate([self.mu[:first], self.grown.expectations(self._measure)])

    def propose(self, p: Array, limit: int, worst: Callable[[float, float], float] = truediv) -> int:
        """Take in up to `limit` of the oracles' worst violators that are not here yet; return how many.

        `worst(violation, price)` ranks them.
        """
        g = p - self.sample
        found = []
        for oracle in self.oracles:
            for proposal in oracle.propose(g):
                price = self.prices.of(oracle, proposal.shape.size)
                if proposal.violation > price and not self.grown.knows(oracle, proposal.shape):
                    found.append((worst(proposal.violation, price), price, oracle, proposal.shape))
        found.sort(key=lambda item: -item[0])
        first = self.grown.size
        for _, price, oracle, shape in found[:limit]:
            if not self.grown.knows(oracle, shape):
                self.grown.add(oracle, shape)
                self.beta = np.append(self.beta, price)
        self.mu = np.concatenate([self.mu, self.grown.expectations(self._measure, first)])
        return self.grown.size - first

    def prune(self, state: State) -> tuple[State, NDArray[np.bool_]]:
        """Forget features that have no weight and are far from getting one (an oracle can find them again).

        Return the state without them, and which features were kept.
        """
        first = self.beta.size - self.grown.size
        keep = (state.lam[first:] != 0) | (np.abs(state.eps[first:]) > 0.7 * self.beta[first:])
        self.grown = self.grown.subset(keep)
        every = np.concatenate([np.ones(first, dtype=bool), keep])
        self.beta, self.mu = self.beta[every], self.mu[every]
        return replace(state, lam=state.lam[every], eps=state.eps[every]), every

    def problem(self) -> Problem:
        """Return the problem over the features so far."""
        features = FeatureSet(self.domain, [*self.families, self.grown])
        return Problem(features, self.sample, self.entropy, L1(self.beta), self.mu)

    def widen(self, state: State, new: int) -> State:
        """Return a state over the features so far, of which the last `new` have no weight yet."""
        if not new:
            return state
        first = self.grown.size - new
        expected = self.grown.expectations(self.domain.measure(state.p), first)
        eps = np.concatenate([state.eps, expected - self.mu[-new:]])
        return replace(state, lam=np.concatenate([state.lam, np.zeros(new)]), eps=eps)


def solve_structural(
    growth: Growth,
    *,
    start: Array | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 200,
    per_round: int = 4,
) -> tuple[Solution, FeatureSet]:
    """Minimise over families that grow.

    Parameters
    ----------
    growth : Growth
    start : array, optional
        Weights of the features that `growth` has already.
    tolerance : float
        Largest gap to accept, in nats, over everything that the oracles find.
    max_iterations : int
    per_round : int
        How many features to take in a round at most.

    Returns
    -------
    solution : Solution
    features : FeatureSet
        What its weights belong to.
    """
    empty = not growth.families and not growth.grown.size
    if empty and not growth.propose(growth.domain.q0, per_round):
        return nothing_to_fit(growth)
    problem = growth.problem()
    run = Run(problem, tolerance)
    lam = np.zeros(problem.features.size)
    if start is not None:
        lam[: start.size] = start
    state = problem.state(lam)
    pool = ColumnPool(problem.features, rough_stride(growth.domain.n) if start is None else 1)
    size, most = 0, 2 * SPARE
    for _ in range(max_iterations):
        if growth.grown.size > most:
            state, kept = growth.prune(state)
            problem = growth.problem()
            pool.renumber(problem.features, kept)
            most = growth.grown.size + SPARE
        new = growth.propose(state.p, per_round)
        if new:
            run.forget_bound()
            state = growth.widen(state, new)
            problem = growth.problem()
            pool.features = problem.features
        if run.record(state, problem.gap(state), size):
            return run.finish(CONVERGED), problem.features
        members = choose_members(state, problem.penalty, problem.features.groups())
        size = members.size
        after = line_search(problem, state, newton_step(problem, state, pool, members))
        if pool.stride == 1 and not new and (after is None or run.stuck()):
            return run.finish(STALLED), problem.features
        if after is None or state.objective - after.objective < ROUGH:
            pool.refine()
        state = after or state
    return run.finish(MAX_ITERATIONS), problem.features


def nothing_to_fit(growth: Growth) -> tuple[Solution, FeatureSet]:
    """No feature is violated even by the base measure: it is the optimum, with any one feature at weight zero."""
    oracle = growth.oracles[0]
    anywhere = growth.domain.q0.copy()
    anywhere[0] -= 1.0
    growth.grown.add(oracle, oracle.propose(anywhere)[0].shape)
    growth.beta = np.append(growth.beta, growth.prices.of(oracle, 1))
    growth.mu = growth.grown.expectations(growth.domain.measure(growth.sample))
    problem = growth.problem()
    run = Run(problem, np.inf)
    state = problem.state(np.zeros(problem.features.size))
    run.record(state, problem.gap(state), 0)
    return run.finish(CONVERGED), problem.features
