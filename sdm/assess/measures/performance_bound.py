"""A generalisation bound on the excess log loss over the best model (Dudík, Phillips & Schapire 2007, §5).

Their Lemma 3 (eq. 14) holds for any penalty `U*` and weights `λ̂` within `gap` of the optimum. For every other `λ*` the
true log loss has

    L(λ̂) ≤ L(λ*) + (λ* − λ̂)·(π[f] − π̃[f]) + U*(λ*) − U*(λ̂) + gap .

If every mean is within `b_j` of the truth, the product is at most `Σ b_j (|λ*_j| + |λ̂_j|)`. Compare `λ̂` with all `λ*`
whose `Σ b|λ*| + U*(λ*)` is no larger. Then `λ̂` is worse than any of them by at most `2 Σ b_j |λ̂_j| + gap`; with an l1
penalty of `β = b` this is Theorem 4.

For feature classes, `b_j` is the smaller of Corollaries 5 and 7, each at half of δ. Trees and monomials are chosen from
whole families, so they have the uniform bound of Cortes et al. (2015), eq. 1; Theorem 2 then follows in the same way.
If a model has both kinds of features, each has half of δ. A temperature divides the weights after the fit, which only
increases their gap.
"""

from typing import TYPE_CHECKING

import numpy as np

from sdm.maxent.confidence import deviation_radius, hoeffding_radius, uniform_radius
from sdm.maxent.structural import Growth
from sdm.types import Array, Numbers

if TYPE_CHECKING:
    from sdm.estimators.maxent import Maxent
    from sdm.estimators.structural import StructMaxent


def performance_bound(fitted: "Maxent | StructMaxent", delta: float = 0.05) -> Numbers | None:
    """Return the bound of a fitted maxent or structural model with any penalties.

    With probability `1 − delta` over independent records, the true log loss of the model is at most `excess` nats above
    the loss of every comparison model: a model of the same features whose `Σ b|λ| + U*(λ)` is not larger.
    `informs` is true if `excess` is less than the gain. The result is None for an entropy above 1, because its true log
    loss can be infinite.
    """
    if fitted.entropy_ != 1.0:
        return None
    growth: Growth | None = getattr(fitted, "growth_", None)  # trees and monomials of a structural model
    n_grown, oracles = (growth.grown.size, growth.oracles) if growth is not None else (0, [])
    n_finite = fitted.coef_.size - n_grown
    share = delta / 2 if n_finite and oracles else delta
    radius = np.concatenate(
        [
            _finite_radii(fitted, n_finite, share) if n_finite else [],
            _grown_radii(growth, fitted, share) if growth is not None and n_grown else [],
        ]
    )
    weights, objective = fitted.coef_ / fitted.temperature, fitted.solution_.objective
    scaled = objective if fitted.temperature == 1.0 else fitted.problem_.state(weights).objective
    excess = 2.0 * float(radius @ np.abs(weights)) + fitted.solution_.gap + scaled - objective
    return {"excess": excess, "delta": delta, "informs": bool(excess < -scaled)}


def _finite_radii(fitted: "Maxent | StructMaxent", n: int, delta: float) -> Array:
    """Return the radius of each of the first `n` features, which are the feature classes."""
    problem, m = fitted.problem_, float(fitted.model_.meta["effective_presences"])
    variance = problem.features.variances(problem.domain.measure(problem.sample))[:n] * (m / (m - 1) if m > 1 else 1.0)
    return np.minimum(deviation_radius(np.sqrt(variance), m, n, delta / 2), hoeffding_radius(n, m, delta / 2))


def _grown_radii(growth: Growth, fitted: "Maxent | StructMaxent", delta: float) -> Array:
    """Return the radius of each tree and monomial, from its family and size."""
    m, points = (float(fitted.model_.meta[name]) for name in ("effective_presences", "presences"))
    families = sum(oracle.largest for oracle in growth.oracles)
    counts = [source.log_count(shape.size, points) for source, shape in zip(growth.grown.sources, growth.grown.shapes)]
    return uniform_radius(np.array(counts), families, m, delta)
