"""Stacks of species: the sum of their maps, or the number of species above their threshold in every cell.

Every map is read once, and only a few maps are open at the same time. Memory is one strip of the grid (the whole grid
up to 8 million cells). Sums are in double precision in the order of the maps, so that bytes do not depend on the number
of threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.errors import RasterioError
from rasterio.io import DatasetReader
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.errors import GridError, ResultsError
from sdm.executors.ahead import ahead
from sdm.maps.gis.tags import Moments, RasterSummary, describe_raster
from sdm.maps.rasters import BLOCK, NODATA, Raster, writing_cogs
from sdm.progress.telling import StepCount
from sdm.types import Progress

HOW = ("sum", "threshold")
"""Stacks: the sum of suitabilities, or the number of species above their threshold."""
CELLS = 8 << 20  # cells of a strip: 8 bytes each for a sum, and 3 or 5 for a count
DOING = "stacking maps"


@dataclass(frozen=True)
class SpeciesMap:
    """The map of one species: a band of a raster, and the threshold of presence."""

    path: Path
    band: int = 1
    cutoff: float | None = None


def write_stack(
    maps: Sequence[SpeciesMap],
    places: Mapping[str, Path],
    *,
    tags: Mapping[str, str] | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> dict[str, RasterSummary]:
    """Write stacks of species, all from one reading of their maps.

    Parameters
    ----------
    maps
        Two or more, on one grid. A cell that a map has no value for counts nothing; where no map has one, the stack has
        none either.
    places
        Where to write which of `HOW`: `sum` is a number per cell (float32), `threshold` a whole number of species.
    tags
        More tags for the files; what they are, the number of species and the version are always there.

    Raises
    ------
    DataError
        If the maps are not on one grid, or one cannot be read.
    """
    with _opened(maps[0].path) as first:
        grid = Grid.of(first)
    kind, nothing = ("uint16", 2**16 - 1) if len(maps) < 2**16 - 1 else ("uint32", 2**32 - 1)
    kinds = {"sum": ("float32", NODATA), "threshold": (kind, float(nothing))}
    names = {"sum": "sum of suitabilities", "threshold": "number of species above their threshold"}
    rasters = [Raster(path, *kinds[how], bands=(names[how],)) for how, path in places.items()]
    strips = grid.tiles(*grid.tile_size((BLOCK, BLOCK), CELLS))
    moments = [Moments(raster.nodata) for raster in rasters]
    sums = {how: "float64" if how == "sum" else kind for how in places}
    steps = StepCount(progress, DOING, len(strips) * len(maps))
    with writing_cogs(grid, rasters, threads) as files:
        for strip in strips:
            shape = int(strip.height), int(strip.width)
            seen, made = np.zeros(shape, dtype=bool), {how: np.zeros(shape, dtype) for how, dtype in sums.items()}
            for one, values in zip(maps, ahead(partial(_values, grid=grid, strip=strip), maps, threads)):
                valid = ~np.isnan(values)
                seen |= valid
                if "sum" in made:
                    np.add(made["sum"], values, out=made["sum"], where=valid)
                if "threshold" in made:  # NaN is not above the threshold
                    made["threshold"] += values >= np.float32(one.cutoff)
                steps.step()
            for file, raster, band, count in zip(files, rasters, made.values(), moments):
                written = np.where(seen, band, raster.nodata).astype(raster.dtype)
                file.write(written, 1, window=strip)
                count.add(written)
        summaries = [count.summary(raster.path) for count, raster in zip(moments, rasters)]
        for file, summary, how in zip(files, summaries, places):
            about = {"what": names[how], "species": str(len(maps)), "software": f"sdm {__version__}", **(tags or {})}
            describe_raster(file, [summary], {**about, "units": "species"})
    return dict(zip(places, summaries))


def _values(one: SpeciesMap, grid: Grid, strip: Window) -> NDArray[np.float32]:
    """Return the values of a map in a strip, NaN for nodata."""
    with _opened(one.path) as source:
        if problem := Grid.of(source).difference(grid):
            difference = problem.replace("the stack", "the first map")
            raise GridError(f"{one.path} {difference}: a stack needs the maps of all species on one grid")
        values: NDArray[np.float32] = source.read(one.band, window=strip).astype(np.float32, copy=False)
        nothing = source.nodatavals[one.band - 1]
    if nothing is not None:
        values[values == np.float32(nothing)] = np.nan
    return values


@contextmanager
def _opened(path: Path) -> Iterator[DatasetReader]:
    """Open a map; errors name the file."""
    try:
        with open_local(path) as source:
            yield source
    except (RasterioError, IndexError) as error:
        raise ResultsError(f"{path} cannot be read as a map ({error}): run the command again") from error
