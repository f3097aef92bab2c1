"""Several species, one after the other, each in a folder of its own; one that fails does not stop the others."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sdm.errors import DataError, SdmError
from sdm.files import safe_names

log = logging.getLogger("sdm")

T = TypeVar("T")


def each_species(
    names: Sequence[str],
    target: Path,
    work: Callable[[str, Path], T],
    *,
    failures: Mapping[str, str],
    taken: Sequence[str] = (),
) -> dict[str, T | str]:
    """Return what became of every species: the result of `work(species, folder)`, or why it failed.

    Parameters
    ----------
    names : sequence of str
    target : Path
        Folder of the run; `taken` are names in it that no species may have.
    work : callable
    failures : mapping of str to str
        Species that failed before, and why.

    Raises
    ------
    DataError
        If none could be fitted.
    """
    folders = safe_names(names, taken=taken)
    found: dict[str, T | str] = {}
    for k, species in enumerate(names):
        log.info("%s (%d of %d)", species, k + 1, len(names))
        found[species] = _attempt(species, target / folders[species], work, failures)
    if all(isinstance(result, str) for result in found.values()):
        raise DataError(f"none of {len(names)} species could be fitted; the first: {found[names[0]]}")
    return found


def _attempt(species: str, folder: Path, work: Callable[[str, Path], T], failures: Mapping[str, str]) -> T | str:
    try:
        if species in failures:
            raise DataError(failures[species])
        return work(species, folder)
    except SdmError as error:
        reason = str(error)
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {error}"
        log.debug("%s", reason, exc_info=True)
    log.error("error: %s", reason if reason.startswith(species) else f"{species}: {reason}")
    return reason
