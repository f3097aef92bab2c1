"""The journal of a run over several species: one line for each finished or failed species, append-only.

Its readers find the progress of the run after any interruption: they ignore an incomplete line. During a run, the
current species of a worker are recorded in a file of its task (`RunFolder`).
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sdm.errors import ResultsError
from sdm.kinds.task import ModelResult
from sdm.storage.files import write_bytes
from sdm.types import Numbers, Row

JOURNAL = "journal.jsonl"
DONE, FAILED = "done", "failed"


@dataclass(frozen=True)
class JournalEntry:
    """The result of one species."""

    species: str
    status: str  # `done` or `failed`
    folder: str = ""  # in the folder of the run
    digest: str = ""  # of all inputs of its results
    seconds: float = 0.0
    row: Row = field(default_factory=dict)  # of the summary
    error: str | None = None
    kind: str = ""
    numbers: str = ""  # file with all measures in its folder
    warnings: list[str] = field(default_factory=list)  # of this species alone
    time: float = 0.0  # when it was written, in seconds since 1970
    lines: list[str] = field(default_factory=list)  # of the terminal, where species are few
    code: str | None = None  # of the error

    def result(self, target: Path) -> ModelResult:
        """Return the same as a result, with the path of its numbers."""
        return ModelResult(
            self.species,
            self.kind,
            target / self.folder if self.status == DONE else None,
            files={"numbers": self.numbers} if self.numbers else {},
            warnings=self.warnings,
            error=self.error,
            code=self.code,
            lines=self.lines,
        )


@dataclass
class Record:
    """Content of a journal: the species of the run in order, and the last entry of each."""

    planned: list[str] = field(default_factory=list)
    entries: dict[str, JournalEntry] = field(default_factory=dict)
    started: float = 0.0  # start of the last run

    @property
    def in_order(self) -> list[JournalEntry]:
        """The entries in the order of the run."""
        return [self.entries[name] for name in self.planned if name in self.entries]

    @property
    def rows(self) -> list[Row]:
        """The rows of the summary, in the order of the run."""
        return [entry.row for entry in self.in_order]

    @property
    def finished(self) -> int:
        """The number of finished species."""
        return sum(entry.status == DONE for entry in self.entries.values())


class Journal:
    """The journal of a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL

    def begin(self, planned: Sequence[str], command: str) -> None:
        """Record the start of a run, and its species."""
        self._add([{"run": time.time(), "command": command, "species": list(planned)}])

    def add(self, entries: Sequence[JournalEntry]) -> None:
        """Record the results of some species."""
        self._add([asdict(entry) for entry in entries])

    def _add(self, lines: Sequence[Numbers]) -> None:
        if lines:
            # a hard link belongs to another file
            if os.path.lexists(self.path) and self.path.lstat().st_nlink > 1:
                write_bytes(self.path, self.path.read_bytes(), overwrite=True)
            append_lines(self.path, lines)

    def read(self) -> Record:
        """Return the content of the journal; empty without a file."""
        record = Record()
        for line in read_lines(self.path):
            if "run" in line:
                record.planned += [name for name in line.get("species", ()) if isinstance(name, str)]
                record.started = float(line["run"])
            elif (entry := read_entry(line)) is not None:
                record.entries[entry.species] = entry
        record.planned = list(dict.fromkeys([*record.planned, *record.entries]))
        return record


def append_lines(path: Path, lines: Sequence[Numbers], *, durable: bool = True) -> None:
    """Append lines to a file, and flush them to the disk if `durable`; an incomplete line remains separate."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode(errors="surrogatepass")
    with open(path, "ab+", opener=_open_no_link) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            text = text if file.read(1) == b"\n" else b"\n" + text
        file.write(text)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def read_lines(path: Path) -> Iterator[Numbers]:
    """Yield the complete lines of a file; nothing without a file."""
    try:
        if not path.is_file():  # reading a pipe would not end
            return
        with path.open("rb") as file:
            for line in file:
                with suppress(ValueError):  # incomplete
                    values = json.loads(line.decode(errors="surrogatepass"))
                    if isinstance(values, dict):
                        yield values
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(f"{path} cannot be read ({error.strerror})") from error


def read_entry(line: Numbers) -> JournalEntry | None:
    """Return the entry of a line; None for an invalid one."""
    try:
        entry = JournalEntry(**line)
    except TypeError:
        return None
    complete = isinstance(entry.species, str) and entry.status in (DONE, FAILED) and isinstance(entry.folder, str)
    inside = entry.folder == os.path.basename(entry.folder) and entry.folder not in (".", "..")
    return entry if complete and inside else None
