"""A stack of layers on one grid, read window by window in bounded memory."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from rasterio import DatasetReader
from rasterio.enums import Resampling
from rasterio.errors import RasterioError
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from sdm.data.opening.rasters import forget, open_raster, reason_of
from sdm.data.place import PLACE, place_values, refuse_place_names
from sdm.data.rasters import remote
from sdm.data.rasters.cells import CellLookup, Summary
from sdm.data.rasters.grid import Grid
from sdm.data.untagged import Untagged
from sdm.errors import LayerError
from sdm.executors.ahead import ahead, allowed_threads
from sdm.storage.addresses import is_remote

WINDOW_BYTES = 32 << 20  # all layers of one window; a scan has about four windows in memory


@dataclass(frozen=True)
class Layer:
    """One band of one file, with the settings of its reading."""

    name: str
    path: str  # file or subdataset that GDAL opens
    band: int  # from 1
    dtype: str
    nodata: tuple[float, ...] = ()  # stored nodata values, in addition to NaN
    scale: float = 1.0  # value = stored * scale + offset
    offset: float = 0.0
    categorical: bool = False
    resample: bool = False  # to the grid of the stack, when read
    trusted: bool = False  # untagged nodata codes are not searched
    classes: tuple[tuple[float, str], ...] = ()  # names of values in its file
    axis: str = ""  # x or y, if its values are the coordinates of cells

    @classmethod
    def of_axis(cls, name: str, axis: str) -> "Layer":
        """Return a layer whose values are the coordinates of cells along an axis: x or y."""
        return cls(name, "", 0, "float64", trusted=True, axis=axis)

    @property
    def computed(self) -> bool:
        """Whether its values are computed from the grid, not read from a file."""
        return self.axis != ""

    @property
    def scaling(self) -> tuple[float, float]:
        """Scale and offset of stored numbers."""
        return self.scale, self.offset


@dataclass(frozen=True, kw_only=True)
class Stack(Grid):
    """Layers on one grid, without open files: it is cheap to copy, to pickle and to send to workers."""

    layers: tuple[Layer, ...]  # in the order of the last axis of a sample
    block: tuple[int, int]  # rows and columns of the largest block in the files; windows are aligned to it
    dtype: np.dtype  # float32 if it represents every stored type exactly, otherwise float64
    notices: tuple[str, ...] = ()
    reach: Window | None = None  # cells to read; no data outside
    warnings: tuple[str, ...] = ()
    untagged: tuple[Untagged, ...] = ()  # nodata codes that the examination of the layers detected

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers."""
        return tuple(layer.name for layer in self.layers)

    @property
    def paths(self) -> tuple[str, ...]:
        """Files (or subdatasets) of the layers."""
        return tuple(layer.path for layer in self.layers if not layer.computed)

    @property
    def is_plane(self) -> bool:
        """Whether its cells are in a plane: a window in plain coordinates, not on the Earth."""
        return self.crs is None and not self.paths

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the categorical layers."""
        return tuple(layer.name for layer in self.layers if layer.categorical)

    @property
    def files_state(self) -> list[list[Any]]:
        """State of the layers, to detect changes: names, sizes and times of files, and settings of their reading."""
        out = []
        for layer in self.layers:
            path, state = Path(layer.path), list[int]()
            if not is_remote(layer.path) and path.is_file():
                status = path.stat()
                state = [status.st_size, status.st_mtime_ns]
            out.append([layer.name, layer.path, layer.band, layer.resample, list(layer.nodata), *state])
        return out

    def with_place(self, names: Sequence[str] | None = None) -> "Stack":
        """Return the stack with the variables of place after its layers, or all in the order of `names`.

        They are computed for each window in double precision, and every cell has them.
        """
        refuse_place_names(self.names, "layer", "", row=True)
        by_name = {layer.name: layer for layer in self.layers}
        by_name |= {name: Layer.of_axis(name, axis) for name, axis in zip(PLACE, "xy")}
        order = tuple(by_name) if names is None else tuple(names)
        return replace(self, layers=tuple(by_name[name] for name in order), dtype=np.dtype(np.float64))

    def within(self, box: tuple[float, float, float, float] | None) -> "Stack":
        """Return the stack on the same grid with cells outside a box (left, bottom, right, top) not read and without
        data; unchanged without a box."""
        if box is None:
            return self
        t = self.transform
        cols = sorted((x - t.c) / t.a for x in (box[0], box[2]))
        rows = sorted((y - t.f) / t.e for y in (box[1], box[3]))
        # One more cell on each side, since cell centres are rounded.
        first = [max(0, math.floor(low) - 1) for low, _ in (rows, cols)]
        last = [min(size, math.ceil(high) + 1) for (_, high), size in zip((rows, cols), (self.height, self.width))]
        size = [max(0, end - start) for start, end in zip(first, last)]
        return replace(self, reach=Window(first[1], first[0], size[1], size[0]))

    @property
    def titles(self) -> dict[str, dict[float, str]]:
        """Names of the values of categorical layers in their files, by layer and value."""
        return {layer.name: dict(layer.classes) for layer in self.layers if layer.categorical and layer.classes}

    def reader(self) -> "StackReader":
        """Open the files; use it in a ``with`` statement, in one thread at a time."""
        return StackReader(self)

    def windows(self, rows: int | None = None, *, budget: int = WINDOW_BYTES) -> list[Window]:
        """Return windows that cover the raster from north to south, aligned to the blocks of the files.

        They are as wide as the raster, unless one row of blocks of all layers exceeds `budget` bytes: then each row of
        blocks is divided into several windows from west to east. With `rows`, they are always full strips of that
        height.
        """
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
        """Read windows ahead of the caller, in bounded memory and in order.

        Yield each window with its (V, h, w) array, NaN for nodata, or with the result of `compute`, which is called in
        the reading thread. Each thread has its own open files.
        """
        todo = self.windows() if windows is None else list(windows)
        threads = max(1, min(allowed_threads(threads), len(todo)))
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
            yield from zip(todo, opened.enter_context(closing(ahead(work, todo, threads))))

    def summary(self, *, threads: int = 2) -> Summary:
        """Return the range and the number of valid cells of every layer, from one pass over the files."""
        total = Summary.empty(len(self.layers))
        for _, part in self.scan(compute=lambda _, array: Summary.of(array, self.layers)[0], threads=threads):
            total = total + part
        return total

    def sample(self, rows: np.ndarray, cols: np.ndarray, *, threads: int = 2) -> np.ndarray:
        """Return the values at cells, as (N, V), NaN for nodata; only blocks with such cells are read."""
        lookup = CellLookup(self, rows, cols)
        for window, array in self.scan(self._windows_at(rows, cols), threads=threads):
            lookup.take(window, array)
        return lookup.values

    def _windows_at(self, rows: np.ndarray, cols: np.ndarray) -> list[Window]:
        """Return the windows needed to read cells: single blocks, or the complete raster if over half is needed."""
        width = min(self.block[1], self.width)
        fitting = WINDOW_BYTES // (width * len(self.layers) * self.dtype.itemsize)
        height = max(1, min(max(self.block[0], 64), fitting, self.height))
        tiles = self.tiles(height, width)
        across = -(-self.width // width)
        needed = np.unique(np.asarray(rows) // height * across + np.asarray(cols) // width)
        return self.windows() if 2 * needed.size > len(tiles) else [tiles[i] for i in needed]


class StackReader(ExitStack):
    """The open files of a stack, for one thread."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack
        self._data: list[Any] = [None] * len(stack.layers)
        try:
            for path in dict.fromkeys(stack.paths):
                self._open(path)
        except BaseException:
            self.close()
            raise

    def _open(self, path: str) -> None:
        """Open a file, or open it again, for all of its layers."""
        source = self._hold(open_raster(path))
        for k, layer in enumerate(self.stack.layers):
            if layer.path == path:
                self._data[k] = self._hold(self._warp(source, layer)) if layer.resample else source

    def _hold(self, data: Any) -> Any:
        """Close a file at the end. As a context manager it would belong to this thread, and another one may close
        it."""
        self.callback(data.close)
        return data

    def _warp(self, source: DatasetReader, layer: Layer) -> WarpedVRT:
        grid = self.stack
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        method = Resampling.nearest if layer.categorical else Resampling.bilinear
        missing = layer.nodata[0] if layer.nodata else (np.nan if layer.dtype.startswith("float") else None)
        values = {"src_nodata": missing, "nodata": np.nan, "dtype": grid.dtype.name}
        return WarpedVRT(source, src_crs=source.crs or grid.crs, resampling=method, **place, **values)

    def read(self, window: Window) -> np.ndarray:
        """Return a window of all layers as (V, h, w), NaN for nodata."""
        reach = self.stack.reach
        if reach is None:
            return self._values(window)
        array = np.full((len(self._data), int(window.height), int(window.width)), np.nan, dtype=self.stack.dtype)
        top, left = max(window.row_off, reach.row_off), max(window.col_off, reach.col_off)
        height = min(window.row_off + window.height, reach.row_off + reach.height) - top
        width = min(window.col_off + window.width, reach.col_off + reach.width) - left
        if height > 0 and width > 0:
            rows, cols = slice(top - window.row_off, None), slice(left - window.col_off, None)
            array[:, rows, cols][:, :height, :width] = self._values(Window(left, top, width, height))
        return array

    def _values(self, window: Window) -> np.ndarray:
        shape = (len(self._data), int(window.height), int(window.width))
        array = np.empty(shape, dtype=self.stack.dtype)
        for k, (layer, plane) in enumerate(zip(self.stack.layers, array)):
            if layer.computed:
                place_values(layer.axis, self.stack, window, plane)
                continue
            self._read(k, window, plane)
            for code in layer.nodata:
                plane[plane == code] = np.nan
            if layer.dtype.startswith("float"):
                plane[np.isinf(plane)] = np.nan
            if layer.scale != 1 or layer.offset != 0:
                plane *= layer.scale
                plane += layer.offset
        return array

    def _read(self, k: int, window: Window, out: np.ndarray) -> None:
        """Read a window of one layer; over a network, retry after a lost connection."""
        layer = self.stack.layers[k]
        rows = f"at rows {int(window.row_off)}-{int(window.row_off + window.height) - 1}"
        attempts = remote.Attempts(layer.path, f"read {rows}") if is_remote(layer.path) else None
        while True:
            try:
                self._data[k].read(layer.band, window=window, out=out)
                return
            except (RasterioError, OSError) as problem:
                if attempts is None:
                    raise LayerError(
                        f"layer '{Path(layer.path).name}' cannot be read {rows}: {reason_of(problem)}; the file is "
                        "damaged, download it again"
                    ) from problem
                attempts.failed(reason_of(problem))
            forget(layer.path)
            self._open(layer.path)
