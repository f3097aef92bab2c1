"""Max-margin learners that shrink unimportant weights: Laplace MEDN (Zhu & Xing 2009) and L1-M³N.

The prior of Laplace MEDN is `Π_k (√λ/2) exp(−√λ |w_k|)`. Its posterior, exact or variational, and L1-M³N are the optima
of convex problems with the penalties in `sdm.joint.learners.priors`. Laplace MEDN is solved by a sequence of M³N
problems, each started from the previous one. It ends when the duality gap of the original problem is small enough.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sdm.errors import OptionError, expect_one_of
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.learners.learned_weights import Dual, LearnedWeights
from sdm.joint.learners.margin import MarginProblem, MarginSolution, solve_margin
from sdm.joint.learners.priors import AbsoluteValues, LaplacePenalty
from sdm.joint.learners.smoothing import Point, SmoothedMargin, approach
from sdm.types import Array

METHODS = ("variational", "exact")
MOST_ROUNDS = 200
WITHIN = 0.5  # tolerance of a round, relative to the tolerance of the fit
MOST_WEIGHTS = 5000  # limit of L1-M³N, which needs a square matrix of the weights
HALF = 0.5  # the penalty of L1-M³N on a weight of one
SHARES = np.array([1.0 - 1e-12, 0.9999, 0.999, 0.99, 0.97, 0.9])  # shares of the dual's domain that η may reach
IDLE = 0.99  # weights with a smaller share of the largest slope of the blurred penalty are zero up to the blur


class Limits(NamedTuple):
    """The start and the stopping rule of a learner."""

    tolerance: float = 1e-3
    max_steps: int = 500
    start: Dual | None = None


DEFAULT = Limits()


def fit_laplace(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    lam: float,
    scale: Array,
    *,
    method: str = "variational",
    rounds: int | None = None,
    limits: Limits = DEFAULT,
) -> LearnedWeights:
    """Fit the posterior means and variances of all weights, with penalty `c` on the slack and prior variance 2/λ.

    `scale` multiplies the prior variance of single weights (a bias should hardly be shrunk); it is one in Zhu & Xing
    2009. With `rounds` the variational algorithm stops after that number of steps of their Algorithm 1 (they use 3).
    The gap is then of the complete problem, and may be large.
    """
    expect_one_of("method", method, METHODS)
    prior = LaplacePenalty(lam / scale, exact=method == "exact")
    if method == "exact" or rounds is None:
        return shrink(discriminant, sites, c, prior, scale, **limits._asdict())
    variance = scale.copy()
    iterations = 0
    for turn in range(rounds):
        solution = solve_margin(discriminant, sites, c, variance, **limits._asdict())
        limits, iterations = limits._replace(start=solution.dual), iterations + solution.steps
        if turn + 1 < rounds:
            variance = np.sqrt((variance + solution.weights**2) * scale / lam)
    primal, gap = certify(solution, MarginProblem(discriminant, sites, c, scale, limits.tolerance), prior)
    status = "converged" if gap <= limits.tolerance else "round limit"
    return LearnedWeights(solution.weights, variance, primal, gap, status, iterations, solution.eta, solution.dual)


def fit_l1_m3n(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    scale: Array,
    *,
    start: Dual | None = None,
    tolerance: float = 1e-3,
    max_steps: int = 500,
) -> LearnedWeights:
    """Fit L1-M³N: `min ½ Σ_k |w_k| / √scale_k + C Σ_i ξ_i` (Zhu & Xing 2009, Appendix A, with scale one).

    The method is Newton's, with a soft maximum and smooth absolute values. The Gibbs distributions of the sites are
    dual points, scaled into the dual's domain `|η_k| ≤ ½/√scale_k`. Weights with a small gradient in the dual are set
    to zero.
    """
    if discriminant.size > MOST_WEIGHTS:
        raise OptionError(
            f"learner l1-m3n has {discriminant.size:,} weights here, and takes {MOST_WEIGHTS:,} at most: give fewer "
            "species, variables or feature classes, or take laplace"
        )
    penalty = AbsoluteValues(HALF / np.sqrt(scale))
    problem = MarginProblem(discriminant, sites, c, scale, tolerance)
    weights = np.zeros(discriminant.size) if start is None or start.weights is None else start.weights
    primal, dual, eta = penalty.value(weights) + c * problem.slack(weights), None, np.zeros(weights.size)
    smoothed = SmoothedMargin(discriminant, sites, c, penalty)
    bound, steps = 0.0, 0  # the bound at the true labels, where η is 0

    def gap_with(point: Point) -> float:
        nonlocal primal, weights, bound, dual, eta, steps
        steps += 1
        candidate = Dual(point.marginals.nodes, point.marginals.edges)
        slope = candidate.eta(discriminant, sites, c)
        share = min(1.0, 1.0 / float(np.max(problem.largest(slope) / penalty.slope, initial=1e-300)))
        if share * problem.wrong(candidate) > bound:
            bound, dual, eta = share * problem.wrong(candidate), candidate, share * slope
        pull = np.abs(smoothed.penalty.smooth(point.weights)[1]) / penalty.slope
        sparse = np.where(pull < IDLE * pull.max(), 0.0, point.weights)
        for tried in (point.weights, sparse):
            value = penalty.value(tried) + c * problem.slack(tried)
            if value < primal or (tried is sparse and problem.gap(value, bound) <= tolerance):
                primal, weights = value, tried
        return problem.gap(primal, bound)

    approach(smoothed, weights, np.inf, tolerance, max_steps, gap_with)
    gap = problem.gap(primal, bound)
    status = "converged" if gap <= tolerance else "iteration limit"
    last = None if dual is None else replace(dual, weights=weights)
    return LearnedWeights(weights, None, primal, gap, status, steps, eta, last)


def shrink(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    prior: LaplacePenalty,
    first: Array,
    *,
    tolerance: float,
    start: Dual | None = None,
    max_steps: int = 500,
) -> LearnedWeights:
    """Minimise `R(w) + C Σ_i ξ_i` to a gap of `tolerance` wrong labels per label.

    The first M³N has the variances `first`.
    """
    problem = MarginProblem(discriminant, sites, c, first, tolerance)
    variance, dual, iterations, room = first, start, 0, WITHIN * tolerance
    for _ in range(MOST_ROUNDS):
        solution = solve_margin(discriminant, sites, c, variance, start=dual, tolerance=room, max_steps=max_steps)
        dual, iterations = solution.dual, iterations + solution.steps
        primal, gap = certify(solution, problem, prior)
        if gap <= tolerance:
            break
        variance = prior.variance(solution.weights)
        room *= WITHIN if solution.steps == 0 else 1.0  # the previous round is too inaccurate to continue from
    status = "converged" if gap <= tolerance else "iteration limit"
    weights = solution.weights
    eta = weights / prior.variance(weights)  # the gradient of R
    return LearnedWeights(weights, prior.posterior(weights), primal, gap, status, iterations, eta, dual)


def certify(solution: MarginSolution, problem: MarginProblem, prior: LaplacePenalty) -> tuple[float, float]:
    """Return the objective at the weights of a round, and its duality gap in wrong labels per label.

    The η of the round may be outside the domain of the dual. Then α is scaled towards the true labels, where η is 0.
    """
    primal, eta = prior.value(solution.weights) + problem.c * solution.slack, problem.largest(solution.eta)
    reach = float(np.max(eta / prior.limit, initial=0.0))
    shares = np.unique(np.minimum(1.0, SHARES / max(reach, 1e-300)))
    values = [share * solution.loss - prior.conjugate(share * eta) for share in shares]
    return primal, problem.gap(primal, max(values))
