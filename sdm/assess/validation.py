"""A model measured on records that it has not seen, fold by fold, under the column names of ENMeval.

Most measures are means over records, or ranks of a record among the background of its own fold, so their averages over
folds mean something even if each fold holds one record. The Boyce index and the partial ROC compare a distribution of
records with that of the background, and one record has none: there the records of all folds are pooled (`pooled`).
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.assess.fits import fit_table, run_all
from sdm.assess.measures.basic import (
    aicc,
    auc,
    auc_difference,
    boyce,
    check_counts,
    minimum_presence,
    omission,
    partial_roc_ratio,
    relative_gain,
    tenth_percentile,
)
from sdm.assess.splits.folds import Fold, Split
from sdm.estimators.maxent import Maxent
from sdm.models.species import Model
from sdm.types import Array, Progress

if TYPE_CHECKING:  # a table is given; none of its code is needed
    from sdm.data.table import SampleTable

# What is measured on a fold, and whether more of it is better.
HIGHER = {
    "auc.train": True, "auc.val": True, "auc.diff": False, "cbi.val": True, "or.mtp": False, "or.10p": False,
    "loss.val": False, "gain.val": True, "proc.val": True,
}  # fmt: skip

# Background predictions of a fold that are kept for pooling; of more, as many at even distances in their order.
KEPT = 10_000

# Where an entropy above 1 leaves a density of zero, this share of the base measure keeps the loss finite.
FLOOR = 1e-3


def measure(model: Model, train: "SampleTable", test: "SampleTable") -> dict[str, float]:
    """Measure a model on held-out records, against the background that goes with them.

    Returns
    -------
    dict
        `auc.train` (training presences against training background), `auc.val`, `auc.diff`, `cbi.val` (continuous Boyce
        index of the cloglog values), `or.mtp` and `or.10p` (held-out presences below the training thresholds),
        `gain.val` and `loss.val` (nats; the density scaled to one over the validation background; the loss of a
        uniform prediction is the log of its number of points), `proc.val` (partial ROC ratio at 5 %). `cbi.val` and
        `proc.val` of a single record are NaN.
    """
    raw = model.predict(train.presence, "raw")
    around = model.predict(train.background, "raw")
    held, against = model.predict(test.presence, "raw"), model.predict(test.background, "raw")
    check_counts(held, against)
    own, validated = auc(raw, around), auc(held, against)
    floor = 0.0 if model.alpha == 1.0 else FLOOR
    gain = relative_gain(held, against, test.weights, floor)
    several = held.size > 1
    return {
        "auc.train": own,
        "auc.val": validated,
        "auc.diff": auc_difference(own, validated),
        "cbi.val": boyce(*(model.from_raw(raw, "cloglog") for raw in (held, against))).index if several else np.nan,
        "or.mtp": omission(held, minimum_presence(raw)),
        "or.10p": omission(held, tenth_percentile(raw)),
        "loss.val": float(np.log(against.size)) - gain,
        "gain.val": gain,
        "proc.val": partial_roc_ratio(held, against) if several else np.nan,
    }


def measure_whole(fitted: Maxent, table: "SampleTable") -> dict[str, Any]:
    """Measure a model on what it was fitted to: `auc.train`, `cbi.train`, `ncoef`, `AICc` and why it may be missing."""
    model = fitted.model_
    raw, around = model.predict(table.presence, "raw"), model.predict(table.background, "raw")
    count = int(model.weights.size)
    criterion = aicc(raw, around, count)
    return {
        "auc.train": auc(raw, around),
        "cbi.train": boyce(model.from_raw(raw, "cloglog"), model.from_raw(around, "cloglog")).index,
        "ncoef": count,
        "AICc": criterion.value,
        "AICc.reason": criterion.reason,
        "gain": fitted.solution_.gain,
        "gap": fitted.solution_.gap,
        "status": fitted.solution_.status,
    }


@dataclass(frozen=True)
class HeldOut:
    """What the model of a fold that holds one record predicts (cloglog): there, and at the background of the fold."""

    presence: float
    background: Array


def hold_out(model: Model, test: "SampleTable") -> HeldOut | None:
    """Return what pooling needs of a fold; None if it holds several records, and is measured by itself."""
    if test.n_presences > 1:
        return None
    around = np.sort(model.predict(test.background))
    if around.size > KEPT:
        around = around[np.linspace(0, around.size - 1, KEPT).round().astype(np.int64)]
    return HeldOut(float(model.predict(test.presence)[0]), around)


def pooled(rows: Sequence[dict[str, Any]], held: Sequence[HeldOut]) -> dict[str, float]:
    """Return `cbi.val.avg` and `proc.val.avg` over folds of one record each, as one measure of all records.

    Each record is predicted by the model that did not know it. If records fell by chance, the record of a fold would be
    in a window of predictions as often as that fold's background is. So the Boyce index compares the records' shares
    with the mean of the folds' background shares, each fold counting the same. For the partial ROC a record's
    prediction is its rank among its own fold's background (`auc.val`), which models on different scales share.
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


