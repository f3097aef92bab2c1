"""The result of every learner: weights with variances and certificate, and the final dual point of max-margin fits."""

from dataclasses import dataclass

from sdm.joint.discriminant import Discriminant, LabelledSites, of_labels
from sdm.types import Array


@dataclass(frozen=True)
class Dual:
    """A dual point: the marginals of `α_i / C` for every site, and the corresponding weights, if any."""

    nodes: Array
    edges: Array
    weights: Array | None = None

    @classmethod
    def at_labels(cls, discriminant: Discriminant, sites: LabelledSites) -> "Dual":
        """Return the dual point of the true labels, with zero weights."""
        return cls(*of_labels(discriminant.forest, sites.labels))

    def eta(self, discriminant: Discriminant, sites: LabelledSites, c: float) -> Array:
        """Return `η = C Σ_i (f(x_i, y_i) − E[f(x_i, y)])`."""
        states = sites.states
        truth = discriminant.moments(sites.x, *of_labels(discriminant.forest, sites.labels), states)
        return c * (truth - discriminant.moments(sites.x, self.nodes, self.edges, states))


@dataclass(frozen=True)
class LearnedWeights:
    """Weights with their variances, and the certificate of the fit.

    The duality gap is in the unit of the loss (wrong labels, or nats): per observed label from the solvers, per site
    from a `Learner`.
    """

    weights: Array  # posterior means; for a CRF the estimates
    variance: Array | None  # posterior variances, squared standard errors of a CRF, or None
    objective: float
    gap: float
    status: str
    iterations: int
    eta: Array | None = None  # `η = Σ α_i(y) Δf_i(y)` of Zhu & Xing 2009, Theorem 3
    dual: Dual | None = None  # the final dual point, as a start for another fit
