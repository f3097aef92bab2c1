"""A run: every model of a file, one after the other, whatever their kind; one that fails does not stop the others."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any

from sdm.commit import claim, staging, staging_species
from sdm.errors import DataError, OptionError, OutputError, SdmError
from sdm.files import output_folder, safe_names, write_text
from sdm.options.definitions import RunOptions
from sdm.report.tables import table_text
from sdm.types import Progress
from sdm.workflow.projecting.after_fit import FOLDER, open_for_run, project_fitted
from sdm.workflow.projecting.opening import Opened
from sdm.workflow.projecting.projection import ProjectionResult
from sdm.workflow.registry import task_of
from sdm.workflow.task import ModelResult, Prepared, Task
from sdm.workflow.variables.choosing import choice_notes, choose_variables, chooses, nests, write_choice
from sdm.workflow.writing import write_fate, write_model

log = logging.getLogger("sdm")

# Files in the folder of a batch; no model has a folder of such a name.
TABLES = (
    *("summary.csv", "records.csv", "records_fate.csv", "records_fate.gpkg", "background.csv", "background.gpkg"),
    *("index.html", "effort.tif"),
)


@dataclass(frozen=True)
class Chosen:
    """Options that were chosen for a model, what its results say of the choice, and what writes down the rest."""

    options: RunOptions
    numbers: dict[str, Any]
    write: Callable[[Path, dict[str, Any]], None]
    what: str = "tuning"


Chooser = Callable[[Task, Prepared, str, RunOptions, Progress | None], Chosen]


@dataclass
class RunResult:
    """What a run did: its folder, the models, what the user should be told, and the index of a batch."""

    folder: Path
    models: list[ModelResult]
    notices: list[str]
    index: Path | None = None
    projection: ProjectionResult | None = None  # of all models, where scenarios were given

    @property
    def failed(self) -> list[ModelResult]:
        """The models that could not be fitted."""
        return [result for result in self.models if result.error is not None]


def run(
    options: RunOptions,
    *,
    task: Task | None = None,
    command: str = "",
    progress: Progress | None = None,
    choose: Chooser | None = None,
) -> RunResult:
    """Read the inputs of the options, and fit, measure, map and write every model.

    Results of a single model lie in the output folder itself; of several, in a folder each, beside a summary.

    Parameters
    ----------
    task : Task, optional
        By default that of the kind of model that the options ask for.
    command : str
        The command that was typed, to be kept with the results.
    choose : callable, optional
        Changes the options for each model after a look at its data (see `sdm.workflow.studies.tuning`).

    Raises
    ------
    SdmError
        For what concerns the whole run, or the only model. With several models a failure is in the result.
    """
    task = task_of(options) if task is None else task
    task.check_options(options)
    if options.output.resume:
        raise OptionError("output.resume is for 'sdm project': leave it out, for a run has no part to go on with")
    target = output_folder(options.output.folder)
    with claim(target, overwrite=options.output.overwrite):
        if options.output.curves or options.output.map or options.output.report:
            # Half a second of imports, done while the layers are read.
            Thread(target=_import, args=("sdm.report.figures.curves", "sdm.report.pages.registry"), daemon=True).start()
        began = perf_counter()
        prepared = task.prepare(options)
        log.debug("records and layers read in %.1f s", perf_counter() - began)
        opened = None
        if prepared.tables:
            opened = open_for_run(options, *task.variables(prepared), prepared.notices)
            prepared.notices += opened.notices if opened is not None else []
        for notice in prepared.notices:
            log.info(notice)
        result = _Job(task, prepared, options, command, progress, choose, opened).run(target)
    for model in result.models:
        model.lines = [f"{model.name}: failed: {model.error}"] if model.error is not None else task.lines(model)
    return result


def _import(*modules: str) -> None:
    for module in modules:
        import_module(module)


@dataclass(frozen=True)
class _Job:
    """A run whose inputs are read, and whose output folder is held for it."""

    task: Task
    prepared: Prepared
    options: RunOptions
    command: str
    progress: Progress | None
    choose: Chooser | None
    opened: Opened | None = None  # the layers of scenarios
    projections: list[ProjectionResult] = field(default_factory=list)  # of a single model

    def run(self, target: Path) -> RunResult:
        """Fit and write the only model, or all of them."""
        prepared, options = self.prepared, self.options
        names, result = [*prepared.tables, *prepared.failures], RunResult(target, [], prepared.notices)
        if not names:
            raise DataError(f"{options.occurrences.file} holds no species to model")
        if prepared.single:
            if prepared.failures:
                raise DataError(next(iter(prepared.failures.values())))
            result.models.append(self.one(names[0], target))
            result.projection = next(iter(self.projections), None)
            return result
        folders = safe_names(names, taken=[*TABLES, FOLDER])
        planned = [*TABLES, *(f"{name}/" for name in (FOLDER, *folders.values()))]
        with staging_species(target, overwrite=options.output.overwrite, planned=planned) as place:
            for k, (name, folder) in enumerate(folders.items()):
                log.info("%s (%d of %d)", name, k + 1, len(folders))
                one = self.one_of_several(name, place / folder)
                result.models.append(replace(one, folder=one.folder and target / one.folder.name))
            if len(result.failed) == len(names):
                raise DataError(f"none of {len(names)} species could be fitted; the first: {result.models[0].error}")
            rows = [_summary_row(self.task, one) for one in result.models]
            write_text(place / "summary.csv", table_text(rows), overwrite=True)
            self.task.write_shared(prepared, options, place, {})
            write_fate(prepared, prepared.fate, options, place, {})
            if prepared.ledger is not None:
                write_text(place / "records.csv", table_text(prepared.ledger.rows()), overwrite=True)
            if self.opened is not None:
                done = [place / one.folder.name for one in result.models if one.folder is not None]
                result.projection = project_fitted(
                    done, place, target, self.opened, options, self.command, self.progress
                )
                if options.output.report:  # pages show the scenarios of their species, which are there only now
                    from sdm.report.pages.registry import write_page
                    from sdm.report.results import read_results

                    for one_folder in done:
                        write_page(read_results(one_folder))
            if options.output.report:
                from sdm.report.pages.index import write_index

                result.index = target / write_index(place).name
        return result

    def one(self, name: str, folder: Path) -> ModelResult:
        """Fit one model and write its results in one step."""
        began = perf_counter()
        chosen, options, prepared = None, self.options, self.prepared
        if chooses(options):
            prepared = choose_variables(self.task, prepared, name, options, self.progress)
        if self.choose is not None:
            chosen = self.choose(self.task, prepared, name, options, self.progress)
            options = chosen.options
        fitted = self.task.fit(prepared, name, options, self.progress)
        if chosen is not None:
            fitted.numbers[chosen.what] = chosen.numbers
        variables = prepared.chosen.get(name)
        if variables is not None:
            fitted.numbers["variable_selection"] = variables.numbers()
            fitted.notes[:0] = choice_notes(variables, options, self.task.chooses_in_folds and nests(options))
        log.debug("%s fitted and measured in %.1f s", name, perf_counter() - began)
        with staging(folder, overwrite=options.output.overwrite) as stage:

            def also(place: Path, files: dict[str, Any]) -> None:
                if variables is not None:
                    write_choice(variables, options, place, files)
                if chosen is not None:
                    chosen.write(place, files)
                if self.opened is not None and self.prepared.single:
                    made = project_fitted([place], place, folder, self.opened, options, self.command, self.progress)
                    self.projections.append(made)
                    files["scenarios"] = FOLDER
                    fitted.numbers.setdefault("warnings", []).extend(made.warnings)

            result = write_model(self.task, fitted, prepared, options, stage, self.command, self.progress, also)
        log.debug("%s done in %.1f s", name, perf_counter() - began)
        return replace(result, folder=folder)

    def one_of_several(self, name: str, folder: Path) -> ModelResult:
        """Return one model of several: its result, or why it failed."""
        try:
            if name in self.prepared.failures:
                raise DataError(self.prepared.failures[name])
            return self.one(name, folder)
        except OutputError:  # a disk that fails concerns the whole run
            raise
        except SdmError as error:
            reason = str(error)
        except Exception as error:
            reason = f"unexpected {type(error).__name__}: {error}"
            log.debug("%s", reason, exc_info=True)
        log.error("error: %s", reason if reason.startswith(name) else f"{name}: {reason}")
        return ModelResult(name, self.task.kind, error=reason)


def _summary_row(task: Task, result: ModelResult) -> dict[str, Any]:
    """Return the row of a model in the table of a batch; page and preview are relative to the folder of the batch."""
    row: dict[str, Any] = {"species": result.name, "status": "failed" if result.error else result.numbers["status"]}
    row |= {key: value for key, value in task.summary_row(result.numbers).items() if value is not None}
    folder = result.folder.name if result.folder else ""
    shown = {key: f"{folder}/{result.files[key]}" if key in result.files else "" for key in ("page", "preview")}
    return row | {"folder": folder, **shown, "error": result.error or ""}
