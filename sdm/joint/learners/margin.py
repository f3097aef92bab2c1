"""The max-margin problem with a Gaussian prior N(0, Σ), Σ diagonal: what M³N and each step of Laplace MEDN solve.

    min_w  ½ wᵀΣ⁻¹w + C Σ_i max_y [Δℓ_i(y) − ΔF_i(y; w)]        (primal; Δℓ the number of wrong labels)
    max_α  Σ_i E_α[Δℓ_i] − ½ ηᵀΣη,   η = Σ_i E_α[Δf_i]          (dual; α_i a distribution over labelings, times C)

On a forest a distribution over labelings matters only through its node and edge marginals: that is what is kept of α_i.
Block-coordinate Frank–Wolfe moves one site's marginals towards its loss-augmented best labeling, by exact line search.
Between those steps, coordinate steps move one marginal at a time as far as its neighbours allow: they reach in one step
the faces of the marginal polytope towards which Frank–Wolfe zigzags. Each step increases the dual, and `w = Ση` makes
the sum of the Frank–Wolfe gaps the duality gap. Where C is large these steps creep: Newton's method on the smoothed
problem (`smoothing.py`) takes over as soon as they would need too many, unless there are too many weights for a
matrix. Weights and dual point are the best that were found of either; any two prove their gap.
"""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites, of_labels
from sdm.joint.inference import maximise
from sdm.joint.learners.smoothing import LARGEST, SmoothedMargin, newton_points
from sdm.joint.learners.steps import sweep
from sdm.types import Array

CHECK_EVERY = 5
PATIENCE = 80  # epochs that are left at the rate of the last ones, before Newton's method takes over


@dataclass(frozen=True)
class Dual:
    """Where the dual is: the marginals of `α_i / C`, site by site; and the weights that were found with it, if any."""

    nodes: Array
    edges: Array
    weights: Array | None = None

    @classmethod
    def at_labels(cls, discriminant: Discriminant, sites: LabelledSites) -> "Dual":
        """Return the point at which every site has its own labels, and every weight is zero."""
        return cls(*of_labels(discriminant.forest, sites.labels))

    def copy(self) -> "Dual":
        """Return the same marginals, free to be moved."""
        return Dual(self.nodes.copy(), self.edges.copy())

    def eta(self, discriminant: Discriminant, sites: LabelledSites, c: float) -> Array:
        """Return `η = C Σ_i (f(x_i, y_i) − E[f(x_i, y)])`."""
        states = sites.states
        truth = discriminant.moments(sites.x, *of_labels(discriminant.forest, sites.labels), states)
        return c * (truth - discriminant.moments(sites.x, self.nodes, self.edges, states))


@dataclass(frozen=True)
class MarginSolution:
    """Weights, the dual point they come from, and how near the two problems' values are."""

    weights: Array
    eta: Array  # of the dual point; at the optimum `w = Ση`
    dual: Dual
    slack: float  # `Σ_i ξ_i`
    loss: float  # `C Σ_i E[Δℓ_i]` of the dual point
    primal: float
    objective: float  # of the dual
    gap: float  # `(primal − dual) / (C · known labels)`: what is missing to the optimum, in wrong labels per label
    epochs: int  # of steps of single sites, and steps of Newton's
    status: str  # "converged" or "iteration limit"


def solve_margin(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    variance: Array,
    *,
    start: Dual | None = None,
    tolerance: float = 1e-4,
    max_epochs: int = 2000,
    seed: int = 0,
) -> MarginSolution:
    """Solve the max-margin problem to a duality gap of `tolerance` wrong labels per label.

    `c` is the penalty on the slack, `variance` the diagonal of Σ; any dual point is feasible for every such problem, so
    that it can `start` another one.
    """
    rng = np.random.default_rng(seed)
    dual = Dual.at_labels(discriminant, sites) if start is None else start.copy()
    smooth = discriminant.size <= LARGEST
    epochs, gaps = 0, []
    while True:
        best = certify(discriminant, sites, c, variance, dual, epochs, tolerance)
        gaps.append(best.gap)
        if best.status == "converged" or epochs >= max_epochs or (smooth and _creeps(gaps, tolerance)):
            break
        run = min(CHECK_EVERY, max_epochs - epochs)
        order = np.concatenate([rng.permutation(sites.n) for _ in range(run)])
        sweep(discriminant, sites, c, variance, best.weights, dual.nodes, dual.edges, order)
        epochs += run
    if smooth and best.status != "converged" and epochs < max_epochs:
        first = None if start is None else start.weights
        best = _finish(discriminant, sites, c, variance, best, first, max_epochs - epochs, tolerance)
    return replace(best, dual=replace(best.dual, weights=best.weights))


