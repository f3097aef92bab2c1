"""Finished runs that many tests read: each is made once per session, by the first process that needs it."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

try:
    import fcntl
except ImportError:  # Windows: every process makes its own
    fcntl = None  # type: ignore[assignment]


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Any]) -> Path:
    """Return a folder that `make` has filled, for all processes of a session."""
    shared = fcntl is not None and "PYTEST_XDIST_WORKER" in os.environ
    place = (factory.getbasetemp().parent if shared else factory.getbasetemp()) / "zoo" / name
    done = place.with_name(f"{name}.done")
    place.parent.mkdir(exist_ok=True)
    with _locked(place.with_name(f"{name}.lock")):
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            done.touch()
    return place


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
