"""This commit against another, in turns: `make bench AGAINST=commit`.

Both get an environment with the base package and scipy (numba imports it wherever it is installed), and compiled
kernels, in a cache folder (`SDM_BENCH_DIR`, or `~/.cache/sdm-bench`). `lean` and `full` fit new data each time: no
version gains from having seen the same background before. `map` predicts in a process that has started, `predict` is
the whole command. Ratios are those of medians: of processor time, which a busy machine changes least, and
of wall time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from benchmarks.tools.harness import ROOT, table

FIT = """
import sys
from time import perf_counter, process_time
import numpy as np
from sdm import Maxent

lean = sys.argv[1] == "lean"
y = np.zeros(10_200)
y[: 60 if lean else 200] = 1
processor = wall = 0.0
for seed in range(31 if lean else 6):
    x = np.round(np.random.default_rng(seed).normal(size=(len(y), 5 if lean else 14)), 3)
    x[y > 0] = 0.6 * x[y > 0] + 0.5
    began = process_time(), perf_counter()
    Maxent("lq" if lean else "lqpht").fit(x, y)
    if seed:  # the first fit loads the kernels
        processor, wall = processor + process_time() - began[0], wall + perf_counter() - began[1]
print(processor, wall)
"""
MAP = """
import sys
from functools import partial
from time import perf_counter, process_time
try:
    from sdm.run.predicting import PredictionSettings, predict_files
    predict = partial(predict_files, settings=PredictionSettings(overwrite=True))
except ImportError:  # until 0.1.0
    from sdm.workflow.predicting import predict_files
    predict = partial(predict_files, overwrite=True)

model, small, large, output = sys.argv[1:]
predict(model, [small], output)
wall, processor = perf_counter(), process_time()
predict(model, [large], output)
print(process_time() - processor, perf_counter() - wall)
"""
Seconds = tuple[float, float]  # of processor and wall


class Side(NamedTuple):
    """A commit that is measured: its name, its Python, and its compiled kernels."""

    name: str
    python: Path
    cache: Path

    def run(self, *words: str | Path, cache: Path | None = None) -> Seconds:
        """Run Python with some words as a process of its own."""
        environment = {**os.environ, "SDM_CACHE_DIR": str(cache or self.cache), "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        began = perf_counter()
        with tempfile.TemporaryFile("w+") as out:
            command = [self.python, "-P", *words]
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            wall = perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read()
        if process.returncode:
            sys.exit(f"{self.name}: {words} failed:\n{text}")
        if words[0] == "-c":  # measures itself
            processor, wall = map(float, text.split())
            return processor, wall
        return usage.ru_utime + usage.ru_stime, wall

    def sdm(self, *words: str | Path, cache: Path | None = None) -> Seconds:
        """Run a command of sdm."""
        return self.run("-m", "sdm_cli.main", *words, cache=cache)


def environment(folder: Path, source: Path, name: str) -> Side:
    """Make the environment of a commit, unless it is there."""
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "venv"], check=True)
        install = [
            python,
            "-m",
            "pip",
            "install",
            "-qq",
            "-c",
            source / ".ci" / "constraints.txt",
            "-e",
            source,
            "scipy",
        ]
        subprocess.run(install, check=True)
        (folder / "done").touch()
    return Side(name, python, folder / "kernels")


def sides(commit: str) -> tuple[Side, Side]:
    """Return this commit as it lies here, and the other one in a work tree of its own."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.check_output([*git, "rev-parse", "--short=8", f"{commit}^{{commit}}"], text=True).strip()
    cache = Path(os.environ.get("SDM_BENCH_DIR") or Path.home() / ".cache" / "sdm-bench")
    source = cache / commit / "source"
    if not source.exists():
        subprocess.run([*git, "worktree", "add", "--force", "--detach", source, commit], check=True)
    here = environment(cache / f"here-{ROOT.parent.name}-{ROOT.name}", ROOT, "here")
    return here, environment(cache / commit, source, commit)


def jobs(folder: Path, here: Side) -> dict[str, tuple[int, Callable[[Side], Seconds]]]:
    """Return what is measured: how many times, and how."""
    data = Path(os.environ.get("SDM_SHARED", ROOT.parent / "shared")) / "data" / "phillips2006"
    records: tuple[str | Path, ...] = (data / "bradypus.csv", data / "layers", "--categorical", "ecoreg")
    if not data.is_dir():
        sample = ROOT / "sample_data"
        records = (sample / "occurrences.csv", sample / "layers", "--categorical", "landcover")
    fit = ("fit", *records, "-q", "--overwrite", "-o")

    def first_run(side: Side) -> Seconds:
        with tempfile.TemporaryDirectory(dir=folder) as empty:
            return side.sdm(*fit, folder / side.name, cache=Path(empty))

    world, small, model, output = (folder / name for name in ("world", "small", "model", "map.tif"))

    def made() -> list[Path]:
        """Simulate layers of 16 million cells, and others of few; return the model of a species."""
        if not world.exists():
            for place, size in ((world, "4000"), (small, "300")):
                here.sdm("simulate", place, "--size", size, "--layers", "14", "-q")
            lean = ("--categorical", "landcover", "--fc", "lqht", "--no-curves", "--no-map", "-q", "-o", model)
            here.sdm("fit", world / "occurrences.csv", world / "layers", *lean)
        return list(model.glob("*.npz"))

    def predict(side: Side) -> Seconds:
        return side.sdm("predict", *made(), world / "layers", "-q", "--overwrite", "-o", output)

    return {
        "help": (11, lambda side: side.sdm("--help")),
        "job": (5, lambda side: side.sdm(*fit, folder / side.name)),
        "lean": (5, lambda side: side.run("-c", FIT, "lean")),
        "full": (5, lambda side: side.run("-c", FIT, "full")),
        "map": (5, lambda side: side.run("-c", MAP, *made(), small / "layers", world / "layers", output)),
        "predict": (3, predict),
        "first": (2, first_run),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks against", description=__doc__)
    parser.add_argument("--commit", required=True, help="the other commit")
    parser.add_argument("--job", nargs="+", help="measure only these: help, job, lean, full, map, predict, first")
    chosen = parser.parse_args()
    pair, rows = sides(chosen.commit), []
    with tempfile.TemporaryDirectory() as name:
        for job, (repeats, run) in jobs(Path(name), pair[0]).items():
            if chosen.job and job not in chosen.job:
                continue
            turns = [[run(side) for side in pair] for _ in range(repeats + 1)][job != "first" :]  # one to warm up
            (cpu, wall), (other, other_wall) = ([median(t) for t in zip(*side)] for side in zip(*turns))
            row = {"job": job, "seconds": cpu, pair[1].name: other, "ratio": cpu / other}
            rows.append({**row, "wall": wall, f"wall {pair[1].name}": other_wall, "wall ratio": wall / other_wall})
            table(f"{job}: medians of {len(turns)} runs each", rows[-1:])
    table(f"processor and wall seconds, here and at {pair[1].name}", rows)


if __name__ == "__main__":
    main()
