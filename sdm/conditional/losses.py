"""Entropies over classes: one distribution per site, every site in one pass (Blondel, Martins & Niculae 2020, §4).

The negative entropy of a site's distribution is `Ω(p) = Σ_c φ_α(p_c)`, with `φ_α` of `sdm.maxent.entropy` and no base
measure: α = 1 is the logistic loss and softmax, 2 is sparsemax. All arrays are `(C, n)`, one row per class.
"""

import numpy as np

from sdm._jit import jit
from sdm.maxent.entropy import Entropy, _phi, _power
from sdm.types import Array


class ClassEntropy(Entropy):
    """The entropy of order `alpha` in [1, 2] over the classes of each site."""

    def distributions(self, theta: Array) -> tuple[Array, Array]:
        """Return each site's distribution `∇Ω*(θ_i)`, and `Ω*(θ_i)`; NaN where a score is."""
        p, conjugate = np.empty_like(theta), np.empty(theta.shape[1])
        _distributions(theta, self.alpha, p, conjugate)
        return p, conjugate

    def values(self, p: Array) -> Array:
        """Return `Ω(p_i)` of every site."""
        out = np.empty(p.shape[1])
        _values(p, self.alpha, out)
        return out

    def bends(self, p: Array) -> Array:
        """Return `w_ic = p_ic^{2−α}` (zero where `p_ic` is): a site's Hessian is `diag(w) − w wᵀ / Σw`."""
        if self.alpha == 1.0:
            return p
        if self.alpha == 2.0:
            return (p > 0).astype(np.float64)
        return p ** (2.0 - self.alpha)

    def losses(self, theta: Array, targets: Array) -> Array:
        """Return the Fenchel–Young loss `Ω*(θ_i) − ⟨θ_i, y_i⟩ + Ω(y_i)` of every site."""
        _, conjugate = self.distributions(theta)
        return conjugate - np.sum(theta * targets, axis=0) + self.values(targets)


@jit
def _values(p, alpha, out):  # type: ignore[no-untyped-def]
    """out[i] = Σ_c φ_α(p[c, i])."""
    for i in range(p.shape[1]):
        total = 0.0
        for c in range(p.shape[0]):
            total += _phi(p[c, i], alpha)
        out[i] = total


@jit
def _distributions(theta, alpha, p, conjugate):  # type: ignore[no-untyped-def]
    """Fill each site's distribution and Ω*(θ) = τ − 1/α + Σ_c (p_c (θ_c − τ + 1/α) − φ(p_c)), its minimum over τ."""
    classes, n = theta.shape
    for i in range(n):
        tau = _normaliser(theta[:, i], alpha)
        if tau != tau:
            p[:, i] = np.nan
            conjugate[i] = np.nan
        elif alpha == 1.0:
            for c in range(classes):
                p[c, i] = np.exp(theta[c, i] - tau)
            conjugate[i] = tau
        else:
            total = tau - 1.0 / alpha
            for c in range(classes):
                r = _power(theta[c, i] - tau, alpha)
                p[c, i] = r
                total += r * (theta[c, i] - tau + 1.0 / alpha) - _phi(r, alpha)
            conjugate[i] = total


@jit
def _normaliser(theta, alpha):  # type: ignore[no-untyped-def]
    """Find τ with Σ_c [1 + (α − 1)(θ_c − τ)]₊^{1/(α−1)} = 1; NaN if a score is.

    The sum is convex and decreasing in τ, and at the largest score it is at least one: from there Newton climbs to the
    root without passing it.
    """
    top = theta[0]
    for c in range(theta.size):
        if theta[c] != theta[c]:
            return np.nan
        top = max(top, theta[c])
    if alpha == 1.0:
        total = 0.0
        for c in range(theta.size):
            total += np.exp(theta[c] - top)
        return top + np.log(total)
    tau = top
    for _ in range(200):
        total, slope = 0.0, 0.0
        for c in range(theta.size):
            base = 1.0 + (alpha - 1.0) * (theta[c] - tau)
            if base > 0.0:
                r = _power(theta[c] - tau, alpha)
                total += r
                slope += r / base
        step = (total - 1.0) / slope
        if step <= 0.0 or tau + step == tau:
            break
        tau += step
    return tau
