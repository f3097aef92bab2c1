"""A run over several species on any number of workers; finished species survive any interruption.

Species are processed in small units (`unit.py`). Each is committed atomically and recorded in the journal. A run that
continues (`--resume`) skips finished species with unchanged inputs.
"""

import logging
import os
import shlex
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

from sdm.errors import RunExistsError, SdmError, WorkerDied
from sdm.executors.local import give_memory_back
from sdm.executors.opening import SerialExecutor, as_done, workers
from sdm.kinds.task import Destination, Prepared
from sdm.kinds.writing import write_fate, write_run
from sdm.maps.gis.package import PACKAGE
from sdm.maps.gis.styles import style_places
from sdm.options.definitions import RunOptions
from sdm.progress.telling import species_stage
from sdm.report.results import GROUP, SCENARIOS
from sdm.report.summary import SUMMARY, SUMMARY_PARQUET, write_summary
from sdm.report.tables import table_text
from sdm.run.digest import Digester
from sdm.run.job import Job
from sdm.run.journal import DONE, JOURNAL, Journal, JournalEntry, Record
from sdm.run.run_folder import RunFolder
from sdm.run.stacks import STACK_BESIDE, STACK_FILES
from sdm.run.unit import Part, do_sent_unit, do_unit, failed_entry
from sdm.storage.files import output_folder, safe_names, write_text
from sdm.storage.written_files import read_list
from sdm.types import Progress

log = logging.getLogger("sdm")

# Files in the folder of a batch, which no folder of a model may have as its name.
TABLES = (
    SUMMARY, SUMMARY_PARQUET, JOURNAL, "records.csv", "records_fate.csv", "background.csv", PACKAGE, "index.html",
    "run.yaml", "command.txt", "effort.tif", *(path.name for path in style_places(Path("effort.tif"))),
    *STACK_FILES.values(), *STACK_BESIDE,
)  # fmt: skip
TOLD = 50  # largest number of models with printed results; the summary contains more
LARGEST = 16  # species of a unit: their maps share one pass over the layers, and a killed worker loses one unit
EACH = 4  # smallest number of units per worker, so that all workers end at about the same time
REFRESH = 30.0  # smallest number of seconds between summaries during a run
SELDOM = 50  # and the same as a multiple of the time of a summary


@dataclass
class BatchPlan:
    """The species of a run, their folders, and the use of the output folder."""

    names: list[str]  # of this run
    earlier: Record  # content of the journal
    in_place: bool  # whether existing results stay: `--resume`, or new fits of some species
    renewed: bool = False  # whether finished species are fitted again
    all_names: list[str] = field(init=False)  # including earlier runs into the folder

    def __post_init__(self) -> None:
        self.all_names = list(dict.fromkeys([*(self.earlier.planned if self.in_place else ()), *self.names]))

    def refuse_some(self, target: Path) -> None:
        """Raise if only some of the models of a joint fit are requested."""
        others = [name for name in self.all_names if name not in self.names]
        if others:
            raise RunExistsError(
                f"the species of {target} are fitted together, and {len(others):,} of them are not in this run "
                f"('{others[0]}'): give the records of all species, or use --overwrite without --species"
            )

    @property
    def folders(self) -> dict[str, str]:
        """The folder of every species; existing folders are reused."""
        return safe_names(self.all_names, taken=[*TABLES, SCENARIOS, GROUP])

    @property
    def written(self) -> list[str]:
        """Names of files, and of folders (with a `/`), that the run may write."""
        return [*TABLES, *(f"{name}/" for name in (SCENARIOS, GROUP, *self.folders.values()))]


def refuse_partial(target: Path) -> None:
    """Raise if a folder contains a run over several species, with its progress."""
    record = Journal(target).read()
    if record.planned:
        far = f"{record.finished:,} of {len(record.planned):,} species are finished"
        raise RunExistsError(f"{target} contains a run ({far}): use --resume to continue, --overwrite to start again")


def plan_batch(target: Path, prepared: Prepared, resume: bool, overwrite: bool, chosen: bool) -> BatchPlan | None:
    """Return the plan of a run over several species; None for one model. `chosen` is whether the user named the
    species."""
    names = [*prepared.tables, *prepared.failures]
    record = Journal(target).read()
    renewed = overwrite and chosen and set(names) < set(record.planned)
    if len(names) == 1 and not renewed and not (resume and record.planned):
        return None
    files = (path for path in target.iterdir() if not path.name.startswith(".sdm-")) if target.is_dir() else ()
    if resume and not record.planned and any(files):
        raise RunExistsError(
            f"{target} has no run over several species for --resume: choose another folder, or --overwrite"
        )
    return BatchPlan(names, record, in_place=(resume or renewed) and bool(record.planned), renewed=renewed)


