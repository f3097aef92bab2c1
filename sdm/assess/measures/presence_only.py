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

if TYPE_CHECKING:  # for annotations only
    from sdm.data.table import SampleTable
from sdm.errors import IncompleteModelError

# The measures of a fold; True if larger is better.
HIGHER = {
    "auc.train": True, "auc.val": True, "auc.diff": False, "cbi.val": True, "or.mtp": False, "or.10p": False,
    "loss.val": False, "gain.val": True, "proc.val": True, "tss.val": True,
}  # fmt: skip
POOLED_BACKGROUND = 10_000  # background predictions of a fold for pooling, evenly spaced in their order
FLOOR = 1e-3  # keeps losses finite where an entropy above 1 predicts zero: the share of the base measure


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
    background = model.predict(train.background, "raw")
    test_raw = model.predict(test.presence, "raw")
    same = test.background is train.background
    reference = background if same else model.predict(test.background, "raw")
    check_counts(test_raw, reference)
    ordered = np.sort(reference)
    training, validated = auc_among(raw, ordered if same else np.sort(background)), auc_among(test_raw, ordered)
    floor = 0.0 if model.alpha == 1.0 else FLOOR
    gain = relative_gain(test_raw, reference, test.weights, floor)
    plural = test_raw.size > 1
    return {
        "auc.train": training,
        "auc.val": validated,
        "auc.diff": training - validated,
        "cbi.val": boyce(*(model.from_raw(raw, "cloglog") for raw in (test_raw, ordered))).index if plural else np.nan,
        "or.mtp": omission_rate(test_raw, raw.min()),
        "or.10p": omission_rate(test_raw, basic.tenth_percentile(raw)),
        "loss.val": float(np.log(reference.size)) - gain,
        "gain.val": gain,
        "proc.val": partial_roc_ratio(test_raw, reference) if plural else np.nan,
        "tss.val": basic.tss(test_raw, reference, basic.max_tss(raw, background)[1]),
        "loss.const.val": float(np.log(reference.size)),
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
    background = evenly(np.sort(model.predict(test.background)), POOLED_BACKGROUND)
    return HeldOut(float(model.predict(test.presence)[0]), background)


def pooled(rows: Sequence[Numbers], per_fold: Sequence[HeldOut]) -> dict[str, float]:
    """Return `cbi.val.avg` and `proc.val.avg` over folds of one record each, as one measure of all records.

    Each record has the prediction of the model that was fitted without it. For randomly placed records, the record of a
    fold falls into a window of predictions as often as the background of that fold. So the Boyce index compares the
    shares of the records with the mean background shares over folds. All folds have the same weight. For the partial
    ROC, a record's prediction is its rank among the background of its fold (`auc.val`), which is comparable between
    models.
    """
    sizes = [part.background.size for part in per_fold]
    index = boyce(
        np.array([part.presence for part in per_fold]),
        np.concatenate([part.background for part in per_fold]),
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
