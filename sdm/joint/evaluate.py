"""How good a joint model is at sites with known labels: wrong labels, AUC a species, joint log loss, richness."""

from typing import Any

import numpy as np

from sdm.assess.measures import auc
from sdm.features.domain import Array
from sdm.joint.fitted import FittedJoint
from sdm.joint.inference import States
from sdm.joint.tuning import hamming


def species_auc(labels: States, probability: Array) -> Array:
    """Return every species' AUC over the sites where it is known; NaN where one of the two labels does not occur."""
    out = np.full(labels.shape[1], np.nan)
    for s in range(labels.shape[1]):
        there, away = probability[labels[:, s] == 1, s], probability[labels[:, s] == 0, s]
        if there.size and away.size:
            out[s] = auc(there, away)
    return out


def richness_error(labels: States, probability: Array) -> float:
    """Return the root mean squared error of the expected number of species, over the sites where all are known.

    NaN if there is no such site.
    """
    whole = (labels >= 0).all(axis=1)
    if not whole.any():
        return float("nan")
    return float(np.sqrt(np.mean((probability[whole].sum(axis=1) - labels[whole].sum(axis=1)) ** 2)))


def evaluate(model: FittedJoint, x: Array, labels: States) -> dict[str, Any]:
    """Return Hamming error (of the best labeling; of marginals above ½), mean AUC, joint log loss, richness error."""
    probability = model.predict_proba(x)
    each = species_auc(labels, probability)
    return {
        "hamming": hamming(labels, model.predict(x)),
        "hamming of marginals": hamming(labels, (probability > 0.5).astype(np.int8)),
        "auc": float(np.nanmean(each)) if np.isfinite(each).any() else float("nan"),
        "log loss": model.log_loss(x, labels),
        "richness error": richness_error(labels, probability),
    }
