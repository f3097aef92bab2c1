"""Fits on tables: what folds, searches, curves and null models have in common."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.data.encode import NamedNumbers
from sdm.estimators.maxent import Maxent
from sdm.estimators.structural import StructMaxent
from sdm.executors.opening import as_done
from sdm.features.by_variable import for_variables
from sdm.progress.telling import StepCount
from sdm.types import Progress

if TYPE_CHECKING:  # a table is given; none of its code is needed
    from sdm.data.table import SampleTable

# What an estimator of another kind takes over from the one at hand.
SHARED = ("entropy", "multiplier", "knots", "categorical", "max_iterations", "add_presences", "prevalence", "unseen")


def fit_table(
    table: "SampleTable",
    estimator: Maxent,
    columns: Sequence[int] | None = None,
    start: Maxent | None = None,
    progress: Progress | None = None,
) -> Maxent:
    """Fit a copy of an estimator to a table, or to some of its columns; the table says which variables are categorical.

    A model of one of its columns has the distinct values of the background as its cells (`Maxent.fit_alone`).

    `start` is an earlier fit to start from; `progress` is told how far the choice of penalties of a structural
    model is, or the members of a committee.
    """
    chosen = list(range(len(table.names))) if columns is None else list(columns)
    names = [table.names[v] for v in chosen]
    parts = [part if columns is None else part[:, chosen] for part in (table.presence, table.background)]
    x = NamedNumbers(np.vstack(parts), tuple(names))
    y = np.repeat([1, 0], [table.n_presences, table.n_background])
    own = table.presence_weights
    weight = None if own is None else np.concatenate([own, np.ones(table.n_background)])
    fresh = type(estimator)(**estimator.get_params())
    fresh.categorical = [name for name in table.categorical if name in names]
    for text in ("features", "families"):
        if hasattr(fresh, text):
            setattr(fresh, text, for_variables(getattr(fresh, text), names))
    if columns is not None and len(chosen) == 1 and type(fresh) is Maxent and start is None:
        return fresh.fit_alone(x, y, weight, table.base_weights)
    told: dict[str, Any] = {"progress": progress} if fresh.tells_progress else {}
    return fresh.fit(x, y, weight, start=start, base_weight=table.base_weights, **told)


def with_setting(base: Maxent, setting: Mapping[str, Any]) -> Maxent:
    """Return an estimator with some options changed; one that names `families` or `lam` is a `StructMaxent`."""
    structural = isinstance(base, StructMaxent) or "families" in setting or "lam" in setting
    params = base.get_params()
    if structural and not isinstance(base, StructMaxent):
        made: Maxent = StructMaxent(**{name: params[name] for name in SHARED})
    else:
        made = type(base)(**params)
    return made.set_params(**setting)


def run_all(
    task: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    executor: Executor | None = None,
    progress: Progress | None = None,
    text: str = "fitting",
) -> list[Any]:
    """Call a function on every tuple of arguments, here or through an executor; results come in order."""
    jobs = list(arguments)
    out: list[Any] = [None] * len(jobs)
    count = StepCount(progress, text, len(jobs))
    for k, future in as_done(executor, task, jobs):
        out[k] = future.result()
        count.step()
    return out
