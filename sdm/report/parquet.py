"""Tables as Parquet: a column is of one type, truth values, whole numbers, numbers or text, which may be missing."""

import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdm.storage.files import write_bytes
from sdm.types import Row

GROUP_ROWS = 100_000  # rows of a group: a reader needs memory for one group at a time
WHOLE = range(-(2**63), 2**63)  # what fits into 64 bits


def write_parquet(path: Path, rows: Sequence[Row], columns: Iterable[str] = ()) -> Path:
    """Write dictionaries as a Parquet file in one step; a file that is there already is replaced.

    The columns are those that are named, and whatever else the rows have, in the order of its first appearance. What is
    missing, None, NaN or an empty text is null: all that is an empty cell in a CSV file. A column whose values are not
    of one type (whole numbers among numbers are numbers) is text, and so is one without any value.
    """
    return write_bytes(Path(path), parquet_bytes(rows, columns), overwrite=True)


def parquet_bytes(rows: Sequence[Row], columns: Iterable[str] = ()) -> bytes:
    """Return dictionaries as the content of a Parquet file (see `write_parquet`)."""
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys([*columns, *(key for row in rows for key in row)])
    typed = {name: _column([row.get(name) for row in rows]) for name in names}
    arrays = {name: pyarrow.array(values, type=pyarrow.type_for_alias(kind)) for name, (kind, values) in typed.items()}
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), out, row_group_size=GROUP_ROWS)
    return out.getvalue()


def _column(values: list[Any]) -> tuple[str, list[Any]]:
    """Return the type of a column, and its values in that type."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    plain = [None if _missing(value) else value for value in plain]
    there = [value for value in plain if value is not None]
    if there and all(isinstance(value, bool) for value in there):
        return "bool", plain
    if there and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there):
        if any(isinstance(value, float) for value in there):
            return "double", [None if value is None else float(value) for value in plain]
        if all(value in WHOLE for value in there):
            return "int64", plain
    return "string", [None if value is None else str(value) for value in plain]


def _missing(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
