"""The conditional likelihood of labels on a forest: log loss, gradient, entropy, and the best scale of margins."""

from dataclasses import dataclass

import numpy as np

from sdm.joint.discriminant import Discriminant, LabelledSites, of_labels
from sdm.joint.inference import marginals, scores
from sdm.types import Array

EPS = float(np.finfo(np.float64).eps)


class LogLoss:
    """`Σ_i ln Z_i(w) − F(x_i, y_i; w)`: the negative log-likelihood of the observed labels, given the sites."""

    def __init__(self, discriminant: Discriminant, sites: LabelledSites) -> None:
        self.discriminant, self.sites = discriminant, sites
        self.states = sites.states
        self._last: Details | None = None
        self.truth = discriminant.moments(sites.x, *of_labels(discriminant.forest, sites.labels), self.states)

    def details(self, weights: Array) -> "Details":
        """Return everything at a point; the last point is cached, because search and certificate both use it."""
        if self._last is None or not np.array_equal(self._last.weights, weights):
            forest = self.discriminant.forest
            unary, table = self.discriminant.unary(weights, self.sites.x), self.discriminant.table(weights)
            fitted = marginals(forest, unary, table, self.states)
            true_scores = scores(forest, unary, table, self.sites.labels)
            site_losses = fitted.log_partition - true_scores
            expected = self.discriminant.moments(self.sites.x, fitted.nodes, fitted.edges, self.states)
            entropy = float(fitted.log_partition.sum() - weights @ expected)
            summed = float(np.abs(fitted.log_partition).sum() + np.abs(true_scores).sum() + np.abs(weights @ expected))
            rounding = EPS * (self.sites.n + forest.size) * summed
            self._last = Details(weights.copy(), site_losses, expected - self.truth, entropy, rounding)
        return self._last

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """Return the loss and its gradient."""
        point = self.details(weights)
        return float(point.site_losses.sum()), point.gradient


@dataclass(frozen=True)
class Details:
    """The log loss at a point."""

    weights: Array
    site_losses: Array  # (n,): `−ln p(y_i | x_i)`
    gradient: Array
    entropy: float  # `Σ_i H(p_i)` of the sites' distributions
    rounding: float  # largest rounding error of the loss minus the entropy


def best_scale(discriminant: Discriminant, sites: LabelledSites, weights: Array) -> float:
    """Return the κ from 0.01 to 100 for which margins times κ give the most likely probabilities.

    The log loss of `κ·weights` is convex in κ, so its slope is bisected.
    """
    loss = LogLoss(discriminant, sites)
    low, high = np.log(0.01), np.log(100.0)
    for _ in range(30):
        middle = 0.5 * (low + high)
        if loss(np.exp(middle) * weights)[1] @ weights > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-3:
            break
    return float(np.exp(0.5 * (low + high)))
