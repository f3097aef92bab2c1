"""Fits for all multipliers of the l1 penalty, with a certified gap also between the fits.

With penalties `t·β`, the objective of fixed weights, `F_t(λ) = F₀(λ) + t Σ β|λ|`, is linear in the multiplier `t`. The
optimum `F*(t)` is the minimum of such lines, so it is concave. Between two fits at `a > b` it is at most the lower of
their lines, and at least the chord of their certified lower bounds. So the better fit is within

    min(F_a − (a − t) N_a, F_b + (t − b) N_b) − [θ (F_a − gap_a) + (1 − θ) (F_b − gap_b)],   t = θ a + (1 − θ) b,

of the optimum, with `N = Σ β|λ|`. The bound is largest at the intersection of the two lines. Fits start at the
multiplier where all weights are zero, and follow decreasing multipliers. Step lengths are predicted from the last
curvature `ΔN/Δt`. If the bound is too large, a fit is inserted at the intersection. (A single fit also implies a bound
nearby, by mixing in more of the sample as `t` decreases. On Bradypus its steps would be about ten times shorter.)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sdm.errors import NoFeatureError, OptionError
from sdm.features.feature_set import FeatureSet
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem
from sdm.maxent.solution import CONVERGED
from sdm.maxent.solvers.newton import solve_newton
from sdm.types import Array

SHARE = 0.25  # share of ε for the gap of each fit; the rest is for the gap between fits
AIM = 0.8  # share of the remaining gap to aim at, because a step that is too long costs another fit
SHORTEST = 1e-4  # smallest relative distance of two fits


@dataclass(frozen=True)
class Knot:
    """A fit of the path."""

    multiplier: float
    weights: Array = field(repr=False)
    objective: float  # F_t(λ); the regularised gain is its negative
    gap: float  # certified bound on the distance from the optimum at this multiplier
    penalty: float  # Σ β|λ| at multiplier one, the slope of the objective in the multiplier
    tau: float  # normaliser of the fitted distribution
    iterations: int
    status: str

    @property
    def gain(self) -> float:
        """Return the regularised gain."""
        return -self.objective

    @property
    def unregularized_gain(self) -> float:
        """Return the gain over the sample without the penalty, as Java Maxent prints it."""
        return self.multiplier * self.penalty - self.objective

    @property
    def n_nonzero(self) -> int:
        """Return the number of features with a nonzero weight."""
        return int(np.count_nonzero(self.weights))

    def objective_at(self, multiplier: float) -> float:
        """Return the objective of the same weights at another multiplier."""
        return self.objective + (multiplier - self.multiplier) * self.penalty


@dataclass(frozen=True)
class CertifiedPath:
    """Fits from the empty model down, with bounds for every multiplier between them."""

    knots: tuple[Knot, ...]  # falling; the first has no weight, and is the optimum for every larger multiplier
    epsilon: float  # the requested gap

    @property
    def multipliers(self) -> Array:
        """Return the multipliers of the fits, falling."""
        return np.array([knot.multiplier for knot in self.knots])

    @property
    def gap(self) -> float:
        """Return the largest certified gap of the path."""
        return max([knot.gap for knot in self.knots] + [pair_gap(a, b)[0] for a, b in pairwise(self.knots)])

    @property
    def certified(self) -> bool:
        """Return whether the gap is within `epsilon` everywhere."""
        return self.gap <= self.epsilon

    def coefficients(self) -> Array:
        """Return the weights of every fit: (fits, features)."""
        return np.array([knot.weights for knot in self.knots])

    def at(self, multiplier: float) -> tuple[Knot, float]:
        """Return the better neighbouring fit of a multiplier, and its certified gap there."""
        t = float(multiplier)
        smallest = self.knots[-1].multiplier
        if not t >= smallest * (1 - 1e-12):
            raise OptionError(f"multiplier={multiplier!r}: expected at least {smallest:.4g}, the end of the path")
        if t >= self.knots[0].multiplier:
            return self.knots[0], self.knots[0].gap
        k = int(np.searchsorted(-self.multipliers, -t, side="right"))
        if k == len(self.knots):
            return self.knots[-1], self.knots[-1].gap
        a, b = self.knots[k - 1], self.knots[k]
        better = a if a.objective_at(t) <= b.objective_at(t) else b
        return better, max(better.objective_at(t) - _lower_bound(a, b, t), 0.0)


def follow_path(
    features: FeatureSet,
    sample: Array,
    entropy: Entropy,
    beta: Array,
    *,
    epsilon: float = 1e-3,
    smallest: float = 0.1,
    max_iterations: int = 500,
    progress: Callable[[int, float], None] | None = None,
) -> CertifiedPath:
    """Fit from the empty model down to the multiplier `smallest`, with a gap of at most `epsilon` nats everywhere.

    `sample` is the empirical distribution as a probability on cells, and `beta` the penalties at multiplier one. A fit
    that does not reach its gap within `max_iterations` is included, and `certified` may then be False. `progress` is
    called with the number of fits and the current multiplier.
    """
    if not epsilon > 0.0 or not np.isfinite(epsilon):
        raise OptionError(f"epsilon={epsilon!r}: expected a positive gap in nats, such as 1e-3")
    if not smallest > 0.0 or not np.isfinite(smallest):
        raise OptionError(f"smallest={smallest!r}: expected a positive multiplier to go down to, such as 0.1")
    first = Problem(features, sample, entropy, L1(beta))  # at multiplier one

    def fit(multiplier: float, start: Knot) -> Knot:
        problem = first.over(features, L1(multiplier * first.penalty.beta), first.mu)
        solution = solve_newton(problem, start=start.weights, tolerance=SHARE * epsilon, max_iterations=max_iterations)
        penalty, proof = first.cost(solution.weights), (solution.tau, solution.iterations, solution.status)
        return Knot(multiplier, solution.weights, solution.objective, solution.gap, penalty, *proof)

    path = [_empty_model(first)]
    curvature = 0.0
    while path[-1].multiplier > smallest:
        last = path[-1]
        step = 0.1 * last.multiplier
        if curvature > 0.0:
            step = float(np.sqrt(4 * AIM * (1 - SHARE) * epsilon / curvature))
        target = max(last.multiplier - step, 0.3 * last.multiplier)
        if target - smallest < 0.3 * step:  # avoid a tiny last step
            target = smallest
        ahead = [fit(target, last)]
        while ahead:
            a, b = path[-1], ahead[-1]
            worst, meet = pair_gap(a, b)
            if worst > epsilon and a.status == b.status == CONVERGED and _room(a, b, meet):
                ahead.append(fit(meet, a if a.multiplier - meet < meet - b.multiplier else b))
                continue
            curvature = (b.penalty - a.penalty) / (a.multiplier - b.multiplier)
            path.append(ahead.pop())
            if progress:
                progress(len(path), b.multiplier)
    return CertifiedPath(tuple(path), epsilon)


def pair_gap(a: Knot, b: Knot) -> tuple[float, float]:
    """Return the largest gap between two neighbours (the first of larger multiplier), and its multiplier."""
    meet = b.multiplier
    if b.penalty > a.penalty:
        meet = (a.objective_at(0.0) - b.objective_at(0.0)) / (b.penalty - a.penalty)
        meet = float(np.clip(meet, b.multiplier, a.multiplier))
    between = min(a.objective_at(meet), b.objective_at(meet)) - _lower_bound(a, b, meet)
    return max(between, a.gap, b.gap), meet


def _room(a: Knot, b: Knot, meet: float) -> bool:
    """Return whether a fit can be inserted between two others, apart from both."""
    return min(a.multiplier - meet, meet - b.multiplier) > SHORTEST * b.multiplier


def _lower_bound(a: Knot, b: Knot, t: float) -> float:
    """Return the chord of the certified lower bounds of two fits."""
    share = (t - b.multiplier) / (a.multiplier - b.multiplier)
    return share * (a.objective - a.gap) + (1.0 - share) * (b.objective - b.gap)


def _empty_model(problem: Problem) -> Knot:
    """Return the model without weights at the smallest multiplier where it is the optimum."""
    state = problem.state(np.zeros(problem.mu.size))
    largest = float(np.max(np.abs(state.eps) / problem.penalty.beta))
    if largest == 0.0:
        raise NoFeatureError("every feature has the same mean at the presences and the background: there is no path")
    return Knot(largest, state.lam, state.objective, 0.0, 0.0, state.gibbs.tau, 0, CONVERGED)
