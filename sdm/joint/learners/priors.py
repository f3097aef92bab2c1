"""Penalties of max-margin models that shrink small weights, with their conjugates for the duality gap.

The penalties of Laplace MEDN are sums `R(w) = Σ_k r_k(w_k)`, convex in `w_k` and concave in `w_k²`. So the quadratic
that is tangent at the current weights is an upper bound. It is the penalty of an M³N whose prior has the variance `Σ_kk
= w_k / r_k'(w_k)`. Repeated M³N problems decrease `R(w) + C Σ_i ξ_i` to its optimum. The conjugate `R*` gives the dual,
`max_α Σ_i E_α[Δℓ_i] − R*(η)`, in whose domain every `|η_k|` is below a limit.
"""

import math
from dataclasses import dataclass

import numpy as np

from sdm.types import Array

MOST_INSIDE = 0.1  # largest share by which η stays inside the dual's domain of L1-M³N


@dataclass(frozen=True)
class LaplacePenalty:
    """The penalty `R(w)` of Laplace MEDN, for a Laplace prior with `λ` for every weight.

    `KL(p‖p_0)` of the exact posterior (Zhu & Xing 2009, Corollary 6) has the conjugate `−Σ ln(1 − η²/λ)` (Theorem 5),
    so `⟨w⟩ = 2η/(λ − η²)` at the optimum (Corollary 7).

    The variational algorithm (§5) minimises an upper bound, here minus its value at zero. With the optimal distribution
    of the scales the bound on a weight is `√(λ(Σ + w²)) − ½ ln Σ`, which is jointly convex in w and √Σ. Its minimum
    over Σ is at `Σ = (1 + √(1 + 4λw²))/(2λ)`. The conjugate is half the conjugate of the exact posterior: the penalty
    is half the exact penalty, with 4λ in place of λ.
    """

    lam: Array
    exact: bool

    @property
    def limit(self) -> Array:
        """Return the limit `√λ` of every `|η_k|` in the dual's domain."""
        return np.asarray(np.sqrt(self.lam))

    @property
    def share(self) -> float:
        """Return the factor of the exact penalty; its λ is divided by the factor's square."""
        return 1.0 if self.exact else 0.5

    def value(self, weights: Array) -> float:
        """Return `R(w)`."""
        return self.share * divergence(weights, self.lam / self.share**2)

    def variance(self, weights: Array) -> Array:
        """Return the prior variances of the M³N whose quadratic is tangent to `R` at these weights."""
        lam = self.lam / self.share**2
        return (1.0 + np.sqrt(1.0 + lam * weights**2)) / (self.share * lam)

    def conjugate(self, eta: Array) -> float:
        """Return `R*(η)` within the limit."""
        return -self.share * float(np.sum(np.log1p(-(eta**2) / self.lam)))

    def posterior(self, weights: Array) -> Array:
        """Return the posterior variances at the optimum."""
        return posterior_variance(shrunk_eta(weights, self.lam), self.lam) if self.exact else self.variance(weights)


@dataclass(frozen=True)
class AbsoluteValues:
    """`Σ_k b_k |w_k|`, the penalty of L1-M³N (Zhu & Xing 2009, Appendix A, with b = ½), and a smooth form of it.

    The smooth form is `(1 − σ) Σ_k b_k √(w_k² + ε²)`. Its gradient is inside the dual's domain `|η_k| ≤ b_k` by a share
    σ, which allows for rounding of η.
    """

    slope: Array  # b
    blur: float = 0.0  # ε
    inside: float = 0.0  # σ

    def value(self, weights: Array) -> float:
        """Return the penalty without smoothing."""
        return float(self.slope @ np.abs(weights))

    def smooth(self, weights: Array) -> tuple[float, Array, Array]:
        """Return value, gradient and the diagonal of the curvature of the smooth form."""
        root, slope = np.sqrt(weights**2 + self.blur**2), (1.0 - self.inside) * self.slope
        return float(slope @ root), slope * weights / root, slope * self.blur**2 / root**3

    def blurred(self, cost: float, weights: Array) -> "AbsoluteValues":
        """Return the smooth penalty whose ε and σ change the value at these weights by at most `cost` each."""
        inside = min(cost / max(self.value(weights), 1e-300), MOST_INSIDE)
        return AbsoluteValues(self.slope, cost / float(self.slope.sum()), inside)


@dataclass(frozen=True)
class Quadratic:
    """`½ wᵀΣ⁻¹w`, the penalty of M³N."""

    variance: Array

    def smooth(self, weights: Array) -> tuple[float, Array, Array]:
        """Return value, gradient and the diagonal of the curvature."""
        scaled = weights / self.variance
        return 0.5 * float(weights @ scaled), scaled, 1.0 / self.variance

    def blurred(self, cost: float, weights: Array) -> "Quadratic":
        """Return the penalty unchanged."""
        return self


def gaussian_divergence(mean: Array, variance: Array, lam: Array) -> float:
    """Return the variational bound on `KL(p‖p_0)` of Gaussian posteriors under a Laplace prior.

    It is an upper bound by Jensen's inequality, with `√⟨w²⟩` in place of `⟨|w|⟩`.
    """
    entropy = 0.5 * np.log(2.0 * np.pi * math.e * variance)
    return float(np.sum(np.sqrt(lam * (variance + mean**2)) - 0.5 * np.log(lam) + np.log(2.0) - entropy))


def posterior_variance(eta: Array, lam: float | Array) -> Array:
    """Return the variance of the exact posterior, the derivative of its mean: `2(λ + η²)/(λ − η²)²`."""
    return 2.0 * (lam + eta**2) / (lam - eta**2) ** 2


def shrunk_eta(mean: Array, lam: float | Array) -> Array:
    """Return the η whose exact posterior mean is `mean`, the inverse of Corollary 7."""
    return lam * mean / (1.0 + np.sqrt(1.0 + lam * mean**2))


def divergence(mean: Array, lam: Array) -> float:
    """Return `KL(p‖p_0)` of exact posteriors with these means."""
    above = lam * mean**2 / (np.sqrt(lam * mean**2 + 1.0) + 1.0)
    return float(np.sum(above - np.log1p(0.5 * above)))
