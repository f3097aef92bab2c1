"""Where the tiles of a TIFF are, read from its tables alone (TIFF 6.0, sections 2 and 15; BigTIFF)."""

import struct
from pathlib import Path
from typing import BinaryIO

_OFFSETS, _LENGTHS = 324, 325  # tags of tiles: where each begins, how many bytes it has
_TYPES = {3: "H", 4: "I", 16: "Q"}  # of numbers, by their code


def tile_places(path: Path) -> list[tuple[int, int]]:
    """Return where every tile begins and how many bytes it has, of the image and of its overviews.

    Raises
    ------
    struct.error
        If the file ends before its tables do, or is no TIFF.
    """
    places: list[tuple[int, int]] = []
    with path.open("rb") as file:
        head = file.read(8)
        order = {b"II": "<", b"MM": ">"}.get(head[:2], "")
        version = struct.unpack(f"{order}H", head[2:4])[0]
        if not order or version not in (42, 43):
            raise struct.error("no TIFF")
        big = version == 43
        count, entry, number = ("Q", "HHQ8s", "Q") if big else ("H", "HHI4s", "I")
        (here,) = struct.unpack(f"{order}{number}", file.read(8) if big else head[4:8])
        while here:
            file.seek(here)
            (entries,) = _read(file, order + count)
            found = {}
            for row in struct.iter_unpack(order + entry, _bytes(file, entries * struct.calcsize(order + entry))):
                if row[0] in (_OFFSETS, _LENGTHS):
                    found[row[0]] = row[1:]
            (here,) = _read(file, order + number)
            if found:
                starts, lengths = (_numbers(file, order, number, *found[tag]) for tag in (_OFFSETS, _LENGTHS))
                places += zip(starts, lengths, strict=True)
    return places


def _numbers(file: BinaryIO, order: str, number: str, kind: int, count: int, held: bytes) -> tuple[int, ...]:
    """Return the numbers of an entry: they are in it, or where it points."""
    form = f"{order}{count}{_TYPES[kind]}"
    if struct.calcsize(form) <= len(held):
        return struct.unpack(form, held[: struct.calcsize(form)])
    file.seek(struct.unpack(order + number, held)[0])
    return _read(file, form)


def _read(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, _bytes(file, struct.calcsize(form)))


def _bytes(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise struct.error("the file ends before its tables do")
    return content
