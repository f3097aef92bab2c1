"""Backward elimination: repeatedly drop the variable with the least importance at held-out records."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdm.assess.assessor import Assessor
from sdm.assess.fits import run_all
from sdm.assess.importance import permute_variables
from sdm.assess.splits.folds import Divisible, Fold, Split
from sdm.assess.variables.selection import EQUAL
from sdm.data.place import PLACE_ROW, without_place
from sdm.errors import DataError
from sdm.estimators.params import Parameters
from sdm.types import Array, Numbers, Progress, Row


@dataclass(frozen=True)
class ReductionStep:
    """A set of variables, and the performance of its model at held-out records."""

    names: tuple[str, ...]
    dropped: str  # the variable dropped in this step; empty for the full set
    # its importance in the previous step: increase of the held-out loss after shuffling, nats; NaN for the full set
    importance: float
    loss: float  # held-out loss, nats; the mean over folds
    error: float  # its standard error; NaN for one fold
    auc: float
    kept: bool  # whether the rule continues; the last kept set is the choice

    def row(self) -> Numbers:
        """Return the step under the column names of the table."""
        return {
            "variables": len(self.names),
            "dropped": self.dropped,
            "importance": self.importance,
            "held-out loss": self.loss,
            "standard error": self.error,
            "AUC": self.auc,
            "kept": self.kept,
        }


@dataclass(frozen=True)
class Shuffles:
    """Number of shuffles per variable, and the seed."""

    repeats: int = 10
    seed: int = 1


def reduce_variables(
    table: Divisible,
    estimator: Parameters,
    split: Split,
    assessor: Assessor,
    *,
    shuffles: Shuffles,
    to: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[ReductionStep]:
    """Fit to every fold, shuffle each variable at its held-out records, drop the least important, and repeat.

    The loop continues while the held-out loss is at most the least so far plus its standard error over folds. With
    `to`, it continues down to this number of variables, whatever the loss. For ties, the last variable is dropped.
    Variables of place are not counted and are always included.
    """
    names, dropped, importance = table.names, "", float("nan")
    steps: list[ReductionStep] = []
    best: ReductionStep | None = None
    while True:
        jobs = [(table, estimator, fold, assessor, names, shuffles) for fold in split.folds]
        text = f"reducing, {len(names)} variables"
        rows, per_fold, drops = zip(*run_all(_measure, jobs, executor, progress, text))
        mean = assessor.average(rows, per_fold)
        loss = mean["loss.val.avg"]
        if not np.isfinite(loss):
            raise DataError(f"the held-out loss with {len(names)} variables is not finite: remove --reduce")
        error = mean["loss.val.sd"] / np.sqrt(len(split.folds))
        limit = None if best is None else best.loss + (best.error if np.isfinite(best.error) else 0.0)
        accepted = to is not None or limit is None or loss <= limit
        step = ReductionStep(names, dropped, importance, loss, error, mean["auc.val.avg"], accepted)
        steps.append(step)
        best = step if best is None or loss < best.loss else best
        among = without_place(names)
        if not accepted or len(among) <= (1 if to is None else to):
            return steps
        average = np.mean(drops, axis=0)
        least = np.flatnonzero(average <= average.min() + EQUAL * max(abs(float(average.min())), 1.0))[-1]
        dropped, importance = among[least], float(average[least])
        names = tuple(name for name in names if name != dropped)


def _measure(
    table: Divisible,
    estimator: Parameters,
    fold: Fold,
    assessor: Assessor,
    names: tuple[str, ...],
    shuffles: Shuffles,
) -> tuple[Row, Any, Array]:
    """Fit to a fold, measure it, and shuffle every variable of its held-out part."""
    train, test = (part.pick(names) for part in (fold.training(table), fold.testing(table)))
    try:
        fitted = assessor.fit(train, estimator)
    except DataError as error:
        raise DataError(f"fold {fold.name}: {error}", code=error.code) from error
    row, for_pool = assessor.measure_fold(fitted, train, test)
    rng = np.random.default_rng([shuffles.seed, 29])
    shuffled = permute_variables(assessor.quality(fitted, test), assessor.values(test), names, shuffles.repeats, rng)
    return row, for_pool, np.array([one.drop for one in shuffled if one.variable != PLACE_ROW])
