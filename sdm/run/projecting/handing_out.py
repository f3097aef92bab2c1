"""Scenarios handed out to the workers of a run; those that are finished and unchanged are kept."""

import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sdm.executors.opening import Here, as_done, workers
from sdm.options.definitions import RunOptions
from sdm.progress.telling import StepCount
from sdm.run.run_folder import RunFolder, load_job
from sdm.storage.reading import load_json
from sdm.types import Progress

log = logging.getLogger("sdm")

NUMBERS = "scenario.json"


class ScenarioJob(Protocol):
    """What maps scenarios: a `Projection`."""

    @property
    def options(self) -> RunOptions:
        """Who does the work, and how often it is tried again."""

    @property
    def progress(self) -> Progress | None:
        """Told how many scenarios are done."""

    @property
    def folders(self) -> dict[str, str]:
        """The folder of every scenario, by title."""

    def quiet(self) -> "ScenarioJob":
        """Return the job as it is sent to other processes."""

    def make_scenario(
        self, title: str, digest: str, place: Path, before_commit: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Map one scenario into its folder in one step, and return its numbers."""


def map_scenarios(
    job: ScenarioJob, waves: Sequence[Sequence[str]], digests: Mapping[str, str], place: Path, resume: bool
) -> tuple[dict[str, dict[str, Any]], int]:
    """Map every scenario that is not finished, several at a time where there are workers; return the numbers of all of
    them in the order of `digests`, and how many were finished. Those of a wave need only those of earlier waves."""
    number = {title: f"{title} ({k} of {len(digests)})" for k, title in enumerate(digests, start=1)}
    count = StepCount(job.progress, "scenarios", len(digests))
    found: dict[str, dict[str, Any]] = {}
    kept = 0
    with workers(job.options) as executor, _handed_out(job, place, executor) as call:
        for wave in waves:
            left = []
            for title in wave:
                known = _finished(place / job.folders[title], digests[title]) if resume else None
                if known is None:
                    log.info(number[title])
                    left.append(title)
                else:
                    log.info("%s: kept, for nothing has changed", number[title])
                    found[title], kept = known, kept + 1
                    count.step()
            tries: Counter[str] = Counter()
            while left:
                broken = []
                for k, future in as_done(executor, call, [(title, digests[title]) for title in left]):
                    try:
                        found[left[k]] = future.result()
                        count.step()
                    except BrokenExecutor:
                        tries[left[k]] += 1
                        if tries[left[k]] > job.options.retries:
                            raise
                        log.warning("%s: its worker died; it is tried again", number[left[k]])
                        broken.append(left[k])
                left = broken
    return {title: found[title] for title in digests}, kept


@contextmanager
def _handed_out(job: ScenarioJob, place: Path, executor: Executor) -> Iterator[Callable[[str, str], dict[str, Any]]]:
    """Give the function that an executor calls with the title and digest of a scenario."""
    if isinstance(executor, Here):
        yield partial(job.make_scenario, place=place)
        return
    folder = RunFolder(place)
    token = folder.begin(job.quiet(), sent=True)
    try:
        if (check := getattr(executor, "check", None)) is not None:
            check(folder.path)
        yield partial(make_sent_scenario, str(place.absolute()), token)
    finally:
        folder.remove()


def make_sent_scenario(place: str, token: str, title: str, digest: str) -> dict[str, Any]:
    """Map a scenario in a process of its own."""
    job: ScenarioJob = load_job(place, token)
    return job.make_scenario(title, digest, Path(place), partial(RunFolder(Path(place)).check, token))


def _finished(folder: Path, digest: str) -> dict[str, Any] | None:
    """Return the numbers of a scenario that is finished and unchanged, else None."""
    try:
        known = load_json(folder / NUMBERS)
    except (OSError, ValueError):
        return None
    if not isinstance(known, dict) or known.get("digest") != digest:
        return None
    try:
        same = all(file_checksum(folder / name) == value for name, value in known["checksums"].items())
    except OSError:
        return None  # one is gone
    return known if same else None


def file_checksum(path: Path) -> int:
    """Return what tells whether a file is still as it was written."""
    found = 0
    with path.open("rb") as source:
        while part := source.read(1 << 20):
            found = zlib.crc32(part, found)
    return found
