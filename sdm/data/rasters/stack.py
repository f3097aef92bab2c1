"""A stack of layers on one grid, read window by window in bounded memory."""

import itertools
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from sdm.data.rasters.cells import CellLookup, Summary
from sdm.data.rasters.grid import Grid
from sdm.errors import DataError
from sdm.reading import refuse_special

WINDOW_BYTES = 32 << 20  # all layers of one window; a scan holds about four windows
_OPENING = threading.Lock()  # Python's warning filters are shared by all threads


def open_raster(path: str) -> Any:
    """Open a raster, without warnings."""
    refuse_special(path)
    # GDAL takes an ASCII grid for integers if its first 100 kB hold no point, and then cuts off all decimals.
    options = {"datatype": "Float32"} if path.lower().endswith(".asc") else {}
    with _OPENING, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        try:
            return rasterio.open(path, **options)
        except (RasterioError, OSError) as problem:
            raise DataError(
                f"layer '{Path(path).name}' cannot be opened: {_reason(problem)}; expected a raster that GDAL reads"
            ) from problem


def _reason(problem: BaseException) -> str:
    """Return what GDAL said, in one line."""
    return " ".join(str(problem.__cause__ or problem).split()).rstrip(".")


@dataclass(frozen=True)
class Layer:
    """One band of one file, and how to read it."""

    name: str
    path: str  # what GDAL opens: a file or a subdataset
    band: int  # from 1
    dtype: str
    nodata: tuple[float, ...] = ()  # stored values that mean "no data", beside NaN
    scale: float = 1.0  # value = stored * scale + offset
    offset: float = 0.0
    categorical: bool = False
    resample: bool = False  # to the grid of the stack, on reading


