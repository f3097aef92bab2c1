"""`sdm variables` on layers of 16 million cells: time and memory against reading all layers once, and how both grow."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.transform import from_origin

from benchmarks.tools.harness import ROOT, save, table

SIDE, LAYERS, RECORDS = 4000, 19, 300
SMALLER = ((1000, 19), (2000, 19), (4000, 5), (4000, 10))  # cells along a side, and layers
# Every part is a process of its own: the memory of a child counts from that of its parent on.
RUN = """
import json, resource, sys, time
began = time.perf_counter()
from typer.testing import CliRunner
from sdm_cli.app import app
result = CliRunner().invoke(app, sys.argv[1:])
assert result.exit_code == 0, result.output
scale = 1e9 if sys.platform == "darwin" else 1e6
used = resource.getrusage(resource.RUSAGE_SELF)
found = {"seconds": time.perf_counter() - began, "processor seconds": used.ru_utime + used.ru_stime}
print("RESULT" + json.dumps({**found, "peak GB": used.ru_maxrss / scale}))
"""
READ = """
import json, sys, time
from sdm.data.rasters.layers import open_stack
began, used = time.perf_counter(), time.process_time()
values = sum(array.size for _, array in open_stack(sys.argv[1]).scan(threads=2))
found = {"values": values, "reading once": time.perf_counter() - began}
print("RESULT" + json.dumps({**found, "reading, processor": time.process_time() - used}))
"""
MAKE = "import sys; from benchmarks.inputs.variables import make_layers as m; m(*sys.argv[1:]); print('RESULT{}')"


def make_layers(place: str, cells: str, number: str) -> None:
    """Write tiled, compressed layers of float32 that share four gradients, each with noise of its own."""
    folder, side, count = Path(place), int(cells), int(number)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:side, 0:side].astype(np.float32) / side
    shared = [np.sin(3 * x + k) + np.cos(2 * k * y + 1) for k in range(4)]
    corner = from_origin(0, 20, 20 / side, 20 / side)
    tiles = {"tiled": True, "blockxsize": 256, "blockysize": 256, "compress": "deflate", "predictor": 3}
    for k in range(count):
        weight = rng.normal(size=4).astype(np.float32)
        band = sum(w * part for w, part in zip(weight, shared)) + 0.05 * rng.standard_normal((side, side), np.float32)
        band[: side // 80, : side // 80] = -9999
        profile = {"width": side, "height": side, "count": 1, "dtype": "float32", "nodata": -9999}
        path = folder / f"bio{k + 1}.tif"
        with rasterio.open(path, "w", driver="GTiff", crs="EPSG:4326", transform=corner, **profile, **tiles) as out:
            out.write(band, 1)


def make_records(path: Path) -> Path:
    rng = np.random.default_rng(2)
    rows = [f"sp,{lon:.5f},{lat:.5f}" for lon, lat in rng.uniform(1, 19, (RECORDS, 2))]
    path.write_text("\n".join(["species,longitude,latitude", *rows]) + "\n")
    return path


def in_process(code: str, *words: object) -> dict[str, Any]:
    """Run code in a process of its own, and return its JSON result."""
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if not done.stdout.startswith("RESULT"):
        sys.exit(done.stderr)
    return json.loads(done.stdout.removeprefix("RESULT"))  # type: ignore[no-any-return]


def measure(folder: Path, side: int, count: int) -> dict[str, Any]:
    """Run the command on new layers, and read the layers once."""
    layers, records = folder / f"layers_{side}_{count}", make_records(folder / "records.csv")
    in_process(MAKE, layers, side, count)
    row = {
        "layers": count,
        "million cells": side**2 / 1e6,
        "GB of files": sum(p.stat().st_size for p in layers.iterdir()) / 1e9,
    }
    row |= in_process(RUN, "variables", records, layers, "-o", folder / f"out_{side}_{count}")
    row |= in_process(READ, layers)
    shutil.rmtree(layers)
    return row | {"times reading": row["seconds"] / row["reading once"]}


def main() -> None:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), 100, 3)  # compiles
        rows = [measure(Path(name), side, count) for side, count in (*SMALLER, (SIDE, LAYERS))]
    table("sdm variables: time and memory", rows)
    save("variables", {"sdm variables": rows})
    print(f"variables: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
