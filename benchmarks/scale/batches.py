"""Batches by the real command: with maps, without, and on a cluster of two workers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.commands import CLOCK, MEMORY, measured
from benchmarks.scale.worlds import BenchmarkWorld, whole_result
from benchmarks.tools.harness import table

GROWTH = (100, 300)  # smaller batches, which show how the cost grows
MAPS = ["--no-curves", "--no-report", "--no-map-picture", "--threads", "1"]  # one process is one core
PLAIN = [*MAPS, "--no-map"]
SCHEDULER = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
WORKERS = ["--nthreads", "1", "--nworkers", "2", "--host", "127.0.0.1", "--no-dashboard"]


def batch(world: BenchmarkWorld, count: int, options: Sequence[str], where: str, *, maps: bool) -> dict[str, Any]:
    """Run one batch; return what it cost in all and per species."""
    out = world.folder / "out"
    with whole_result(out, count, count if maps else 0):
        spent = measured(["fit", world.records(count), world.layers, "-o", out, *options, "-q"])
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    shutil.rmtree(out)
    row = {"species": count, "on": where, **spent, "seconds per species": spent[CLOCK] / count}
    return {**row, "species per second": count / spent[CLOCK], "results (GB)": size / 1e9, "load": os.getloadavg()[0]}


def warm(world: BenchmarkWorld) -> None:
    """Compile, and bring the layers into the memory of the system."""
    for options in (MAPS, PLAIN):
        batch(world, 2, [*options, "--processes", "1"], "", maps=options is MAPS)


def _grown(rows: Sequence[dict[str, Any]]) -> float | None:
    """Return the seconds of each further species, from the smallest and the largest batch."""
    if len(rows) < 2:
        return None
    return float((rows[-1][CLOCK] - rows[0][CLOCK]) / (rows[-1]["species"] - rows[0]["species"]))


def with_maps(world: BenchmarkWorld, count: int) -> dict[str, Any]:
    """Maps of more and more species with two processes, and of all with one."""
    counts = [*(n for n in GROWTH if n < count), count]
    options = MAPS
    one = batch(world, count, [*options, "--processes", "1"], "1 process", maps=True)
    rows = [batch(world, n, [*options, "--processes", "2"], "2 processes", maps=True) for n in counts]
    table(f"sdm fit with maps, without pages: {options}", [one, *rows])
    found = {
        "seconds per species, 2 processes": rows[-1]["seconds per species"],
        "times faster than 1 process": one[CLOCK] / rows[-1][CLOCK],
        "GB in all, with maps": max(row[MEMORY] for row in (one, *rows)),
    }
    return {"rows": [one, *rows], "seconds per further species": _grown(rows), "found": found}


def without_maps(world: BenchmarkWorld, count: int) -> dict[str, Any]:
    """Models of more and more species with two processes."""
    counts = [*(n for n in GROWTH if n < count), count]
    one = batch(world, count, [*PLAIN, "--processes", "1"], "1 process", maps=False)
    rows = [batch(world, n, [*PLAIN, "--processes", "2"], "2 processes", maps=False) for n in counts]
    table(f"sdm fit without maps and pages: {PLAIN}", [one, *rows])
    found = {
        "species per second": rows[-1]["species per second"],
        "GB in all, without maps": max(row[MEMORY] for row in (one, *rows)),
    }
    return {"rows": [one, *rows], "seconds per further species": _grown(rows), "found": found}


@contextmanager
def cluster_of_two(file: Path) -> Iterator[str]:
    """Start a scheduler and two workers of this machine; end them."""
    parts = {"scheduler": SCHEDULER, "worker": WORKERS}
    command = [sys.executable, "-m"]
    started = [
        subprocess.Popen([*command, f"distributed.cli.dask_{part}", "--scheduler-file", str(file), *options])
        for part, options in parts.items()
    ]
    try:
        yield str(file)
    finally:
        for process in started:
            process.terminate()
            process.wait()
        file.unlink(missing_ok=True)


def on_cluster(world: BenchmarkWorld, count: int) -> dict[str, Any]:
    """The batch with maps on a local Dask cluster of two workers, beside two local processes, twice in turn."""
    options = MAPS
    rows = []
    with cluster_of_two(world.folder / "scheduler.json") as file:
        for _ in range(2):
            rows += [
                batch(world, count, [*options, "--processes", "2"], "2 processes", maps=True),
                batch(world, count, [*options, "--cluster", file], "cluster of 2 workers", maps=True),
            ]
    table("sdm fit with maps on a local cluster, and with local processes", rows)
    local, cluster = (min(row[CLOCK] for row in rows[k::2]) for k in (0, 1))
    return {"rows": rows, "found": {"overhead of a cluster": cluster / local - 1}}
