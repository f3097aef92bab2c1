"""Maps: a model applied window by window to a stack of layers, written as a Cloud-Optimized GeoTIFF.

Reading, decompression and scoring run in a few threads (kernels release the lock); one thread writes. Memory is
a few windows, whatever the size of the raster.
"""

import errno
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import rasterio.shutil
from numpy.typing import NDArray
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError
from rasterio.io import DatasetWriter
from rasterio.windows import Window

from sdm._version import __version__
from sdm.assess.uncertainty import predict_spread
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import WINDOW_BYTES, Stack
from sdm.errors import DataError, OutputError
from sdm.models.species import Model
from sdm.types import Colour, Progress

NODATA = -9999.0
BINARY_NODATA = 255
BLOCK = 256
SPREAD = 1 << 20  # predictions of all replicates that are held at once, in each thread


@dataclass(frozen=True)
class Raster:
    """A GeoTIFF to write.

    Attributes
    ----------
    path : Path
    dtype : str
    nodata : float
    bands : tuple of str
        Names of the bands; without any there is one band.
    colours : mapping, optional
        Red, green and blue by value: the file's colour table.
    """

    path: Path
    dtype: str = "float32"
    nodata: float = NODATA
    bands: tuple[str, ...] = ()
    colours: Mapping[int, Colour] | None = None

    @property
    def count(self) -> int:
        """The number of bands."""
        return max(1, len(self.bands))


@dataclass(frozen=True)
class RasterSummary:
    """Number of cells, range, mean and deviation of a written map."""

    path: Path
    cells: int
    minimum: float
    maximum: float
    mean: float
    deviation: float

    @property
    def numbers(self) -> dict[str, float]:
        """The same numbers, under the names that results have."""
        return {"cells": self.cells, "min": self.minimum, "max": self.maximum, "mean": self.mean}


def model_id(model: Model) -> str:
    """Return a short name for exactly this model."""
    return hashlib.sha256(model.to_bytes()).hexdigest()[:16]


