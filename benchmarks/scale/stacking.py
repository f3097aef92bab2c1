"""A stack of many maps: seconds and memory, beside those of reading every map once."""

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from affine import Affine

from benchmarks.tools.harness import once, peak_gigabytes, save, table
from sdm.data.rasters.grid import Grid
from sdm.maps.rasters import Raster, writing_cogs
from sdm.maps.stacking import SpeciesMap, write_stack

SHAPE = (720, 900)  # 0.65 million cells
COUNT = 200
DIFFERENT = 20  # maps on the disk, each taken several times


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = [_map(folder / f"{k}.tif", k) for k in range(DIFFERENT)]
        maps = [SpeciesMap(files[k % DIFFERENT], cutoff=0.5) for k in range(COUNT)]
        rows: list[dict[str, Any]] = []
        decompressed, _ = once(lambda: _read(maps))
        rows.append({"what": "reading every map once, one thread", "seconds": decompressed})
        for threads in (1, 2):
            for how in (("sum",), ("threshold",), ("sum", "threshold")):
                places = {one: folder / f"{one}.tif" for one in how}
                seconds, _ = once(partial(write_stack, maps, places, threads=threads))
                rows.append({"what": f"stack of {' and '.join(how)}, threads {threads}", "seconds": seconds})
    for row in rows:
        row["ms per map"] = 1000 * row["seconds"] / COUNT
    table(f"{COUNT:,} maps of {SHAPE[0] * SHAPE[1] / 1e6:.2f} million cells", rows)
    print(f"peak memory {peak_gigabytes():.2f} GB")
    save("stacking", {"maps": COUNT, "load": os.getloadavg()[0], "memory_gb": peak_gigabytes(), "stacks": rows})


def _read(maps: list[SpeciesMap]) -> None:
    for one in maps:
        with rasterio.open(one.path) as source:
            source.read(1)


def _map(path: Path, k: int) -> Path:
    """A map as a run writes it."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] / 90.0
    values = (0.5 + 0.5 * np.sin(x + k) * np.cos(y * (1 + k / 20))).astype(np.float32)
    values[(x - 5) ** 2 + (y - 4) ** 2 > 20] = -9999
    grid = Grid(width=SHAPE[1], height=SHAPE[0], transform=Affine(0.01, 0, 0, 0, -0.01, 10), crs=None)
    with writing_cogs(grid, [Raster(path)]) as (file,):
        file.write(values, 1)
    return path


if __name__ == "__main__":
    main()
