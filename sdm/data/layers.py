"""Raster layers on one grid: found, checked, and read window by window in bounded memory."""

import difflib
import glob
import itertools
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import rasterio
from rasterio.crs import CRS
from rasterio.enums import Resampling
from rasterio.env import set_gdal_config
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from sdm.data.area import EDGE_RULE, EDGE_SNAP, Grid
from sdm.data.table import CellLookup, Summary, all_valid
from sdm.errors import DataError, OptionError

__all__ = ["EDGE_RULE", "EDGE_SNAP", "Layer", "Stack", "StackReader", "open_stack"]

WINDOW_BYTES = 32 << 20  # all layers of one window; a scan holds about four windows
GDAL_CACHE_MB = 32  # GDAL's own default is 5 % of the machine's memory
SUFFIXES = frozenset(
    {".tif", ".tiff", ".asc", ".vrt", ".nc", ".nc4", ".img", ".bil", ".bip", ".bsq", ".flt", ".grd", ".sdat"}
    | {".rst", ".map", ".ers", ".kea", ".jp2", ".grb", ".grb2", ".grib"}
)
DOUBTFUL = frozenset({".grd", ".map"})  # suffixes that other programs use as well
_OPENING = threading.Lock()  # Python's warning filters are shared by all threads


@dataclass(frozen=True)
class Layer:
    """One band of one file, and how to read it.

    Parameters
    ----------
    name
        The variable.
    path, band
        What GDAL opens (a file or a subdataset), and the number of the band in it, from 1.
    dtype, nodata
        Type of the stored values, and those of them that mean "no data", beside NaN.
    scale, offset
        ``value = stored * scale + offset``, from the file.
    categorical, resample
        Whether values are classes, and whether it is resampled to the grid of the stack on reading.
    """

    name: str
    path: str
    band: int
    dtype: str
    nodata: tuple[float, ...] = ()
    scale: float = 1.0
    offset: float = 0.0
    categorical: bool = False
    resample: bool = False


