"""The result of every learner: weights with their spread and certificate."""

from dataclasses import dataclass

from sdm.joint.learners.margin import Dual
from sdm.types import Array


@dataclass(frozen=True)
class LearnedWeights:
    """Weights with their spread, and how near the fit is to its optimum.

    Attributes
    ----------
    weights : (size,) array
        Posterior means; for a CRF the estimates.
    variance : (size,) array or None
        Posterior variances; for a CRF the squared standard errors, if they were asked for.
    objective : float
    gap : float
        Proved bound on what is missing, in the learner's loss (wrong labels, or nats): per known label from the
        solvers, per site from a `Learner`.
    status : str
    iterations : int
    eta : (size,) array or None
        The `η = Σ α_i(y) Δf_i(y)` of Zhu & Xing 2009, Theorem 3.
    dual : Dual or None
        Where the dual ended, to start another fit from.
    """

    weights: Array
    variance: Array | None
    objective: float
    gap: float
    status: str
    iterations: int
    eta: Array | None = None
    dual: Dual | None = None
