"""Measure a model on held-out records or sites, fold by fold, under the column names of ENMeval."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from sdm.assess.assessor import PRESENCE_ONLY, Assessor, OutOfFold
from sdm.assess.fits import run_all
from sdm.assess.splits.folds import Divisible, Fold, Split
from sdm.errors import DataError
from sdm.estimators.params import Parameters
from sdm.maxent.solution import CONVERGED
from sdm.types import Progress, Row


@dataclass(frozen=True)
class CrossValidation:
    """The measures of every fold."""

    rows: list[Row]  # one per fold
    mean: dict[str, float]  # averages and standard deviations
    split: Split
    models: list[Any]  # the models of the folds, on request
    out_of_fold: OutOfFold | None = None  # predictions at held-out sites, for class models


def cross_validate(
    table: Divisible,
    estimator: Parameters,
    split: Split,
    *,
    assessor: Assessor = PRESENCE_ONLY,
    keep_models: bool = False,
    start: Any = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> CrossValidation:
    """Fit a copy of the estimator without each fold in turn, and measure it on the fold.

    `keep_models` returns the models, for bands. The fits start from `start`, a model of all records. This saves time
    and does not change the optimum.
    """
    jobs = [(table, estimator, fold, assessor, keep_models, start) for fold in split.folds]
    results = run_all(validate_fold, jobs, executor, progress, "cross-validation")
    models = [model for *_, model in results if model is not None]
    return gather_folds(table, split, assessor, [(row, measured) for row, measured, _ in results], models)


def gather_folds(
    table: Divisible, split: Split, assessor: Assessor, measured: Sequence[tuple[Row, Any]], models: Sequence[Any] = ()
) -> CrossValidation:
    """Return the cross-validation from the measures of an assessor for every fold."""
    rows = []
    for fold, (row, _) in zip(split.folds, measured, strict=True):
        rows.append({"fold": fold.name, **assessor.counts(fold.training(table), fold.testing(table)), **row})
    per_fold = [part for _, part in measured]
    mean = assessor.average(rows, per_fold, training=True)
    return CrossValidation(rows, mean, split, list(models), assessor.out_of_fold(table, split, per_fold))


def validate_fold(
    table: Divisible,
    estimator: Parameters,
    fold: Fold,
    assessor: Assessor = PRESENCE_ONLY,
    keep_model: bool = False,
    start: Any = None,
) -> tuple[Row, Any, Any]:
    """Fit on a fold's training part and measure on the rest; return also the values for pooling, and the model on
    request.

    The model is optional because copying it between processes takes time. `start` is as for `cross_validate`. A fit
    that stops before its optimum is repeated without it.
    """
    train, test = fold.training(table), fold.testing(table)
    try:
        fitted = assessor.fit(train, estimator.for_fold(fold.name), start=start)
        # A fit that stopped early would still depend on the test records, through its start.
        if start is not None and fitted.solution_.status != CONVERGED:
            fitted = assessor.fit(train, estimator.for_fold(fold.name))
    except DataError as error:
        raise DataError(f"fold {fold.name}: {error}", code=error.code) from error
    return *assessor.measure_fold(fitted, train, test), fitted.model_ if keep_model else None
