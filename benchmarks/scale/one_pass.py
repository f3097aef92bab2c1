"""Maps of many species in one pass over the layers, beside maps made one by one."""

import shutil
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import rasterio

from benchmarks.scale.batches import PLAIN
from benchmarks.scale.commands import CLOCK, PROCESSORS, measured
from benchmarks.scale.worlds import BenchmarkWorld, whole_result
from benchmarks.tools.harness import table
from sdm.data.rasters.layers import open_stack
from sdm.maps.passes import MapPass
from sdm.maps.single import PlannedMap, predict_raster, predict_rasters
from sdm.models.file import load_model
from sdm.models.species import Model

MAPS, COMMANDS, THREADS = 200, 8, 2


def _timed(work: Callable[[], Any]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {CLOCK: time.perf_counter() - wall, PROCESSORS: time.process_time() - cpu}


def stack_of_maps(world: BenchmarkWorld, most: int) -> dict[str, Any]:
    """Maps of 200 species one by one, in this process and by commands; and in one pass, as a batch makes them."""
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
    predict_raster(models[0], stack, alone / "warm.tif", MapPass(threads=THREADS))
    planned = [PlannedMap(model, together / f"map{k}.tif") for k, model in enumerate(models)]
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
                predict_raster(model, stack, alone / f"map{k}.tif", MapPass(threads=THREADS))
                for k, model in enumerate(models)
            ]
        ),
        f"{count} maps in one pass": _timed(lambda: predict_rasters(planned, stack, MapPass(threads=THREADS))),
    }
    for k in range(0, count, max(1, count // 5)):
        with rasterio.open(alone / f"map{k}.tif") as one, rasterio.open(together / f"map{k}.tif") as other:
            np.testing.assert_array_equal(one.read(1), other.read(1))
    commands, separate, passed = (one[CLOCK] for one in spent.values())
    rows = [
        {"what": what, **one, "of one by one": one[CLOCK] / separate, "of commands": one[CLOCK] / commands}
        for what, one in spent.items()
    ]
    table(f"maps of {stack.height * stack.width / 1e6:.2f} million cells, {len(stack.names)} layers", rows)
    for folder in (fitted, alone, together):
        shutil.rmtree(folder)
    return {"rows": rows, "found": {"maps in one pass, of maps one by one": passed / separate}}
