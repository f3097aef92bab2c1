"""The max-margin problem with a Gaussian prior N(0, Σ), Σ diagonal: what M³N and each step of Laplace MEDN solve.

    min_w  ½ wᵀΣ⁻¹w + C Σ_i max_y [Δℓ_i(y) − ΔF_i(y; w)]        (primal; Δℓ the number of wrong labels)
    max_α  Σ_i E_α[Δℓ_i] − ½ ηᵀΣη,   η = Σ_i E_α[Δf_i]          (dual; α_i a distribution over labelings, times C)

On a forest a distribution over labelings matters only through its node and edge marginals: that is what is kept of α_i.
Block-coordinate Frank–Wolfe moves one site's marginals towards its loss-augmented best labeling, by exact line search.
Between those steps, coordinate steps move one marginal at a time as far as its neighbours allow: they reach in one step
the faces of the marginal polytope towards which Frank–Wolfe zigzags. Each step increases the dual, and `w = Ση` makes
the sum of the Frank–Wolfe gaps the duality gap.
"""

from dataclasses import dataclass

import numpy as np

from sdm.features.domain import Array
from sdm.joint.discriminant import Discriminant, Sites, of_labels
from sdm.joint.inference import maximise
from sdm.joint.steps import sweep

CHECK_EVERY = 5


@dataclass(frozen=True)
class Dual:
    """Where the dual is: the marginals of `α_i / C`, site by site."""

    nodes: Array
    edges: Array

    @classmethod
    def at_labels(cls, discriminant: Discriminant, sites: Sites) -> "Dual":
        """Return the point at which every site has its own labels, and every weight is zero."""
        return cls(*of_labels(discriminant.forest, sites.labels))

    def copy(self) -> "Dual":
        """Return the same point, free to be moved."""
        return Dual(self.nodes.copy(), self.edges.copy())

    def eta(self, discriminant: Discriminant, sites: Sites, c: float) -> Array:
        """Return `η = C Σ_i (f(x_i, y_i) − E[f(x_i, y)])`."""
        states = sites.states
        truth = discriminant.moments(sites.x, *of_labels(discriminant.forest, sites.labels), states)
        return c * (truth - discriminant.moments(sites.x, self.nodes, self.edges, states))


@dataclass(frozen=True)
class MarginSolution:
    """Weights, the dual point they come from, and how near the two problems' values are.

    Attributes
    ----------
    weights, eta : (size,) arrays
        `w = Ση`.
    dual : Dual
    slack : float
        `Σ_i ξ_i`.
    primal, objective : float
        Values of the primal problem and of the dual.
    gap : float
        `(primal − dual) / (C · known labels)`: what is missing to the optimum, in wrong labels a label.
    epochs : int
    status : {"converged", "iteration limit"}
    """

    weights: Array
    eta: Array
    dual: Dual
    slack: float
    primal: float
    objective: float
    gap: float
    epochs: int
    status: str


def solve_margin(
    discriminant: Discriminant,
    sites: Sites,
    c: float,
    variance: Array,
    *,
    start: Dual | None = None,
    tolerance: float = 1e-4,
    max_epochs: int = 2000,
    seed: int = 0,
) -> MarginSolution:
    """Solve the max-margin problem to a duality gap of `tolerance` wrong labels a label.

    Parameters
    ----------
    discriminant : Discriminant
    sites : Sites
    c : float
        Price of the slack.
    variance : (size,) array
        Diagonal of Σ.
    start : Dual, optional
        Where to begin; any dual point is feasible for every `variance` and `c`.
    """
    rng = np.random.default_rng(seed)
    dual = Dual.at_labels(discriminant, sites) if start is None else start.copy()
    epochs = 0
    while True:
        solution = certify(discriminant, sites, c, variance, dual, epochs, tolerance)
        if solution.status == "converged" or epochs >= max_epochs:
            return solution
        run = min(CHECK_EVERY, max_epochs - epochs)
        order = np.concatenate([rng.permutation(sites.n) for _ in range(run)])
        sweep(discriminant, sites, c, variance, solution.weights, dual.nodes, dual.edges, order)
        epochs += run


def certify(
    discriminant: Discriminant, sites: Sites, c: float, variance: Array, dual: Dual, epochs: int, tolerance: float
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
    return MarginSolution(weights, eta, dual, slack, primal, objective, gap, epochs, status)


def total_slack(discriminant: Discriminant, sites: Sites, weights: Array) -> float:
    """Return `Σ_i max_y [Δℓ_i(y) − ΔF_i(y; w)]`."""
    forest, states = discriminant.forest, sites.states
    unary, table = discriminant.unary(weights, sites.x), discriminant.table(weights)
    _, value = maximise(forest, unary + 1.0 - 2.0 * (sites.labels > 0), table, states)
    own = weights @ discriminant.moments(sites.x, *of_labels(forest, sites.labels), states)
    return float(value.sum() + (sites.labels > 0).sum() - own)
