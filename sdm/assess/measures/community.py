"""How good a joint model is at sites with known labels: wrong labels, AUC per species, log losses, richness."""

import numpy as np

from sdm.assess.measures.basic import auc, max_tss, tss
from sdm.joint.inference import States
from sdm.joint.learners.tuning import hamming
from sdm.models.community import FittedJoint
from sdm.types import Array, Numbers


def species_auc(labels: States, probability: Array) -> Array:
    """Return every species' AUC over the sites where it is known; NaN where one of the two labels does not occur."""
    out = np.full(labels.shape[1], np.nan)
    for s in range(labels.shape[1]):
        there, away = probability[labels[:, s] == 1, s], probability[labels[:, s] == 0, s]
        if there.size and away.size:
            out[s] = auc(there, away)
    return out


def species_tss(labels: States, probability: Array, cutoffs: Array) -> Array:
    """Return every species' true skill statistic at its cutoff; NaN where a label or a cutoff is missing."""
    out = np.full(labels.shape[1], np.nan)
    for s, cutoff in enumerate(cutoffs):
        there, away = probability[labels[:, s] == 1, s], probability[labels[:, s] == 0, s]
        if there.size and away.size and np.isfinite(cutoff):
            out[s] = tss(there, away, cutoff)
    return out


def best_cutoffs(labels: States, probability: Array) -> Array:
    """Return the cutoff of every species at which its true skill statistic is largest; NaN where it has none."""
    parts = [(p[known == 1], p[known == 0]) for known, p in zip(labels.T, probability.T)]
    return np.array([max_tss(*part)[1] if all(side.size for side in part) else np.nan for part in parts])


def richness_error(labels: States, probability: Array) -> float:
    """Return the root mean squared error of the expected richness, over sites where all species are known, if any."""
    whole = (labels >= 0).all(axis=1)
    if not whole.any():
        return float("nan")
    return float(np.sqrt(np.mean((probability[whole].sum(axis=1) - labels[whole].sum(axis=1)) ** 2)))


def marginal_loss(labels: States, probability: Array) -> float:
    """Return the log losses of single species at their known labels, summed over species: the mean per site."""
    p = np.clip(probability, 1e-15, 1.0 - 1e-15)
    own = np.where(labels > 0, np.log(p), np.log1p(-p))
    return float(-own[labels >= 0].sum() / len(labels))


def measure_community(model: FittedJoint, x: Array, labels: States, levels: np.ndarray | None = None) -> Numbers:
    """Return Hamming error (of the best labeling; of marginals above ½), mean AUC, log losses, richness error.

    The joint log loss is that of all labels of a site at once; the marginal one is the sum of single species'. Without
    edges the two are one. `levels` are those of the random effect.
    """
    probability = model.predict_proba(x, levels=levels)
    each = species_auc(labels, probability)
    joint = model.log_loss(x, labels, levels)
    return {
        "hamming": hamming(labels, model.predict(x, levels=levels)),
        "hamming of marginals": hamming(labels, (probability > 0.5).astype(np.int8)),
        "auc": float(np.nanmean(each)) if np.isfinite(each).any() else float("nan"),
        "log loss": joint,
        "marginal log loss": marginal_loss(labels, probability) if len(model.forest.edges) else joint,
        "richness error": richness_error(labels, probability),
    }
