"""Temporary data of a run over several species: the job for the workers, and their progress. The folder is removed at
the end of the run; the next run recovers the data of a killed one."""

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
    """The temporary folder of a run, in the folder of its results."""

    def __init__(self, place: Path) -> None:
        self.place, self.path = place, place / NAME

    def begin(self, job: object, *, sent: bool) -> str:
        """Create the folder, with the job if it is `sent` to other processes; return the token of the run."""
        token = secrets.token_hex(8)
        self.remove()  # of any user
        if os.path.lexists(self.path):
            raise OutputError(f"{self.path}, left by an earlier run, cannot be removed: remove it yourself")
        (self.path / _UNITS).mkdir(parents=True)
        if sent:
            (self.path / _JOB).write_bytes(pickle.dumps((os.getcwd(), job)))
        (self.path / _TOKEN).write_text(token, encoding="ascii")
        return token

    def check(self, token: str) -> None:
        """Raise if the run of this token has ended."""
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
        """Yield the notes of all running tasks, or of the tasks of a killed run."""
        for path in sorted((self.path / _UNITS).glob("*.jsonl")):
            yield UnitNotes(path)

    def left_over(self) -> list[JournalEntry]:
        """Return the entries of a killed run that are missing from its journal."""
        return [entry for notes in self.units() for entry in notes.entries()]

    def remove(self) -> None:
        """Remove the folder: first the token, so that running workers stop writing."""
        with suppress(OSError):
            if self.path.is_symlink():
                self.path.unlink()
            (self.path / _TOKEN).unlink(missing_ok=True)
        for _ in range(3):  # running workers can still use it
            shutil.rmtree(self.path, ignore_errors=True)
        if os.path.lexists(self.path):
            log.warning("%s cannot be removed: remove it yourself", self.path)


class UnitNotes:
    """The notes of one task: its job, its current species, and the results of the species before."""

    def __init__(self, path: Path) -> None:
        self.path, self._parts = path, path.with_suffix(".parts")

    def send(self, parts: object) -> None:
        """Store the job of the task for its process."""
        self._parts.write_bytes(pickle.dumps(parts))

    def parts(self) -> Any:
        """Return the job of the task."""
        return pickle.loads(self._parts.read_bytes())  # noqa: S301 - from the process that gave the task

    def begin(self, step: str, species: str = "") -> None:
        """Record the start of a step."""
        append_lines(self.path, [{"at": step, "of": species, "time": time.time()}], durable=False)

    def add(self, entry: JournalEntry) -> None:
        """Record the result of a species."""
        append_lines(self.path, [asdict(entry)], durable=False)

    def entries(self) -> list[JournalEntry]:
        """Return the results so far."""
        entries = (read_entry(line) for line in read_lines(self.path) if "species" in line)
        return [entry for entry in entries if entry is not None]

    def last(self) -> tuple[str, str, float]:
        """Return the last step, its species, and its start."""
        latest = ("", "", 0.0)
        for line in read_lines(self.path):
            if "at" in line:
                latest = str(line["at"]), str(line.get("of", "")), float(line.get("time", 0.0))
        return latest

    def remove(self) -> None:
        """Remove the notes after the journal has them."""
        for path in (self.path, self._parts):
            path.unlink(missing_ok=True)


@lru_cache(maxsize=2)
def load_job(place: str, token: str) -> Any:
    """Return the job of a run in a worker process, once for all of its tasks, and change to the folder in which the run
    was started, because paths of layers can be relative to it."""
    folder = RunFolder(Path(place))
    folder.check(token)
    home, job = pickle.loads((folder.path / _JOB).read_bytes())  # noqa: S301 - from the process that started the run
    try:
        os.chdir(home)
    except OSError as error:
        raise OutputError(f"a worker cannot open {home}, where the run was started ({error.strerror})") from error
    return job
