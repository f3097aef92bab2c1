"""Rasters computed window by window from a stack of layers, written as Cloud-Optimized GeoTIFFs.

Reading, decompression and scoring run in a few threads (kernels release the lock); one thread writes. Memory is
a few windows, whatever the size of the raster.
"""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
from numpy.typing import NDArray
from rasterio.errors import RasterioError
from rasterio.io import DatasetWriter
from rasterio.windows import Window

from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import WINDOW_BYTES, Stack
from sdm.errors import DISK_FULL, OutputError, VariableError
from sdm.executors.ahead import ahead, allowed_threads
from sdm.maps.gis.formats import COG, copy_map, map_format
from sdm.maps.gis.tags import Moments, RasterSummary, describe_raster
from sdm.progress.telling import StepCount
from sdm.types import AnyArray, Colour, Progress

NODATA = -9999.0
BINARY_NODATA = 255
BLOCK = 256
PRESENCE_COLOURS: dict[int, Colour] = {0: (225, 225, 225), 1: (20, 75, 110)}


@dataclass(frozen=True)
class Raster:
    """A GeoTIFF to write."""

    path: Path
    dtype: str = "float32"
    nodata: float = NODATA
    bands: tuple[str, ...] = ()  # titles; without any there is one band
    colours: Mapping[int, Colour] | None = None  # the colour table, by value
    repeats: bool = False  # whether most cells share few values: compression without differences
    alpha: bool = False  # whether it is a picture: bands of red, green and blue, and alpha

    @classmethod
    def presence(cls, path: Path, bands: tuple[str, ...] = ()) -> "Raster":
        """Return the raster of presence (1) and absence (0)."""
        return cls(path, "uint8", BINARY_NODATA, bands, PRESENCE_COLOURS)

    @property
    def count(self) -> int:
        """The number of bands."""
        return max(1, len(self.bands))


def check_variables(names: Sequence[str], stack: Stack) -> None:
    """Raise if the layers are not the variables of a model in its order."""
    if tuple(stack.names) != tuple(names):
        raise VariableError(f"the layers are {', '.join(stack.names)}; the model needs {', '.join(names)}")


def write_rasters(
    stack: Stack,
    rasters: Sequence[Raster],
    compute: Callable[[Window, NDArray[np.floating]], Sequence[AnyArray]],
    tags: Sequence[dict[str, str]],
    *,
    threads: int = 2,
    progress: Progress | None = None,
    empty: bool = False,
    doing: str = "map",
) -> list[RasterSummary]:
    """Compute rasters window by window, and write them: all, or none. Return the summaries of all bands except of
    pictures.

    `compute` is called with a window and the values of the layers, and returns an array for every raster: one band, or
    all of its bands. A band without any value is an error, unless `empty` is true. `doing` is the name of the stage for
    `progress`.
    """
    # If the maps of a window need more memory than its layers, windows are smaller.
    taken = sum(raster.count * np.dtype(raster.dtype).itemsize for raster in rasters)
    wide = taken / (len(stack.layers) * stack.dtype.itemsize)
    windows = stack.windows() if wide <= 1 else stack.windows(budget=int(WINDOW_BYTES / wide))
    moments = [[] if raster.alpha else [Moments(raster.nodata) for _ in range(raster.count)] for raster in rasters]
    steps = StepCount(progress, doing, len(windows))
    with writing_cogs(stack, rasters, threads, progress, doing) as files:
        for window, made in stack.scan(windows, compute=compute, threads=threads):
            for file, values, counts in zip(files, made, moments):
                bands = values.reshape(file.count, *values.shape[-2:])
                file.write(bands, window=window)
                for band, count in zip(bands, counts):
                    count.add(band)
            steps.step()
        summaries = [[count.summary(raster.path, empty) for count in of] for of, raster in zip(moments, rasters)]
        for file, of_bands, file_tags in zip(files, summaries, tags):
            describe_raster(file, of_bands, file_tags)
    return [summary for of_bands in summaries for summary in of_bands]