@dataclass(frozen=True, kw_only=True)
class Stack(Grid):
    """Layers on one grid. It holds no open file: it is cheap to copy, to pickle and to send to workers.

    Parameters
    ----------
    layers
        In the order of the last axis of a sample.
    block
        Rows and columns of the largest block in the files; windows are aligned to it.
    dtype
        Of what is read: float32 where it holds every stored type exactly, else float64.
    notices
        What the user should be told.
    """

    layers: tuple[Layer, ...]
    block: tuple[int, int]
    dtype: np.dtype
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
        """Return windows that cover the raster from north to south, aligned to the blocks of the files.

        They are as wide as the raster, unless one row of blocks of all layers is more than `budget` bytes:
        then each row of blocks is cut into several windows from west to east. With `rows` they are always
        full strips of that height.
        """
        if rows is not None:
            return self.tiles(rows, self.width)
        return self.tiles(*self.tile_size(self.block, budget // (len(self.layers) * self.dtype.itemsize)))

    def scan(
        self,
        windows: Iterable[Window] | None = None,
        *,
        each: Callable[[Window, np.ndarray], Any] | None = None,
        threads: int = 2,
    ) -> Iterator[tuple[Window, Any]]:
        """Read window after window, ahead of the caller, in bounded memory and always in the same order.

        Parameters
        ----------
        windows
            ``Stack.windows()`` unless given.
        each
            Called in the reading thread with the window and its (V, h, w) array; what it returns is yielded
            in place of the array.
        threads
            Number of threads, each with its own open files.

        Yields
        ------
        tuple
            The window, and its (V, h, w) array with NaN for nodata, or what `each` made of it.
        """
        todo = self.windows() if windows is None else list(windows)
        threads = max(1, min(threads, len(todo)))
        idle: SimpleQueue[StackReader] = SimpleQueue()

        def work(window: Window) -> Any:
            reader = idle.get()
            try:
                array = reader.read(window)
            finally:
                idle.put(reader)
            return array if each is None else each(window, array)

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
        for _, part in self.scan(each=lambda _, array: Summary.of(array)[0], threads=threads):
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


class StackReader:
    """The open files of a stack. Not to be shared by threads."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._opened = ExitStack()
        self._data: list[Any] = []
        files: dict[str, Any] = {}
        try:
            for layer in stack.layers:
                if layer.path not in files:
                    files[layer.path] = self._opened.enter_context(_open(layer.path))
                source = files[layer.path]
                self._data.append(self._opened.enter_context(self._warp(source, layer)) if layer.resample else source)
        except BaseException:
            self.close()
            raise

    def _warp(self, source: Any, layer: Layer) -> WarpedVRT:
        grid = self.stack
        return WarpedVRT(
            source,
            src_crs=source.crs or grid.crs,
            crs=grid.crs,
            transform=grid.transform,
            width=grid.width,
            height=grid.height,
            resampling=Resampling.nearest if layer.categorical else Resampling.bilinear,
            src_nodata=layer.nodata[0] if layer.nodata else (np.nan if layer.dtype.startswith("float") else None),
            nodata=np.nan,
            dtype=grid.dtype.name,
        )

    def __enter__(self) -> "StackReader":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def read(self, window: Window) -> np.ndarray:
        """Return a window of all layers as (V, h, w), NaN where a layer has no data.

        Raises
        ------
        DataError
            If a file is damaged; the message names it.
        """
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

    def valid(self, window: Window) -> np.ndarray:
        """Return which cells of a window have data in all layers, as (h, w) booleans."""
        return all_valid(self.read(window))


@dataclass(frozen=True)
class _Found:
    """A band of a file that may become a layer: its own grid and the size of its blocks."""

    layer: Layer
    grid: Grid
    block: tuple[int, int]


def open_stack(
    layers: str | Path | Sequence[str | Path],
    *,
    categorical: Sequence[str] = (),
    nodata: float | None = None,
    align: str | None = None,
    names: Sequence[str] | None = None,
) -> Stack:
    """Find the layers, check that they share one grid, and return them as a stack; no values are read yet.

    Parameters
    ----------
    layers
        A folder, a pattern such as ``climate/bio*.tif``, a file of one or more bands, or a list of these.
        A layer is called after its file, without suffix; in a file of several bands, after the band's
        description, else ``file_1``, ``file_2``, ...; in NetCDF of several variables, after the variable.
    categorical
        Names of layers whose values are classes.
    nodata
        A stored value that means "no data" in every layer, beside what the files say.
    align
        None: grids must match. ``"first"`` or the name of a layer: resample the others to its grid,
        bilinear, or nearest cell for categorical layers.
    names
        Use these layers only, in this order; else all, sorted by name.

    Raises
    ------
    DataError
        If files are missing or damaged, names occur twice, or grids differ.
    OptionError
        If `categorical`, `align` or `nodata` make no sense.
    """
    if "GDAL_CACHEMAX" not in os.environ:
        set_gdal_config("GDAL_CACHEMAX", GDAL_CACHE_MB)
    notices: list[str] = []
    found = _one_crs(_find(layers, names, notices), notices)
    known = [item.layer.name for item in found]
    classes = {categorical} if isinstance(categorical, str) else set(categorical)
    for name in sorted(classes):
        _check_name(name, known, "categorical layer")
    if align not in (None, "first"):
        _check_name(str(align), known, "layer to align to")
    # "first" is the first that the user named, before sorting.
    grid = next(item.grid for item in found if align in (None, "first", item.layer.name))
    order = known if names is None else list(names)
    found = sorted(found, key=lambda item: order.index(item.layer.name) if names else item.layer.name)
    chosen = _one_grid(found, grid, align, classes, notices)
    if nodata is not None:
        chosen = [_with_nodata(layer, nodata) for layer in chosen]
    notices += [
        f"layer '{layer.name}': value = stored value × {layer.scale:g} + {layer.offset:g}, as its file says"
        for layer in chosen
        if (layer.scale, layer.offset) != (1, 0)
    ]
    if classes:
        notices.append(f"categorical layers: {', '.join(sorted(classes))}")
    blocks = [(64, grid.width) if layer.resample else item.block for layer, item in zip(chosen, found)]
    return Stack(
        **vars(grid),
        layers=tuple(chosen),
        block=(min(grid.height, max(b[0] for b in blocks)), min(grid.width, max(b[1] for b in blocks))),
        # float32 holds integers of up to 16 bits exactly; the rule of numpy is the one we want.
        dtype=np.result_type(np.float32, *(layer.dtype for layer in chosen)),
        notices=tuple(notices),
    )


def _find(layers: str | Path | Sequence[str | Path], names: Sequence[str] | None, notices: list[str]) -> list[_Found]:
    """Return the bands of all files that the user means, those called `names` if given, in the user's order."""
    found: list[_Found] = []
    failed: list[DataError] = []
    for path, sure in _files([layers] if isinstance(layers, str | Path) else layers):
        try:
            found += _bands(path)
        except DataError as problem:
            if sure:
                failed.append(problem)
            else:
                notices.append(f"file '{Path(path).name}' is not a raster that GDAL reads: left out")
    known = [item.layer.name for item in found]
    if names is not None:
        found = [item for item in found if item.layer.name in names]
        missing = [name for name in names if name not in known]
    # A damaged file does not matter if all layers that were asked for are elsewhere.
    if failed and (names is None or missing):
        raise failed[0]
    if names is not None and missing:
        _check_name(missing[0], known, "layer", DataError)
    taken: dict[str, str] = {}
    for item in found:
        if item.layer.name in taken:
            where = f"'{taken[item.layer.name]}' and '{item.layer.path}'"
            raise DataError(f"two layers are called '{item.layer.name}', in {where}: rename or leave out one of them")
        taken[item.layer.name] = item.layer.path
    if not found:
        raise DataError(f"no raster layer found in '{layers}': expected files such as .tif, .asc, .vrt or .nc")
    return found


def _files(places: Sequence[str | Path]) -> Iterator[tuple[str, bool]]:
    """Yield the files that are meant, and whether each is surely meant to be a raster."""
    for place in places:
        path, text = Path(place), str(place)
        if path.is_dir():
            for file in sorted(path.iterdir()):
                if file.suffix.lower() in SUFFIXES and file.is_file():
                    yield str(file), file.suffix.lower() not in DOUBTFUL
        elif path.exists() or "://" in text or text.startswith("/vsi") or text.count(":") > 1:
            yield text, True
        elif any(c in text for c in "*?["):
            matches = sorted(glob.glob(text, recursive=True))
            if not matches:
                raise DataError(f"no file matches '{text}': check the pattern")
            rasters = [match for match in matches if Path(match).suffix.lower() in SUFFIXES]
            yield from ((match, True) for match in rasters or matches)  # without the files that go with rasters
        else:
            raise DataError(f"'{text}' does not exist: expected a folder, a pattern or a raster file")


def _open(path: str) -> Any:
    """Open a raster, without warnings."""
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


def _bands(path: str, variable: str | None = None) -> list[_Found]:
    """Return the bands of a file, or of the variables in it."""
    with _open(path) as data:
        if data.count == 0 and data.subdatasets:
            parts = [(sub, sub.rsplit(":", 1)[-1].strip('/"')) for sub in data.subdatasets]
            return [
                band for sub, name in parts if not name.endswith(("_bnds", "_bounds")) for band in _bands(sub, name)
            ]
        if data.transform.b or data.transform.d:
            raise DataError(f"layer '{Path(path).name}' has a rotated grid: make it north-up with gdalwarp first")
        stem = variable or Path(path).stem
        grid = Grid(width=data.width, height=data.height, transform=data.transform, crs=data.crs)
        found = []
        for band in data.indexes:
            name = stem if data.count == 1 else data.descriptions[band - 1] or f"{stem}_{band}"
            dtype, code = data.dtypes[band - 1], data.nodatavals[band - 1]
            layer = Layer(name, path, band, dtype, scale=data.scales[band - 1], offset=data.offsets[band - 1])
            layer = layer if code is None else _with_nodata(layer, code)
            found.append(_Found(layer, grid, data.block_shapes[band - 1]))
        return found


def _with_nodata(layer: Layer, code: float) -> Layer:
    """Add a nodata code to a layer, as its stored type would hold it."""
    if layer.dtype == "float32" and np.isfinite(code):
        limit = float(np.finfo(np.float32).max)
        code = float(np.float32(np.clip(code, -limit, limit)))
    if np.isnan(code) or code in layer.nodata:
        return layer
    if layer.resample and layer.nodata and not layer.categorical:
        raise OptionError(
            f"layer '{layer.name}' cannot be resampled with two nodata codes ({layer.nodata[0]:g} in the file, "
            f"{code:g} as option): leave out --nodata or --align"
        )
    return replace(layer, nodata=(*layer.nodata, float(code)))


def _check_name(name: str, known: list[str], what: str, error: type[Exception] = OptionError) -> None:
    """Raise an error with the nearest name if there is no such layer."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise error(f"{what} '{name}' does not exist: {hint}The layers are {', '.join(sorted(known))}")


def _one_crs(found: list[_Found], notices: list[str]) -> list[_Found]:
    """Give layers without CRS that of the others, or WGS 84 if all coordinates look like degrees."""
    bare = [item for item in found if item.grid.crs is None]
    if not bare:
        return found
    crs = next((item.grid.crs for item in found if item.grid.crs is not None), None)
    whose = "that of the other layers"
    if crs is None and all(item.grid.looks_geographic for item in bare):
        crs, whose = CRS.from_epsg(4326), "WGS 84, for their coordinates look like degrees"
    names = ", ".join(item.layer.name for item in bare)
    notices.append(
        f"layers without coordinate reference system ({names}): taken to be in {whose}"
        if crs
        else f"no layer has a coordinate reference system ({names}): points must be in the coordinates of the layers"
    )
    return [replace(item, grid=replace(item.grid, crs=item.grid.crs or crs)) for item in found]


def _one_grid(found: list[_Found], grid: Grid, align: str | None, classes: set[str], notices: list[str]) -> list[Layer]:
    """Check every layer against the grid of the stack; mark those to resample if `align` allows it."""
    chosen, near = [], []
    for item in found:
        name, difference = item.layer.name, item.grid.difference(grid)
        if difference and (align is None or grid.crs is None):
            todo = "use --align to resample" if grid.crs else "give the layers a coordinate reference system first"
            raise DataError(f"layer '{name}' {difference}: {todo}")
        if difference:
            notices.append(
                f"layer '{name}' {difference}: resampled ({'nearest cell' if name in classes else 'bilinear'})"
            )
        elif item.grid.transform != grid.transform:
            near.append(name)
        chosen.append(replace(item.layer, categorical=name in classes, resample=bool(difference)))
    if near:
        notices.append(f"grids that differ by less than 1e-6 of a cell are taken as one: {', '.join(near)}")
    return chosen
