"""Read untrusted files within bounds: no devices, no endless files, no archives that unpack without limit."""

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.errors import FileFormatError

if TYPE_CHECKING:  # imported only when an archive is opened
    from zipfile import ZipFile

TEXT_LIMIT = 16 << 20  # bytes of a run file or of a results file; valid ones have a few thousand
UNZIPPED_LIMIT = 1 << 30
_SPECIAL = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def special(path: str | Path) -> str | None:
    """Return the type of a path ("a device", "a pipe", "a socket") if it is neither file nor folder; None otherwise."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return next((words for test, words in _SPECIAL if test(mode)), None)


def refuse_special(path: str | Path) -> None:
    """Raise for devices, pipes and sockets, which may be endless or can be read only once."""
    if kind := special(path):
        raise FileFormatError(f"{path} is {kind}: expected a file; save its content to one first")


def read_limited(path: str | Path, limit: int = TEXT_LIMIT) -> str:
    """Return the text of a file (UTF-8); raise ValueError if it is too long, not a file, or not UTF-8."""
    refuse_special(path)
    with Path(path).open("rb") as source:
        content = source.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it has more than {limit >> 20} MB")
    return content.decode("utf-8-sig")


def load_json(path: str | Path) -> Any:
    """Return the content of a JSON file; any error in it raises ValueError."""
    try:
        return json.loads(read_limited(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def open_zipped(archive: "ZipFile", name: str, source: str) -> Any:
    """Open a file in a zip archive, limited to its declared size.

    Raise DataError if it is encrypted, has an unknown compression, or unpacks to more than a gigabyte.
    """
    from zipfile import BadZipFile

    entry = archive.getinfo(name)
    if entry.flag_bits & 1:
        raise FileFormatError(f"file '{source}' is encrypted: unzip it with its password, and use the files in it")
    if entry.file_size > UNZIPPED_LIMIT or entry.file_size > max(64 << 20, 200 * entry.compress_size):
        size = f"{entry.file_size / 1e9:.1f} GB" if entry.file_size > 1e8 else f"{entry.file_size / 1e6:.0f} MB"
        raise FileFormatError(f"'{name}' in '{source}' unpacks to {size}: if that is correct, unzip it first")
    try:
        return archive.open(name)
    except (NotImplementedError, RuntimeError, BadZipFile, OSError) as error:
        raise FileFormatError(f"'{name}' in '{source}' cannot be unpacked ({error}): unzip it first") from error
