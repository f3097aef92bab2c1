"""Units of a batch whose workers die: no species is lost or fitted twice, and one that kills workers is set aside."""

from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdm.kinds.registry import task_of
from sdm.kinds.task import Prepared
from sdm.options.reading import make_options
from sdm.run.batch import Batch, BatchPlan
from sdm.run.job import Job
from sdm.run.journal import DONE, FAILED, Journal, JournalEntry, Record
from sdm.run.run_folder import RunFolder

NAMES = [f"s{k}" for k in range(12)]


@dataclass
class OneByOne(Prepared):
    """Inputs that are only names."""

    def only(self, name: str) -> Any:
        return name


class Deadly(Executor):
    """An executor whose workers die at some species, some of them once only."""

    size = 1

    def __init__(self, always: set[str], once: set[str]) -> None:
        self.always, self.once, self.units = always, once, list[list[str]]()

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> "Future[Any]":
        place, token, unit = args
        notes = RunFolder(Path(place)).notes(token, unit)
        names = [part.name for part in notes.parts()]
        self.units.append(names)
        future, entries = Future[Any](), []
        for name in names:
            notes.begin("fitting", name)
            if name in self.always | self.once:
                self.once.discard(name)
                future.set_exception(BrokenExecutor("died"))
                return future
            entries.append(JournalEntry(name, DONE))
            notes.add(entries[-1])
        future.set_result(entries)
        return future


def work(folder: Path, executor: Deadly, retries: int) -> Batch:
    options = make_options({"occurrences": "a.csv", "layers": "b", "retries": retries, "report": False})
    prepared: Any = OneByOne.__new__(OneByOne)
    batch = Batch.__new__(Batch)
    batch.job, batch.options, batch.prepared, batch.progress = (
        Job(task_of(options), options, "", None),
        options,
        prepared,
        None,
    )
    batch.plan = BatchPlan(NAMES, Record([], {}), in_place=False)
    batch.record, batch.settled, batch.failed = Record(list(NAMES), {}), set(), set()
    batch.next_summary = float("inf")
    folder.mkdir(exist_ok=True)
    batch._work(executor, RunFolder(folder), Journal(folder), list(NAMES), dict.fromkeys(NAMES, "digest"))
    return batch


def test_after_a_worker_died_its_species_are_done_by_others(tmp_path: Path) -> None:
    executor = Deadly(always=set(), once={"s1", "s7", "s11"})
    batch = work(tmp_path / "out", executor, retries=2)
    assert {name: entry.status for name, entry in batch.record.entries.items()} == dict.fromkeys(NAMES, DONE)
    tried = [name for unit in executor.units for name in unit]
    assert set(tried) == set(NAMES)
    assert tried.count("s0") == 1, "what was finished before is kept"
    assert batch.failed == set()


def test_a_species_that_kills_every_worker_fails_alone(tmp_path: Path) -> None:
    for retries in (0, 2):
        executor = Deadly(always={"s4"}, once=set())
        batch = work(tmp_path / f"out{retries}", executor, retries=retries)
        status = {name: entry.status for name, entry in batch.record.entries.items()}
        assert status == {name: FAILED if name == "s4" else DONE for name in NAMES}
        assert batch.failed == {"s4"}
        assert sum("s4" in unit for unit in executor.units) == retries + 1
        times = "once" if retries == 0 else "3 times"
        assert f"its worker died {times}" in str(batch.record.entries["s4"].error)
