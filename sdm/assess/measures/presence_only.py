"""Measure a presence-only model on held-out records, under the column names of ENMeval.

Most measures are means over records, or ranks of a record in the background of its fold. Their averages over folds are
meaningful even if each fold holds one record. The Boyce index and the partial ROC compare two distributions, which
needs more than one record. For folds of one record, the records of all folds are pooled (`pooled`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sdm.assess.measures import basic
from sdm.assess.measures.basic import (
    auc_among,
    boyce,
    check_counts,
    evenly,
    omission_rate,
    partial_roc_ratio,
    relative_gain,
)
from sdm.models.species import Model
from sdm.types import Array, Numbers

if TYPE_CHECKING:  # a table is given; none of its code is needed
    from sdm.data.table import SampleTable
from sdm.errors import IncompleteModelError

# What is measured on a fold, and whether more of it is better.
HIGHER = {
    "auc.train": True, "auc.val": True, "auc.diff": False, "cbi.val": True, "or.mtp": False, "or.10p": False,
    "loss.val": False, "gain.val": True, "proc.val": True, "tss.val": True,
}  # fmt: skip
KEPT = 10_000  # background predictions of a fold for pooling; of more, as many at even distances in their order
FLOOR = 1e-3  # where an entropy above 1 leaves a density of zero, this share of the base measure keeps losses finite


def measure_presences(model: Model, train: "SampleTable", test: "SampleTable") -> dict[str, float]:
    """Measure a model on held-out records, against the background of their fold.

    - `auc.train` (training presences against training background), `auc.val`, `auc.diff`.
    - `cbi.val`: continuous Boyce index of the cloglog values.
    - `or.mtp` and `or.10p`: share of held-out presences below the training thresholds.
    - `gain.val` and `loss.val`: nats; the density is scaled to one over the validation background.
    - `proc.val`: partial ROC ratio at 5 %.
    - `tss.val`: true skill statistic against the validation background, at the best threshold for the training
      presences and background.
    - `loss.const.val`: loss of a constant prediction, the log of the number of validation background points.

    `cbi.val` and `proc.val` of a single record are NaN.
    """
    raw = model.predict(train.presence, "raw")
    around = model.predict(train.background, "raw")
    held = model.predict(test.presence, "raw")
    same = test.background is train.background
    against = around if same else model.predict(test.background, "raw")
    check_counts(held, against)
    ordered = np.sort(against)
    own, validated = auc_among(raw, ordered if same else np.sort(around)), auc_among(held, ordered)
    floor = 0.0 if model.alpha == 1.0 else FLOOR
    gain = relative_gain(held, against, test.weights, floor)
    several = held.size > 1
    return {
        "auc.train": own,
        "auc.val": validated,
        "auc.diff": own - validated,
        "cbi.val": boyce(*(model.from_raw(raw, "cloglog") for raw in (held, ordered))).index if several else np.nan,
        "or.mtp": omission_rate(held, raw.min()),
        "or.10p": omission_rate(held, basic.tenth_percentile(raw)),
        "loss.val": float(np.log(against.size)) - gain,
        "gain.val": gain,
        "proc.val": partial_roc_ratio(held, against) if several else np.nan,
        "tss.val": basic.tss(held, against, basic.max_tss(raw, around)[1]),
        "loss.const.val": float(np.log(against.size)),
    }


@dataclass(frozen=True)
class HeldOut:
    """Cloglog predictions of a fold with one held-out record: at the record, and at the background of the fold."""

    presence: float
    background: Array


def hold_out(model: Model, test: "SampleTable") -> HeldOut | None:
    """Return the predictions for pooling of a fold with one record; None for a fold with several records."""
    if test.n_presences > 1:
        return None
    around = evenly(np.sort(model.predict(test.background)), KEPT)
    return HeldOut(float(model.predict(test.presence)[0]), around)


def pooled(rows: Sequence[Numbers], held: Sequence[HeldOut]) -> dict[str, float]:
    """Return `cbi.val.avg` and `proc.val.avg` over folds of one record each, as one measure of all records.

    Each record has the prediction of the model that was fitted without it. For randomly placed records, the record of a
    fold falls into a window of predictions as often as the background of that fold. So the Boyce index compares the
    shares of the records with the mean background shares over folds. All folds have the same weight. For the partial
    ROC, a record's prediction is its rank among the background of its fold (`auc.val`), which is comparable between
    models.
    """
    sizes = [part.background.size for part in held]
    index = boyce(
        np.array([part.presence for part in held]),
        np.concatenate([part.background for part in held]),
        weights=np.concatenate([np.full(size, 1.0 / size) for size in sizes]),
    ).index
    even = (np.arange(max(sizes)) + 0.5) / max(sizes)
    ratio = partial_roc_ratio(np.array([row["auc.val"] for row in rows]), even)
    return {"cbi.val.avg": index, "cbi.val.sd": np.nan, "proc.val.avg": ratio, "proc.val.sd": np.nan}


MIXED = 1e-3  # share of the base measure in the mixture


def share_outside(raw: Array) -> float:
    """Return the share of records at a density of exactly zero."""
    return float(np.mean(raw == 0.0))


def mixed_log_loss(raw: Array, n: int, share: float = MIXED) -> float:
    """Return the log loss of `(1 − share)·p + share·q0` at records, in nats; the domain has `n` cells."""
    return float(-np.mean(np.log((1.0 - share) * raw + share / n)))


def fenchel_young_loss(model: Model, x: Array) -> float:
    """Return `Ω*(θ) − θ̄`, with the mean of the scores over records: the Fenchel–Young loss up to the sample's entropy.

    For Shannon's entropy this is the log loss minus the logarithm of the number of cells.
    """
    if "conjugate" not in model.meta:
        raise IncompleteModelError("the model lacks the conjugate of its scores: fit it again with this version")
    link = model.predict(x, "link")
    scores = link + model.tau + (np.log(model.n_domain) if model.alpha == 1.0 else 0.0)
    return float(model.meta["conjugate"] - scores.mean())


def measure_support(model: Model, x: Array, suffix: str = "") -> Numbers:
    """Return the three measures for records, under names that may end in `_<suffix>`."""
    raw, end = model.predict(x, "raw"), f"_{suffix}" if suffix else ""
    return {
        f"outside_support{end}": share_outside(raw),
        f"log_loss_mixed{end}": mixed_log_loss(raw, model.n_domain),
        f"fenchel_young{end}": fenchel_young_loss(model, x),
    }
