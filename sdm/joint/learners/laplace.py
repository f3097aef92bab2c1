"""Laplace MEDN (Zhu & Xing 2009): a max-margin Markov network that shrinks weights which help little.

The prior is `Π_k (√λ/2) exp(−√λ |w_k|)`. Two ways to the posterior, both a few M³N problems whose prior variances
Σ follow the weights:

- `variational`, Algorithm 1 (§5): `Σ_kk = √(⟨w_k²⟩ / λ)`, with `⟨w_k²⟩ = Σ_kk + ⟨w_k⟩²`.
- `exact`: the primal of Corollary 6, whose KL norm is concave in `w_k²`, so that its tangent is an M³N's quadratic:
  `Σ_kk = (1 + √(1 + λ⟨w_k⟩²)) / λ`. Each round lowers the objective, to the optimum, as the problem is convex. There
  `⟨w⟩ = 2η/(λ − η²)` (Corollary 7), and the dual of Theorem 5 certifies it.
"""

from typing import Any

import numpy as np

from sdm.errors import OptionError
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.learners.learned_weights import Dual, LearnedWeights
from sdm.joint.learners.margin import MarginSolution, solve_margin
from sdm.types import Array

METHODS = ("variational", "exact")
EXACT_ROUNDS = 200


def fit_laplace(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    lam: float,
    scale: Array,
    *,
    method: str = "variational",
    rounds: int = 3,
    start: Dual | None = None,
    tolerance: float = 1e-3,
    max_epochs: int = 500,
    seed: int = 0,
) -> LearnedWeights:
    """Learn the posterior means and variances of all weights, with penalty `c` on the slack and prior variance 2/λ.

    `scale` multiplies the prior variance of single weights (a bias should hardly be shrunk); it is one in Zhu & Xing
    2009, who take 3 `rounds` of the variational algorithm. The exact one runs until its gap is below `tolerance`.
    """
    if method not in METHODS:
        raise OptionError(f"method={method!r}: expected one of {', '.join(METHODS)}")
    exact = method == "exact"
    lam_k = lam / scale
    variance = scale.copy()
    dual, iterations = start, 0
    labels = np.count_nonzero(sites.labels >= 0)
    for turn in range(EXACT_ROUNDS if exact else rounds):
        within = 0.5 * tolerance if exact else tolerance
        limits: dict[str, Any] = {"tolerance": within, "max_epochs": max_epochs, "seed": seed + turn}
        solution = solve_margin(discriminant, sites, c, variance, start=dual, **limits)
        dual, iterations = solution.dual, iterations + solution.epochs
        if exact:
            primal, gap = _certificate(solution, c, lam_k)
            gap /= c * labels
            if gap <= tolerance:
                break
            variance = (1.0 + np.sqrt(1.0 + lam_k * solution.weights**2)) / lam_k
        else:
            primal, gap = solution.primal, solution.gap
            if turn + 1 < rounds:
                variance = np.sqrt((variance + solution.weights**2) / lam_k)
    eta = shrunk_eta(solution.weights, lam_k) if exact else solution.eta
    spread = posterior_variance(eta, lam_k) if exact else variance
    status = "converged" if gap <= tolerance else "iteration limit"
    return LearnedWeights(solution.weights, spread, primal, gap, status, iterations, eta, dual)


def variance_at_zero(lam: float, scale: Array, method: str, rounds: int) -> Array:
    """Return the posterior variance of weights whose mean is zero: the sites do not inform them."""
    variance = scale.copy()
    for _ in range(rounds - 1):
        variance = np.sqrt(variance * scale / lam)
    return 2.0 * scale / lam if method == "exact" else variance


def posterior_variance(eta: Array, lam: float | Array) -> Array:
    """Return the variance of the exact posterior, the derivative of its mean: `2(λ + η²)/(λ − η²)²`."""
    return 2.0 * (lam + eta**2) / (lam - eta**2) ** 2


def shrunk_eta(mean: Array, lam: float | Array) -> Array:
    """Return the η whose posterior mean is `mean`: Corollary 7 turned around."""
    return lam * mean / (1.0 + np.sqrt(1.0 + lam * mean**2))


def divergence(mean: Array, lam: Array) -> float:
    """Return `KL(p‖p_0)` of posteriors with these means."""
    root = np.sqrt(lam * mean**2 + 1.0)
    return float(np.sum(root - 1.0 - np.log((root + 1.0) / 2.0)))


def _certificate(solution: MarginSolution, c: float, lam: Array) -> tuple[float, float]:
    """Return the primal of Corollary 6 at the weights of a solution, and its distance from the dual of Theorem 5.

    The M³N's own η may leave the dual's domain `η² < λ`; all of α is then scaled towards the true labels, where η is 0.
    """
    loss = solution.loss
    primal = divergence(solution.weights, lam) + c * solution.slack
    reach = float(np.max(np.abs(solution.eta) / np.sqrt(lam)))
    best = -np.inf
    for share in np.unique(np.minimum([1.0, 0.999, 0.99, 0.97, 0.9], 0.999 / max(reach, 1e-300))):
        eta = share * solution.eta
        if np.all(eta**2 < lam):
            best = max(best, share * loss + float(np.sum(np.log1p(-(eta**2) / lam))))
    return primal, primal - best
