"""A run: every species of a file, one after the other; one that fails does not stop the others."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any

import numpy as np

from sdm.commit import claim, staging, staging_species
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import CleanPoints
from sdm.data.table import SampleTable
from sdm.errors import DataError
from sdm.files import output_folder, safe_names
from sdm.options.definitions import RunOptions
from sdm.types import Array, Progress
from sdm.workflow.several import each_species
from sdm.workflow.species.fitting import Fitted, fit_species
from sdm.workflow.species.inputs import Prepared, prepare
from sdm.workflow.species.writing import Written, write_species, write_tables

log = logging.getLogger("sdm")

TABLES = ("summary.csv", "records.csv", "index.html", "effort.tif")
"""Files in the folder of a run over several species; no species has a folder of such a name."""


@dataclass(frozen=True)
class Chosen:
    """Options that were chosen for a species, what its results say of the choice, and what writes down the rest."""

    options: RunOptions
    numbers: dict[str, Any]
    write: Callable[[Path, dict[str, str]], None]
    what: str = "tuning"


Chooser = Callable[[SampleTable, RunOptions, Stack | None, bool, Progress | None], Chosen]


@dataclass
class SpeciesResult:
    """One species of a run: its folder, numbers and files, or why it failed."""

    species: str
    folder: Path | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    error: str | None = None


Work = Callable[[Prepared, str, RunOptions, Path, str, Progress | None], SpeciesResult]


@dataclass
class RunResult:
    """What a run did."""

    folder: Path
    species: list[SpeciesResult]
    notices: list[str]
    ledger: dict[str, dict[str, int]]
    index: Path | None = None

    @property
    def failed(self) -> list[SpeciesResult]:
        """The species that could not be fitted."""
        return [result for result in self.species if result.error is not None]


def run(
    options: RunOptions,
    *,
    command: str = "",
    progress: Progress | None = None,
    choose: Chooser | None = None,
    each: Work | None = None,
) -> RunResult:
    """Fit, map and measure every species of the options' occurrence file.

    Results of a single species lie in the output folder itself; of several, in a folder each, beside a summary.
    `choose` changes the options for each species after a look at its table (see `sdm.workflow.tuning`); `each` does
    something else with it than fit a model (see `sdm.workflow.strata_path`).

    Raises
    ------
    SdmError
        For what concerns the whole run, or the only species. With several species a failure is in the result.
    """
    target = output_folder(options.output.folder)
    with claim(target, overwrite=options.output.overwrite):
        return _run(options, target, command, progress, each or partial(_one, choose=choose))


def _run(options: RunOptions, target: Path, command: str, progress: Progress | None, work: Work) -> RunResult:
    """Do a run whose output folder is held for it."""
    if options.output.curves or options.output.map or options.output.report:
        # Half a second of imports, done while the layers are read.
        Thread(target=_import, args=("sdm.report.figures.curves", "sdm.report.pages.registry"), daemon=True).start()
    began = perf_counter()
    prepared = prepare(options)
    log.debug("records and layers read in %.1f s", perf_counter() - began)
    for notice in prepared.notices:
        log.info(notice)
    names = [*prepared.tables, *prepared.failures]
    result = RunResult(target, [], prepared.notices, prepared.ledger.as_dict() if prepared.ledger else {})
    if not names:
        raise DataError(f"{options.occurrences.file} holds no species to model")
    if len(names) == 1:
        if prepared.failures:
            raise DataError(next(iter(prepared.failures.values())))
        result.species.append(work(prepared, names[0], options, target, command, progress))
        return result
    folders = safe_names(names, taken=TABLES)
    planned = [*TABLES, *(f"{name}/" for name in folders.values())]
    with staging_species(target, overwrite=options.output.overwrite, planned=planned) as place:
        found = each_species(
            {species: place / name for species, name in folders.items()},
            lambda species, folder: work(prepared, species, options, folder, command, progress),
            failures=prepared.failures,
        )
        for species, item in found.items():
            done = SpeciesResult(species, error=item) if isinstance(item, str) else item
            result.species.append(replace(done, folder=done.folder and target / done.folder.name))
        write_tables(place, [_summary_row(item) for item in result.species], prepared)
        if options.output.report:
            from sdm.report.pages.index import write_index

            result.index = target / write_index(place).name
    return result


def _import(*modules: str) -> None:
    for module in modules:
        import_module(module)


def _one(
    prepared: Prepared,
    species: str,
    options: RunOptions,
    folder: Path,
    command: str,
    progress: Progress | None,
    choose: Chooser | None,
) -> SpeciesResult:
    """Fit one species and write its results in one step."""
    began = perf_counter()
    table = prepared.tables[species]
    chosen = None if choose is None else choose(table, options, prepared.stack, species in prepared.tests, progress)
    options = options if chosen is None else chosen.options
    fitted = fit_species(
        table,
        options,
        _test_points(prepared.tests.get(species)),
        progress,
        survey=prepared.surveys.get(species),
        stack=prepared.stack,
    )
    if chosen is not None:
        fitted.numbers[chosen.what] = chosen.numbers
    log.debug("%s fitted and measured in %.1f s", species, perf_counter() - began)
    with staging(folder, overwrite=options.output.overwrite) as stage:
        also = None if chosen is None else chosen.write
        written = write_species(fitted, prepared, options, stage, command, progress, also)
    log.debug("%s done in %.1f s", species, perf_counter() - began)
    return _result(species, folder, fitted, written)


def _test_points(points: CleanPoints | None) -> tuple[Array, Array, Array] | None:
    if points is None:
        return None
    return np.asarray(points.values, dtype=np.float64), points.x, points.y


def _result(species: str, folder: Path, fitted: Fitted, written: Written) -> SpeciesResult:
    return SpeciesResult(species, folder, fitted.numbers, written.files, [*fitted.notes, *written.notes])


def _summary_row(result: SpeciesResult) -> dict[str, Any]:
    keys = (
        "training_presences", "features_with_weight", "regularized_gain", "gain", "auc_train", "log_loss_train",
        "auc_test", "log_loss_test", "entropy", "gap",
    )  # fmt: skip
    validated = ("auc.val.avg", "cbi.val.avg", "or.10p.avg", "loss.val.avg")
    row: dict[str, Any] = {"species": result.species, "status": "failed" if result.error else result.numbers["status"]}
    row |= {key: result.numbers[key] for key in keys if result.numbers.get(key) is not None}
    mean = result.numbers.get("cross_validation", {}).get("mean", {})
    row |= {key: mean[key] for key in validated if key in mean}
    row |= {"folder": str(result.folder.name) if result.folder else "", "error": result.error or ""}
    return row
