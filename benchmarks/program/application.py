"""The application, each job in a process of its own: from files to a map, and prediction of large rasters."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.program.speed import PYTHON, READ, SDM, WRITE, timed
from benchmarks.tools.harness import save, shared, table

# Whole process, measured on this kind of machine (two cores): seconds.
PEERS_FIT = {"Java Maxent (warm layer cache)": 8.9, "Java Maxent": 12.6, "maxnet": 26.2}
PEERS_PREDICT = {"Java Maxent": 50.0, "elapid": 148.0, "maxnet": 231.0}


def measured(arguments: list[str]) -> tuple[float, float]:
    """Run `sdm` in a process of its own; return seconds and peak gigabytes."""
    began = time.perf_counter()
    process = subprocess.Popen([*SDM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status != 0:
        sys.exit(f"sdm {' '.join(arguments)} failed:\n{process.stderr.read().decode() if process.stderr else ''}")
    return seconds, _gigabytes(usage)


def _gigabytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)


def whole_job(folder: Path) -> list[dict[str, Any]]:
    """Bradypus: 116 records, 14 rasters of 1.9 million cells, 10,000 background points, map and all curves."""
    data = shared() / "phillips2006"
    command = ["fit", str(data / "bradypus.csv"), str(data / "layers"), "--categorical", "ecoreg", "--overwrite"]
    runs = [measured([*command, "-o", str(folder / "bradypus")]) for _ in range(4)][1:]
    seconds, memory = min(run[0] for run in runs), max(run[1] for run in runs)
    rows: list[dict[str, Any]] = [{"program": "sdm", "seconds": seconds, "peak GB": memory, "times faster": 1.0}]
    rows += [
        {"program": name, "seconds": time, "peak GB": "-", "times faster": time / seconds}
        for name, time in PEERS_FIT.items()
    ]
    return rows


def large_maps(folder: Path) -> list[dict[str, Any]]:
    """Predict 14 layers of 1, 16 and 64 million cells with two threads, beside reading them and writing the map with
    rasterio alone, in one thread; memory must not grow with them."""
    rows = []
    model = folder / "model"
    for size in (1000, 4000, 8000):
        world = folder / f"world{size}"
        measured(["simulate", str(world), "--size", str(size), "--layers", "14", "-q"])
        if not model.exists():
            occurrences, layers = str(world / "occurrences.csv"), str(world / "layers")
            options = ["--categorical", "landcover", "--fc", "lqht", "--no-curves", "--no-map"]
            measured(["fit", occurrences, layers, *options, "-o", str(model), "-q"])
        (npz,) = model.glob("*.npz")
        out = str(folder / "map.tif")
        runs = [measured(["predict", str(npz), str(world / "layers"), "-o", out, "--overwrite"]) for _ in range(2)]
        seconds = min(run[0] for run in runs)
        floor = timed([PYTHON, "-c", READ, world / "layers"], 2)
        floor += timed([PYTHON, "-c", WRITE, out, folder / "copy.tif"], 2)
        rows.append(
            {
                "cells": size * size,
                "seconds": seconds,
                "peak GB": max(run[1] for run in runs),
                "million cells/s": size * size / seconds / 1e6,
                "times reading and writing": seconds / floor,
                **{f"times {name}": time / seconds if size == 4000 else "-" for name, time in PEERS_PREDICT.items()},
            }
        )
        shutil.rmtree(world)
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results: dict[str, Any] = {"bradypus": whole_job(folder)}
        table("sdm fit, from files to a map with curves: Bradypus, 14 layers of 1592 × 1212 cells", results["bradypus"])
        results["large maps"] = large_maps(folder)
        table("sdm predict, 14 layers, two threads", results["large maps"])
    save("application", results)


if __name__ == "__main__":
    main()
