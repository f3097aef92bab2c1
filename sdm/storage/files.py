"""Names and places for results: safe file names, nothing overwritten, nothing half-written left behind."""

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
    Spaces become underscores, as in Java Maxent. Where anything else had to change, a few digits of a hash keep
    different texts apart."""
    spaced = unicodedata.normalize("NFC", name).strip().replace(" ", "_")
    kept = re.sub(r"[^\w.-]+", "_", spaced).strip("._-")
    changed = kept != spaced
    if unicodedata.normalize("NFKC", kept).split(".")[0].lower() in _RESERVED or not kept:
        kept, changed = f"species_{kept}".rstrip("_"), True
    if len(kept.encode()) > _LONGEST:
        kept, changed = kept.encode()[:_LONGEST].decode(errors="ignore"), True
    return f"{kept}_{_digits(name)}" if changed else kept


def _digits(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:6]


def safe_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a file name for each text, all different from one another and from `taken`, on any disk: of `A b` and
    `A_b`, or of `a` and `A`, those that come later get a few digits of a hash."""
    used = {name.casefold() for name in taken}
    chosen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        safe = safe_name(name)
        chosen[name] = safe if safe.casefold() not in used else f"{safe}_{_digits(name)}"
        used.add(chosen[name].casefold())
    return chosen


def output_folder(folder: str | None) -> Path:
    """Return the folder for results, which must be named."""
    if folder is None:
        raise MissingInputError("no output folder: add one with -o, as in -o results")
    return Path(folder)


def check_output_path(path: Path) -> None:
    """Raise if a result can never have this place: a device, pipe or socket, which would be replaced by a file, or a
    name that is not text (maps and pages are written by programs that take names as UTF-8)."""
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
    """Raise if a result is there already and may not be replaced, or can never be there."""
    check_output_path(target)
    if overwrite:
        return
    try:
        # What a killed run left behind, or another one that is at work beside, is no result.
        inside = [path for path in target.iterdir() if not path.name.startswith(".sdm-")] if target.is_dir() else []
    except OSError as error:
        raise OutputError(f"{target} cannot be read ({error.strerror}): choose another folder") from error
    if inside:
        raise OutputExistsError(f"{target} contains files already: choose another folder, or use --overwrite")
    if target.exists() and not target.is_dir():
        raise OutputExistsError(f"{target} exists already: choose another name, or use --overwrite")


def has_parquet() -> bool:
    """Whether Parquet files can be read and written: pyarrow, the extra `parquet`, is installed."""
    with suppress(ImportError):
        return find_spec("pyarrow") is not None
    return False


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, innermost first, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def to_json(value: object) -> str:
    """Return JSON that every program reads: what is not a finite number becomes null."""
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
    """Write a text file in one step, never over another one unless asked to."""
    return write_bytes(path, text.encode(), overwrite=overwrite)


def write_bytes(path: Path, content: bytes, *, overwrite: bool = False) -> Path:
    """Write a file beside its place, have it on the disk, and move it there in one step, never over another one unless
    asked to."""
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
    except FileExistsError:  # another process has made it meanwhile
        raise OutputExistsError(f"{path} exists already: choose another name, or use --overwrite") from None
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path