@dataclass(frozen=True, kw_only=True)
class Stack(Grid):
    """Layers on one grid. It holds no open file: it is cheap to copy, to pickle and to send to workers."""

    layers: tuple[Layer, ...]  # in the order of the last axis of a sample
    block: tuple[int, int]  # rows and columns of the largest block in the files; windows are aligned to it
    dtype: np.dtype  # of what is read: float32 where it holds every stored type exactly, else float64
    notices: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers."""
        return tuple(layer.name for layer in self.layers)

    @property
    def paths(self) -> tuple[str, ...]:
        """Files (or subdatasets) of the layers."""
        return tuple(layer.path for layer in self.layers)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the categorical layers."""
        return tuple(layer.name for layer in self.layers if layer.categorical)

    def reader(self) -> "StackReader":
        """Open the files; use it in a ``with`` statement, in one thread at a time."""
        return StackReader(self)

    def windows(self, rows: int | None = None, *, budget: int = WINDOW_BYTES) -> list[Window]:
        """Return windows that cover the raster from north to south, aligned to the blocks of the files. They are as
        wide as the raster, unless one row of blocks of all layers is more than `budget` bytes: then each row of blocks
        is cut into several windows from west to east. With `rows` they are always full strips of that height."""
        if rows is not None:
            return self.tiles(rows, self.width)
        return self.tiles(*self.tile_size(self.block, budget // (len(self.layers) * self.dtype.itemsize)))

    def scan(
        self,
        windows: Iterable[Window] | None = None,
        *,
        compute: Callable[[Window, np.ndarray], Any] | None = None,
        threads: int = 2,
    ) -> Iterator[tuple[Window, Any]]:
        """Read window after window, ahead of the caller, in bounded memory and always in the same order; yield each
        with its (V, h, w) array, NaN for nodata, or the result of `compute`, which is called in the reading thread.
        Each of the threads has its own open files."""
        todo = self.windows() if windows is None else list(windows)
        threads = max(1, min(threads, len(todo)))
        idle: SimpleQueue[StackReader] = SimpleQueue()

        def work(window: Window) -> Any:
            reader = idle.get()
            try:
                array = reader.read(window)
            finally:
                idle.put(reader)
            return array if compute is None else compute(window, array)

        with ExitStack() as opened:
            for _ in range(threads):
                idle.put(opened.enter_context(self.reader()))
            pool = ThreadPoolExecutor(threads)
            opened.callback(pool.shutdown, cancel_futures=True)
            rest = iter(todo)
            pending = deque((w, pool.submit(work, w)) for w in itertools.islice(rest, threads + 1))
            while pending:
                window, future = pending.popleft()
                yield window, future.result()
                pending.extend((w, pool.submit(work, w)) for w in itertools.islice(rest, 1))

    def summary(self, *, threads: int = 2) -> Summary:
        """Return the range and the number of valid cells of every layer, from one pass over the files."""
        total = Summary.empty(len(self.layers))
        for _, part in self.scan(compute=lambda _, array: Summary.of(array)[0], threads=threads):
            total = total + part
        return total

    def sample(self, rows: np.ndarray, cols: np.ndarray, *, threads: int = 2) -> np.ndarray:
        """Return the values at cells, as (N, V), NaN for nodata; only blocks that hold a cell are read."""
        lookup = CellLookup(self, rows, cols)
        for window, array in self.scan(self._windows_at(rows, cols), threads=threads):
            lookup.take(window, array)
        return lookup.values

    def _windows_at(self, rows: np.ndarray, cols: np.ndarray) -> list[Window]:
        """Return the windows needed to read some cells: single blocks, or everything if over half is needed."""
        width = min(self.block[1], self.width)
        fitting = WINDOW_BYTES // (width * len(self.layers) * self.dtype.itemsize)
        height = max(1, min(max(self.block[0], 64), fitting, self.height))
        tiles = self.tiles(height, width)
        across = -(-self.width // width)
        needed = np.unique(np.asarray(rows) // height * across + np.asarray(cols) // width)
        return self.windows() if 2 * needed.size > len(tiles) else [tiles[i] for i in needed]


class StackReader(ExitStack):
    """The open files of a stack. Not to be shared by threads."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack
        self._data: list[Any] = []
        files: dict[str, Any] = {}
        try:
            for layer in stack.layers:
                if layer.path not in files:
                    files[layer.path] = self.enter_context(open_raster(layer.path))
                source = files[layer.path]
                self._data.append(self.enter_context(self._warp(source, layer)) if layer.resample else source)
        except BaseException:
            self.close()
            raise

    def _warp(self, source: Any, layer: Layer) -> WarpedVRT:
        grid = self.stack
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        method = Resampling.nearest if layer.categorical else Resampling.bilinear
        missing = layer.nodata[0] if layer.nodata else (np.nan if layer.dtype.startswith("float") else None)
        values = {"src_nodata": missing, "nodata": np.nan, "dtype": grid.dtype.name}
        return WarpedVRT(source, src_crs=source.crs or grid.crs, resampling=method, **place, **values)

    def read(self, window: Window) -> np.ndarray:
        """Return a window of all layers as (V, h, w), NaN where a layer has no data."""
        shape = (len(self._data), int(window.height), int(window.width))
        array = np.empty(shape, dtype=self.stack.dtype)
        for layer, data, plane in zip(self.stack.layers, self._data, array):
            try:
                data.read(layer.band, window=window, out=plane)
            except (RasterioError, OSError) as problem:
                rows = f"{int(window.row_off)}-{int(window.row_off + window.height) - 1}"
                raise DataError(
                    f"layer '{Path(layer.path).name}' cannot be read at rows {rows}: {_reason(problem)}; "
                    "the file is damaged, get it again"
                ) from problem
            for code in layer.nodata:
                plane[plane == code] = np.nan
            if layer.dtype.startswith("float"):
                plane[np.isinf(plane)] = np.nan
            if layer.scale != 1 or layer.offset != 0:
                plane *= layer.scale
                plane += layer.offset
        return array
