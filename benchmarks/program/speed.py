"""How fast commands begin and end: beside an empty Python, plain reading and writing of the same files, one process."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.tools.harness import save, shared, table

PYTHON = os.environ.get("SDM_PYTHON", sys.executable)
"""That whose commands are measured: of an environment with the base package alone, as users have it, if that is given.
What developers have beside it, such as pyarrow and scipy, is loaded by pandas and numba wherever it is, and every
process of theirs looks for the code first: together a tenth of a second."""
SDM = [PYTHON, "-m", "sdm_cli.main"]
READ = """
import rasterio, sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).iterdir()):
    if path.suffix in (".tif", ".asc"):
        with rasterio.open(path) as layer: layer.read(1)
"""
WRITE = """
import rasterio, sys
with rasterio.open(sys.argv[1]) as made: values, profile = made.read(1), made.profile
profile.update(driver="COG")
for key in ("blockxsize", "blockysize", "tiled", "interleave"): profile.pop(key, None)
with rasterio.open(sys.argv[2], "w", **profile) as out: out.write(values, 1)
"""
PROGRAM = "sdm-maxent"


def timed(command: list[str | Path], repeats: int = 3, **environment: str) -> float:
    """Return the median of the seconds that a command takes as a process of its own. Python keeps what it has read of
    the code for the next start, as it does for users, also where the environment forbids it."""
    environment = {**os.environ, **environment}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    spent = []
    for _ in range(repeats):
        began = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        spent.append(perf_counter() - began)
        if done.returncode:
            sys.exit(f"{command} failed:\n{done.stderr}")
    return median(spent)


def _row(job: str, seconds: float, floor: str, least: float) -> dict[str, Any]:
    return {"job": job, "seconds": seconds, "floor": floor, "times the floor": seconds / least}


def starting() -> list[dict[str, Any]]:
    """Measure what a command costs that does nothing yet."""
    empty = timed([PYTHON, "-c", "pass"], 9)
    jobs: dict[str, list[str | Path]] = {
        "sdm --version": [*SDM, "--version"],
        "sdm --help": [*SDM, "--help"],
        "sdm fit --help": [*SDM, "fit", "--help"],
        "import sdm; sdm.Maxent": [PYTHON, "-c", "import sdm; sdm.Maxent"],
        "import numpy": [PYTHON, "-c", "import numpy"],
        "import numba": [PYTHON, "-c", "import numba"],
    }
    return [_row(job, timed(command, 9), "an empty Python", empty) for job, command in jobs.items()]


def whole_job(folder: Path) -> list[dict[str, Any]]:
    """Bradypus, from files to a map, beside reading its layers and writing its map with rasterio alone."""
    data = shared() / "phillips2006"
    command: list[str | Path] = [*SDM, "fit", data / "bradypus.csv", data / "layers", "--categorical", "ecoreg", "-q"]
    command += ["--overwrite", "-o", folder / "bradypus"]
    lean = [*command, "--no-curves", "--no-importance", "--no-report"]
    timed(command, 1)
    made = folder / "bradypus" / "bradypus_variegatus.tif"
    read = timed([PYTHON, "-c", READ, data / "layers"])
    write = timed([PYTHON, "-c", WRITE, made, folder / "copy.tif"])
    rows = [
        _row("map, picture and tables", timed(lean), "reading and writing", read + write),
        _row("all by default", timed(command), "reading and writing", read + write),
    ]
    every = timed([*command, "--points", "all", "--knots", "all", "--fc", "lqht"], 1)
    rows.append(_row("all by default, all cells, every knot", every, "reading and writing", read + write))
    java: list[str | Path] = [*SDM, "maxent", f"environmentallayers={data / 'layers'}"]
    java += [f"samplesfile={data / 'bradypus.csv'}", f"outputdirectory={folder / 'java'}", "togglelayertype=ecoreg"]
    java += ["redoifexists", "autorun"]
    (folder / "java").mkdir()
    rows.append(_row("sdm maxent", timed(java), "reading and writing", read + write))
    with_curves = timed([*java, "responsecurves=true", "jackknife=false"])
    rows.append(_row("sdm maxent, with curves", with_curves, "reading and writing", read + write))
    empty = folder / "empty"
    first = timed(command, 1, SDM_CACHE_DIR=str(empty))
    return [*rows, _row("first run on a new machine", first, "all by default", rows[1]["seconds"])]


def tuning(folder: Path) -> list[dict[str, Any]]:
    """48 settings in 5 folds, with one process and with two."""
    data = shared() / "phillips2006"
    command: list[str | Path] = [*SDM, "tune", data / "bradypus.csv", data / "layers", "--categorical", "ecoreg", "-q"]
    command += ["--feature-sets", "l,lq,lqp,h,lqh,lqph", "--multipliers", "0.5,1,1.5,2,2.5,3,3.5,4", "--folds", "5"]
    command += ["--no-report", "--no-curves", "--no-importance", "--overwrite", "-o", folder / "tuned"]
    one = timed([*command, "--processes", "1"], 1)
    two = timed([*command, "--processes", "2"], 1)
    return [_row("tuning, 1 process", one, "-", one), _row("tuning, 2 processes", two, "1 process", one)]


def installed() -> dict[str, float]:
    """Return the megabytes of everything that the base package needs, package by package."""
    sizes: dict[str, float] = {}
    todo = [PROGRAM]
    while todo:
        name = todo.pop()
        try:
            found = distribution(name)
        except ImportError:  # not needed on this system
            continue
        files = [Path(str(file.locate())) for file in found.files or []]
        sizes[name] = sum(file.stat().st_size for file in files if file.is_file()) / 1e6
        needs = [need for need in found.requires or [] if "extra ==" not in need]
        names = [re.split(r"[^\w.-]", need)[0].lower() for need in needs]
        todo += [need for need in names if need not in sizes and need not in todo]
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=__doc__)
    parts = ("starting", "whole", "tuning", "installed")
    parser.add_argument("--part", nargs="+", choices=parts, default=list(parts), help="measure only these")
    chosen = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in chosen.part:
            if part == "installed":
                sizes = installed()
                results[part] = {"MB in all": sum(sizes.values()), "each": sizes}
                rows = sorted(({"package": key, "MB": size} for key, size in sizes.items()), key=lambda row: -row["MB"])
                table(f"installed: {sum(sizes.values()):.0f} MB in all", rows[:12])
                continue
            work = {"starting": starting, "whole": lambda: whole_job(folder), "tuning": lambda: tuning(folder)}
            results[part] = work[part]()
            table(part, results[part])
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    plain = "base package alone" if sys.executable != PYTHON else "that of developers"
    save("speed", {"load": os.getloadavg()[0], "environment": plain, **results})


if __name__ == "__main__":
    main()
