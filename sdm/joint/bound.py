"""Estimate the rate of wrong labellings at new sites by the PAC-Bayes bound of MEDN (Zhu & Xing 2009, §6).

Their Theorem 8 gives the order of the bound; its proof (Appendix B.5) gives the bound. With probability 1 − δ over the
N sites, for all numbers m and margins γ > 0 simultaneously,

    P(wrong) ≤ share of sites with a margin of at most γ + |Y| exp(−m γ² / (32 c²))
               + √((m KL(p‖p_0) + ln N + 3 ln((m + 1)/δ) + 2) / (2N − 1))

A site is wrong if any label is wrong, |Y| = 2^S is the number of labellings, and c bounds |F|. The minimum over m and γ
is also a bound.

The theorem requires one c for all weights and all sites. A Gaussian or Laplace prior has no such c, because most
weights drawn from a posterior have larger scores than its mean. It is replaced by the largest score of the mean weights
at the training sites, over all labellings. So the value is an estimate, without the guarantee of probability 1 − δ.
"""

from dataclasses import dataclass

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import maximise, scores
from sdm.types import Array, Numbers

DELTA = 0.05
MARGINS, DRAWS = 40, 400  # numbers of values of γ and of m
MOST_SITES = 1e15


@dataclass(frozen=True)
class MarginBound:
    """The bound, with an estimate of c, and its parts."""

    value: float  # estimated share of sites; uninformative from 1 on
    margin: float  # γ
    below: float  # share of the training sites with a margin of at most γ
    divergence: float  # KL(p‖p_0)
    largest_score: float  # replaces c
    sites_needed: float | None  # approximate number of sites for a bound below ½, at these margins and this divergence

    def numbers(self) -> Numbers:
        """Return the bound as JSON values."""
        return {
            "value": self.value if np.isfinite(self.value) else None,
            "delta": DELTA,
            "margin": self.margin,
            "share_below_margin": self.below,
            "divergence": self.divergence,
            "proved": False,
            "largest_score": self.largest_score,
            "sites_needed": self.sites_needed,
            "says_something": self.value < 1.0,
        }


def pac_bayes(discriminant: Discriminant, sites: LabelledSites, weights: Array, divergence: float) -> MarginBound:
    """Return the minimum over m and γ, for posteriors with these mean weights and this KL divergence."""
    margins, largest = site_margins(discriminant, sites, weights), _largest_score(discriminant, sites, weights)
    above = np.unique(margins[margins > 0])
    if not above.size or largest <= 0.0:
        return MarginBound(np.inf, 0.0, 1.0, divergence, largest, None)
    gammas = np.unique(np.quantile(above, np.linspace(0, 1, MARGINS)) * (1.0 - 1e-9))  # just below the margin of a site
    below = np.array([float(np.mean(margins <= gamma)) for gamma in gammas])
    labels = discriminant.forest.size * np.log(2.0)
    excess = np.array([bound_excess(sites.n, gamma / largest, labels, divergence) for gamma in gammas])
    best = int(np.argmin(below + excess))
    needed = min(_needed(sites.n, g / largest, labels, divergence, b) for g, b in zip(gammas, below))
    minimum = (float(below[best] + excess[best]), float(gammas[best]), float(below[best]))
    return MarginBound(*minimum, divergence, largest, needed if needed < MOST_SITES else None)


def _needed(n: float, relative_margin: float, log_labelings: float, divergence: float, below: float) -> float:
    """Return the number of sites, by doubling n, for a bound below ½; infinity if there is none."""
    while n < MOST_SITES and below < 0.5:
        if below + bound_excess(n, relative_margin, log_labelings, divergence) < 0.5:
            return float(n)
        n *= 2.0
    return float("inf")


def bound_excess(n: float, relative_margin: float, log_labelings: float, divergence: float) -> float:
    """Return the terms of the bound except the share of sites within the margin, at the best m.

    `relative_margin` is γ/c.
    """
    least = 32.0 / relative_margin**2
    m = np.unique(np.ceil(np.geomspace(1.0, least * (log_labelings + 50.0), DRAWS)))
    rest = np.exp(np.minimum(log_labelings - m / least, 50.0))
    inside = (m * divergence + np.log(n) + 3.0 * np.log((m + 1.0) / DELTA) + 2.0) / (2.0 * n - 1.0)
    return float(np.min(rest + np.sqrt(inside)))


def site_margins(discriminant: Discriminant, sites: LabelledSites, weights: Array) -> Array:
    """Return the score of the true labels of every site minus the score of the best other labelling."""
    d, forest, states = discriminant, discriminant.forest, sites.states
    unary, table = d.unary(weights, sites.x), d.table(weights)
    true_scores = scores(forest, unary, table, sites.labels)
    best = np.full(sites.n, -np.inf)
    for s in range(forest.size):
        observed = sites.labels[:, s] >= 0
        fixed = states[observed]
        fixed[:, s] = 1 - sites.labels[observed, s]
        best[observed] = np.maximum(best[observed], maximise(forest, unary[observed], table, fixed)[1])
    return np.asarray(true_scores - best)


def _largest_score(discriminant: Discriminant, sites: LabelledSites, weights: Array) -> float:
    """Return the largest |F| over all labellings of all sites."""
    d, states = discriminant, sites.states
    unary, table = d.unary(weights, sites.x), d.table(weights)
    return max(float(maximise(d.forest, sign * unary, sign * table, states)[1].max()) for sign in (1.0, -1.0))
