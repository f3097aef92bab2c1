"""What a command loads is decided by what it does: every command, each in a process of its own."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sdm_cli.app import COMMANDS

HEAVY = (
    "numpy",
    "pandas",
    "numba",
    "rasterio",
    "geopandas",
    "shapely",
    "matplotlib",
    "jinja2",
    "rich",
)
RASTERS = {"numpy", "rasterio"}
MODELS = {*RASTERS, "numba"}
FITS = {*MODELS, "pandas", "jinja2"}  # templates of pages, and of the styles of maps
QUIET = ("-q", "--dpi", "50")
LEAN = (*QUIET, "--fc", "l", "--no-curves", "--no-importance", "--no-report", "--no-map")
Words = Callable[[Any, Any], tuple[object, ...]]
CASES: dict[str, tuple[Words, set[str]]] = {
    "fit": (lambda w, f: (w.records, w.layers, *LEAN), FITS),
    "tune": (
        lambda w, f: (w.records, w.layers, *LEAN, "--feature-sets", "l", "--multipliers", "1,2"),
        {*FITS, "matplotlib"},
    ),
    "path": (lambda w, f: (w.records, w.layers, *LEAN, "--points", "100"), {*FITS, "matplotlib"}),
    "classify": (
        lambda w, f: (w.survey, w.layers, *LEAN, "--class-column", "species", "--multiplier", "1"),
        {*FITS, "matplotlib"},
    ),
    "joint": (
        lambda w, f: (w.survey, w.layers, *QUIET, "--fc", "l", "--no-map", "--no-report", "--cost", "1"),
        {*FITS, "matplotlib"},
    ),
    "check": (lambda w, f: (w.records, w.layers), {*RASTERS, "pandas"}),
    "variables": (lambda w, f: (w.records, w.layers, *QUIET), {*FITS, "matplotlib"}),
    "project": (lambda w, f: (f.model, "--scenarios", w.whole, *QUIET), {*MODELS, "matplotlib", "jinja2"}),
    "predict": (lambda w, f: (f.model, w.whole, "-q"), {*MODELS, "jinja2"}),
    "evaluate": (lambda w, f: (f.model, "--presences", w.survey, "--layers", w.whole, "-q"), FITS),
    "report": (lambda w, f: (f.folder,), {*RASTERS, "jinja2"}),
    "status": (lambda w, f: ("nothing",), RASTERS),
    "info": (lambda w, f: (f.model,), RASTERS),
    "convert": (lambda w, f: (f.model, "model.lambdas"), RASTERS),
    "cite": (lambda w, f: (), set()),
    "init": (lambda w, f: ("run.yaml",), set()),
    "schema": (lambda w, f: (), set()),
    "simulate": (lambda w, f: ("made", "--size", "32", "-q"), MODELS),
    "example": (lambda w, f: ("example",), set()),
    "help": (lambda w, f: (), set()),
    "maxent": (
        lambda w, f: ("-e", w.layers, "-s", w.records, "-t", "landcover", "-a", "linear", "nopictures"),
        {*FITS, "jinja2"},
    ),
    "version": (lambda w, f: (), set()),
    "curve": (
        lambda w, f: (
            *("sensitivity", w.records, w.layers, *QUIET),
            *("--sets", "l", "--strengths", "1,2", "--partitions", "2"),
        ),
        {*FITS, "matplotlib"},
    ),
}
PLACES = {"fit", "tune", "path", "classify", "joint", "variables", "project", "predict", "maxent", "curve"}


@dataclass(frozen=True)
class Few:
    """Two layers of the world, its records and its sites: what is loaded does not depend on how many there are."""

    layers: Path
    whole: Path
    records: Path
    survey: Path


@pytest.fixture(scope="module")
def few(world, tmp_path_factory: pytest.TempPathFactory) -> Few:
    folder = tmp_path_factory.mktemp("few")
    for name in ("landcover", "temperature"):
        shutil.copy(world.layers / f"{name}.tif", folder)
    return Few(folder, world.layers, world.records, world.survey)


@pytest.mark.thorough
def test_all_commands_are_here() -> None:
    assert sorted(CASES) == sorted(COMMANDS)


@pytest.mark.thorough
@pytest.mark.parametrize("command", CASES)
def test_a_command_loads_what_it_needs(few: Few, fit, tmp_path: Path, command: str) -> None:
    words, needed = CASES[command]
    place = {"predict": ("-o", tmp_path / "map.tif"), "maxent": (f"outputdirectory={tmp_path}",)}
    where = place.get(command, ("-o", tmp_path / "out")) if command in PLACES else ()
    line = [str(word) for word in ("sdm", command, *words(few, fit), *where)]
    said = f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    code = f"import atexit, os, sys\nfrom sdm_cli.main import main\nsys.argv = {line!r}\nos._exit = sys.exit\n"
    code += f"atexit.register(lambda: {said})\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == (1 if command == "status" else 0), done.stderr
    (loaded,) = (line.split()[1:] for line in done.stderr.splitlines() if line.startswith("LOADED"))
    assert set(loaded) <= needed
