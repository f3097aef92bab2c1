"""How much worse than the best a model can be on new records, by the theory (Dudík, Phillips & Schapire 2007, §5).

Their Lemma 3 (eq. 14), for any penalty `U*` and weights `λ̂` within `gap` of the optimum: for every other `λ*` the true
log loss has

    L(λ̂) ≤ L(λ*) + (λ* − λ̂)·(π[f] − π̃[f]) + U*(λ*) − U*(λ̂) + gap .

Where every mean is within `b_j` of the truth, the product is at most `Σ b_j (|λ*_j| + |λ̂_j|)`. So among all `λ*` with
`Σ b|λ*| + U*(λ*)` no larger than that of `λ̂` none is better by more than `2 Σ b_j |λ̂_j| + gap`; with an l1 penalty of
`β = b` that is Theorem 4. The `b_j` are the smaller of Corollaries 5 and 7, each at δ/2.
"""

import numpy as np

from sdm.estimators.maxent import Maxent
from sdm.maxent.confidence import deviation_radius, hoeffding_radius
from sdm.values import dataclass


@dataclass(frozen=True)
class PerformanceBound:
    """With probability `1 − delta` over independent records, the true log loss of a model is at most `excess` nats
    above that of the best model whose weights are together no larger. It `informs` if that is less than the gain."""

    excess: float
    delta: float
    informs: bool


def performance_bound(fitted: Maxent, delta: float = 0.05) -> PerformanceBound | None:
    """Return the bound of a fitted model of feature classes; None for an entropy above 1, whose loss is another."""
    if type(fitted) is not Maxent or fitted.entropy_ != 1.0:
        return None
    problem, m = fitted.problem_, float(fitted.model_.meta["effective_presences"])
    n = problem.features.size
    variance = problem.features.variances(problem.domain.measure(problem.sample)) * (m / (m - 1) if m > 1 else 1.0)
    radius = np.minimum(deviation_radius(np.sqrt(variance), m, n, delta / 2), hoeffding_radius(n, m, delta / 2))
    excess = 2.0 * float(radius @ np.abs(fitted.coef_)) + fitted.solution_.gap
    return PerformanceBound(excess, delta, bool(excess < fitted.solution_.gain))
