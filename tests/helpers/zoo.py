"""Finished runs that many tests read: each is made once per session, by the first process that needs it."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from terminal import succeed

from sdm.simulate.world import simulate

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


def small_world(factory: pytest.TempPathFactory) -> Path:
    """Return the virtual landscape that most tests share: 48 × 48 cells, 5 layers, two species of 60 records each.

    `one.csv` has the records of the first species.
    """

    def make(folder: Path) -> None:
        simulate(folder, size=48, layers=5, species=2, records=60, sites=150, seed=4, warming=2)
        first = (folder / "occurrences.csv").read_text().splitlines()[:61]
        (folder / "one.csv").write_text("\n".join(first) + "\n")

    return once(factory, "world", make)


def community_run(factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a joint model of the survey in `out`: maps, two folds and a scenario; and with its output.

    Two folds and a scenario are enough for every section of the page.
    """
    world = small_world(factory)

    def make(folder: Path) -> None:
        words = ("joint", world / "presence_absence.csv", world / "layers", "--categorical", "landcover")
        words += ("--learner", "crf-l2", "--folds", 2, "--projections", f"warmer={world / 'warmer'}", "--dpi", 50)
        result = succeed(*words, "-o", folder / "out")
        (folder / "output.txt").write_text(result.output, encoding="utf-8")

    return once(factory, "community", make)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
