"""Progress of a run over several species, read from its folder during the run or after its end."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from sdm.errors import ResultsError, name_list
from sdm.progress.stages import duration_text, left_text
from sdm.report.summary import group_failures, write_summary
from sdm.run.journal import DONE, JOURNAL, Journal
from sdm.run.run_folder import RunFolder
from sdm.storage.commit import stages_of
from sdm.storage.locks import is_locked
from sdm.types import Numbers

NAMED = 3  # largest number of named species per reason


@dataclass(frozen=True)
class BatchStatus:
    """The state of a run over several species."""

    planned: int
    done: int
    failed: dict[str, list[str]]  # species by reason
    running: list[tuple[str, float]]  # current species, with their seconds so far
    seconds: list[float] = field(default_factory=list)  # duration of each finished species
    ended: bool = True
    since: float = 0.0  # seconds from the start of the last run to now, or to its last species

    @property
    def numbers(self) -> Numbers:
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
        done, planned, running = self.done, self.planned, self.running
        lines = [f"done         {done:,} of {planned:,} species ({_percent(done, planned)})"]
        lines += [f"failed       {self.broken:,}"] if self.broken else []
        for reason, species in sorted(self.failed.items(), key=lambda item: (-len(item[1]), item[0])):
            lines += [f"  {len(species):>6,}     {name_list(species, NAMED)}: {reason}"] if species else []
        if running and not self.ended:
            processes = "process" if len(running) == 1 else "processes"
            lines.append(f"running      {len(running):,}, with {len(running):,} {processes}")
            longest = sorted(running, key=lambda item: (-item[1], item[0]))
            lines += [f"             {name}: {duration_text(round(so_far))} so far" for name, so_far in longest]
        waiting = max(0, planned - done - self.broken - len(running)) + (len(running) if self.ended else 0)
        lines += [f"waiting      {waiting:,}"] if waiting else []
        if self.seconds:
            mean, typical, most = sum(self.seconds) / len(self.seconds), median(self.seconds), max(self.seconds)
            spread = f"median {duration_text(typical)}, longest {duration_text(most)}"
            lines.append(f"per species  {duration_text(mean)} ({spread})")
        return [*lines, f"time         {self._time}"]

    @property
    def broken(self) -> int:
        """The number of failed species."""
        return sum(len(species) for species in self.failed.values())

    @property
    def _time(self) -> str:
        """The duration of the run, with an estimate of the rest."""
        over, lasted = self.done + self.broken >= self.planned, duration_text(self.since)
        if self.ended:
            return f"finished after {lasted}" if over else f"interrupted after {lasted}: continue with --resume"
        if over:
            return f"{lasted} so far, writing the summary"
        if not self.seconds:
            return f"{lasted} so far; remaining time unknown until the first species is finished"
        mean = sum(self.seconds) / len(self.seconds)
        # Every remaining species takes the mean, less the time that the current ones have taken.
        work = mean * (self.planned - self.done - self.broken) - sum(min(so_far, mean) for _, so_far in self.running)
        longest = max((mean - so_far for _, so_far in self.running), default=0.0)
        return f"{lasted} so far, about {left_text(max(work / max(1, len(self.running)), longest))}"


def _percent(part: int, total: int) -> str:
    """Return a share that is 0 % or 100 % only if it is exact."""
    if not total:
        return "0 %"
    share = 100.0 * part / total
    return f"{min(share, 99.9) if part < total else share:.{0 if share in (0.0, 100.0) else 1}f} %"


def read_status(folder: Path) -> BatchStatus:
    """Read the state of the run into a folder."""
    at_work = is_locked(folder)
    place = next(iter(stages_of(folder)), folder) if at_work else folder  # results that are being replaced
    record = Journal(place).read()
    if not record.planned:
        raise ResultsError(f"{folder} has no {JOURNAL}: expected the output folder of a run over several species")
    now = time.time()
    entries, running = dict(record.entries), list[tuple[str, float]]()
    for notes in RunFolder(place).units():
        entries |= {entry.species: entry for entry in notes.entries()}
        step, species, began = notes.last()
        if species and step:
            running.append((species, max(0.0, now - began)))
    over = [entry for entry in entries.values() if entry.time >= record.started]
    last = max((entry.time for entry in over), default=record.started)
    settled = {entry.species for entry in over}
    running = [(name, so_far) for name, so_far in running if at_work and name not in settled]
    taken = [entry.seconds for entry in entries.values() if entry.status == DONE]
    failures = group_failures(entry.row for entry in entries.values() if entry.status != DONE)
    return BatchStatus(
        len(record.planned),
        len(taken),
        {group.reason: group.species for group in failures},
        running,
        taken,
        not at_work,
        (now if at_work else last) - record.started,
    )


def renew_summary(folder: Path) -> None:
    """Write the summary of an interrupted run from its journal, which can contain more; not during a run, nor without a
    journal."""
    record = Journal(folder).read()
    if record.planned and not is_locked(folder):
        record.entries |= {entry.species: entry for entry in RunFolder(folder).left_over()}
        write_summary(folder, record.rows)
