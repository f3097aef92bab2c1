"""Names and places for results: safe file names, nothing overwritten, nothing half-written left behind."""

import hashlib
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sdm.errors import OutputError

_RESERVED = {"con", "prn", "aux", "nul", *(f"com{k}" for k in range(1, 10)), *(f"lpt{k}" for k in range(1, 10))}
_LONGEST = 80


def safe_name(name: str) -> str:
    """Return a file name for any text: letters, digits, `-`, `_` and inner dots; the same text gives the same name.

    Spaces become underscores, as in Java Maxent. Where anything else had to change, a few digits of a hash keep
    different texts apart.
    """
    plain = unicodedata.normalize("NFC", name).strip().replace(" ", "_")
    kept = re.sub(r"[^\w.-]+", "_", plain).strip("._-")
    changed = kept != plain
    if kept.split(".")[0].lower() in _RESERVED or not kept:
        kept, changed = f"species_{kept}".rstrip("_"), True
    if len(kept.encode()) > _LONGEST:
        kept, changed = kept.encode()[:_LONGEST].decode(errors="ignore"), True
    return f"{kept}_{hashlib.sha256(name.encode()).hexdigest()[:6]}" if changed else kept


@contextmanager
def staging(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder beside `target` to write into; at the end its files move to `target`, on failure it goes.

    Raises
    ------
    OutputError
        If `target` has files already and `overwrite` is not set, or cannot be written.
    """
    refuse_existing(target, overwrite=overwrite)
    try:
        target.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".sdm-", suffix=".part", dir=target))
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error.strerror or error}): choose another folder") from error
    try:
        yield stage
        for source in sorted(stage.rglob("*")):
            place = target / source.relative_to(stage)
            if source.is_dir():
                place.mkdir(exist_ok=True)
            else:
                os.replace(source, place)
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error.strerror or error}); nothing was kept") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        _remove_if_empty(target)


def refuse_existing(target: Path, *, overwrite: bool) -> None:
    """Raise if a result is there already and may not be replaced."""
    if target.is_file() and not overwrite:
        raise OutputError(f"{target} exists already: choose another name, or use --overwrite")
    if target.is_dir() and any(target.iterdir()) and not overwrite:
        raise OutputError(f"{target} has files in it already: choose another folder, or use --overwrite")


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return


def write_text(path: Path, text: str, *, overwrite: bool = False) -> Path:
    """Write a text file in one step, never over another one unless asked to."""
    refuse_existing(path, overwrite=overwrite)
    try:
        part = path.with_name(f".{path.name}.part")
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path