@contextmanager
def writing_cogs(
    grid: Grid, rasters: Sequence[Raster], threads: int = 2, progress: Progress | None = None, doing: str = "map"
) -> Iterator[list[DatasetWriter]]:
    """Yield files to write to. At the end they become Cloud-Optimized GeoTIFFs (or the format of the extension) at
    their paths: all, or none."""
    for raster in rasters:
        map_format(raster.path, raster.count)
    _check_room(rasters, grid)
    first, threads = rasters[0].path, allowed_threads(threads)
    try:
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=first.parent) as folder:
            tiled = [Path(folder) / f"plain{k}.tif" for k in range(len(rasters))]
            final = [Path(folder) / f"done{k}" / raster.path.name for k, raster in enumerate(rasters)]
            for target in final:
                target.parent.mkdir()
            with ExitStack() as opened:
                yield [opened.enter_context(_create(path, grid, raster)) for path, raster in zip(tiled, rasters)]
            steps = StepCount(progress, f"{doing}, files", len(rasters))
            finish = partial(_finish, threads=1 if _memory_is_limited() else max(1, threads // len(rasters)))
            with closing(ahead(finish, zip(tiled, final, rasters), threads)) as finished:
                for _ in finished:
                    steps.step()
            for target, raster in zip(final, rasters):
                for file in sorted(target.parent.iterdir()):  # some formats have additional files, such as .prj
                    os.replace(file, raster.path.parent / file.name)
    except Exception as error:
        if not isinstance(error, RasterioError | OSError) and not type(error).__name__.startswith("CPLE_"):
            raise  # rasterio has no public class for the errors of GDAL, which are called CPLE_…
        reason = getattr(error, "strerror", None) or f"{error.__cause__ or error}; is the disk full?"
        raise OutputError(f"{first} cannot be written ({reason}): nothing was kept") from error


def _memory_is_limited() -> bool:
    """Whether a memory limit (ulimit -v) may prevent new threads: GDAL would wait for them forever."""
    if sys.platform == "win32":
        return False
    import resource  # not on Windows

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _finish(files: tuple[Path, Path, Raster], threads: int) -> None:
    """Convert a plain GeoTIFF to a COG, or to the format of the extension, and remove it."""
    source, target, raster = files
    _check_whole(source)
    driver = map_format(raster.path, raster.count)
    if driver == COG:
        _to_cog(source, target, raster, threads)
        _check_whole(target)
    else:
        copy_map(source, target, driver)
    source.unlink()


def _create(path: Path, grid: Grid, raster: Raster) -> DatasetWriter:
    """Open a plain GeoTIFF to write, before its conversion to a COG."""
    profile = {"width": grid.width, "height": grid.height, "crs": grid.crs, "transform": grid.transform}
    profile |= {"count": raster.count, "dtype": raster.dtype, "BIGTIFF": "IF_SAFER"}
    profile |= {} if raster.alpha else {"nodata": raster.nodata}
    profile |= {"tiled": True, "blockxsize": BLOCK, "blockysize": BLOCK}
    profile |= {"photometric": "palette"} if raster.colours else {}
    profile |= {"interleave": "pixel"} if raster.count > 1 else {}
    profile |= {"photometric": "rgb", "alpha": "yes"} if raster.alpha else {}
    file = rasterio.open(path, "w", driver="GTiff", **profile)
    if raster.colours:
        file.write_colormap(1, {value: (*colour, 255) for value, colour in raster.colours.items()})
    for k, name in enumerate(raster.bands, start=1):
        file.set_band_description(k, name)
    return file


def _check_room(rasters: Sequence[Raster], grid: Grid) -> None:
    """Raise if the disk has less free space than the uncompressed maps need."""
    path, cells = rasters[0].path, -(-grid.width // BLOCK) * -(-grid.height // BLOCK) * BLOCK**2
    need = cells * sum(raster.count * np.dtype(raster.dtype).itemsize for raster in rasters)
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return  # writing raises the reason
    if free < need:
        sizes = f"it needs {need / 1e6:,.1f} MB temporarily, and the disk has {free / 1e6:,.1f} MB left"
        raise OutputError(f"{path} cannot be written: {sizes}; free space, or choose another disk", code=DISK_FULL)


def _check_whole(path: Path) -> None:
    """Raise OSError if a tile of a TIFF is incomplete: GDAL does not always report a full disk."""
    try:
        end, size = tiles_end(path), path.stat().st_size
    except (RasterioError, TypeError):  # the file ends before its tables, or a tile was never written
        end, size = 1, 0
    if end > size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def tiles_end(path: Path) -> int:
    """Return the end of the last tile of a TIFF, of the image or an overview; raise TypeError if one is missing."""
    ends = []
    with open_local(path) as data:
        for level, factor in enumerate([1, *data.overviews(1)]):
            height, width = (-(-side // (factor * BLOCK)) for side in data.shape)
            for row, col in product(range(height), range(width)):
                begin, length = (
                    data.get_tag_item(f"BLOCK_{item}_{col}_{row}", "TIFF", bidx=1, ovr=level - 1 if level else None)
                    for item in ("OFFSET", "SIZE")
                )
                ends.append(int(begin) + int(length))
    return max(ends)


def _to_cog(source: Path, target: Path, raster: Raster, threads: int) -> None:
    """Copy a GeoTIFF with the COG driver of GDAL: tiles, overviews, statistics."""
    floating = raster.dtype == "float32"
    options = {"COMPRESS": "DEFLATE", "LEVEL": 1, "BLOCKSIZE": BLOCK, "NUM_THREADS": threads, "BIGTIFF": "IF_SAFER"}
    options["PREDICTOR"] = "FLOATING_POINT" if floating and not raster.repeats else "NO"
    options["OVERVIEW_RESAMPLING"] = "AVERAGE" if floating else "NEAREST"
    # Overviews are a temporary file first; its compression would be wasted.
    with rasterio.Env(COG_TMP_COMPRESSION="NONE"):
        rasterio.shutil.copy(source, target, driver="COG", **options)
