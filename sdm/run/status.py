"""How far a run over several species is, read from its folder while it is at work or after it has ended."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdm.errors import DataError
from sdm.progress.status import status_lines
from sdm.report.summary import group_failures
from sdm.run.journal import DONE, JOURNAL, read_journal
from sdm.run.run_folder import RunFolder
from sdm.storage.commit import stages_of
from sdm.storage.locks import is_locked


@dataclass(frozen=True)
class BatchStatus:
    """What is known of a run over several species."""

    folder: Path
    planned: int
    done: int
    failed: dict[str, list[str]]  # species by the reason
    running: list[tuple[str, float]]  # species in hand, and for how many seconds
    seconds: list[float] = field(default_factory=list)  # that each finished species took
    ended: bool = True
    since: float = 0.0  # seconds from the beginning of the last run to now, or to its last species

    @property
    def numbers(self) -> dict[str, Any]:
        """The same as JSON values."""
        mean = sum(self.seconds) / len(self.seconds) if self.seconds else None
        return {
            "planned": self.planned,
            "done": self.done,
            "failed": self.failed,
            "running": [{"species": name, "seconds": so_far} for name, so_far in self.running],
            "seconds_per_species": mean,
            "at_work": not self.ended,
            "seconds": self.since,
        }

    @property
    def lines(self) -> list[str]:
        """The same in words."""
        workers = max(1, len(self.running))
        return status_lines(
            self.done, self.failed, self.running, self.planned, self.seconds, workers, self.ended, self.since
        )


def read_status(folder: Path) -> BatchStatus:
    """Read how far the run into a folder is; nothing is changed."""
    at_work = is_locked(folder)
    place = next(iter(stages_of(folder)), folder) if at_work else folder  # results that are replaced as a whole
    record = read_journal(place / JOURNAL)
    if not record.planned:
        raise DataError(f"{folder} has no {JOURNAL}: expected the output folder of a run over several species")
    now = time.time()
    entries, running = dict(record.entries), list[tuple[str, float]]()
    for notes in RunFolder(place).units():
        entries |= {entry.species: entry for entry in notes.entries()}
        what, species, began = notes.last()
        if species and what:
            running.append((species, max(0.0, now - began)))
    over = [entry for entry in entries.values() if entry.time >= record.started]
    last = max((entry.time for entry in over), default=record.started)
    settled = {entry.species for entry in over}
    running = [(name, so_far) for name, so_far in running if at_work and name not in settled]
    taken = [entry.seconds for entry in entries.values() if entry.status == DONE]
    failures = group_failures(entry.row for entry in entries.values() if entry.status != DONE)
    return BatchStatus(
        folder,
        len(record.planned),
        len(taken),
        {group.reason: group.species for group in failures},
        running,
        taken,
        not at_work,
        (now if at_work else last) - record.started,
    )
