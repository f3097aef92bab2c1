"""Residual association of every pair of species by pairwise composite likelihood.

A tree has one edge fewer than species. Here every pair has a separate model. With log-odds `a_s(x)`, `a_t(x)` of
single-species models, the four label pairs at a site have the scores

    y_s (a_s + δ_s + γ_s a_s) + y_t (a_t + δ_t + γ_t a_t) + w g(y_s, y_t)          (g: +1 where the two agree, else −1)

so `w` is on the scale of an edge of a joint model: `4 w` is the log odds ratio of the two, given the environment. The
composite likelihood is the sum over pairs of log loss and `½ Σ_k ρ_k θ_k²`. It is convex and separates into pairs with
five parameters each, which Newton's method solves. The certificate is the duality gap, as for a CRF.

A variance is the larger of two estimates: the inverse curvature, and its sandwich with the squared scores of sites
(summed over visits). The sandwich alone is far too small for two rare species that never co-occur. P-values are from
the score test of `w = 0`, and `q` is adjusted for the number of pairs (Benjamini & Hochberg 1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.joint.inference import States
from sdm.maxent.solvers.descent import Curved, minimise_by_newton
from sdm.types import Array, Index, Row

# ρ: for w a prior standard deviation of 1, an odds ratio of e⁴. Without it, species that never co-occur have no finite
# weight.
RIDGE = np.array([1e-3, 1e-3, 1e-3, 1e-3, 1.0])
ALONE = slice(0, 4)  # the parameters of the two species
STEPS, DONE = 100, 1e-9  # limit of Newton's method, and its gap in nats
SURE = 0.05  # largest false discovery rate of certain associations
HALF_WIDTH = 1.959963984540054  # of a 95 % interval, in standard errors


@dataclass(frozen=True)
class PairAssociations:
    """The associations of all pairs of species."""

    species: tuple[str, ...]
    pairs: NDArray[np.int64]  # (P, 2)
    weight: Array
    sd: Array  # standard errors
    q: Array  # adjusted p-values
    sites: NDArray[np.int64]  # sites where both were surveyed
    gap: float  # duality gap of the composite likelihood, nats per site

    def rows(self) -> list[Row]:
        """Return one row per pair, with its 95 % interval, sorted by adjusted p-value."""
        out = []
        for k in np.lexsort((-np.abs(self.weight), self.q)):
            weight, sd = float(self.weight[k]), float(self.sd[k])
            ends = {"low": weight - HALF_WIDTH * sd, "high": weight + HALF_WIDTH * sd}
            names = {"first": self.species[self.pairs[k, 0]], "second": self.species[self.pairs[k, 1]]}
            out.append(
                {**names, "weight": weight, "sd": sd, **ends, "q": float(self.q[k]), "sites": int(self.sites[k])}
            )
        return out

    def matrix(self) -> Array:
        """Return the weights as a symmetric matrix, NaN for pairs without one."""
        return self._square(self.weight)

    def q_matrix(self) -> Array:
        """Return the adjusted p-values as a symmetric matrix, NaN for pairs without one."""
        return self._square(self.q)

    def _square(self, values: Array) -> Array:
        out = np.full((len(self.species),) * 2, np.nan)
        first, second = self.pairs.T
        out[first, second] = out[second, first] = values
        return out


def pair_associations(
    species: Sequence[str], log_odds: Array, labels: States, group: Index | None = None
) -> PairAssociations:
    """Estimate the association of every pair of species with at least two common sites.

    `log_odds` are from single-species models at the sites, `(n, S)`; rows with the same number in `group` are one site.
    """
    observed = labels >= 0
    pairs, estimates, sites, gap = [], [], [], 0.0
    for s in range(len(species)):
        for t in range(s + 1, len(species)):
            rows = observed[:, s] & observed[:, t]
            if np.count_nonzero(rows) < 2:
                continue
            pair = _Pair(log_odds[rows][:, [s, t]], labels[rows][:, [s, t]].astype(np.float64))
            visits = np.arange(pair.a.size) if group is None else np.unique(group[rows], return_inverse=True)[1]
            theta = pair.fit()
            gap += pair.gap(theta)
            pairs.append((s, t))
            sites.append(int(np.count_nonzero(rows)))
            estimates.append((theta[4], pair.error(theta, visits), erfc(abs(pair.null_score(visits)) / 2**0.5)))
    weight, sd, p = np.array(estimates, dtype=np.float64).reshape(-1, 3).T
    positions = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return PairAssociations(
        tuple(species), positions, weight, sd, adjusted(p), np.array(sites, dtype=np.int64), gap / max(len(labels), 1)
    )


def adjusted(p: Array) -> Array:
    """Return p-values adjusted for the number of tests (Benjamini & Hochberg 1995), as false discovery rates."""
    order = np.argsort(p)[::-1]
    scaled = p[order] * p.size / np.arange(p.size, 0, -1)
    out = np.empty(p.size)
    out[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return out


class _Pair:
    """Two species at the sites where both are observed; θ is (δ_s, γ_s, δ_t, γ_t, w)."""

    def __init__(self, log_odds: Array, labels: Array) -> None:
        self.a, self.b = np.ascontiguousarray(log_odds.T)
        self.x = np.stack([np.ones(len(labels)), self.a, np.ones(len(labels)), self.b], axis=1)
        self.observed = self._features(labels[:, 0], labels[:, 1], labels[:, 0] * labels[:, 1])
        self.total = self.observed.sum(axis=0)
        self.offset = float(self.total[1] + self.total[3])  # the scores of the labels in the single-species models

    def _features(self, first: Array, second: Array, both: Array) -> Array:
        """Return the features of labels, or their expectations from marginals."""
        nodes = np.stack([first, first, second, second], axis=1) * self.x
        return np.column_stack([nodes, 1.0 - 2.0 * first - 2.0 * second + 4.0 * both])

    def scores(self, theta: Array) -> Array:
        """Return the gradient of every site's log loss, (n, 5)."""
        shares = np.empty((self.a.size, 3))
        _shares(self.a, self.b, theta, shares)
        return self._features(*shares.T) - self.observed

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log loss and penalty, with gradient and curvature."""
        gradient, curve = np.zeros(5), np.zeros((5, 5))
        log_z = _moments(self.a, self.b, theta, gradient, curve)
        value = log_z - self.offset - float(self.total @ theta) + 0.5 * float((RIDGE * theta) @ theta)
        return value, gradient - self.total + RIDGE * theta, curve + np.diag(RIDGE)

    def fit(self, free: slice = slice(0, 5)) -> Array:
        """Return the optimum over the free parameters, with the others at zero, by Newton's method with step
        halving."""

        def embed(part: Array) -> Array:
            theta = np.zeros(5)
            theta[free] = part
            return theta

        def evaluate(part: Array) -> Curved:
            value, gradient, curve = self.evaluate(embed(part))
            return value, gradient[free], curve[free, free]

        start = np.zeros(5)[free]
        return embed(minimise_by_newton(evaluate, start, lambda _, gain: gain <= 2.0 * DONE, STEPS)[0])

    def gap(self, theta: Array) -> float:
        """Return an upper bound of the distance to the minimum; the fitted distributions are a dual point.

        The dual value is the entropy minus `slope²/2ρ`, so the difference is a square.
        """
        slope = self.scores(theta).sum(axis=0)
        return float(np.sum((slope + RIDGE * theta) ** 2 / (2.0 * RIDGE)))

    def error(self, theta: Array, visits: Index) -> float:
        """Return the standard error of w at the optimum."""
        row = np.linalg.solve(self.evaluate(theta)[2], np.eye(5)[4])
        return float(np.sqrt(max(row[4], np.sum(np.bincount(visits, weights=self.scores(theta) @ row) ** 2))))

    def null_score(self, visits: Index) -> float:
        """Return the score test of w = 0: the slope in w in standard deviations."""
        theta = self.fit(ALONE)
        curve = self.evaluate(theta)[2]
        # the part of w that is independent of the others
        row = np.append(np.linalg.solve(curve[ALONE, ALONE], -curve[ALONE, 4]), 1.0)
        visit = np.bincount(visits, weights=self.scores(theta) @ row)
        expected = float(row @ curve @ row) - float(RIDGE @ row**2)
        return float(visit.sum() / np.sqrt(max(expected, float(visit @ visit), 1e-300)))


@jit
def _shares(a, b, theta, out):  # type: ignore[no-untyped-def]
    """Fill the probabilities of the first species, of the second, and of both; return the sum of ln Z."""
    total, w = 0.0, theta[4]
    for i in range(a.size):
        u, v = a[i] + theta[0] + theta[1] * a[i], b[i] + theta[2] + theta[3] * b[i]
        top = max(w, v - w, u - w, u + v + w)
        neither, second, first, both = (
            np.exp(w - top),
            np.exp(v - w - top),
            np.exp(u - w - top),
            np.exp(u + v + w - top),
        )
        z = neither + second + first + both
        out[i, 0], out[i, 1], out[i, 2] = (first + both) / z, (second + both) / z, both / z
        total += top + np.log(z)
    return total


@jit
def _moments(a, b, theta, mean, curve):  # type: ignore[no-untyped-def]
    """Add up the expected features and their covariances over sites; return the sum of ln Z."""
    share = np.empty((a.size, 3))
    total = _shares(a, b, theta, share)
    for i in range(a.size):
        p, q, both = share[i, 0], share[i, 1], share[i, 2]
        g = 1.0 - 2.0 * p - 2.0 * q + 4.0 * both
        vp, vq, c = p * (1.0 - p), q * (1.0 - q), both - p * q
        gp, gq = 2.0 * both - p - p * g, 2.0 * both - q - q * g
        mean[0] += p
        mean[1] += p * a[i]
        mean[2] += q
        mean[3] += q * b[i]
        mean[4] += g
        curve[0, 0] += vp
        curve[0, 1] += vp * a[i]
        curve[1, 1] += vp * a[i] * a[i]
        curve[0, 2] += c
        curve[0, 3] += c * b[i]
        curve[1, 2] += c * a[i]
        curve[1, 3] += c * a[i] * b[i]
        curve[2, 2] += vq
        curve[2, 3] += vq * b[i]
        curve[3, 3] += vq * b[i] * b[i]
        curve[0, 4] += gp
        curve[1, 4] += gp * a[i]
        curve[2, 4] += gq
        curve[3, 4] += gq * b[i]
        curve[4, 4] += 1.0 - g * g
    for i in range(5):
        for j in range(i):
            curve[i, j] = curve[j, i]
    return total
