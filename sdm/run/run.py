"""A run over all models of a file, of any kind; failures do not stop the others."""

import logging
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from sdm.errors import DataError, NoRecordsError
from sdm.executors.ahead import run_threads
from sdm.executors.opening import check_workers
from sdm.kinds.registry import task_of
from sdm.kinds.task import AnyTask, ModelResult, Prepared
from sdm.options.definitions import RunOptions
from sdm.options.rules import OUTPUT, refuse_broken
from sdm.progress.telling import going_on, step_by_step
from sdm.report.results import add_rows, read_rows
from sdm.run.batch import Batch, plan_batch, refuse_partial
from sdm.run.job import Chooser, Job
from sdm.run.journal import DONE, JOURNAL
from sdm.run.stacks import refuse_one, write_stacks
from sdm.storage.commit import claim, staging_species
from sdm.storage.files import output_folder
from sdm.types import Progress

if TYPE_CHECKING:  # imported only for scenarios
    from sdm.run.projecting.mapping import ProjectionResult
    from sdm.run.projecting.opening import Opened

log = logging.getLogger("sdm")


@dataclass
class RunResult:
    """Results of a run: its folder, the models, messages for the user, and the index of a batch."""

    folder: Path
    models: list[ModelResult]
    notices: list[str]
    index: Path | None = None
    projection: "ProjectionResult | None" = None  # of all models, with scenarios
    lines: list[str] = field(default_factory=list)  # of all models together

    @property
    def failed(self) -> list[ModelResult]:
        """The failed models."""
        return [result for result in self.models if result.error is not None]


def run(
    options: RunOptions,
    *,
    task: AnyTask | None = None,
    command: str = "",
    progress: Progress | None = None,
    choose: Chooser | None = None,
) -> RunResult:
    """Read the inputs of the options, and fit, measure, map and write every model.

    Results of a single model are in the output folder. Several models have a folder each, and a summary.

    Parameters
    ----------
    task : Task, optional
        Default: the task of the kind of model in the options.
    command : str
        The command as typed, to store with the results.
    choose : callable, optional
        Selects the options of each model from its data (see `sdm.run.studies.tuning`).

    Raises
    ------
    SdmError
        For errors of the run, or of the only model. With several models, errors of a model are in the result.
    """
    task = task_of(options) if task is None else task
    task.check_options(options)
    refuse_broken(OUTPUT, options, task.options_of)
    check_workers(options)
    output = options.output
    target = output_folder(output.folder)
    if not (output.resume or output.overwrite):
        refuse_partial(target)
    replacing = output.overwrite or output.resume
    with claim(target, overwrite=replacing), run_threads(options.threads):
        began = perf_counter()
        with going_on(progress, "reading records and layers"):
            prepared = task.prepare(options)
        log.debug("records and layers read in %.1f s", perf_counter() - began)
        opened = None
        if prepared.tables and (options.project.scenarios or options.project.models):
            from sdm.run.projecting.projection import open_for_run

            opened = open_for_run(options, *task.variables(prepared), prepared.notices)
            prepared.notices += opened.notices if opened is not None else []
        for notice in prepared.notices:
            log.info(notice)
        if not prepared.tables and not prepared.failures:
            raise NoRecordsError(f"{options.occurrences.file} contains no species to model")
        plan = plan_batch(target, prepared, output.resume, output.overwrite, bool(options.occurrences.species))
        refuse_one(options, 1 if plan is None else len(plan.all_names))
        if plan is not None and task.fits_together(options):
            plan.refuse_some(target)
        n_notices = len(prepared.notices)
        prepared = task.gather(prepared, options, progress)
        for notice in prepared.notices[n_notices:]:
            log.info(notice)
        if plan is None:
            result = _run_single(Job(task, options, command, choose, opened), prepared, target, progress)
        else:
            batch = Batch(Job(task, options, command, choose), prepared, plan, options, progress)
            result = _run_several(batch, opened, target)
        _append_results(result, options)
        return result


def _append_results(result: RunResult, options: RunOptions) -> None:
    """Add the rows of all models to the table of results of the user."""
    if options.output.append_results is None:
        return
    rows = []
    for model in result.models:
        if model.folder is not None and model.error is None and "results" in model.complete().files:
            rows += read_rows(model.folder / str(model.complete().files["results"]))
    add_rows(Path(options.output.append_results), rows)


def _run_single(job: Job, prepared: Prepared, target: Path, progress: Progress | None) -> RunResult:
    """Fit and write the only model."""
    if prepared.failures:
        raise next(iter(prepared.failures.values()))
    overwrite = job.options.output.overwrite
    model = job.make(prepared, next(iter(prepared.tables)), target, progress, overwrite=overwrite)
    model.lines = job.task.lines(model)
    return RunResult(target, [model], prepared.notices, projection=next(iter(job.projections), None))


def _run_several(batch: Batch, opened: "Opened | None", target: Path) -> RunResult:
    """Fit and write all models, then their common files."""
    result, options = RunResult(target, [], batch.prepared.notices), batch.job.options
    plan, overwrite = batch.plan, batch.options.output.overwrite
    with staging_species(target, overwrite=overwrite, planned=plan.written, in_place=plan.in_place) as place:
        batch.run(place)
        entries = [batch.record.entries[name] for name in batch.plan.names]
        if all(entry.status != DONE for entry in entries) and not batch.plan.in_place:
            (place / JOURNAL).unlink(missing_ok=True)
            first = f"none of {len(entries)} species could be fitted; the first: {entries[0].error}"
            raise DataError(first, code=entries[0].code)
        result.models = [entry.result(target) for entry in entries]
        warned = batch.prepared.warnings
        for model in result.models:
            model.warnings = [*warned, *model.warnings] if model.error is None else []
        if batch.job.told_in is not None:
            result.models = [_with_numbers(entry.result(place), target) for entry in entries]
        batch.finish(place)
        result.lines += write_stacks(place, batch.record.rows, options, progress=batch.progress)
        if opened is not None:
            done = [place / entry.folder for entry in batch.record.in_order if entry.status == DONE]
            from sdm.run.projecting.projection import project_fitted

            batch_options, command = batch.options, batch.job.command
            result.projection = project_fitted(done, place, target, opened, batch_options, command, batch.progress)
            if options.output.report:  # pages include the scenarios of their species, which now exist
                from sdm.kinds.pages import write_page
                from sdm.kinds.registry import read_results

                for folder in step_by_step(done, batch.progress, "pages"):
                    write_page(read_results(folder))
        if options.output.report:
            from sdm.report.pages.index import write_index

            result.index = target / write_index(place, len(batch.record.planned)).name
    return result


def _with_numbers(model: ModelResult, target: Path) -> ModelResult:
    """Return a model of a batch with all numbers in its folder, which becomes part of the target."""
    model = model.complete()
    return replace(model, folder=model.folder and target / model.folder.name)