def predict_raster(
    model: Model,
    stack: Stack,
    path: str | Path,
    *,
    scale: str = "cloglog",
    clamp: bool = True,
    threshold: float | None = None,
    study_area: StudyArea | None = None,
    threads: int = 2,
    tags: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> RasterSummary:
    """Write a map of the model over the stack's cells.

    Parameters
    ----------
    model : Model
    stack : Stack
        With the model's variables, in its order (`open_stack(…, names=model.names)`).
    path : path
        Replaced in one step when the map is complete.
    scale : {"cloglog", "raw", "cumulative", "logistic"}
    clamp : bool
    threshold : float, optional
        Write 1 where the prediction is at least this and 0 elsewhere (bytes, nodata 255).
    study_area : StudyArea, optional
        Cells outside it are nodata.
    threads : int
    tags : dict, optional
        More tags for the file; model id, scale and version are always there.
    progress : callable, optional
        Called with windows done, windows in all, and the name of the step.
    """
    check_variables(model.names, stack)
    path = Path(path)
    describe = {"model_id": model_id(model), "scale": scale, "software": f"sdm {__version__}", **(tags or {})}

    def score(window: Window, values: NDArray[np.floating]) -> NDArray[Any]:
        flat = values.reshape(values.shape[0], -1)
        out = model.predict_columns(list(flat), scale, clamp)
        missing = np.isnan(out)
        if study_area is not None:
            missing |= ~study_area.mask(stack, window).ravel()
        if threshold is None:
            band = out.astype(np.float32)
            band[missing] = NODATA
        else:
            band = (out >= threshold).astype(np.uint8)
            band[missing] = BINARY_NODATA
        return band.reshape(values.shape[1:])

    return write_cog(
        stack,
        path,
        score,
        nodata=NODATA if threshold is None else BINARY_NODATA,
        dtype="float32" if threshold is None else "uint8",
        tags=describe,
        threads=threads,
        progress=progress,
    )


def write_spread_maps(
    models: Sequence[Model],
    stack: Stack,
    paths: Mapping[str, Path],
    *,
    scale: str = "cloglog",
    clamp: bool = True,
    study_area: StudyArea | None = None,
    threads: int = 2,
    tags: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, RasterSummary]:
    """Write maps of how much replicates agree, all in one pass over the layers.

    Parameters
    ----------
    models : sequence of Model
        The replicates, at least two, of the same variables.
    paths : mapping
        Where to write which of `sdm.assess.uncertainty.STATISTICS`: mean, sd, lower, upper.
    stack, scale, clamp, study_area, threads, tags, progress
        As for `predict_raster`.
    """
    for model in models:
        check_variables(model.names, stack)
    describe = {"replicates": str(len(models)), "scale": scale, "software": f"sdm {__version__}", **(tags or {})}

    step = max(1, SPREAD // len(models))  # cells at a time, so that memory does not grow with the replicates

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        flat = values.reshape(values.shape[0], -1)
        out = np.empty((len(paths), flat.shape[1]), dtype=np.float32)
        for first in range(0, flat.shape[1], step):
            part = slice(first, first + step)
            spread = predict_spread(models, list(flat[:, part]), scale, clamp)
            for band, name in zip(out, paths):
                values_of = getattr(spread, name)
                band[part] = np.where(np.isnan(values_of), NODATA, values_of)
        if study_area is not None:
            out[:, ~study_area.mask(stack, window).ravel()] = NODATA
        return list(out.reshape(len(paths), *values.shape[1:]))

    summaries = write_cogs(
        stack, list(paths.values()), bands, NODATA, "float32", describe, threads=threads, progress=progress
    )
    return dict(zip(paths, summaries))


def check_variables(names: Sequence[str], stack: Stack) -> None:
    """Raise if the layers are not a model's variables in its order."""
    if tuple(stack.names) != tuple(names):
        raise DataError(f"the layers are {', '.join(stack.names)}; the model needs {', '.join(names)}")


def write_cog(
    stack: Stack,
    path: Path,
    compute: Callable[[Window, NDArray[np.floating]], NDArray[Any]],
    *,
    nodata: float,
    dtype: str,
    tags: dict[str, str],
    threads: int = 2,
    progress: Progress | None = None,
) -> RasterSummary:
    """Compute a band window by window and write it as a Cloud-Optimized GeoTIFF."""

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        return [compute(window, values)]

    return write_cogs(stack, [path], bands, nodata, dtype, tags, threads=threads, progress=progress)[0]


def write_cogs(
    stack: Stack,
    paths: Sequence[Path],
    compute: Callable[[Window, NDArray[np.floating]], Sequence[NDArray[Any]]],
    nodata: float,
    dtype: str,
    tags: dict[str, str],
    *,
    threads: int = 2,
    progress: Progress | None = None,
) -> list[RasterSummary]:
    """Compute several bands window by window, and write each as a Cloud-Optimized GeoTIFF of its own."""
    rasters = [Raster(path, dtype, nodata) for path in paths]
    return write_rasters(stack, rasters, compute, [tags] * len(rasters), threads=threads, progress=progress)


def write_rasters(
    stack: Stack,
    rasters: Sequence[Raster],
    compute: Callable[[Window, NDArray[np.floating]], Sequence[NDArray[Any]]],
    tags: Sequence[dict[str, str]],
    *,
    threads: int = 2,
    progress: Progress | None = None,
) -> list[RasterSummary]:
    """Compute rasters of one band each window by window, and write them: all, or none.

    Parameters
    ----------
    compute : callable
        Called with a window and the layers' values there; returns a band for every raster, of its type.
    tags : sequence of dict
        Those of every raster.
    """
    # Where a window's maps take more memory than its layers, windows are as much smaller.
    taken = sum(np.dtype(raster.dtype).itemsize for raster in rasters)
    wide = taken / (len(stack.layers) * stack.dtype.itemsize)
    windows = stack.windows() if wide <= 1 else stack.windows(budget=int(WINDOW_BYTES / wide))
    moments = [Moments() for _ in rasters]
    with writing_cogs(stack, rasters, threads) as files:
        for window, bands in computed(stack, windows, compute, threads=threads, progress=progress):
            for file, band, count, raster in zip(files, bands, moments, rasters):
                file.write(band, 1, window=window)
                count.add(band[band != band.dtype.type(raster.nodata)].astype(np.float64))
        summaries = [count.summary(raster.path) for count, raster in zip(moments, rasters)]
        for file, summary, file_tags in zip(files, summaries, tags):
            file.update_tags(**file_tags)
            file.update_tags(1, **_statistics(summary))
    return summaries


def computed(
    stack: Stack,
    windows: Sequence[Window],
    compute: Callable[[Window, NDArray[np.floating]], Any],
    *,
    threads: int = 2,
    progress: Progress | None = None,
    doing: str = "predicting",
) -> Iterator[tuple[Window, Any]]:
    """Yield window after window with the result computed from it, and report progress."""
    for done, result in enumerate(stack.scan(windows, compute=compute, threads=threads), start=1):
        yield result
        if progress:
            progress(done, len(windows), doing)


@contextmanager
def writing_cogs(grid: Grid, rasters: Sequence[Raster], threads: int = 2) -> Iterator[list[DatasetWriter]]:
    """Give files to write into; at the end they become Cloud-Optimized GeoTIFFs and move to their places, all or none.

    Raises
    ------
    OutputError
        If there is no room, or something cannot be written.
    """
    _check_room(rasters, grid)
    first = rasters[0].path
    try:
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=first.parent) as folder:
            tiled = [Path(folder) / f"plain{k}.tif" for k in range(len(rasters))]
            final = [Path(folder) / f"cog{k}.tif" for k in range(len(rasters))]
            with ExitStack() as opened:
                yield [opened.enter_context(_create(path, grid, raster)) for path, raster in zip(tiled, rasters)]
            for source, target, raster in zip(tiled, final, rasters):
                _check_whole(source)
                _to_cog(source, target, raster.dtype, threads)
                _check_whole(target)
                source.unlink()
            for target, raster in zip(final, rasters):
                os.replace(target, raster.path)
    except (RasterioError, CPLE_BaseError, OSError) as error:
        reason = getattr(error, "strerror", None) or f"{error.__cause__ or error}; is the disk full?"
        raise OutputError(f"{first} cannot be written ({reason}): nothing was kept") from error


def _create(path: Path, grid: Grid, raster: Raster) -> DatasetWriter:
    """Open a plain GeoTIFF, before it becomes a COG."""
    profile = {
        "driver": "GTiff",
        "width": grid.width,
        "height": grid.height,
        "count": raster.count,
        "dtype": raster.dtype,
        "nodata": raster.nodata,
        "crs": grid.crs,
        "transform": grid.transform,
        "tiled": True,
        "blockxsize": BLOCK,
        "blockysize": BLOCK,
        "BIGTIFF": "IF_SAFER",
        **({"photometric": "palette"} if raster.colours else {}),
        **({"interleave": "pixel"} if raster.count > 1 else {}),
    }
    file = rasterio.open(path, "w", **profile)
    if raster.colours:
        file.write_colormap(1, {value: (*colour, 255) for value, colour in raster.colours.items()})
    for k, name in enumerate(raster.bands, start=1):
        file.set_band_description(k, name)
    return file


class Moments:
    """Count, sums and range of the values of a band after some windows."""

    def __init__(self) -> None:
        self.sums = np.zeros(3)
        self.low, self.high = np.inf, -np.inf

    def add(self, values: NDArray[np.float64]) -> None:
        """Count the values of one more window."""
        if values.size:
            self.sums += np.array([values.size, values.sum(), values @ values])
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))

    def summary(self, path: Path) -> RasterSummary:
        """Return the summary of the band at a path."""
        count, total, squares = self.sums
        if not count:
            raise DataError(f"{path.name} would have no cell: no cell of the layers has a value in every layer")
        mean = total / count
        deviation = float(np.sqrt(max(squares / count - mean**2, 0.0)))
        return RasterSummary(path, int(count), self.low, self.high, mean, deviation)