def averages(
    rows: Sequence[dict[str, Any]], keys: Sequence[str] | None = None, held: Sequence[HeldOut | None] = ()
) -> dict[str, float]:
    """Return `<measure>.avg` and `<measure>.sd` over folds; folds where a measure is undefined are left out of it.

    Where every fold holds one record, `held` pools what cannot be averaged.
    """
    out: dict[str, float] = {}
    for key in keys or [name for name in HIGHER if name != "auc.train"]:
        values = np.array([row[key] for row in rows], dtype=np.float64)
        known = values[~np.isnan(values)]
        out[f"{key}.avg"] = float(known.mean()) if known.size else float("nan")
        out[f"{key}.sd"] = float(known.std(ddof=1)) if known.size > 1 and np.isfinite(known).all() else float("nan")
    alone = [part for part in held if part is not None]
    return out | pooled(rows, alone) if alone and len(alone) == len(rows) else out


@dataclass(frozen=True)
class CrossValidation:
    """One row per fold, their averages, the split that made them, and the folds' models where they were kept."""

    rows: list[dict[str, Any]]
    mean: dict[str, float]
    split: Split
    models: list[Model]


def cross_validate(
    table: "SampleTable",
    estimator: Maxent,
    split: Split,
    *,
    keep_models: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> CrossValidation:
    """Fit without each fold in turn and measure on it; models are kept for bands and for maps of their spread."""
    jobs = [(table, estimator, fold) for fold in split.folds]
    found = run_all(_row_and_model if keep_models else _row, jobs, executor, progress, "folds")
    rows = [row for row, _, _ in found]
    mean = averages(rows, list(HIGHER), [held for _, held, _ in found])
    return CrossValidation(rows, mean, split, [model for _, _, model in found if model is not None])


def validate_fold(table: "SampleTable", estimator: Maxent, fold: Fold) -> tuple[dict[str, Any], HeldOut | None]:
    """Fit on a fold's training part and measure on the rest; return also what pooling needs."""
    return _row_and_model(table, estimator, fold)[:2]


def _row(table: "SampleTable", estimator: Maxent, fold: Fold) -> tuple[dict[str, Any], HeldOut | None, Model | None]:
    """The row alone: a model need not travel between processes unless it is wanted."""
    return *validate_fold(table, estimator, fold), None


def _row_and_model(table: "SampleTable", estimator: Maxent, fold: Fold) -> tuple[dict[str, Any], HeldOut | None, Model]:
    train, test = fold.training(table), fold.testing(table)
    fitted = fit_table(train, estimator)
    head = {"fold": fold.name, "training_presences": train.n_presences, "test_presences": test.n_presences}
    tail = {"ncoef": int(fitted.model_.weights.size), "gap": fitted.solution_.gap, "status": fitted.solution_.status}
    return head | measure(fitted.model_, train, test) | tail, hold_out(fitted.model_, test), fitted.model_
