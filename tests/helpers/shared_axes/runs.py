"""A group of species as files, the commands that fit it, and what a run leaves but for its own name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terminal import rows, write_table

HEAD = ["species", "longitude", "latitude"]


@dataclass(frozen=True)
class Group:
    """Records of several species, and the words of a command that fits them together."""

    records: Path
    layers: Path

    def words(self, out: Path, *more: Any) -> tuple[Any, ...]:
        """A fit with everything."""
        own = ("--model", "shared", "--features", "lq", "--strength", 1, "--categorical", "landcover")
        return ("fit", self.records, self.layers, *own, "-o", out, *more)

    def bare(self, out: Path, *more: Any) -> tuple[Any, ...]:
        """A fit without curves, maps of species and pages."""
        return self.words(out, "--no-curves", "--no-report", "--no-map", *more)

    @property
    def body(self) -> list[tuple[str, ...]]:
        """The rows of the records."""
        return [tuple(row.values()) for row in rows(self.records)]


def write_records(path: Path, body: Any) -> Path:
    """Write a file of records."""
    return write_table(path, HEAD, body)


def without_names(found: dict[str, bytes]) -> dict[str, bytes]:
    """Results without the files that name the folder and the command."""
    return {name: data for name, data in found.items() if not name.endswith(("command.txt", ".html", "run.yaml"))}
