"""Structural maxent (Cortes et al. 2015): growing families, each feature with the penalty `β_k = λ·B_k + β`.

`B_k` is the complexity of the feature's family. In each round a solver calls every oracle (for every class) at the
current distribution, and adds the most violated features. The gap of a round covers all features of the finite
families, all features found so far, and all proposals of the oracles. Over the current columns it is exact. Over the
growing families it depends on the search of their oracles. With classes, a feature that was found for one class is
added for all, with a separate weight and the same penalty (eq. 14).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import truediv

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet
from sdm.features.growing.grown import GrownFamily, Oracle, Shape
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem, State
from sdm.types import Array

# While the quick part of the search finds violations of this many times the penalty, the gap is large. Then the rest of
# the search is skipped.
ENOUGH = 1.1
DRAWS = 50  # number of random signs for an estimate of a complexity
SPARE = 60  # number of features without weight to keep before pruning


@dataclass(frozen=True)
class FamilyPenalty:
    """The penalty `λ·B_k + β` of a feature of size `k`; `bounds[name][k − 1]` is `B_k` of an oracle."""

    lam: float
    beta: float
    bounds: dict[str, Array]

    @classmethod
    def from_bounds(cls, lam: float, beta: float, oracles: Sequence[Oracle], m: float) -> "FamilyPenalty":
        """Compute `B_k` from eq. (15) of Cortes et al. 2015, with `m` presences."""
        bounds = {o.name: np.array([o.complexity(k, m) for k in range(1, o.largest + 1)]) for o in oracles}
        return cls(lam, beta, bounds)

    def of(self, oracle: Oracle, size: int) -> float:
        """Return the penalty of a feature."""
        return float(self.lam * self.bounds[oracle.name][size - 1] + self.beta)


def sample_complexity(oracle: Oracle, domain: Domain, sample: Array, *, seed: int = 1, draws: int = DRAWS) -> Array:
    """Return the Rademacher complexity of a family, estimated on the sample by Monte Carlo.

    It is the fit to random signs σ on the presences, `R̂_m(H_k) = E_σ sup_{f ∈ H_k} (1/m) Σ σ_i f(x_i)`. The supremum
    is the result of the oracle, so for trees and monomials it is the result of greedy growth.

    There is one number for each size 1 … largest, non-decreasing in the size. Signs are on the cells with presences,
    and `draws` sets of them are averaged.
    """
    rng = np.random.default_rng([seed, 3])
    cells = np.flatnonzero(sample)
    total = np.zeros(oracle.largest)
    for _ in range(draws):
        g = np.zeros(domain.n)
        g[cells] = sample[cells] * rng.choice([-1.0, 1.0], cells.size)
        best = 0.0
        best_of = {proposal.shape.size: proposal for proposal in oracle.propose(g)}
        for size in range(1, oracle.largest + 1):
            if size in best_of:
                best = max(best, abs(float(g @ oracle.column(best_of[size].shape))))
            total[size - 1] += best
    return total / draws


class Growth:
    """A problem whose features grow while it is solved.

    The finite families come first (possibly none, with an l1 penalty), then the features that the oracles found
    (`grown`), with `family_penalty`. `problem` is over the current features.
    """

    def __init__(self, problem: Problem, oracles: Sequence[Oracle], family_penalty: FamilyPenalty) -> None:
        self.problem, self.domain = problem, problem.domain
        self.oracles, self.family_penalty = list(oracles), family_penalty
        self.grown = GrownFamily(problem.domain)
        self._finite = problem.features
        self._most = 2 * SPARE

    @property
    def beta(self) -> Array:
        """Return the penalty of every current weight."""
        return self.problem.penalty.beta

    def adopt(self, grown: GrownFamily) -> None:
        """Start with the features that an earlier problem on the same domain found, with the penalties of this one."""
        self.grown = grown.subset(np.ones(grown.size, dtype=bool))
        penalties = [self.family_penalty.of(o, s.size) for o, s in zip(grown.sources, grown.shapes)]
        self._rebuild(np.arange(self.problem.features.size) < self._finite.size, penalties)

    def extend(
        self, state: State, limit: int, rank: Callable[[float, float], float] = truediv
    ) -> tuple[State, float, NDArray[np.bool_] | None]:
        """Add features that a state violates, and remove some unnecessary ones.

        At most `limit` features are added (twice as many if there are none yet): the first by `rank(violation,
        penalty)`. Return the state over the new features, the largest `violation/penalty` of all proposals, and a mask
        of the previous features that remain. The mask is None if the problem is unchanged.
        """
        keep = self._pruned(state)
        worst, violated = self._violated(state, rank, further=False)
        if worst < ENOUGH:
            worst_of_rest, rest = self._violated(state, rank, further=True)
            worst, violated = max(worst, worst_of_rest), violated + rest
        violated.sort(key=lambda item: -item[0])
        limit, added = limit if state.lam.size else 2 * limit, list[float]()
        for _, penalty, oracle, shape in violated:
            if len(added) < limit and not self.grown.contains(oracle, shape):
                self.grown.add(oracle, shape)
                added.append(penalty)
        if keep.all() and not added:
            return state, worst, None
        measured = self._rebuild(keep, added, state.p)
        lam, eps = (v.reshape(self.problem.classes, -1)[:, keep] for v in (state.lam, state.eps))
        lam = np.hstack([lam, np.zeros_like(measured)]).ravel()
        return replace(state, lam=lam, eps=np.hstack([eps, measured]).ravel()), worst, keep

    def _violated(
        self, state: State, rank: Callable[[float, float], float], further: bool
    ) -> tuple[float, list[tuple[float, float, Oracle, Shape]]]:
        """Return the largest `violation/penalty` of the oracles' proposals, and the candidates.

        Each candidate has a rank, penalty, oracle and shape. `further` selects the second part of the search.
        """
        worst, violated = 0.0, []
        for g in self.problem.masses(state.p - self.problem.sample):
            for oracle in self.oracles:
                for proposal in oracle.propose_further(g) if further else oracle.propose_quickly(g):
                    penalty = self.family_penalty.of(oracle, proposal.shape.size)
                    worst = max(worst, proposal.violation / penalty)
                    if proposal.violation > penalty and not self.grown.contains(oracle, proposal.shape):
                        violated.append((rank(proposal.violation, penalty), penalty, oracle, proposal.shape))
        return worst, violated

    def _pruned(self, state: State) -> NDArray[np.bool_]:
        """Remove features without weight whose violation is small (an oracle can find them again).

        Return a mask of the remaining features; features are only removed if there are many more than necessary.
        """
        keep = np.ones(self.problem.features.size, dtype=bool)
        if self.grown.size > self._most:
            near = (state.lam != 0) | (np.abs(state.eps) > 0.7 * self.beta)
            keep[self._finite.size :] = near.reshape(self.problem.classes, -1).any(axis=0)[self._finite.size :]
            self.grown = self.grown.subset(keep[self._finite.size :])
            self._most = self.grown.size + SPARE
        return keep

    def _rebuild(self, keep: NDArray[np.bool_], added: Sequence[float], p: Array | None = None) -> Array:
        """Make the problem of the remaining and the new features, with the penalties `added` of the new ones.

        Return `p[f] − π̃[f]` of the new features, in one row per class.
        """
        old, first = self.problem, self.grown.size - len(added)

        def measured(p: Array) -> Array:
            return np.array([self.grown.expectations(self.domain.measure(mass), first) for mass in old.masses(p)])

        mu = measured(old.sample)
        beta = np.hstack([self.beta.reshape(old.classes, -1)[:, keep], np.tile(added, (old.classes, 1))])
        mu_all = np.hstack([old.mu.reshape(old.classes, -1)[:, keep], mu])
        features = FeatureSet(self.domain, [*self._finite.families, self.grown])
        self.problem = old.over(features, L1(beta.ravel()), mu_all.ravel())
        return mu if p is None else measured(p) - mu
