"""The catalogue of what a kind of model leaves behind: each table is described once, and written from there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from sdm.report.tables import table_text

Rows = Sequence[Mapping[str, object]]
SourceT = TypeVar("SourceT", contravariant=True)
"""What a table is made from, such as a measured model."""


@dataclass(frozen=True)
class Artefact(Generic[SourceT]):
    """A table of the results of a model.

    Attributes
    ----------
    key : str
        Its name among the `files` of the results, in `results.table(key)` and in Python.
    file : str
        Its file, with `{name}` for the name of the model.
    rows : callable
        Returns its rows. A table without rows is not written, unless its columns are always the same.
    columns : sequence of str
        The columns of a table that is written without rows too.
    """

    key: str
    file: str
    rows: Callable[[SourceT], Rows]
    columns: tuple[str, ...] = ()


Catalogue = Sequence[Artefact[Any]]
"""The tables that the results of a kind may have."""


def write_artefacts(
    catalogue: Iterable[Artefact[SourceT]], source: SourceT, folder: Path, name: str = ""
) -> dict[str, str]:
    """Write the tables of a catalogue into a folder; return the names of their files by their keys."""
    files = {}
    for one in catalogue:
        rows = one.rows(source)
        if rows or one.columns:
            files[one.key] = one.file.format(name=name)
            text = table_text(rows) if rows else ",".join(one.columns) + "\n"
            (folder / files[one.key]).write_text(text, encoding="utf-8", newline="")
    return files
