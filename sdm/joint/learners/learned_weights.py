"""The result of every learner: weights with their spread and certificate."""

from dataclasses import dataclass

from sdm.joint.learners.margin import Dual
from sdm.types import Array


@dataclass(frozen=True)
class LearnedWeights:
    """Weights with their spread, and how near the fit is to its optimum.

    The gap is a proved bound on what is missing, in the learner's loss (wrong labels, or nats): per known label from
    the solvers, per site from a `Learner`.
    """

    weights: Array  # posterior means; for a CRF the estimates
    variance: Array | None  # posterior variances; for a CRF the squared standard errors, if asked for
    objective: float
    gap: float
    status: str
    iterations: int
    eta: Array | None = None  # `η = Σ α_i(y) Δf_i(y)` of Zhu & Xing 2009, Theorem 3
    dual: Dual | None = None  # where the dual ended, to start another fit from
