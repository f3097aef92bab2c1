"""The max-margin problem with a Gaussian prior N(0, Σ), Σ diagonal, for M³N and each step of Laplace MEDN.

    min_w  ½ wᵀΣ⁻¹w + C Σ_i max_y [Δℓ_i(y) − ΔF_i(y; w)]        (primal; Δℓ the number of wrong labels)
    max_α  Σ_i E_α[Δℓ_i] − ½ ηᵀΣη,   η = Σ_i E_α[Δf_i]          (dual; α_i a distribution over labellings, times C)

On a forest a distribution over labellings matters only through its node and edge marginals, so only these are stored
for α_i, and `w = Ση`. Newton's method on the smoothed problem (`smoothing.py`) gives weights and Gibbs distributions,
which are dual points. The best of each are stored, and their difference is the gap. Primal values are rounded up and
dual values down, so the gap is a bound in exact arithmetic.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites, of_labels
from sdm.joint.inference import maximise
from sdm.joint.learners.learned_weights import Dual, LearnedWeights
from sdm.joint.learners.priors import Quadratic
from sdm.joint.learners.smoothing import Point, SmoothedMargin, approach
from sdm.types import Array, Numbers

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class MarginSolution:
    """Weights, the dual point, and the gap between the two problems."""

    weights: Array
    eta: Array  # η of the dual point; at the optimum `w = Ση`
    dual: Dual
    slack: float  # `Σ_i ξ_i`
    loss: float  # `C Σ_i E[Δℓ_i]` of the dual point
    primal: float
    objective: float  # value of the dual
    gap: float  # `(primal − dual) / (C · observed labels)`: distance to the optimum, in wrong labels per label
    steps: int  # steps of Newton's method
    status: str  # "converged" or "iteration limit"


@dataclass(frozen=True)
class MarginProblem:
    """The problem with penalty `c` on the slack, the diagonal `variance` of Σ, and the tolerance of the gap."""

    discriminant: Discriminant
    sites: LabelledSites
    c: float
    variance: Array
    tolerance: float

    def certify(self, dual: Dual, steps: int) -> MarginSolution:
        """Return the weights, both problems' values and their gap at a dual point."""
        eta = dual.eta(self.discriminant, self.sites, self.c)
        weights = self.variance * eta
        slack, loss = self.slack(weights), self.wrong(dual)
        primal = self._primal(weights, slack)
        objective = loss - 0.5 * float(self.variance @ self.largest(eta) ** 2)
        return MarginSolution(
            weights, eta, dual, slack, loss, primal, objective, steps=steps, **self._state(primal, objective)
        )

    def with_weights(self, best: MarginSolution, weights: Array) -> MarginSolution:
        """Replace the weights if others are better, and update the gap."""
        slack = self.slack(weights)
        primal = self._primal(weights, slack)
        if primal < best.primal:
            best = replace(best, weights=weights, slack=slack, primal=primal)
        return replace(best, **self._state(best.primal, best.objective))

    def wrong(self, dual: Dual) -> float:
        """Return `C Σ_i E[Δℓ_i]` of a dual point, rounded down."""
        labels = self.sites.labels
        return self.c * (float(np.abs(dual.nodes - (labels > 0))[labels >= 0].sum()) - 64.0 * EPS * self.labels)

    def slack(self, weights: Array) -> float:
        """Return `Σ_i max_y [Δℓ_i(y) − ΔF_i(y; w)]`, rounded up."""
        d, sites, forest, states = self.discriminant, self.sites, self.discriminant.forest, self.sites.states
        unary, table = d.unary(weights, sites.x), d.table(weights)
        _, value = maximise(forest, unary + 1.0 - 2.0 * (sites.labels > 0), table, states)
        score = weights @ d.moments(sites.x, *of_labels(forest, sites.labels), states)
        terms = 2.0 * float(np.abs(weights) @ self.sizes) + 2.0 * self.labels
        operations = sites.n + forest.size + d.n_features
        return float(value.sum() + (sites.labels > 0).sum() - score) + EPS * operations * terms

    def largest(self, eta: Array) -> Array:
        """Return an upper bound of `|η|` before rounding."""
        return np.abs(eta) + EPS * self.c * self.sites.n * self.sizes

    def gap(self, primal: float, objective: float) -> float:
        """Return the difference of two values, in wrong labels per label."""
        return (primal - objective + 8.0 * EPS * abs(primal)) / (self.c * self.labels)

    @cached_property
    def labels(self) -> int:
        """Return the number of observed labels."""
        return int(np.count_nonzero(self.sites.labels >= 0))

    @cached_property
    def sizes(self) -> Array:
        """Return the largest absolute factor of each weight, summed over sites."""
        observed = (self.sites.labels >= 0).astype(np.float64)
        first, second = self.discriminant.forest.edges.T
        of_edges = (observed[:, first] * observed[:, second]).sum(axis=0)
        return np.concatenate([(observed.T @ np.abs(self.sites.x)).ravel(), of_edges])

    def _primal(self, weights: Array, slack: float) -> float:
        return 0.5 * float(weights @ (weights / self.variance)) + self.c * slack

    def _state(self, primal: float, objective: float) -> Numbers:
        gap = self.gap(primal, objective)
        return {"gap": gap, "status": "converged" if gap <= self.tolerance else "iteration limit"}


def fit_m3n(discriminant: Discriminant, sites: LabelledSites, c: float, prior: Array, **options: Any) -> LearnedWeights:
    """Fit weights with prior N(0, prior): the posterior is N(Ση, Σ), and its mean is the weights of M³N.

    This is MEDN with a Gaussian prior (Zhu & Xing 2009, Theorem 3); `options` are as for `solve_margin`.
    """
    s = solve_margin(discriminant, sites, c, prior, **options)
    return LearnedWeights(s.weights, prior.copy(), s.primal, s.gap, s.status, s.steps, s.eta, s.dual)


def solve_margin(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    variance: Array,
    *,
    start: Dual | None = None,
    tolerance: float = 1e-4,
    max_steps: int = 2000,
) -> MarginSolution:
    """Solve a `MarginProblem` to a gap of `tolerance`; every dual point is feasible and can be the `start`."""
    problem = MarginProblem(discriminant, sites, c, variance, tolerance)
    best = problem.certify(Dual.at_labels(discriminant, sites) if start is None else start, 0)
    if start is not None and start.weights is not None:
        best = problem.with_weights(best, start.weights)

    def gap_with(point: Point) -> float:
        nonlocal best
        dual = Dual(point.marginals.nodes, point.marginals.edges)
        other = problem.certify(dual, best.steps + 1)
        best = replace(best, steps=best.steps + 1)
        if other.objective > best.objective:
            best = replace(best, dual=dual, eta=other.eta, loss=other.loss, objective=other.objective)
        best = problem.with_weights(best, point.weights)
        return best.gap

    if best.status != "converged":
        smoothed = SmoothedMargin(discriminant, sites, c, Quadratic(variance))
        approach(smoothed, best.weights, best.gap, tolerance, max_steps, gap_with)
    return replace(best, dual=replace(best.dual, weights=best.weights))
