"""Names and places for results: safe file names, nothing overwritten, nothing half-written left behind."""

import hashlib
import json
import math
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sdm.errors import OptionError, OutputError

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
    if unicodedata.normalize("NFKC", kept).split(".")[0].lower() in _RESERVED or not kept:
        kept, changed = f"species_{kept}".rstrip("_"), True
    if len(kept.encode()) > _LONGEST:
        kept, changed = kept.encode()[:_LONGEST].decode(errors="ignore"), True
    return f"{kept}_{_digits(name)}" if changed else kept


def _digits(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:6]


def safe_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a file name for each text, all different from one another and from `taken`, on any disk.

    `A b` and `A_b`, or `a` and `A` where the disk does not tell them apart, would be one file: those that come later
    get a few digits of a hash.
    """
    used = {name.casefold() for name in taken}
    chosen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = safe_name(name)
        chosen[name] = plain if plain.casefold() not in used else f"{plain}_{_digits(name)}"
        used.add(chosen[name].casefold())
    return chosen


@contextmanager
def staging(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder beside `target` to write into; at the end its files move to `target`, on failure it goes.

    Raises
    ------
    OutputError
        If `target` has files already and `overwrite` is not set, or cannot be written.
    """
    refuse_existing(target, overwrite=overwrite)
    absent = [folder for folder in (target, *target.parents) if not folder.exists()]
    # Named before it is made, so that a signal at any moment finds what to remove.
    stage = target / f".sdm-{secrets.token_hex(6)}.part"
    try:
        _make(stage)
        yield stage
        places = {source: target / source.relative_to(stage) for source in sorted(stage.rglob("*"))}
        for source, place in places.items():
            if place.exists() and place.is_dir() != source.is_dir():
                raise OutputError(f"{place} is in the way: remove it, or choose another folder")
        for source, place in places.items():
            if source.is_dir():
                place.mkdir(exist_ok=True)
            else:
                os.replace(source, place)
    except OutputError as error:
        # Name the place that the user knows, not the temporary one.
        raise OutputError(str(error).replace(str(stage), str(target))) from error
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error.strerror or error}); nothing was kept") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        _remove_empty(absent)


def _make(stage: Path) -> None:
    """Make a folder to write into, for nobody else to read."""
    try:
        stage.parent.mkdir(parents=True, exist_ok=True)
        stage.mkdir(mode=0o700)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"{stage.parent} cannot be written ({reason}): choose another folder") from error


def output_folder(folder: str | None, *, overwrite: bool) -> Path:
    """Return the folder for results, which must be named and have nothing in it that may not be replaced."""
    if folder is None:
        raise OptionError("no output folder: give it with -o, or as output.folder")
    refuse_existing(Path(folder), overwrite=overwrite)
    return Path(folder)


def refuse_existing(target: Path, *, overwrite: bool) -> None:
    """Raise if a result is there already and may not be replaced."""
    if overwrite:
        return
    try:
        # What a killed run left behind is no result.
        inside = [path for path in target.iterdir() if not path.match(".sdm-*.part")] if target.is_dir() else []
    except OSError as error:
        raise OutputError(f"{target} cannot be read ({error.strerror}): choose another folder") from error
    if inside:
        raise OutputError(f"{target} has files in it already: choose another folder, or use --overwrite")
    if target.exists() and not target.is_dir():
        raise OutputError(f"{target} exists already: choose another name, or use --overwrite")


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, innermost first, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def to_json(value: Any) -> str:
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
    refuse_existing(path, overwrite=overwrite)
    try:
        part = path.with_name(f".{path.name}.part")
        try:
            part.write_text(text, encoding="utf-8", newline="")
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path
