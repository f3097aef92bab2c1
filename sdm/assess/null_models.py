"""Is a model better than one of randomised records? (Raes and ter Steege 2007, Bohl et al. 2019)

Null models are fitted to records drawn at random from the background, as many as there are real ones, with the same
settings and folds, and measured on the same real held-out records. What they reach is what a model reaches that knows
the region but not the species.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.assess.fits import fit_table, run_all
from sdm.assess.splits.folds import Split
from sdm.assess.validation import HIGHER, HeldOut, averages, hold_out, measure, validate_fold
from sdm.errors import DataError, OptionError
from sdm.estimators.maxent import Maxent
from sdm.types import Array, Index, Progress

if TYPE_CHECKING:  # a table is given; none of its code is needed
    from sdm.data.table import SampleTable


@dataclass(frozen=True)
class NullTest:
    """One measure of the real model against the null models.

    `effect` is `(real − mean)/sd` of the null models, with its sign turned where less is better, so that above zero is
    always better than chance; `p` is the share of models, the real one counted too, that are at least as good.
    """

    measure: str
    real: float
    null_mean: float
    null_sd: float
    null_lower: float
    null_upper: float
    effect: float
    p: float


@dataclass(frozen=True)
class NullModels:
    """The tests, one per measure, and every null model's averages over the folds."""

    tests: list[NullTest]
    rows: list[dict[str, float]]


def null_models(
    table: "SampleTable",
    estimator: Maxent,
    split: Split,
    *,
    iterations: int = 100,
    seed: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> NullModels:
    """Compare a model's cross-validation with that of models of randomised records.

    Parameters
    ----------
    table : SampleTable
    estimator : Maxent
    split : Split
    iterations : int
        How many null models (each fitted once a fold).
    seed : int
        Null records are drawn without replacement from the background, by its base weights where it has any.
    """
    if iterations < 2:
        raise OptionError(f"iterations={iterations!r}: expected a whole number from 2 on, such as 100")
    if table.n_background < table.n_presences:
        raise DataError(
            f"{table.n_background:,} background points to draw {table.n_presences:,} null records from: "
            "expected at least as many"
        )
    measured = [validate_fold(table, estimator, fold) for fold in split.folds]
    real = averages([row for row, _ in measured], held=[held for _, held in measured])
    rng = np.random.default_rng(seed)
    chance = None if table.weights is None else table.weights / table.weights.sum()
    draws = [rng.choice(table.n_background, table.n_presences, replace=False, p=chance) for _ in range(iterations)]
    jobs = [(table, estimator, split, draw) for draw in draws]
    rows = run_all(_null, jobs, executor, progress, "null models")
    names = [name for name in HIGHER if f"{name}.avg" in real]
    return NullModels([_test(name, real, rows) for name in names], rows)


def _null(table: "SampleTable", estimator: Maxent, split: Split, draw: Index) -> dict[str, float]:
    """Fit null records fold by fold, and measure on the real records that the fold holds out."""
    random = _with_presences(table, draw)
    rows: list[dict[str, Any]] = []
    held: list[HeldOut | None] = []
    for fold in split.folds:
        train, test = random.take(fold.train, fold.background_train), fold.testing(table)
        fitted = fit_table(train, estimator)
        rows.append(measure(fitted.model_, train, test))
        held.append(hold_out(fitted.model_, test))
    return averages(rows, held=held)


def _with_presences(table: "SampleTable", cells: Index) -> "SampleTable":
    """Return the table with background points in place of its presences; weights of records stay in their order."""
    return replace(
        table,
        presence=table.background[cells],
        presence_x=table.background_x[cells],
        presence_y=table.background_y[cells],
        presence_base=None if table.weights is None else table.weights[cells],
    )


def _test(name: str, real: dict[str, float], rows: Sequence[dict[str, float]]) -> NullTest:
    """Compare one measure."""
    value = real[f"{name}.avg"]
    values: Array = np.array([row[f"{name}.avg"] for row in rows])
    values = values[~np.isnan(values)]
    if values.size < 2 or np.isnan(value):
        nothing = float("nan")
        return NullTest(name, value, *(nothing,) * 6)
    sign = 1.0 if HIGHER[name] else -1.0
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    as_good = int(np.count_nonzero(sign * values >= sign * value))
    lower, upper = (float(q) for q in np.quantile(values, [0.05, 0.95]))
    effect = sign * (value - mean) / sd if sd > 0 else float("nan")
    return NullTest(name, value, mean, sd, lower, upper, effect, (1 + as_good) / (1 + values.size))