class Batch:
    """A running batch."""

    def __init__(
        self, job: Job, prepared: Prepared, plan: BatchPlan, options: RunOptions, progress: Progress | None
    ) -> None:
        folder = output_folder(options.output.folder) if len(plan.all_names) <= TOLD else None
        self.job = replace(job, options=options.alone(), command=without_workers(job.command), told_in=folder)
        self.prepared, self.plan = replace(prepared, of_several=True), plan
        self.options, self.progress = options, progress
        self.record = Record(list(plan.all_names), dict(plan.earlier.entries) if plan.in_place else {})
        self.settled: set[str] = set()  # finished or failed species of this run
        self.failed: set[str] = set()
        self.next_summary = time.monotonic() + REFRESH

    def run(self, place: Path) -> None:
        """Fit all unfinished species. Results are in their folders, the journal and the summary, even after an
        interruption."""
        folder, journal = RunFolder(place), Journal(place)
        if self.plan.in_place:
            self._take(folder.left_over(), journal)
        digester = Digester(self.job.options, self.prepared, f"{self.job.task.kind} {_name_of(self.job.choose)}")
        digests = {name: digester.digest(self.prepared.only(name)) for name in self.plan.names}
        todo = [name for name in self.plan.names if not self._finished(place, name, digests[name])]
        finished_count = len(self.plan.names) - len(todo)
        if finished_count:
            log.info("%d of %d species are finished and unchanged, and are kept", finished_count, len(self.plan.names))
        earlier = set(self.plan.earlier.planned) if self.plan.in_place else set()
        journal.begin([name for name in self.plan.all_names if name not in earlier], self.job.command)
        self.settled = set(self.plan.names) - set(todo)
        self.failed &= self.settled
        self._tell()
        try:
            with workers(self.options) as executor:
                self._work(executor, folder, journal, todo, digests)
        except BaseException:
            self._end_early(place, folder, journal)
            raise
        finally:
            folder.remove()

    def _end_early(self, place: Path, folder: RunFolder, journal: Journal) -> None:
        """Leave the folder of an interrupted run so that it can continue; restore it if there are no results."""
        try:
            self._take(folder.left_over(), journal)  # of interrupted units
        except (OSError, SdmError) as error:  # the error of the run follows
            log.debug("the notes of workers were not kept: %s", error)
        if not self.record.entries:
            journal.path.unlink(missing_ok=True)
            return
        try:
            self.write_summary(place)
        except (OSError, SdmError) as error:  # the error of the run follows
            log.debug("the summary was not written: %s", error)
        if place == output_folder(self.options.output.folder):
            far = f"{self.record.finished:,} of {len(self.record.planned):,} species are finished"
            log.warning("the run ended early: %s; to continue, give the same command with --resume", far)

    def _finished(self, place: Path, name: str, digest: str) -> bool:
        """Whether the results of a species are complete and have the same inputs."""
        entry = self.record.entries.get(name)
        if self.plan.renewed or entry is None or entry.status != DONE or entry.digest != digest:
            return False
        folder = place / entry.folder
        listed = read_list(folder)
        return bool(listed) and all((folder / one).exists() for one in listed)

    def _take(self, entries: Sequence[JournalEntry], journal: Journal) -> None:
        journal.add(entries)
        self.record.entries |= {entry.species: entry for entry in entries}
        for entry in entries:
            self._settle(entry)

    def _settle(self, entry: JournalEntry) -> None:
        """Count a finished or failed species once."""
        if entry.species not in self.settled:
            self.settled.add(entry.species)
            self.failed |= {entry.species} if entry.status != DONE else set()
            self._tell()

    def _work(
        self, executor: Executor, folder: RunFolder, journal: Journal, todo: list[str], digests: dict[str, str]
    ) -> None:
        if in_process := isinstance(executor, SerialExecutor):
            give_memory_back()
        token = folder.begin(self.job, sent=not in_process)
        if (check := getattr(executor, "check", None)) is not None:
            check(folder.path)
        folders = self.plan.folders
        size = max(1, min(LARGEST, len(todo) // (EACH * getattr(executor, "size", 1))))
        queue = deque(todo[first : first + size] for first in range(0, len(todo), size))
        deaths: Counter[str] = Counter()
        unit = 0
        while queue:
            batch = list(queue)
            queue.clear()

            def calls(units: list[list[str]] = batch, first: int = unit) -> Iterator[tuple[object, ...]]:
                for k, names in enumerate(units, start=first):
                    parts = [Part(name, folders[name], digests[name], self.prepared.only(name)) for name in names]
                    if in_process:
                        yield self.job, folder, token, k, parts, self.progress, self._settle
                    else:
                        folder.notes(token, k).send(parts)
                        yield os.path.abspath(folder.place), token, k

            for k, future in as_done(executor, do_unit if in_process else do_sent_unit, calls()):
                notes = folder.notes(token, unit + k)
                error = future.exception()
                if error is None:
                    self._take(future.result(), journal)
                elif isinstance(error, BrokenExecutor | WorkerDied):
                    self._take(notes.entries(), journal)
                    queue.extend(self._again(batch[k], notes.last(), deaths, digests, journal))
                else:
                    raise error
                notes.remove()
                self._refresh(folder.place)
            unit += len(batch)

    def _again(
        self, names: Sequence[str], last: tuple[str, str, float], deaths: Counter[str], digests: dict[str, str],
        journal: Journal,
    ) -> Iterator[list[str]]:  # fmt: skip
        """Yield the units to repeat after a worker died: its current species alone, unless it has failed too often, and
        the rest of its unit."""
        open_names = [name for name in names if name not in self.settled]
        species = last[1] if last[1] in open_names else (open_names[0] if len(open_names) == 1 else None)
        if species is None:  # its species were mapped together: repeat them one by one to find the cause
            yield from ([name] for name in open_names)
            return
        deaths[species] += 1
        if deaths[species] <= self.options.retries:
            log.warning("%s: its worker died (killed, or out of memory); it is started again", species)
            yield [species]
        else:
            times = "once" if deaths[species] == 1 else f"{deaths[species]} times"
            reason = f"its worker died {times} (killed, or out of memory): use fewer features or background points"
            text = f"{species}: {reason}"
            self._take([failed_entry(self.job.task, species, text, WorkerDied.code, digests[species])], journal)
        if others := [name for name in open_names if name != species]:
            yield others

    def _refresh(self, place: Path) -> None:
        """Write the summary at intervals that increase with its duration."""
        began = time.monotonic()
        if began > self.next_summary:
            self.write_summary(place)
            self.next_summary = time.monotonic() + max(REFRESH, SELDOM * (time.monotonic() - began))

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(len(self.settled), len(self.plan.names), species_stage(len(self.failed)))

    def write_summary(self, place: Path) -> None:
        """Write the summary of all species so far, and its page."""
        write_summary(place, self.record.rows)
        if self.job.options.output.report:
            from sdm.report.pages.index import write_index

            write_index(place, len(self.record.planned))

    def finish(self, place: Path) -> None:
        """Write the common files of all species."""
        task, prepared, options = self.job.task, self.prepared, self.job.options
        write_summary(place, self.record.rows)
        if set(self.plan.names) != set(self.plan.all_names):
            return  # the rest was written after reading the inputs
        write_run(task, options, place, self.job.command)  # first: common files can repeat the command
        to = Destination(place, options)
        task.write_shared(prepared, to)
        write_fate(prepared, prepared.fate, to)
        if prepared.ledger is not None:
            write_text(place / "records.csv", table_text(prepared.ledger.rows()), overwrite=True)


def without_workers(command: str) -> str:
    """Return a command without options that do not change results."""
    words, remaining = shlex.split(command), list[str]()
    while words:
        word = words.pop(0)
        name = word.split("=", 1)[0].replace("_", "-")
        if name in _FLAGS:
            continue
        if name in _VALUES:
            words = words if "=" in word else words[1:]
            continue
        remaining.append(word)
    return shlex.join(remaining)


_FLAGS = {"--resume", "--overwrite", "--output.resume", "--output.overwrite", "-q", "--quiet", "-v", "--verbose"}
_FLAGS |= {"--json", "--debug"}
_VALUES = {"--processes", "--retries", "--log-file", "--cluster", "--cluster.address", "--address"}
_VALUES |= {f"--{word}{name}" for name in ("workers", "settings", "patience") for word in ("cluster-", "cluster.", "")}


def _name_of(function: object) -> str:
    return "" if function is None else f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
