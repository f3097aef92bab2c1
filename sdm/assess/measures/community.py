"""Measures of joint models at sites with known labels: wrong labels, AUC per species, log losses, richness."""

import numpy as np
from numpy.typing import NDArray

from sdm.assess.measures.basic import auc, by_label, max_tss, tss
from sdm.features.terms import PRODUCT
from sdm.joint.inference import States
from sdm.joint.learners.tuning import hamming
from sdm.models.community import FittedJoint
from sdm.types import Array, Numbers, Row


def species_auc(labels: States, probability: Array) -> Array:
    """Return every species' AUC over the sites where it was surveyed; NaN where one of the two labels is missing."""
    return np.array([auc(*sites) if sites else np.nan for sites in by_label(probability.T, labels.T)])


def species_tss(labels: States, probability: Array, thresholds: Array) -> Array:
    """Return every species' true skill statistic at its threshold; NaN without both labels or a threshold."""
    parts = zip(by_label(probability.T, labels.T), thresholds)
    return np.array([tss(*sites, level) if sites and np.isfinite(level) else np.nan for sites, level in parts])


def best_thresholds(labels: States, probability: Array) -> Array:
    """Return the threshold of every species with the largest true skill statistic; NaN without both labels."""
    return np.array([max_tss(*sites)[1] if sites else np.nan for sites in by_label(probability.T, labels.T)])


def richness_error(labels: States, probability: Array) -> float:
    """Return the root mean squared error of the expected richness over the sites where all species were surveyed."""
    complete = (labels >= 0).all(axis=1)
    if not complete.any():
        return float("nan")
    return float(np.sqrt(np.mean((probability[complete].sum(axis=1) - labels[complete].sum(axis=1)) ** 2)))


def marginal_loss(labels: States, probability: Array) -> float:
    """Return the mean per site of the log losses of single species at their known labels, summed over species."""
    p = np.clip(probability, 1e-15, 1.0 - 1e-15)
    log_likelihood = np.where(labels > 0, np.log(p), np.log1p(-p))
    return float(-log_likelihood[labels >= 0].sum() / len(labels))


def measure_community(model: FittedJoint, x: Array, labels: States, levels: np.ndarray | None = None) -> Numbers:
    """Return Hamming errors (of the best labelling, and of marginals above ½), mean AUC, log losses and richness error.

    The joint log loss is of all labels of a site together; the marginal one is the sum over single species. They are
    equal for a model without edges. `levels` are the levels of the random effect.
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


ASSOCIATIONS = "associations"


def log_odds_parts(
    model: FittedJoint, values: Array, labels: States, levels: np.ndarray | None = None
) -> dict[str, Array]:
    """Return the parts of every species' log-odds given the others, `(n, S)` each.

    The parts are the variables, the random effect if the model has one, and the associations.
    """
    d, terms = model.discriminant, model.features.terms
    f = model.features.evaluate(values)
    weights = model.scale * d.split(model.weights)[0]
    out = {}
    for v, name in enumerate(model.encoder.names):
        product = terms.kind == PRODUCT
        share = (terms.var == v) * np.where(product, 0.5, 1.0) + ((terms.other == v) & product) * 0.5
        out[name] = f[:, :-1] @ (weights[:, :-1] * share).T
    if model.random is not None:
        out[model.random.column] = model.scale * model.level_offsets(values, len(f), levels)
    links = np.zeros((len(f), len(model.species)))
    table = model.scale * d.table(model.weights)
    for (s, t), edge in zip(model.forest.edges, table):
        for species, other, values_of in ((s, t, edge), (t, s, edge.T)):
            gain = values_of[1] - values_of[0]  # by the label of the other
            links[:, species] += np.where(labels[:, other] >= 0, gain[np.maximum(labels[:, other], 0)], 0.0)
    return {**out, ASSOCIATIONS: links}


def partition_variance(
    model: FittedJoint, values: Array, labels: States, levels: np.ndarray | None = None
) -> list[Row]:
    """Return one row per species: the share of every part, and Tjur's R² without and with the other species' labels.

    Tjur's R² is the mean probability at presences minus the mean at absences.
    """
    parts = log_odds_parts(model, values, labels, levels)
    bias = model.scale * model.discriminant.split(model.weights)[0][:, -1]
    probability = model.predict_proba(values, levels=levels)
    rows = []
    for s, name in enumerate(model.species):
        valid = labels[:, s] >= 0
        present = labels[valid, s] > 0
        each = {part: column[valid, s] for part, column in parts.items()}
        total = np.sum(list(each.values()), axis=0)
        spread = float(np.var(total))
        shares = {
            part: float(np.mean((column - column.mean()) * (total - total.mean()))) / spread if spread > 0 else 0.0
            for part, column in each.items()
        }
        conditional = 0.5 * (1.0 + np.tanh(0.5 * (total + bias[s])))
        tjur = {"r2": _tjur(probability[valid, s], present), "r2 given the others": _tjur(conditional, present)}
        rows.append({"species": name, **shares, **tjur})
    return rows


def _tjur(probability: Array, present: NDArray[np.bool_]) -> float:
    return float(probability[present].mean() - probability[~present].mean())
