"""The reference of a joint model: a logistic regression per species, linear and quadratic in every variable."""

import numpy as np
from numpy.typing import NDArray

from sdm.data.encode import Encoder
from sdm.joint.features import SiteFeatures
from sdm.joint.graph import edgeless
from sdm.joint.inference import States
from sdm.maxent.solvers.descent import Curved, minimise_by_newton
from sdm.models.community import FittedJoint
from sdm.types import Array

FEATURES = "lq"
RIDGE = 1e-3  # without it, separable species have no finite optimum
ROUNDS, DONE = 100, 1e-10


def fit_glm(x: Array, labels: States, encoder: Encoder, species: tuple[str, ...], ridge: float = RIDGE) -> FittedJoint:
    """Fit a binomial GLM with logit link to the surveyed sites of every species; `x` are encoded values `(n, V)`."""
    features = SiteFeatures.learn(x, encoder, FEATURES, "maxent")
    f = features.evaluate(x)
    surveyed = labels >= 0
    weights = [logistic_regression(f[rows], y[rows] > 0, ridge) for y, rows in zip(labels.T, surveyed.T)]
    meta = {"learner": "glm", "ridge": ridge, "sites": len(x)}
    return FittedJoint(
        encoder, features, species, edgeless(len(species)), np.concatenate(weights), np.zeros(0), 1.0, meta
    )


def logistic_regression(f: Array, y: NDArray[np.bool_], ridge: float) -> Array:
    """Return the coefficients that minimise `Σ ln(1 + e^{f·w}) − y f·w + ½ ridge |w|²`, by reweighted least squares."""

    def evaluate(w: Array) -> Curved:
        score = f @ w
        p = 0.5 * (1.0 + np.tanh(0.5 * score))
        value = float(np.logaddexp(0.0, score).sum() - score[y].sum() + 0.5 * ridge * (w @ w))
        curvature = (f.T * (p * (1.0 - p))) @ f
        curvature[np.diag_indices_from(curvature)] += ridge
        return value, f.T @ (p - y) + ridge * w, curvature

    return minimise_by_newton(evaluate, np.zeros(f.shape[1]), lambda _, gain: gain <= DONE, ROUNDS)[0]
