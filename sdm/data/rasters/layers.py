"""Open layers: find their files, name them, and check that they share one grid."""

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from rasterio import DatasetReader
from rasterio.crs import CRS
from rasterio.env import set_gdal_config

from sdm.data.nodata import NodataCodes, NodataValues
from sdm.data.opening.rasters import open_raster
from sdm.data.place import has_place, refuse_place_names, without_place
from sdm.data.rasters.grid import ASSIGN_CRS, Grid
from sdm.data.rasters.names import counted, match_names, rename_layers
from sdm.data.rasters.netcdf import PLAIN, band_names
from sdm.data.rasters.stack import Layer, Stack
from sdm.data.variables import select_variables
from sdm.errors import (
    ConflictError,
    DataError,
    DuplicateNameError,
    GridError,
    LayerError,
    MissingFileError,
    UnknownVariableError,
    VariableError,
    name_list,
)
from sdm.storage.addresses import is_remote, part_place, place_name, place_stem

__all__ = ["Layer", "Stack", "open_stack"]

MOST_NAMES = 50  # of layers, in a notice
MOST_CELLS = 10**12  # of a grid; a file of a few bytes can declare any number
GDAL_CACHE_BYTES = 64 << 20  # GDAL's default is 5 % of the machine's memory
SUFFIXES = frozenset(
    {".tif", ".tiff", ".asc", ".vrt", ".nc", ".nc4", ".img", ".bil", ".bip", ".bsq", ".flt", ".grd", ".sdat"}
    | {".rst", ".map", ".ers", ".kea", ".jp2", ".grb", ".grb2", ".grib"}
)
DOUBTFUL = frozenset({".grd", ".map"})  # suffixes that other programs also use


@dataclass(frozen=True)
class _Band:
    """A band of a file that may become a layer: its grid, its block size, and its other names.

    They are the name by the file, if two files have the same variable, and the name in earlier versions.
    """

    layer: Layer
    grid: Grid
    block: tuple[int, int]
    by_file: str
    formerly: str

    def called(self, name: str) -> "_Band":
        """Return the band with another name."""
        return replace(self, layer=replace(self.layer, name=name))


