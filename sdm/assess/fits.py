"""Fits on tables, shared by folds, searches, curves and null models."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sdm.data.encode import NamedNumbers
from sdm.estimators.species import SpeciesEstimator
from sdm.executors.opening import as_done
from sdm.features.classes import for_variables
from sdm.progress.telling import StepCount
from sdm.types import Progress

if TYPE_CHECKING:  # for annotations only
    from sdm.data.table import SampleTable
    from sdm.models.species import Model

AnySpecies = TypeVar("AnySpecies", bound=SpeciesEstimator)


def fit_table(
    table: "SampleTable",
    estimator: AnySpecies,
    columns: Sequence[int] | None = None,
    start: "SpeciesEstimator | Model | None" = None,
    progress: Progress | None = None,
) -> AnySpecies:
    """Fit a copy of an estimator to a table, or to a subset of its columns, with the table's categorical variables.

    `start` is an earlier fit to start from; `progress` is called where a fit has several steps.
    """
    chosen = list(range(len(table.names))) if columns is None else list(columns)
    names = [table.names[v] for v in chosen]
    parts = [part if columns is None else part[:, chosen] for part in (table.presence, table.background)]
    x = NamedNumbers(np.vstack(parts), tuple(names))
    y = np.repeat([1, 0], [table.n_presences, table.n_background])
    per_presence, base = table.presence_weights, table.base_weights
    weight = None if per_presence is None else np.concatenate([per_presence, np.ones(table.n_background)])
    fresh = estimator.changed(categorical=[name for name in table.categorical if name in names])
    for text in ("features", "families"):
        if hasattr(fresh, text):
            setattr(fresh, text, for_variables(getattr(fresh, text), names))
    return fresh.fit(x, y, weight, base_weight=base, start=start, progress=progress)


def run_all(
    task: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    executor: Executor | None = None,
    progress: Progress | None = None,
    text: str = "fitting",
) -> list[Any]:
    """Call a function on every tuple of arguments, here or through an executor; return the results in order."""
    jobs = list(arguments)
    out: list[Any] = [None] * len(jobs)
    count = StepCount(progress, text, len(jobs))
    for k, future in as_done(executor, task, jobs):
        out[k] = future.result()
        count.step()
    return out
