"""Paths of results: safe file names; files are written atomically and not overwritten."""

import hashlib
import json
import math
import os
import re
import secrets
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sdm.errors import MissingInputError, OutputError, OutputExistsError
from sdm.storage.disk import rename_new
from sdm.storage.reading import special

_RESERVED = {"con", "prn", "aux", "nul", *(f"com{k}" for k in range(1, 10)), *(f"lpt{k}" for k in range(1, 10))}
_LONGEST = 80


def safe_name(name: str) -> str:
    """Return a file name for any text: letters, digits, `-`, `_` and inner dots; the same text gives the same name.

    Spaces become underscores, as in Java Maxent. If other characters change, digits of a hash keep the name unique.
    """
    spaced = unicodedata.normalize("NFC", name).strip().replace(" ", "_")
    safe = re.sub(r"[^\w.-]+", "_", spaced).strip("._-")
    changed = safe != spaced
    if unicodedata.normalize("NFKC", safe).split(".")[0].lower() in _RESERVED or not safe:
        safe, changed = f"species_{safe}".rstrip("_"), True
    if len(safe.encode()) > _LONGEST:
        safe, changed = safe.encode()[:_LONGEST].decode(errors="ignore"), True
    return f"{safe}_{_digits(name)}" if changed else safe


def _digits(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:6]


def safe_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a file name for each text, all different from each other and from `taken`, on any disk.

    If names are equal on some disk (`A b` and `A_b`, `a` and `A`), the later ones get digits of a hash.
    """
    used = {name.casefold() for name in taken}
    chosen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        safe = safe_name(name)
        chosen[name] = safe if safe.casefold() not in used else f"{safe}_{_digits(name)}"
        used.add(chosen[name].casefold())
    return chosen


def output_folder(folder: str | None) -> Path:
    """Return the folder for results; raise if there is none."""
    if folder is None:
        raise MissingInputError("no output folder: add one with -o, as in -o results")
    return Path(folder)


def check_output_path(path: Path) -> None:
    """Raise if a result cannot have this path: a device, pipe or socket, which a file would replace, or a name that is
    not valid UTF-8, since maps and pages are written by programs that require UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise OutputError(f"{shown} is not a name in UTF-8: choose another name for the results") from None
    if "\0" in str(path):
        raise OutputError("the name of the results contains a zero byte: choose another name")
    if kind := special(path):
        raise OutputError(f"{path} is {kind}, and results are files: choose another name")


def refuse_existing(target: Path, *, overwrite: bool) -> None:
    """Raise if the path is invalid, or if a result exists and may not be replaced."""
    check_output_path(target)
    if overwrite:
        return
    try:
        # Stages and locks of killed or active runs are not results.
        inside = [path for path in target.iterdir() if not path.name.startswith(".sdm-")] if target.is_dir() else []
    except OSError as error:
        raise OutputError(f"{target} cannot be read ({error.strerror}): choose another folder") from error
    if inside:
        raise OutputExistsError(f"{target} contains files already: choose another folder, or use --overwrite")
    if target.exists() and not target.is_dir():
        raise OutputExistsError(f"{target} exists already: choose another name, or use --overwrite")


def has_parquet() -> bool:
    """Whether pyarrow (extra `parquet`) is installed, which reads and writes Parquet files."""
    with suppress(ImportError):
        return find_spec("pyarrow") is not None
    return False


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders that are empty, innermost first."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def to_json(value: object) -> str:
    """Return standard JSON; numbers that are not finite become null."""
    return json.dumps(_finite(value), indent=1, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value  # numpy's numbers
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def write_text(path: Path, text: str, *, overwrite: bool = False) -> Path:
    """Write a text file in one step; replace an existing file only with `overwrite`."""
    return write_bytes(path, text.encode(), overwrite=overwrite)


def write_bytes(path: Path, content: bytes, *, overwrite: bool = False) -> Path:
    """Write a temporary file, sync it to the disk, and rename it; replace an existing file only with `overwrite`."""
    refuse_existing(path, overwrite=overwrite)
    part = path.with_name(f".sdm-{secrets.token_hex(6)}.part")
    try:
        try:
            with part.open("xb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            if overwrite:
                os.replace(part, path)
            else:
                rename_new(part, path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:  # another process has made it in the meantime
        raise OutputExistsError(f"{path} exists already: choose another name, or use --overwrite") from None
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path