def open_stack(
    layers: str | Path | Sequence[str | Path],
    *,
    categorical: Sequence[str] = (),
    nodata: NodataValues = None,
    align: str | Grid | None = None,
    names: Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    variables: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Stack:
    """Find the layers, check that they share one grid, and return them as a stack; no values are read.

    Parameters
    ----------
    layers
        A folder, a pattern such as ``climate/bio*.tif``, a file of one or more bands, or a list of these. A layer is
        named after its file, without suffix; in a file of several bands, after the band's description, otherwise
        ``file_1``, ``file_2``, ...; in NetCDF after the variable, with the month or date of each time step:
        ``tas_jan``, ``tas_2041-01``.
    categorical
        Names of categorical layers.
    nodata
        Stored nodata values, in addition to those in the files: a number for every layer, several of them, or
        ``"landcover=255"`` for one layer; with ``"none"``, only those in the files (`sdm.data.untagged`).
    align
        None: grids must match. ``"first"`` or the name of a layer: resample the others to its grid, bilinear, or
        nearest cell for categorical layers. A grid: resample layers on other grids to it.
    names
        Use only these layers, in this order; otherwise all, sorted by name. Other spellings of the names are accepted,
        and the layers get these names (see `sdm.data.rasters.names`). ``place_x`` and ``place_y`` are not in files:
        they are the coordinates of a cell (`sdm.data.place`).
    rename
        New names of layers by patterns of their names, such as ``{"wc2.1_10m_bio_{n}": "bio{n}"}``.
    variables, exclude
        Names or patterns of layers to use, in this order, and of layers to exclude (`sdm.data.variables`).
    """
    if "GDAL_CACHEMAX" not in os.environ:
        set_gdal_config("GDAL_CACHEMAX", GDAL_CACHE_BYTES)
    if names is not None and has_place(names):
        return _placed(layers, names, categorical=categorical, nodata=nodata, align=align, rename=rename)
    notices: list[str] = []
    codes = NodataCodes.read(nodata)
    bands = _find(layers, names, rename or {}, notices)
    every = [item.layer.name for item in bands]
    formerly = {item.layer.name: item.formerly for item in bands}
    class_names = sorted({categorical} if isinstance(categorical, str) else set(categorical))
    meant = match_names(class_names, every, formerly=formerly, noun="categorical layer", error=UnknownVariableError)
    classes = set(meant.matches.values())
    notices += meant.notices
    if variables or exclude:
        names = select_variables(sorted(every), variables, exclude, "layer")
        bands, classes = [item for item in bands if item.layer.name in names], classes & set(names)
    bands = _one_crs(bands, notices)
    available = [item.layer.name for item in bands]
    if isinstance(align, str) and align != "first":
        meant = match_names([align], available, formerly=formerly, noun="layer to align to", error=UnknownVariableError)
        align = meant.matches[align]
        notices += meant.notices
    # "first" is the first in the order of the user, before sorting.
    grid = align if isinstance(align, Grid) else _grid_of(bands, align)
    order = available if names is None else list(names)
    bands = sorted(bands, key=lambda item: order.index(item.layer.name) if names else item.layer.name)
    chosen = _one_grid(bands, grid, align, classes, notices)
    chosen = [replace(reduce(_with_nodata, codes.of(a.name), a), trusted=codes.trusts(a.name)) for a in chosen]
    for scale, offset in dict.fromkeys((layer.scale, layer.offset) for layer in chosen):
        if (scale, offset) != (1, 0):
            scaled = [layer.name for layer in chosen if (layer.scale, layer.offset) == (scale, offset)]
            rule = f"value = stored value × {scale:g} + {offset:g}, from the files"
            notices.append(f"{counted(len(scaled), 'layer')} scaled: {rule}: {name_list(scaled, MOST_NAMES)}")
    if classes:
        notices.append(f"categorical layers: {name_list(sorted(classes), MOST_NAMES)} ({len(classes)})")
    blocks = [(64, grid.width) if layer.resample else item.block for layer, item in zip(chosen, bands)]
    return Stack(
        width=grid.width,
        height=grid.height,
        transform=grid.transform,
        crs=grid.crs,
        layers=tuple(chosen),
        block=(min(grid.height, max(b[0] for b in blocks)), min(grid.width, max(b[1] for b in blocks))),
        # float32 represents integers of up to 16 bits exactly; numpy's promotion follows this rule.
        dtype=np.result_type(np.float32, *(layer.dtype for layer in chosen)),
        notices=tuple(notices),
    )


def _placed(layers: str | Path | Sequence[str | Path], names: Sequence[str], **options: Any) -> Stack:
    """Return a stack with variables of place among the names."""
    if not (others := without_place(names)):
        raise VariableError("there are spatial variables only: add layers of the environment")
    return open_stack(layers, names=others, **options).with_place(names)


def _grid_of(bands: Sequence[_Band], align: str | None) -> Grid:
    return next(item.grid for item in bands if align in (None, "first", item.layer.name))


def _find(
    layers: str | Path | Sequence[str | Path],
    names: Sequence[str] | None,
    rules: Mapping[str, str],
    notices: list[str],
) -> list[_Band]:
    """Return the bands of all files of the user, only `names` if set, in the user's order."""
    bands: list[_Band] = []
    failed: list[DataError] = []
    for path, sure in _files([layers] if isinstance(layers, str | Path) else layers):
        try:
            bands += _bands(path, notices)
        except DataError as problem:
            if sure:
                failed.append(problem)
            else:
                notices.append(f"file '{place_name(path)}' was dropped: GDAL does not read it as a raster")
    if failed and names is None:
        raise failed[0]
    bands = _renamed(_with_distinct_names(bands, notices), rules, notices)
    refuse_place_names([item.layer.name for item in bands], "layer", "")
    if names is not None and bands:
        bands = _named(bands, names, failed, notices)
    taken: dict[str, str] = {}
    for item in bands:
        if item.layer.name in taken:
            where = f"'{taken[item.layer.name]}' and '{item.layer.path}'"
            raise DuplicateNameError(f"two layers have the name '{item.layer.name}', in {where}: rename one")
        taken[item.layer.name] = item.layer.path
    if not bands:
        raise (
            failed[0]
            if failed
            else MissingFileError(
                f"no raster layer found in '{layers}': expected files such as .tif, .asc, .vrt or .nc"
            )
        )
    return bands


def _with_distinct_names(bands: list[_Band], notices: list[str]) -> list[_Band]:
    """Name layers after their files if several files have a variable of the same name."""
    files: dict[str, set[str]] = {}
    for item in bands:
        files.setdefault(item.layer.name, set()).add(item.layer.path)
    shared = {item.layer.path for item in bands if len(files[item.layer.name]) > 1 and item.by_file != item.layer.name}
    if not shared:
        return bands
    out = [item.called(item.by_file) if item.layer.path in shared else item for item in bands]
    new = [item.layer.name for item in out if item.layer.path in shared]
    notices.append(
        f"{len(shared):,} files have a variable of the same name: {counted(len(new), 'layer')} named after the files: "
        f"{', '.join(new)}"
    )
    return out


def _renamed(bands: list[_Band], rules: Mapping[str, str], notices: list[str]) -> list[_Band]:
    """Rename layers by the rules of the user."""
    if not rules:
        return bands
    new, notes = rename_layers([item.layer.name for item in bands], rules)
    notices += notes
    return [item.called(name) for item, name in zip(bands, new)]


def _named(bands: list[_Band], names: Sequence[str], failed: Sequence[DataError], notices: list[str]) -> list[_Band]:
    """Return the bands with these names, in any spelling, renamed to them."""
    formerly = {item.layer.name: item.formerly for item in bands}
    try:
        meant = match_names(names, [item.layer.name for item in bands], formerly=formerly)
    except DataError as problem:
        # A damaged file does not matter if other files contain all required layers.
        raise failed[0] if failed else problem from None
    notices += meant.notices
    new_names = {layer: name for name, layer in meant.matches.items()}
    return [item.called(new_names[item.layer.name]) for item in bands if item.layer.name in new_names]


def _files(places: Sequence[str | Path]) -> Iterator[tuple[str, bool]]:
    """Yield the files, and whether each is certainly intended as a raster."""
    for place in places:
        path, text = Path(place), str(place)
        if not is_remote(text) and path.is_dir():
            for file in sorted(path.iterdir()):
                if file.suffix.lower() in SUFFIXES and file.is_file():
                    yield str(file), file.suffix.lower() not in DOUBTFUL
        elif "://" in text or path.exists() or text.startswith("/vsi") or text.count(":") > 1:
            yield text, True
        elif any(c in text for c in "*?["):
            matches = sorted(glob.glob(text, recursive=True))
            if not matches:
                raise MissingFileError(f"no file matches '{text}': check the pattern")
            rasters = [match for match in matches if Path(match).suffix.lower() in SUFFIXES]
            yield from ((match, True) for match in rasters or matches)  # without auxiliary files
        else:
            raise MissingFileError(f"'{text}' does not exist: expected a folder, a pattern or a raster file")


def _bands(path: str, notices: list[str], variable: str | None = None) -> list[_Band]:
    """Return the bands of a file, or of the variables in it."""
    with open_raster(path) as data:
        if data.count == 0 and data.subdatasets:
            parts = [(sub, sub.rsplit(":", 1)[-1].strip('/"')) for sub in data.subdatasets]
            fields = [(sub, name) for sub, name in parts if not name.endswith(("_bnds", "_bounds"))]
            if data.driver == "netCDF" and is_remote(path):  # rasterio omits the quotes that addresses need
                fields = [(part_place(path, name), name) for _, name in fields]
            return [band for sub, name in fields for band in _bands(sub, notices, name)]
        t = data.transform
        if not (t.a and t.e and np.isfinite([*t[:6], t.a * data.width, t.e * data.height]).all()):
            raise LayerError(f"layer '{place_name(path)}' has cells of {t.a:g} by {t.e:g}: expected a size above zero")
        if data.width * data.height > MOST_CELLS:
            raise LayerError(
                f"layer '{place_name(path)}' has {data.width:,} × {data.height:,} cells: expected at most "
                f"{MOST_CELLS:,}, which cover the Earth at 30 m; cut it to the study area first"
            )
        if data.transform.b or data.transform.d:
            raise LayerError(f"layer '{place_name(path)}' has a rotated grid: make it north-up with gdalwarp first")
        grid = Grid(width=data.width, height=data.height, transform=data.transform, crs=data.crs)
        bands = []
        for band, (name, by_file, formerly) in zip(data.indexes, _names(data, path, variable, notices)):
            dtype, code = data.dtypes[band - 1], data.nodatavals[band - 1]
            if dtype.startswith("complex"):
                raise LayerError(f"layer '{name}' has complex numbers: expected one real number per cell")
            layer = Layer(name, path, band, dtype, scale=data.scales[band - 1], offset=data.offsets[band - 1])
            layer = layer if code is None else _with_nodata(layer, code)
            bands.append(_Band(layer, grid, data.block_shapes[band - 1], by_file, formerly))
        return bands


def _names(data: DatasetReader, path: str, variable: str | None, notices: list[str]) -> list[tuple[str, str, str]]:
    """Return the names of the bands of an open file or variable: the preferred, the one by file, the former one."""
    stem = variable or place_stem(path)
    old = [stem if data.count == 1 else text or f"{stem}_{k}" for k, text in enumerate(data.descriptions, start=1)]
    if data.driver != "netCDF":
        return [(name, name, name) for name in old]
    tags = [data.tags(band) for band in data.indexes]
    field = variable or tags[0].get("NETCDF_VARNAME", stem)
    field = stem if PLAIN.fullmatch(field) and variable is None else field
    names, note = band_names(field, tags, data.tags())
    if note:
        notices.append(f"variable '{field}' has {note}: {counted(len(names), 'layer')} named {names[0]} to {names[-1]}")
    return list(zip(names, band_names(stem, tags, data.tags())[0], old))


def _with_nodata(layer: Layer, code: float) -> Layer:
    """Add a nodata code to a layer, converted to its stored type."""
    if layer.dtype == "float32" and np.isfinite(code):
        limit = float(np.finfo(np.float32).max)
        code = float(np.float32(np.clip(code, -limit, limit)))
    if np.isnan(code) or code in layer.nodata:
        return layer
    if layer.resample and layer.nodata and not layer.categorical:
        raise ConflictError(
            f"layer '{layer.name}' cannot be resampled with two nodata values ({layer.nodata[0]:g} in the file, "
            f"{code:g} from --nodata): remove --nodata or --align"
        )
    return replace(layer, nodata=(*layer.nodata, float(code)))


def _one_crs(bands: list[_Band], notices: list[str]) -> list[_Band]:
    """Assign the CRS of other layers to layers without one, or WGS 84 if all coordinates look like degrees."""
    bare = [item for item in bands if item.grid.crs is None]
    if not bare:
        return bands
    crs = next((item.grid.crs for item in bands if item.grid.crs is not None), None)
    source = "the system of the other layers"
    if crs is None and all(item.grid.looks_geographic for item in bare):
        crs, source = CRS.from_epsg(4326), "WGS 84, because their coordinates look like degrees"
    names = name_list((item.layer.name for item in bare), MOST_NAMES)
    notices.append(
        f"{counted(len(bare), 'layer')} without coordinate reference system ({names}): assumed to be in {source}"
        if crs
        else f"no layer has a coordinate reference system ({len(bare)}: {names}): points must be in the coordinates of "
        "the layers"
    )
    return [replace(item, grid=replace(item.grid, crs=item.grid.crs or crs)) for item in bands]


def _one_grid(
    bands: list[_Band], grid: Grid, align: str | Grid | None, classes: set[str], notices: list[str]
) -> list[Layer]:
    """Check every layer against the grid of the stack; mark the ones to resample if `align` allows it."""
    chosen, near, other = [], [], list[str]()
    for item in bands:
        name, difference = item.layer.name, item.grid.difference(grid)
        if difference and (align is None or grid.crs is None):
            other.append(f"'{name}' {difference}")
        elif difference:
            how = "nearest cell" if name in classes else "bilinear"
            notices.append(f"1 layer, '{name}' {difference}: resampled ({how})")
        elif item.grid.transform != grid.transform:
            near.append(name)
        chosen.append(replace(item.layer, categorical=name in classes, resample=bool(difference)))
    if other:
        todo = "use --align first to resample" if grid.crs else ASSIGN_CRS
        more = f"; and {counted(len(other) - 3, 'layer')} more" if len(other) > 3 else ""
        raise GridError(f"layer {'; layer '.join(other[:3])}{more}: {todo}")
    if near:
        beginning = f"{counted(len(near), 'grid')} that differ by less than 1e-6 of a cell are treated as one"
        notices.append(f"{beginning}: {name_list(near, MOST_NAMES)}")
    return chosen
