"""Tables as Parquet, under the format's own specification: the same rows always give the same bytes.

A column is of one type: truth values, whole numbers, numbers or text, all of which may be missing. It is written
plainly (encoding PLAIN, no compression, one page per column and group of rows); what describes the file is in Thrift's
compact protocol. Bytes depend on the rows and on the version of sdm alone, not on that of any library.
"""

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from sdm._version import __version__
from sdm.files import write_bytes

MAGIC = b"PAR1"
GROUP_ROWS = 100_000  # rows of a group: a reader needs memory for one group at a time
WHOLE = range(-(2**63), 2**63)  # what fits into INT64
PLAIN, RLE = 0, 3  # encodings
OPTIONAL, UTF8, DATA_PAGE, UNCOMPRESSED = 1, 0, 0, 0


class Physical(IntEnum):
    """How the values of a column are stored, by the numbers of the format."""

    BOOLEAN = 0
    INT64 = 2
    DOUBLE = 5
    BYTE_ARRAY = 6


@dataclass(frozen=True)
class _Column:
    name: str
    kind: Physical
    values: list[Any]  # None where there is none


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> Path:
    """Write dictionaries as a Parquet file in one step; a file that is there already is replaced.

    The columns are those that are named, and whatever else the rows have, in the order of its first appearance. What is
    missing, None, NaN or an empty text is null: all that is an empty cell in a CSV file. A column whose values are not
    of one type (whole numbers among numbers are numbers) is text, and so is one without any value.
    """
    return write_bytes(Path(path), parquet_bytes(rows, columns), overwrite=True)


def parquet_bytes(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> bytes:
    """Return dictionaries as the content of a Parquet file (see `write_parquet`)."""
    names = dict.fromkeys([*columns, *(key for row in rows for key in row)])
    table = [_column(name, [row.get(name) for row in rows]) for name in names]
    out = bytearray(MAGIC)
    groups: list[bytes] = []
    for first in range(0, len(rows), GROUP_ROWS):
        count, start = min(GROUP_ROWS, len(rows) - first), len(out)
        chunks: list[bytes] = []
        for column in table:
            at, page = len(out), _page(column.kind, column.values[first : first + count])
            out += page
            chunks.append(_chunk(column, at, len(page), count))
        parts = [(1, _structs(chunks)), (2, _i64(len(out) - start)), (3, _i64(count))]
        groups.append(_struct(parts))
    footer = _struct(
        [
            (1, _i32(1)),
            (2, _structs([_root(len(table)), *(_element(column) for column in table)])),
            (3, _i64(len(rows))),
            (4, _structs(groups)),
            (6, _text(f"sdm version {__version__}")),
        ]
    )
    return bytes(out + footer + struct.pack("<I", len(footer)) + MAGIC)


def _column(name: str, values: list[Any]) -> _Column:
    """Return a column of one type."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    plain = [None if _missing(value) else value for value in plain]
    there = [value for value in plain if value is not None]
    if there and all(isinstance(value, bool) for value in there):
        return _Column(name, Physical.BOOLEAN, plain)
    if there and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there):
        if any(isinstance(value, float) for value in there):
            return _Column(name, Physical.DOUBLE, [None if value is None else float(value) for value in plain])
        if all(value in WHOLE for value in there):
            return _Column(name, Physical.INT64, plain)
    return _Column(name, Physical.BYTE_ARRAY, [None if value is None else str(value) for value in plain])


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


# -------------------------------------------------------------------------------------------------- pages


def _page(kind: Physical, values: list[Any]) -> bytes:
    """Return the page of some values: a header, which of them are there, and those that are."""
    there = [value for value in values if value is not None]
    levels = _levels(values, len(there))
    body = struct.pack("<I", len(levels)) + levels + _PLAIN[kind](there)
    numbers = [(1, _i32(len(values))), (2, _i32(PLAIN)), (3, _i32(RLE)), (4, _i32(RLE))]
    sizes = [(1, _i32(DATA_PAGE)), (2, _i32(len(body))), (3, _i32(len(body)))]
    return _struct([*sizes, (5, (_STRUCT, _struct(numbers)))]) + body


def _levels(values: list[Any], there: int) -> bytes:
    """Return which values are there, one bit each: as one run where they all are, or none."""
    if there in (0, len(values)):
        return _varint(len(values) << 1) + bytes([1 if there else 0])
    bits = np.packbits([value is not None for value in values], bitorder="little").tobytes()
    return _varint(len(bits) << 1 | 1) + bits


def _texts(values: list[str]) -> bytes:
    out = bytearray()
    for value in values:
        word = value.encode()
        out += struct.pack("<I", len(word)) + word
    return bytes(out)


_PLAIN: dict[Physical, Callable[[list[Any]], bytes]] = {
    Physical.BOOLEAN: lambda values: np.packbits(np.array(values, dtype=bool), bitorder="little").tobytes(),
    Physical.INT64: lambda values: np.array(values, dtype="<i8").tobytes(),
    Physical.DOUBLE: lambda values: np.array(values, dtype="<f8").tobytes(),
    Physical.BYTE_ARRAY: _texts,
}


# -------------------------------------------------------------------------------------------------- description


def _root(children: int) -> bytes:
    return _struct([(4, _text("schema")), (5, _i32(children))])


def _element(column: _Column) -> bytes:
    """Return the description of a column in the schema."""
    parts = [(1, _i32(column.kind)), (3, _i32(OPTIONAL)), (4, _text(column.name))]
    if column.kind is Physical.BYTE_ARRAY:  # text, in the words of earlier and of present readers
        parts += [(6, _i32(UTF8)), (10, (_STRUCT, _struct([(1, (_STRUCT, _struct([])))])))]
    return _struct(parts)


def _chunk(column: _Column, at: int, size: int, count: int) -> bytes:
    """Return where the values of a column are, in one group of rows."""
    encodings = _list(_I32, [_zigzag(PLAIN), _zigzag(RLE)])
    name = column.name.encode()
    parts = [(1, _i32(column.kind)), (2, encodings), (3, _list(_BINARY, [_varint(len(name)) + name]))]
    parts += [(4, _i32(UNCOMPRESSED)), (5, _i64(count)), (6, _i64(size)), (7, _i64(size)), (9, _i64(at))]
    return _struct([(2, _i64(at)), (3, (_STRUCT, _struct(parts)))])


# -------------------------------------------------------------------------------------------------- Thrift, compact

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_Value = tuple[int, bytes]  # the number of its type, and what is written


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _i32(value: int) -> _Value:
    return _I32, _zigzag(value)


def _i64(value: int) -> _Value:
    return _I64, _zigzag(value)


def _text(value: str) -> _Value:
    word = value.encode()
    return _BINARY, _varint(len(word)) + word


def _list(kind: int, items: Sequence[bytes]) -> _Value:
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + _varint(len(items))
    return _LIST, head + b"".join(items)


def _structs(items: Sequence[bytes]) -> _Value:
    return _list(_STRUCT, items)


def _struct(fields: Sequence[tuple[int, _Value]]) -> bytes:
    """Return a structure: fields by rising number, each headed by how far it is from the one before, and its type."""
    out, last = bytearray(), 0
    for number, (kind, content) in fields:
        out += bytes([(number - last) << 4 | kind]) + content
        last = number
    return bytes(out + b"\0")
