"""Newton's method on a smoothed max-margin problem.

With `μ ln Σ_y exp(·/μ)` in place of `max_y` the primal is smooth. The Gibbs distributions of the sites at the
temperature μ are a feasible point of the dual. At the smoothed optimum the gap between the two is at most `C μ` times
their entropy. A large C hardly slows the method down. μ decreases until its part of the gap is below the tolerance. Up
to 1,000 weights, each step solves with the exact curvature (`sdm.joint.curvature`). Above, it uses conjugate gradients,
with differences of gradients as products.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sdm.joint.curvature import curvature, variances
from sdm.joint.discriminant import Discriminant, LabelledSites, of_labels
from sdm.joint.inference import Marginals, marginals
from sdm.joint.learners.priors import AbsoluteValues, Quadratic
from sdm.maxent.solvers.descent import ARMIJO, backtrack
from sdm.maxent.solvers.newton_cg import conjugate_gradients
from sdm.types import Array

LARGEST = 1000  # largest number of weights for a square matrix
DIFFERENCE = 1e-4  # change of a score, relative to μ, in differences of gradients
START, FALL, LEAST = 0.3, 0.65, 1e-9  # values of μ, in wrong labels
COARSER = 4.0  # factor of the tolerance if rounding prevents it
MOST = 10.0  # wrong labels per label: larger than any gap
SHARE = 0.7  # share of the tolerance for the smoothing
BLUR = 0.15  # share of the smoothing's gap for the smooth form of a penalty, twice
NEAR = 0.3  # largest gain of a Newton step, relative to the smoothing's gap, before μ decreases
# at the last μ, gains below these shares (of the gap, and of the previous gain) are rounding errors
DONE, FALLING = 1e-4, 0.5
HALVINGS, ROUNDING = 30, 1e-11
FLAT = 1e-12  # share of the trace added to the curvature, which may be singular


@dataclass(frozen=True)
class Point:
    """Weights, the distributions of the sites, and value and gradient of the smoothed primal."""

    weights: Array
    marginals: Marginals
    value: float
    gradient: Array


SmoothPenalty = Quadratic | AbsoluteValues
"""A twice differentiable penalty on the weights."""


class SmoothedMargin:
    """`R(w) + C Σ_i μ ln Σ_y exp((Δℓ_i(y) − ΔF_i(y; w))/μ)`, with a smooth penalty R."""

    def __init__(self, discriminant: Discriminant, sites: LabelledSites, c: float, penalty: SmoothPenalty) -> None:
        self.discriminant, self.sites, self.c, self.penalty = discriminant, sites, c, penalty
        self.states = sites.states
        self.labels = int(np.count_nonzero(sites.labels >= 0))
        self.wrong = 1.0 - 2.0 * (sites.labels > 0)  # change of the number of wrong labels by a label of 1
        self.present = float((sites.labels > 0).sum())
        self.largest = float(np.abs(sites.x).max())
        self.truth = discriminant.moments(sites.x, *of_labels(discriminant.forest, sites.labels), self.states)

    def evaluate(self, weights: Array, mu: float) -> Point:
        """Evaluate the problem at weights and a temperature."""
        d, x = self.discriminant, self.sites.x
        unary = (d.unary(weights, x) + self.wrong) / mu
        fitted = marginals(d.forest, unary, d.table(weights) / mu, self.states)
        value, gradient, _ = self.penalty.smooth(weights)
        slack = mu * float(fitted.log_partition.sum()) + self.present - float(weights @ self.truth)
        moments = d.moments(x, fitted.nodes, fitted.edges, self.states)
        return Point(weights, fitted, value + self.c * slack, gradient + self.c * (moments - self.truth))

    def newton(self, point: Point, mu: float) -> Array:
        """Return the Newton direction."""
        bend = self.penalty.smooth(point.weights)[2]
        if point.weights.size > LARGEST:
            return self._by_conjugate_gradients(point, mu, bend)
        hessian = (self.c / mu) * curvature(self.discriminant, self.sites, point.marginals)
        hessian[np.diag_indices_from(hessian)] += bend + FLAT * np.trace(hessian)
        return np.asarray(np.linalg.solve(hessian, -point.gradient), dtype=np.float64)

    def _by_conjugate_gradients(self, point: Point, mu: float, bend: Array) -> Array:
        """Return the Newton direction without a matrix."""
        diagonal = (self.c / mu) * variances(self.discriminant, self.sites, point.marginals) + bend
        diagonal += FLAT * diagonal.sum()

        def product(v: Array) -> Array:
            size = DIFFERENCE * mu / max(float(np.abs(v).max()) * self.largest, 1e-300)
            ahead, behind = (self.evaluate(point.weights + sign * size * v, mu).gradient for sign in (1.0, -1.0))
            return (ahead - behind) / (2.0 * size)

        return conjugate_gradients(product, -point.gradient, lambda r: r / diagonal, exact=False)

    def search(self, point: Point, direction: Array, mu: float) -> Point | None:
        """Halve the step until the value decreases enough, else return None."""
        slope = float(point.gradient @ direction)

        def enough(new: Point, length: float) -> bool:
            flatter = abs(float(new.gradient @ direction)) <= -slope
            return new.value <= point.value + (ROUNDING * abs(point.value) if flatter else ARMIJO * length * slope)

        step = backtrack(lambda length: self.evaluate(point.weights + length * direction, mu), enough, HALVINGS)
        return None if step is None else step[0]


def newton_points(problem: SmoothedMargin, weights: Array, gap: float, target: float) -> Iterator[Point]:
    """Yield one point per Newton step, converging to the optimum of the problem without smoothing.

    The initial weights are `gap` wrong labels per label from the optimum, which determines the initial μ. μ decreases
    until its part of the gap is below `target`. Steps at this μ end when rounding prevents progress.
    """
    goal = SHARE * target * problem.c * problem.labels
    mu = float(np.clip(10.0 * gap, LEAST, START))
    cost, last = problem.c * mu * problem.labels, np.inf
    problem.penalty = problem.penalty.blurred(cost, weights)
    point = problem.evaluate(weights, mu)
    while mu >= LEAST:
        direction = problem.newton(point, mu)
        decrement = -0.5 * float(point.gradient @ direction)
        new = problem.search(point, direction, mu)
        if new is not None:
            yield new
            point = new
        smoothing = problem.c * mu * _entropy(problem, point, mu)
        if max(smoothing, cost) <= goal:
            if new is None or FALLING * last < decrement <= DONE * smoothing:
                return
        elif new is None or decrement <= NEAR * max(smoothing, BLUR * goal):
            mu *= float(np.clip(goal / max(smoothing, 1e-300), FALL, 0.8))
            cost = BLUR * max(smoothing, goal)
            problem.penalty = problem.penalty.blurred(cost, point.weights)
            point, decrement = problem.evaluate(point.weights, mu), np.inf
        last = decrement


def approach(
    problem: SmoothedMargin,
    weights: Array,
    gap: float,
    tolerance: float,
    max_steps: int,
    gap_with: Callable[[Point], float],
) -> None:
    """Take Newton steps until `gap_with`, called with every point, returns at most the tolerance.

    If rounding prevents this gap, increase the tolerance until it is reached.
    """
    steps = 0
    while steps < max_steps and tolerance < MOST:
        for point in islice(newton_points(problem, weights, gap, tolerance), max_steps - steps):
            steps, weights = steps + 1, point.weights
            if gap_with(point) <= tolerance:
                return
        tolerance = gap = COARSER * max(tolerance, LEAST)


def _entropy(problem: SmoothedMargin, point: Point, mu: float) -> float:
    """Return the entropies of the sites' distributions, summed: `Σ ln Z` minus the expected scores."""
    d = problem.discriminant
    moments = d.moments(problem.sites.x, point.marginals.nodes, point.marginals.edges, problem.states)
    free = problem.states >= 0
    scores = float(point.weights @ moments) + float((problem.wrong * point.marginals.nodes)[free].sum())
    return max(float(point.marginals.log_partition.sum()) - scores / mu, 0.0)
