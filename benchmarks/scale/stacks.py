"""Maps of many species in one pass over the layers, beside maps made one by one."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.windows import Window

from benchmarks.scale.batches import PLAIN
from benchmarks.scale.commands import CLOCK, PROCESSORS, measured
from benchmarks.scale.worlds import BenchmarkWorld, whole_result
from benchmarks.tools.harness import table
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.maps.rasters import NODATA, Raster, write_rasters
from sdm.maps.species import predict_raster
from sdm.models.file import load_model
from sdm.models.species import Model

MAPS, COMMANDS, THREADS = 200, 8, 2


def one_pass(models: Sequence[Model], stack: Stack, folder: Path, *, summed: bool) -> None:
    """Map all models in one pass: a file each, or one with their sum."""

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        columns = list(values.reshape(values.shape[0], -1))
        out, total = [], np.zeros(values[0].size)
        for model in models:
            band = model.predict_columns(columns, "cloglog", True)
            if summed:
                total += band
                continue
            out.append(_filled(band, values))
        return [_filled(total, values)] if summed else out

    names = ["sum"] if summed else [f"map{k}" for k in range(len(models))]
    rasters = [Raster(folder / f"{name}.tif", "float32", NODATA) for name in names]
    write_rasters(stack, rasters, bands, [{} for _ in names], threads=THREADS)


def _filled(band: NDArray[Any], values: NDArray[np.floating]) -> NDArray[Any]:
    return np.where(np.isnan(band), NODATA, band).astype("float32").reshape(values.shape[1:])


def _timed(work: Callable[[], Any]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {CLOCK: time.perf_counter() - wall, PROCESSORS: time.process_time() - cpu}


def stack_of_maps(world: BenchmarkWorld, most: int) -> dict[str, Any]:
    """Maps of 200 species one by one, in this process and by commands; in one pass; and their sum in one pass."""
    count = min(MAPS, most)
    fitted = world.folder / "fitted"
    with whole_result(fitted, count, 0):
        measured(["fit", world.records(count), world.layers, "-o", fitted, *PLAIN, "-q"])
    files = sorted(fitted.rglob("*.npz"))
    models = [cast(Model, load_model(path)) for path in files]
    stack = open_stack(world.layers, names=models[0].names)
    alone, together = world.folder / "alone", world.folder / "together"
    for folder in (alone, together):
        folder.mkdir()
    predict_raster(models[0], stack, alone / "warm.tif", threads=THREADS)
    few = min(COMMANDS, count)
    command = [
        measured(["predict", path, world.layers, "-o", alone / f"{path.stem}.tif", "-q"]) for path in files[:few]
    ]
    spent = {
        f"{count} commands (from {few})": {
            key: sum(one[key] for one in command) / few * count for key in (CLOCK, PROCESSORS)
        },
        f"{count} maps one by one": _timed(
            lambda: [
                predict_raster(model, stack, alone / f"map{k}.tif", threads=THREADS) for k, model in enumerate(models)
            ]
        ),
        f"{count} maps in one pass": _timed(lambda: one_pass(models, stack, together, summed=False)),
        "their sum in one pass": _timed(lambda: one_pass(models, stack, together, summed=True)),
    }
    for k in range(0, count, max(1, count // 5)):
        with rasterio.open(alone / f"map{k}.tif") as one, rasterio.open(together / f"map{k}.tif") as other:
            np.testing.assert_array_equal(one.read(1), other.read(1))
    commands, separate, passed, summed = (one[CLOCK] for one in spent.values())
    rows = [
        {"what": what, **one, "of one by one": one[CLOCK] / separate, "of commands": one[CLOCK] / commands}
        for what, one in spent.items()
    ]
    table(f"maps of {stack.height * stack.width / 1e6:.2f} million cells, {len(stack.names)} layers", rows)
    for folder in (fitted, alone, together):
        shutil.rmtree(folder)
    found = {
        "maps in one pass, of maps one by one": passed / separate,
        "their sum, of maps one by one": summed / separate,
    }
    return {"rows": rows, "found": found}