def _creeps(gaps: list[float], tolerance: float) -> bool:
    """Whether gaps, every `CHECK_EVERY` epochs, fall too slowly to reach the tolerance in good time."""
    if len(gaps) < 4:
        return False
    fall = np.log(gaps[-3] / gaps[-1]) / (2 * CHECK_EVERY) if gaps[-1] > 0 else np.inf
    return bool(np.log(gaps[-1] / max(tolerance, 1e-300)) > PATIENCE * fall)


def _finish(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    variance: Array,
    best: MarginSolution,
    first: Array | None,
    steps: int,
    tolerance: float,
) -> MarginSolution:
    """Go on with Newton's method, from the better of the weights so far and those of an earlier fit."""
    if first is not None:
        best = _with_weights(best, first, discriminant, sites, c, variance, tolerance)
        if best.status == "converged":
            return best
    problem = SmoothedMargin(discriminant, sites, c, variance)
    points = newton_points(problem, best.weights, best.gap, tolerance)
    for point in islice(points, steps):
        best = replace(best, epochs=best.epochs + 1)
        dual = Dual(point.marginals.nodes, point.marginals.edges)
        other = certify(discriminant, sites, c, variance, dual, best.epochs, tolerance)
        if other.objective > best.objective:
            best = replace(best, dual=dual, eta=other.eta, loss=other.loss, objective=other.objective)
        best = _with_weights(best, point.weights, discriminant, sites, c, variance, tolerance)
        if best.status == "converged":
            break
    return best


def _with_weights(
    best: MarginSolution,
    weights: Array,
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    variance: Array,
    tolerance: float,
) -> MarginSolution:
    """Take other weights if they are better, and say how far the best are from the dual."""
    slack = total_slack(discriminant, sites, weights)
    primal = 0.5 * float(weights @ (weights / variance)) + c * slack
    if primal < best.primal:
        best = replace(best, weights=weights, slack=slack, primal=primal)
    gap = (best.primal - best.objective) / (c * np.count_nonzero(sites.labels >= 0))
    return replace(best, gap=gap, status="converged" if gap <= tolerance else "iteration limit")


def certify(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    variance: Array,
    dual: Dual,
    epochs: int,
    tolerance: float,
) -> MarginSolution:
    """Compute weights, both problems' values and their gap at a dual point."""
    eta = dual.eta(discriminant, sites, c)
    weights = variance * eta
    slack = total_slack(discriminant, sites, weights)
    quadratic = 0.5 * float(eta @ weights)
    loss = c * float(np.abs(dual.nodes - (sites.labels > 0))[sites.labels >= 0].sum())
    primal, objective = quadratic + c * slack, loss - quadratic
    gap = (primal - objective) / (c * np.count_nonzero(sites.labels >= 0))
    status = "converged" if gap <= tolerance else "iteration limit"
    return MarginSolution(weights, eta, dual, slack, loss, primal, objective, gap, epochs, status)


def total_slack(discriminant: Discriminant, sites: LabelledSites, weights: Array) -> float:
    """Return `Σ_i max_y [Δℓ_i(y) − ΔF_i(y; w)]`."""
    forest, states = discriminant.forest, sites.states
    unary, table = discriminant.unary(weights, sites.x), discriminant.table(weights)
    _, value = maximise(forest, unary + 1.0 - 2.0 * (sites.labels > 0), table, states)
    score = weights @ discriminant.moments(sites.x, *of_labels(forest, sites.labels), states)
    return float(value.sum() + (sites.labels > 0).sum() - score)
