"""Replicates as Java Maxent makes them: each is a whole model with its own test records, maps and row of results."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sdm.data.records.clean import CleanPoints
from sdm.errors import DataError, SdmError
from sdm.java.command import JavaCommand
from sdm.kinds.registry import task_of
from sdm.kinds.task import ModelResult, Prepared
from sdm.options.definitions import RunOptions
from sdm.report.results import number
from sdm.run.job import Chooser, Job
from sdm.storage.files import safe_name
from sdm.types import Index, Progress

_SHARE = 25  # per cent of the records that test a subsample where no percentage is given


@dataclass
class Replicates:
    """The models of each species, in their order; species that failed, and why; notices of the inputs."""

    models: dict[str, list[ModelResult]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def fit_replicates(
    command: JavaCommand, options: RunOptions, folder: Path, text: str, choose: Chooser, progress: Progress | None
) -> Replicates:
    """Fit the replicates of every species, into a folder each."""
    task = task_of(options)
    task.check_options(options)
    prepared = task.prepare(options)
    done = Replicates(failures=dict(prepared.failures), notices=prepared.notices)
    job = Job(task, options, text, choose)
    for name in prepared.tables:
        try:
            done.models[name] = []
            for k, part in enumerate(_parts(prepared, name, command, options.seed)):
                ready = job.fit(part, name, progress)
                place = folder / f"{safe_name(name)}_{k}"
                done.models[name].append(job.write(ready, place, progress, overwrite=True))
        except SdmError as error:
            if len(prepared.tables) == 1:
                raise
            done.failures[name] = str(error)
            del done.models[name]
    if not done.models and done.failures:
        raise DataError(next(iter(done.failures.values())))
    return done


def _parts(prepared: Prepared, name: str, command: JavaCommand, seed: int) -> Iterator[Any]:
    """Give what each replicate of a species is fitted to: training records, and those that test it."""
    table = prepared.tables[name]
    for train, test in divide(table.n_presences, command, seed):
        own: Any = replace(prepared.only(name), tables={name: table.take(train)})
        if test.size:
            none = np.zeros(test.size, dtype=np.int64)
            at = table.presence_x[test], table.presence_y[test]
            own = replace(own, tests={name: CleanPoints(name, none, none, *at, test, table.presence[test])})
        yield own


def divide(records: int, command: JavaCommand, seed: int) -> list[tuple[Index, Index]]:
    """Return the records that train and test each replicate: folds; samples with replacement; or all but a share."""
    rng = np.random.default_rng(seed)
    count, kind, percent = command["replicates"], command["replicatetype"], command["randomtestpoints"]
    if kind == "crossvalidate":
        folds = np.array_split(rng.permutation(records), min(count, records))
        return [(np.setdiff1d(np.arange(records), fold), np.sort(fold)) for fold in folds]
    if kind == "subsample":
        percent = percent or _SHARE
    parts = []
    for _ in range(count):
        order = rng.permutation(records)
        tests = round(records * percent / 100)
        test, train = np.sort(order[:tests]), np.sort(order[tests:])
        parts.append((np.sort(rng.choice(train, train.size)) if kind == "bootstrap" else train, test))
    return parts


def average_row(rows: list[dict[str, Any]], base: str) -> dict[str, Any]:
    """Return the row of averages over replicates; a column that is not a number in all of them stays empty."""
    mean: dict[str, Any] = {}
    for name in rows[0]:
        values = [number(row.get(name)) for row in rows]
        known = [value for value in values if value is not None]
        mean[name] = sum(known) / len(known) if len(known) == len(rows) else ""
    return mean | {"Species": f"{base} (average)"}
