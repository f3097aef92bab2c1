"""Stacks of species: their maps added up, or how many species are above their cutoff in every cell.

Every map is decompressed once: it is opened in turn, read, and added to what the maps before it gave. A few maps are
open at a time, whatever the number of species; memory holds one strip of the grid, which is all of it up to 8 million
cells. Sums are in double precision and in the order of the maps, so that bytes do not depend on the number of threads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.errors import DataError
from sdm.executors.ahead import ahead
from sdm.maps.gis.tags import describe_raster
from sdm.maps.moments import Moments, RasterSummary
from sdm.maps.rasters import BLOCK, NODATA, Raster, writing_cogs
from sdm.types import AnyArray, Numbers, Progress

HOW = ("sum", "threshold")
"""What can be made of a stack: the sum of suitabilities, or the number of species above their cutoff."""
CELLS = 8 << 20  # of a strip: of each, 8 bytes of a sum, and 3 or 5 of a count
DOING = "stacking maps"


@dataclass(frozen=True)
class SpeciesMap:
    """The finished map of one species: a band of a raster, and the value from which on the species is present."""

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
    grid = _grid(maps[0].path)
    kind, nothing = ("uint16", 2**16 - 1) if len(maps) < 2**16 - 1 else ("uint32", 2**32 - 1)
    kinds = {"sum": ("float32", NODATA), "threshold": (kind, float(nothing))}
    names = {"sum": "sum of suitabilities", "threshold": "number of species above their cutoff"}
    rasters = [Raster(path, *kinds[how], bands=(names[how],)) for how, path in places.items()]
    strips = grid.tiles(*grid.tile_size((BLOCK, BLOCK), CELLS))
    moments = [Moments(raster.nodata) for raster in rasters]
    with writing_cogs(grid, rasters, threads) as files:
        for k, strip in enumerate(strips):

            def told(done: int, before: int = k * len(maps)) -> None:
                if progress:
                    progress(before + done, len(strips) * len(maps), DOING)

            made = _stack(maps, grid, strip, places, kinds, threads, told)
            for file, band, count in zip(files, made, moments):
                file.write(band, 1, window=strip)
                count.add(band)
        summaries = [count.summary(raster.path) for count, raster in zip(moments, rasters)]
        for file, summary, how in zip(files, summaries, places):
            about = {"what": names[how], "species": str(len(maps)), "software": f"sdm {__version__}", **(tags or {})}
            describe_raster(file, [summary], {**about, "units": "species"})
    return dict(zip(places, summaries))


def _stack(
    maps: Sequence[SpeciesMap],
    grid: Grid,
    strip: Window,
    places: Mapping[str, Path],
    kinds: Mapping[str, tuple[str, float]],
    threads: int,
    told: Callable[[int], None],
) -> list[AnyArray]:
    """Return the stacks of one strip of the grid."""
    shape = int(strip.height), int(strip.width)
    seen = np.zeros(shape, dtype=bool)
    total = np.zeros(shape) if "sum" in places else None
    count = np.zeros(shape, dtype=kinds["threshold"][0]) if "threshold" in places else None
    read = ahead(lambda one: _values(one, grid, strip), maps, threads)
    for done, (one, values) in enumerate(zip(maps, read), start=1):
        known = ~np.isnan(values)
        seen |= known
        if total is not None:
            np.add(total, values, out=total, where=known)
        if count is not None:  # NaN is not above anything
            count += values >= np.float32(one.cutoff)
        told(done)
    made: Numbers = {"sum": total, "threshold": count}
    return [np.where(seen, made[how], kinds[how][1]).astype(kinds[how][0]) for how in places]


def _values(one: SpeciesMap, grid: Grid, strip: Window) -> NDArray[np.float32]:
    """Return the values of a map in a strip, NaN where it has none."""
    try:
        with open_local(one.path) as source:
            if problem := Grid.of(source).difference(grid):
                said = problem.replace("the stack", "the first map")
                raise DataError(f"{one.path} {said}: a stack needs the maps of all species on one grid")
            values: NDArray[np.float32] = source.read(one.band, window=strip).astype(np.float32, copy=False)
            nothing = source.nodatavals[one.band - 1]
    except (RasterioError, IndexError) as error:
        raise DataError(f"{one.path} cannot be read as a map ({error}): make it again") from error
    if nothing is not None:
        values[values == np.float32(nothing)] = np.nan
    return values


def _grid(path: Path) -> Grid:
    try:
        with open_local(path) as source:
            return Grid.of(source)
    except RasterioError as error:
        raise DataError(f"{path} cannot be read as a map ({error}): make it again") from error
