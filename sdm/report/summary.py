"""The table of a run over several species, `summary.csv` and `summary.parquet`, and its failures by reason."""

import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.report.tables import table_text
from sdm.storage.files import has_parquet, write_bytes, write_text
from sdm.types import Row

if TYPE_CHECKING:
    import pyarrow

GROUP_ROWS = 100_000  # rows of a group, which a reader loads together
TYPES = ("bool", "int64", "double", "string")


def parquet_bytes(rows: Sequence[Row], columns: Iterable[str] = ()) -> bytes:
    """Return dictionaries as the content of a Parquet file.

    The named columns are first, then all others in the order of their first appearance. Missing values, None, NaN and
    empty texts are null, as empty cells are in a CSV file. A column of mixed types or without values is text; integers
    and floats are numbers.
    """
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys([*columns, *(key for row in rows for key in row)])
    arrays = {name: _column([row.get(name) for row in rows]) for name in names}
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), out, row_group_size=GROUP_ROWS)
    return out.getvalue()


def _column(values: list[Any]) -> "pyarrow.Array":
    """Return a column in the type of its values; as text if they have different types."""
    import pyarrow

    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    plain = [None if _missing(value) else value for value in plain]
    try:
        column = pyarrow.array(plain)
    except (pyarrow.ArrowException, OverflowError):
        column = None
    if column is not None and str(column.type) in TYPES:
        return column
    return pyarrow.array([None if value is None else str(value) for value in plain], pyarrow.string())


def _missing(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


SUMMARY, SUMMARY_PARQUET = "summary.csv", "summary.parquet"
HEAD = ("species", "status")
TAIL = ("folder", "page", "preview", "error")
"""Columns before and after the numbers. `page` and `preview` are relative to the folder of the run, or empty."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def write_summary(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Write the rows of a run as `summary.csv`, and as `summary.parquet` if pyarrow is installed; replace existing
    files atomically.

    The columns are `species`, `status`, every number of any species, `folder`, `page`, `preview` and `error`.
    """
    inner = dict.fromkeys(key for row in rows for key in row if key not in (*HEAD, *TAIL))
    columns = (*HEAD, *inner, *TAIL)
    ordered = [{key: row.get(key, "") for key in columns} for row in rows]
    text = table_text(ordered) if ordered else ",".join(columns) + "\n"
    written = [write_text(folder / SUMMARY, text, overwrite=True)]
    if has_parquet():
        written.append(write_bytes(folder / SUMMARY_PARQUET, parquet_bytes(ordered, columns), overwrite=True))
    return written


@dataclass(frozen=True)
class FailureGroup:
    """Species that failed for one reason; numbers that differ between their messages are `…` in the reason."""

    reason: str
    species: list[str]


def group_failures(rows: Iterable[Row]) -> list[FailureGroup]:
    """Return the failures of a run by reason, in decreasing frequency; messages that differ only in the name of the
    species or in numbers have one reason."""
    by_reason: dict[str, tuple[dict[str, None], list[str]]] = {}
    for row in rows:
        if error := str(row.get("error") or ""):
            message = without_name(error, str(row.get("species", "")))
            texts, species = by_reason.setdefault(_NUMBER.sub("…", message), ({}, []))
            texts[message] = None
            species.append(str(row.get("species", "")))
    groups = [FailureGroup(_common(texts), species) for texts, species in by_reason.values()]
    return sorted(groups, key=lambda group: -len(group.species))


def _common(texts: Iterable[str]) -> str:
    """Return the common text of messages that differ in numbers."""
    numbers = iter([*zip(*(_NUMBER.findall(text) for text in texts))])

    def replacement(_: re.Match[str]) -> str:
        values = set(next(numbers))
        return values.pop() if len(values) == 1 else "…"

    return _NUMBER.sub(replacement, next(iter(texts)))


def without_name(error: str, species: str) -> str:
    """Return a message without the name of the species before it, and with `the species` in place of the name inside
    it."""
    message = error.removeprefix(f"{species}: ")
    return re.sub(rf"(?<!\w){re.escape(species)}(?!\w)", "the species", message) if species else message
