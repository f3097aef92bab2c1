"""The work of a worker: fit a few species, map them in one pass over the layers, and commit the results of each
atomically."""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from sdm.errors import OutputError, SdmError, WorkerDied, code_of, shortage
from sdm.executors.ahead import run_threads
from sdm.kinds.task import AnyTask, ModelMaps, ModelResult, Prepared
from sdm.run.job import Job, Ready
from sdm.run.journal import DONE, FAILED, JournalEntry
from sdm.run.run_folder import FITTING, MAPPING, RunFolder, load_job
from sdm.types import Progress, Row

log = logging.getLogger("sdm")


@dataclass(frozen=True)
class Part:
    """One species of a unit: its inputs, its folder and its digest."""

    name: str
    folder: str
    digest: str
    prepared: Prepared


def do_sent_unit(place: str, token: str, unit: int) -> list[JournalEntry]:
    """Process a unit in a worker."""
    job: Job = load_job(place, token)
    folder = RunFolder(Path(place))
    with run_threads(job.options.threads):
        return do_unit(job, folder, token, unit, folder.notes(token, unit).parts())


def do_unit(
    job: Job,
    folder: RunFolder,
    token: str,
    unit: int,
    parts: Sequence[Part],
    progress: Progress | None = None,
    settled: Callable[[JournalEntry], None] | None = None,
) -> list[JournalEntry]:
    """Fit some species and commit their results; return the entry of each, and add it to the notes of the unit. An
    error of one species is its own failure; a disk error, or the end of the run, is raised. `settled` is called with
    each entry immediately."""
    notes = folder.notes(token, unit)
    if notes.path.exists():  # the process of this unit died
        raise WorkerDied("a worker died")
    entries: dict[str, JournalEntry] = {}

    def settle(entry: JournalEntry) -> None:
        notes.add(entry)
        entries[entry.species] = entry
        if settled is not None:
            settled(entry)

    ready: dict[str, Ready] = {}
    taken: dict[str, float] = {}
    notes.begin("begin")
    for part in parts:
        notes.begin(FITTING, part.name)
        began = perf_counter()
        try:
            if part.name in part.prepared.failures:
                raise part.prepared.failures[part.name]
            ready[part.name] = job.fit(part.prepared, part.name, progress)
        except Exception as error:
            settle(_failed(job, part, error, perf_counter() - began))
        taken[part.name] = perf_counter() - began
    place = folder.path / f"maps-{token}-{unit}"
    maps: dict[str, ModelMaps] = {}
    began = perf_counter()
    if len(ready) > 1:
        notes.begin(MAPPING)
        place.mkdir()
        fits = [(one.fit, one.prepared) for one in ready.values()]
        maps = dict(zip(ready, job.task.map_together(fits, job.options, place, progress)))
        each = (perf_counter() - began) / len(ready)
        taken |= {name: taken[name] + each for name in ready}
    for part in parts:
        if part.name not in ready:
            continue
        began = perf_counter()
        notes.begin("writing", part.name)
        try:
            result = job.write(
                ready[part.name], folder.place / part.folder, progress, maps=maps.get(part.name),
                overwrite=True, before_commit=lambda: folder.check(token),
            )  # fmt: skip
            settle(_done(job, part, result, taken[part.name] + perf_counter() - began))
        except Exception as error:
            settle(_failed(job, part, error, taken[part.name] + perf_counter() - began))
    shutil.rmtree(place, ignore_errors=True)
    return [entries[part.name] for part in parts]


def _done(job: Job, part: Part, result: ModelResult, seconds: float) -> JournalEntry:
    warnings = [text for text in result.warnings if text not in part.prepared.warnings]
    lines = [] if job.told_in is None else job.task.lines(replace(result, folder=job.told_in / part.folder))
    return JournalEntry(
        part.name, DONE, part.folder, part.digest, round(seconds, 3), summary_row(job.task, result), None, result.kind,
        result.files["numbers"], warnings, time.time(), lines,
    )  # fmt: skip


def _failed(job: Job, part: Part, error: Exception, seconds: float) -> JournalEntry:
    """Return the reason of the failure of a species; raise errors of the whole run."""
    if isinstance(error, OutputError):
        raise error
    reason = shortage(error) or (str(error) if isinstance(error, SdmError) else "")
    if not reason:
        reason = f"unexpected {type(error).__name__}: {error}"
        log.debug("%s: %s", part.name, reason, exc_info=True)
    return failed_entry(job.task, part.name, reason, code_of(error), part.digest, seconds)


def failed_entry(task: AnyTask, name: str, reason: str, code: str, digest: str, seconds: float = 0.0) -> JournalEntry:
    """Return the entry of a species that failed."""
    row = summary_row(task, ModelResult(name, task.kind, error=reason))
    return JournalEntry(
        name, FAILED, digest=digest, seconds=round(seconds, 3), row=row, error=reason, code=code, kind=task.kind,
        time=time.time(),
    )  # fmt: skip


def summary_row(task: AnyTask, result: ModelResult) -> Row:
    """Return the row of one model; page and preview are relative to the folder of the batch."""
    row: Row = {"species": result.name, "status": "failed" if result.error else result.numbers["status"]}
    row |= {key: value for key, value in task.summary_row(result.numbers).items() if value is not None}
    folder = result.folder.name if result.folder else ""
    shown = {key: f"{folder}/{result.files[key]}" if key in result.files else "" for key in ("page", "preview")}
    return row | {"folder": folder, **shown, "error": result.error or ""}
