"""Several species, one after the other, each in a folder of its own; one that fails does not stop the others."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sdm.errors import DataError, OutputError, SdmError

log = logging.getLogger("sdm")

T = TypeVar("T")


def each_species(
    folders: Mapping[str, Path],
    work: Callable[[str, Path], T],
    *,
    failures: Mapping[str, str],
) -> dict[str, T | str]:
    """Return what became of every species: the result of `work(species, folder)`, or why it failed.

    Parameters
    ----------
    folders : mapping of str to Path
        The folder of every species.
    work : callable
    failures : mapping of str to str
        Species that failed before, and why.

    Raises
    ------
    DataError
        If none could be fitted.
    """
    found: dict[str, T | str] = {}
    for k, (species, folder) in enumerate(folders.items()):
        log.info("%s (%d of %d)", species, k + 1, len(folders))
        found[species] = _attempt(species, folder, work, failures)
    if all(isinstance(result, str) for result in found.values()):
        raise DataError(f"none of {len(folders)} species could be fitted; the first: {next(iter(found.values()))}")
    return found


def _attempt(species: str, folder: Path, work: Callable[[str, Path], T], failures: Mapping[str, str]) -> T | str:
    try:
        if species in failures:
            raise DataError(failures[species])
        return work(species, folder)
    except OutputError:  # a disk that fails concerns the whole run
        raise
    except SdmError as error:
        reason = str(error)
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {error}"
        log.debug("%s", reason, exc_info=True)
    log.error("error: %s", reason if reason.startswith(species) else f"{species}: {reason}")
    return reason
