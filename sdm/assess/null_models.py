"""Compare a model with models of randomised records (Raes and ter Steege 2007, Bohl et al. 2019).

Null models of a species are fitted to records drawn at random from the background, with the observed sample size. Null
models of classes are fitted to sites with permuted classes. Settings, folds and held-out records are the same as for
the real model. A null model has the performance of a model of the region, without information about the species or its
classes.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.assess.fits import run_all
from sdm.assess.splits.folds import Divisible, Split
from sdm.assess.validation import validate_fold
from sdm.errors import OptionError
from sdm.estimators.params import Parameters
from sdm.types import Array, Index, Progress, Row

OF_NULLS = ("null_mean", "null_sd", "null_lower", "null_upper", "effect", "p")  # columns of a test


@dataclass(frozen=True)
class NullModels:
    """One test per measure, and the averages of every null model over the folds."""

    tests: list[Row]
    rows: list[dict[str, float]]


def null_models(
    table: Divisible,
    estimator: Parameters,
    split: Split,
    *,
    assessor: Assessor = PRESENCE_ONLY,
    iterations: int = 100,
    seed: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> NullModels:
    """Compare a model's cross-validation with models of randomised records, each fitted once per fold.

    Null records are drawn without replacement from the background, with probability proportional to base weights. For
    classes, the targets are permuted among the training sites of every fold.
    """
    if iterations < 2:
        raise OptionError(f"iterations={iterations!r}: expected a whole number from 2 on, such as 100")
    rng = np.random.default_rng(seed)
    draws = [assessor.draw(table, rng) for _ in range(iterations)]
    rows, held_out, _ = zip(*(validate_fold(table, estimator, fold, assessor) for fold in split.folds))
    real = assessor.average(rows, held_out)
    jobs = [(table, estimator, split, draw, assessor) for draw in draws]
    nulls = run_all(_null, jobs, executor, progress, "null models")
    tests = [_test(name, real, nulls, more) for name, more in assessor.higher.items() if f"{name}.avg" in real]
    return NullModels(tests, nulls)


def _null(table: Divisible, estimator: Parameters, split: Split, draw: Index, assessor: Assessor) -> dict[str, float]:
    """Fit randomised records fold by fold, and measure on the real held-out records."""
    measured: list[tuple[Row, Any]] = []
    for fold in split.folds:
        train = assessor.randomise(table, fold, draw)
        measured.append(assessor.measure_fold(assessor.fit(train, estimator), train, fold.testing(table)))
    return assessor.average(*zip(*measured))


def _test(name: str, real: dict[str, float], rows: Sequence[dict[str, float]], more_is_better: bool) -> Row:
    """Compare one measure of the real model with the null models.

    `effect` is `(real − mean)/sd` of the null models. Positive values are better than random for all measures. `p` is
    the share of models, including the real one, that are at least as good.
    """
    value = real[f"{name}.avg"]
    test: Row = {"measure": name, "real": value}
    values: Array = np.array([row[f"{name}.avg"] for row in rows])
    values = values[~np.isnan(values)]
    if values.size < 2 or np.isnan(value):
        return test | dict.fromkeys(OF_NULLS, float("nan"))
    sign = 1.0 if more_is_better else -1.0
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    as_good = int(np.count_nonzero(sign * values >= sign * value))
    lower, upper = (float(q) for q in np.quantile(values, [0.05, 0.95]))
    effect = sign * (value - mean) / sd if sd > 0 else float("nan")
    return test | dict(zip(OF_NULLS, (mean, sd, lower, upper, effect, (1 + as_good) / (1 + values.size))))
