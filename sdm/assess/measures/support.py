"""Honest figures for maps with exact zeros: an entropy above 1 can put records where its density is zero.

There the log loss is infinite. What can be said instead: how many records lie outside the support; the Fenchel–Young
loss, which is proper for models of the same order; and the log loss of the model mixed with a little of the base
measure, by which models of different orders can be compared.
"""

import numpy as np

from sdm.errors import DataError
from sdm.models.species import Model
from sdm.types import Array, Numbers

MIXED = 1e-3  # share of the base measure in the mixture


def share_outside(raw: Array) -> float:
    """Return the share of records at a density of exactly zero."""
    return float(np.mean(raw == 0.0))


def mixed_log_loss(raw: Array, n: int, share: float = MIXED) -> float:
    """Return the log loss of `(1 − share)·p + share·q0` at records, in nats; the domain has `n` cells."""
    return float(-np.mean(np.log((1.0 - share) * raw + share / n)))


def fenchel_young_loss(model: Model, x: Array) -> float:
    """Return `Ω*(θ) − θ̄`, with the mean of the scores over records: the Fenchel–Young loss up to the sample's entropy.

    For Shannon's entropy this is the log loss less the logarithm of the number of cells.
    """
    if "conjugate" not in model.meta:
        raise DataError("the model does not hold the conjugate of its scores: fit it again with this version")
    link = model.predict(x, "link")
    scores = link + model.tau + (np.log(model.n_domain) if model.alpha == 1.0 else 0.0)
    return float(model.meta["conjugate"] - scores.mean())


def measure_support(model: Model, x: Array, suffix: str = "") -> Numbers:
    """Return all three for some records, under names that may end in `_<suffix>`."""
    raw, end = model.predict(x, "raw"), f"_{suffix}" if suffix else ""
    return {
        f"outside_support{end}": share_outside(raw),
        f"log_loss_mixed{end}": mixed_log_loss(raw, model.n_domain),
        f"fenchel_young{end}": fenchel_young_loss(model, x),
    }
