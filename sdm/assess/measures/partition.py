"""How much of what a joint model says of a species comes from which variable, and how much from the other species.

Given the others, the log-odds of a species at a site are a sum: of the features of every variable, of the random effect
if there is one, and of the links with its neighbours, `2 w_st (2 y_t − 1)` each. The share of a part is its covariance
with the whole, over the variance of the whole, at the sites where the species is known: shares add up to one. A part
that works against the rest has a negative one. Products of two variables count half for each.
"""

import numpy as np
from numpy.typing import NDArray

from sdm.features.terms import PRODUCT
from sdm.joint.inference import States
from sdm.models.community import FittedJoint
from sdm.types import Array, Row

ASSOCIATIONS = "associations"


def log_odds_parts(
    model: FittedJoint, values: Array, labels: States, levels: np.ndarray | None = None
) -> dict[str, Array]:
    """Return the parts of every species' log-odds given the others, `(n, S)` each: variables, the random effect if
    there is one, then associations."""
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
        for own, other, values_of in ((s, t, edge), (t, s, edge.T)):
            gain = values_of[1] - values_of[0]  # by the label of the other
            links[:, own] += np.where(labels[:, other] >= 0, gain[np.maximum(labels[:, other], 0)], 0.0)
    return {**out, ASSOCIATIONS: links}


def partition_variance(
    model: FittedJoint, values: Array, labels: States, levels: np.ndarray | None = None
) -> list[Row]:
    """Return one row per species: the share of every part, and Tjur's R² without and with the other species' labels.

    Tjur's R² is the mean probability at presences less that at absences.
    """
    parts = log_odds_parts(model, values, labels, levels)
    bias = model.scale * model.discriminant.split(model.weights)[0][:, -1]
    alone = model.predict_proba(values, levels=levels)
    rows = []
    for s, name in enumerate(model.species):
        known = labels[:, s] >= 0
        present = labels[known, s] > 0
        each = {part: column[known, s] for part, column in parts.items()}
        whole = np.sum(list(each.values()), axis=0)
        spread = float(np.var(whole))
        shares = {
            part: float(np.mean((column - column.mean()) * (whole - whole.mean()))) / spread if spread > 0 else 0.0
            for part, column in each.items()
        }
        given = 0.5 * (1.0 + np.tanh(0.5 * (whole + bias[s])))
        tjur = {"r2": _tjur(alone[known, s], present), "r2 given the others": _tjur(given, present)}
        rows.append({"species": name, **shares, **tjur})
    return rows


def _tjur(probability: Array, present: NDArray[np.bool_]) -> float:
    return float(probability[present].mean() - probability[~present].mean())
