"""Entropies over classes: one distribution per site, all sites in one pass (Blondel, Martins & Niculae 2020, §4).

The negative entropy of a site's distribution is `Ω(p) = Σ_c φ_α(p_c)`, with `φ_α` of `sdm.maxent.entropy` and no base
measure: α = 1 is the logistic loss and softmax, 2 is sparsemax. All arrays are `(C, n)`, one row per class.
"""

import numpy as np

from sdm.maxent.entropy import Entropy
from sdm.types import Array


class ClassEntropy(Entropy):
    """The entropy of order `alpha` in [1, 2] over the classes of each site."""

    def distributions(self, theta: Array) -> tuple[Array, Array]:
        """Return each site's distribution `∇Ω*(θ_i)`, and `Ω*(θ_i)`; NaN where a score is."""
        gibbs = self.gibbs(theta, np.ones((len(theta), 1)))
        return gibbs.ratio, np.asarray(gibbs.conjugate)

    def values(self, p: Array) -> Array:
        """Return `Ω(p_i)` of every site."""
        return np.asarray(self.phi(p).sum(axis=0))

    def bends(self, p: Array) -> Array:
        """Return `w_ic = p_ic^{2−α}` (zero where `p_ic` is): a site's Hessian is `diag(w) − w wᵀ / Σw`."""
        return self.curvature(p, 1.0)

    def losses(self, theta: Array, targets: Array) -> Array:
        """Return the Fenchel–Young loss `Ω*(θ_i) − ⟨θ_i, y_i⟩ + Ω(y_i)` of every site."""
        _, conjugate = self.distributions(theta)
        return conjugate - np.sum(theta * targets, axis=0) + self.values(targets)
