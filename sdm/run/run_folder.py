"""What a run over several species keeps while it is at work, in a folder beside its results: what workers need, and
how far each of them is. It goes when the run has ended; the next run takes over what a killed one left."""

import logging
import os
import pickle
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from sdm.errors import OutputError, RunEnded
from sdm.run.journal import JournalEntry, append_lines, read_entry, read_lines

log = logging.getLogger("sdm")

NAME = ".sdm-run.part"
_TOKEN, _JOB, _UNITS = "token", "job", "units"
FITTING, MAPPING = "fitting", "mapping"


class RunFolder:
    """The folder of a run at work, in the folder of its results."""

    def __init__(self, place: Path) -> None:
        self.place, self.path = place, place / NAME

    def begin(self, job: object, *, sent: bool) -> str:
        """Make the folder, with the job where it is `sent` to other processes; return the token of the run."""
        token = secrets.token_hex(8)
        self.remove()  # whoever made it
        if os.path.lexists(self.path):
            raise OutputError(f"{self.path}, left by an earlier run, cannot be removed: remove it yourself")
        (self.path / _UNITS).mkdir(parents=True)
        if sent:
            (self.path / _JOB).write_bytes(pickle.dumps((os.getcwd(), job)))
        (self.path / _TOKEN).write_text(token, encoding="ascii")
        return token

    def check(self, token: str) -> None:
        """Raise if the run of this token is over."""
        try:
            same = (self.path / _TOKEN).read_text(encoding="ascii") == token
        except OSError:
            same = False
        if not same:
            raise RunEnded(f"the run into {self.place} has ended")

    def notes(self, token: str, unit: int) -> "UnitNotes":
        """Return the notes of a task."""
        return UnitNotes(self.path / _UNITS / f"{token}-{unit}.jsonl")

    def units(self) -> Iterator["UnitNotes"]:
        """Yield the notes of all tasks that are at work, or were when a run was killed."""
        for path in sorted((self.path / _UNITS).glob("*.jsonl")):
            yield UnitNotes(path)

    def left_over(self) -> list[JournalEntry]:
        """Return what species of a killed run noted that its journal does not have."""
        return [entry for notes in self.units() for entry in notes.entries()]

    def remove(self) -> None:
        """Remove the folder: first the token, so that workers that are still at it write nothing."""
        with suppress(OSError):
            if self.path.is_symlink():
                self.path.unlink()
            (self.path / _TOKEN).unlink(missing_ok=True)
        for _ in range(3):  # workers may still be at it
            shutil.rmtree(self.path, ignore_errors=True)
        if os.path.lexists(self.path):
            log.warning("%s cannot be removed: remove it yourself", self.path)


class UnitNotes:
    """The notes of one task: what it is about, which species it has in hand, and how those before ended."""

    def __init__(self, path: Path) -> None:
        self.path, self._parts = path, path.with_suffix(".parts")

    def send(self, parts: object) -> None:
        """Leave what the task is about to the process that does it."""
        self._parts.write_bytes(pickle.dumps(parts))

    def parts(self) -> Any:
        """Return what the task is about."""
        return pickle.loads(self._parts.read_bytes())  # noqa: S301 - from the process that gave the task

    def at(self, what: str, species: str = "") -> None:
        """Note what begins."""
        append_lines(self.path, [{"at": what, "of": species, "time": time.time()}], durable=False)

    def add(self, entry: JournalEntry) -> None:
        """Note how a species ended."""
        append_lines(self.path, [asdict(entry)], durable=False)

    def entries(self) -> list[JournalEntry]:
        """Return how the species so far ended."""
        found = (read_entry(line) for line in read_lines(self.path) if "species" in line)
        return [entry for entry in found if entry is not None]

    def last(self) -> tuple[str, str, float]:
        """Return what began last, of which species, and when."""
        known = ("", "", 0.0)
        for line in read_lines(self.path):
            if "at" in line:
                known = str(line["at"]), str(line.get("of", "")), float(line.get("time", 0.0))
        return known

    def remove(self) -> None:
        """Remove the notes, for the journal has them."""
        for path in (self.path, self._parts):
            path.unlink(missing_ok=True)


@lru_cache(maxsize=2)
def load_job(place: str, token: str) -> Any:
    """Return the job of a run, in a process that works for it; once for all of its tasks. From then on the process is
    in the folder that the run was started in: paths of layers may be relative to it."""
    folder = RunFolder(Path(place))
    folder.check(token)
    home, job = pickle.loads((folder.path / _JOB).read_bytes())  # noqa: S301 - from the process that started the run
    try:
        os.chdir(home)
    except OSError as error:
        raise OutputError(f"a worker cannot open {home}, where the run was started ({error.strerror})") from error
    return job
