"""The table of a batch, one row per species: `summary.csv` and `summary.parquet`; and its failures by their reason."""

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

GROUP_ROWS = 100_000  # rows of a group: a reader needs memory for one group at a time
TYPES = ("bool", "int64", "double", "string")


def parquet_bytes(rows: Sequence[Row], columns: Iterable[str] = ()) -> bytes:
    """Return dictionaries as the content of a Parquet file.

    The columns are those that are named, and whatever else the rows have, in the order of its first appearance. What is
    missing, None, NaN or an empty text is null: all that is an empty cell in a CSV file. A column whose values are not
    of one type (whole numbers among numbers are numbers) is text, and so is one without any value.
    """
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys([*columns, *(key for row in rows for key in row)])
    arrays = {name: _column([row.get(name) for row in rows]) for name in names}
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), out, row_group_size=GROUP_ROWS)
    return out.getvalue()


def _column(values: list[Any]) -> "pyarrow.Array":
    """Return a column in the type of its values; as text if they are not of one type."""
    import pyarrow

    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    plain = [None if _missing(value) else value for value in plain]
    try:
        found = pyarrow.array(plain)
    except (pyarrow.ArrowException, OverflowError):
        found = None
    if found is not None and str(found.type) in TYPES:
        return found
    return pyarrow.array([None if value is None else str(value) for value in plain], pyarrow.string())


def _missing(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


SUMMARY, SUMMARY_PARQUET = "summary.csv", "summary.parquet"
HEAD = ("species", "status")
TAIL = ("folder", "page", "preview", "error")
"""The columns around the numbers. `page` and `preview` are paths relative to the folder of the batch, or empty."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def write_summary(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Write the rows of a batch as `summary.csv`, and as `summary.parquet` where pyarrow is installed, each in one
    step; earlier ones are replaced.

    The columns are `species`, `status`, every number that any species has, and `folder`, `page`, `preview`, `error`,
    whichever species comes first: a failed one has no numbers.
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
    """Species that failed for one reason; numbers in which their messages differ are `…` in the reason."""

    reason: str
    species: list[str]


def group_failures(rows: Iterable[Row]) -> list[FailureGroup]:
    """Return the failures of a batch by their reason, the most frequent first; messages that differ in the species'
    name or in numbers alone are one reason."""
    found: dict[str, tuple[dict[str, None], list[str]]] = {}
    for row in rows:
        if error := str(row.get("error") or ""):
            said = without_name(error, str(row.get("species", "")))
            texts, species = found.setdefault(_NUMBER.sub("…", said), ({}, []))
            texts[said] = None
            species.append(str(row.get("species", "")))
    groups = [FailureGroup(_common(texts), species) for texts, species in found.values()]
    return sorted(groups, key=lambda group: -len(group.species))


def _common(texts: Iterable[str]) -> str:
    """Return what messages have in common that differ in numbers alone."""
    numbers = iter([*zip(*(_NUMBER.findall(text) for text in texts))])

    def kept(_: re.Match[str]) -> str:
        values = set(next(numbers))
        return values.pop() if len(values) == 1 else "…"

    return _NUMBER.sub(kept, next(iter(texts)))


def without_name(error: str, species: str) -> str:
    """Return a message without the species' name before it, and with `the species` for the name inside it."""
    said = error.removeprefix(f"{species}: ")
    return re.sub(rf"(?<!\w){re.escape(species)}(?!\w)", "the species", said) if species else said