def _check_room(rasters: Sequence[Raster], grid: Grid) -> None:
    """Raise if the disk has less free space than the maps take before compression."""
    path, cells = rasters[0].path, -(-grid.width // BLOCK) * -(-grid.height // BLOCK) * BLOCK**2
    need = cells * sum(raster.count * np.dtype(raster.dtype).itemsize for raster in rasters)
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return  # writing will say why
    if free < need:
        sizes = f"it takes {need / 1e6:,.1f} MB while it is made, the disk has {free / 1e6:,.1f} MB left"
        raise OutputError(f"{path} cannot be written: {sizes}; make room or choose another disk")


def _check_whole(path: Path) -> None:
    """Raise OSError if a tile of a TIFF is not all there: GDAL does not always say that the disk was full."""
    size = path.stat().st_size
    with rasterio.open(path) as data:
        for level in (None, *range(len(data.overviews(1)))):
            with rasterio.open(path, **({} if level is None else {"overview_level": level})) as part:
                tiles = itertools.product(range(-(-part.width // BLOCK)), range(-(-part.height // BLOCK)))
            for col, row in tiles:
                words = (f"BLOCK_{item}_{col}_{row}" for item in ("OFFSET", "SIZE"))
                start, length = (data.get_tag_item(word, "TIFF", bidx=1, ovr=level) for word in words)
                if start is None or length is None or int(start) + int(length) > size:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _to_cog(source: Path, target: Path, dtype: str, threads: int) -> None:
    """Copy a GeoTIFF with GDAL's COG driver: tiles, overviews, statistics."""
    floating = dtype == "float32"
    rasterio.shutil.copy(
        source,
        target,
        driver="COG",
        COMPRESS="DEFLATE",
        LEVEL=1,
        PREDICTOR="FLOATING_POINT" if floating else "NO",
        BLOCKSIZE=BLOCK,
        OVERVIEW_RESAMPLING="AVERAGE" if floating else "NEAREST",
        NUM_THREADS=threads,
        BIGTIFF="IF_SAFER",
    )


def _statistics(summary: RasterSummary) -> dict[str, str]:
    """Return the band's statistics under the names that GIS programs read."""
    return {
        "STATISTICS_MINIMUM": f"{summary.minimum:.9g}",
        "STATISTICS_MAXIMUM": f"{summary.maximum:.9g}",
        "STATISTICS_MEAN": f"{summary.mean:.9g}",
        "STATISTICS_STDDEV": f"{summary.deviation:.9g}",
    }
