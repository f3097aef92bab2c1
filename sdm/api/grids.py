"""Write rasters in memory: variables of xarray and open rasterio datasets become GeoTIFFs, one per variable."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.crs import CRS
from rasterio.errors import CRSError
from rasterio.io import DatasetReader
from rasterio.transform import Affine

from sdm.api.saving import CellAxes
from sdm.errors import DuplicateNameError, LayerError, UnknownCrsError, name_list
from sdm.storage.files import safe_names
from sdm.types import Numbers

ROWS = 256  # read at a time: arrays may be larger than memory
ACROSS = ("x", "lon", "longitude", "easting")
DOWN = ("y", "lat", "latitude", "northing")
_UNEVEN = 1e-3  # of a cell: tolerance of coordinates on a regular grid


def is_xarray(value: object) -> bool:
    """Whether a value is a Dataset or a DataArray of xarray, which need not be installed."""
    return type(value).__module__.partition(".")[0] == "xarray" and hasattr(value, "dims")


def is_dataset(value: object) -> bool:
    """Whether a value is an open dataset of rasterio."""
    return isinstance(value, rasterio.io.DatasetReaderBase)


def dataset_place(source: DatasetReader) -> str | None:
    """Return the unmodified file of an open dataset; None if it is in memory or warped."""
    if source.closed:
        raise LayerError(f"dataset {source.name} is closed: open it again")
    if isinstance(source, rasterio.vrt.WarpedVRT) or source.mode != "r" or source.name.startswith("/vsimem"):
        return None
    return str(source.name)


def write_dataset(source: DatasetReader, folder: Path, number: int) -> list[str]:
    """Write the bands of an open dataset as GeoTIFFs; return the names of the variables."""
    stem = Path(source.name).stem if not source.name.startswith("/vsimem") else f"layer_{number}"
    names = [
        text or (stem if source.count == 1 else f"{stem}_{k}") for k, text in enumerate(source.descriptions, start=1)
    ]
    for k, name in enumerate(_free_names(names, folder), start=1):
        profile = _profile(source.width, source.height, source.dtypes[k - 1], source.crs, source.transform)
        with rasterio.open(folder / f"{name}.tif", "w", **profile, nodata=source.nodatavals[k - 1]) as out:
            out.scales, out.offsets = (source.scales[k - 1],), (source.offsets[k - 1],)
            for _, window in out.block_windows(1):
                out.write(source.read(k, window=window), 1, window=window)
    return names


def write_xarray(data: Any, folder: Path, crs: object = None, axes: list[CellAxes] | None = None) -> list[str]:
    """Write the variables of a Dataset or a DataArray as GeoTIFFs, and return their names.

    The coordinates of their cells are added to `axes`.

    A variable has the dimensions y and x (or latitude and longitude, northing and easting). One more dimension, such as
    the band or the month, becomes one layer per step, with its label as name if that is text, or `<variable>_<label>`.
    """
    names = []
    for name, part in _layers(data):
        down, across = _sides(part, name)
        grid = _transform(part, across, down, name)
        crs_of_part = _crs(part, data, crs, name)
        if axes is not None and down in part.coords and across in part.coords:
            y, x = (np.asarray(part[dim].values, dtype=np.float64) for dim in (down, across))
            axes.append(CellAxes((str(down), str(across)), y, x))
        part = part.transpose(down, across)
        if grid.e > 0:  # rows from south to north
            part = part.isel({down: slice(None, None, -1)})
            grid = grid @ Affine.translation(0, part.sizes[down]) @ Affine.scale(1, -1)
        dtype = np.dtype({"bool": "uint8", "float16": "float32"}.get(part.dtype.name, part.dtype))
        if dtype.kind not in "iuf":
            raise LayerError(f"variable '{name}' contains values of type {dtype}: expected numbers")
        dtype = np.dtype("float64") if dtype.itemsize > 8 else dtype
        height, width = part.shape
        profile = _profile(width, height, str(dtype), crs_of_part, grid)
        (place,) = _free_names([name], folder)
        with rasterio.open(folder / f"{place}.tif", "w", **profile, nodata=_nodata(part, dtype)) as out:
            scale, offset = part.attrs.get("scale_factor", 1.0), part.attrs.get("add_offset", 0.0)
            out.scales, out.offsets = (float(scale),), (float(offset),)
            for _, window in out.block_windows(1):
                rows = slice(window.row_off, window.row_off + window.height)
                out.write(np.asarray(part.isel({down: rows}).values, dtype=dtype), 1, window=window)
        names.append(name)
    if not names:
        raise LayerError("the xarray Dataset has no variable with dimensions y and x: expected one per layer")
    return names


def _free_names(names: list[str], folder: Path) -> list[str]:
    """Return names of files; raise if a layer of that name exists."""
    places = safe_names(names)
    for name in names:
        if names.count(name) > 1 or (folder / f"{places[name]}.tif").exists():
            raise DuplicateNameError(f"two layers have the name '{name}': remove or rename one of them")
    return [places[name] for name in names]


def _profile(width: int, height: int, dtype: str, crs: object, transform: Affine) -> Numbers:
    common = {"driver": "GTiff", "count": 1, "compress": "deflate", "bigtiff": "if_safer", "blockysize": ROWS}
    return {**common, "width": width, "height": height, "dtype": dtype, "crs": crs, "transform": transform}


def _layers(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a Dataset or DataArray by name, each with two dimensions."""
    arrays: Mapping[Any, Any] = data.data_vars if hasattr(data, "data_vars") else {data.name: data}
    for key, array in arrays.items():
        name = "" if key is None else str(key)
        sides = [_side(array.dims, words) for words in (DOWN, ACROSS)]
        more = [dim for dim in array.dims if dim not in sides]
        if None in sides and hasattr(data, "data_vars"):
            continue  # such as the coordinate system of rioxarray
        if len(more) > 1 or None in sides:
            raise LayerError(
                f"variable '{name}' has the dimensions {name_list(array.dims)}: expected y, x and at most one more"
            )
        if not more:
            if not name:
                raise LayerError("the DataArray has no name: name it, as in array.rename('bio1')")
            yield name, array
            continue
        labels = array[more[0]].values if more[0] in array.coords else np.arange(1, array.sizes[more[0]] + 1)
        titles = array.attrs.get("long_name")
        if isinstance(titles, tuple | list) and len(titles) == len(labels):  # names of bands, as read by rioxarray
            labels = np.array(titles, dtype=object)
        for k, label in enumerate(labels):
            text = str(label) if isinstance(label, str) or not name else f"{name}_{_label_text(label)}"
            alone = len(labels) == 1 and bool(name) and not isinstance(label, str)
            yield (name if alone else text), array.isel({more[0]: k})


def _label_text(label: object) -> str:
    """Return the label of a step as part of a name: a date without its time."""
    return str(label)[:10] if np.asarray(label).dtype.kind == "M" else str(label)


def _side(dims: Any, words: tuple[str, ...]) -> Any:
    return next((dim for dim in dims if str(dim).lower() in words), None)


def _sides(array: Any, name: str) -> tuple[Any, Any]:
    down, across = _side(array.dims, DOWN), _side(array.dims, ACROSS)
    for dim in (down, across):
        if array.sizes[dim] < 2:
            raise LayerError(f"variable '{name}' has {array.sizes[dim]} cell along '{dim}': expected two or more")
    return down, across


def _transform(array: Any, across: Any, down: Any, name: str) -> Affine:
    """Return the grid of a variable: from its coordinates, or the stored grid if it is equal, which has all digits."""
    stored = _stored_transform(array)
    if across not in array.coords or down not in array.coords:
        if stored is None:
            raise LayerError(f"variable '{name}' has no coordinates along '{down}' and '{across}': add them")
        return stored
    steps, starts = [], []
    for dim in (across, down):
        centres = np.asarray(array[dim].values, dtype=np.float64)
        step = float(centres[-1] - centres[0]) / (centres.size - 1)
        if step == 0 or not np.allclose(np.diff(centres), step, rtol=0, atol=_UNEVEN * abs(step)):
            raise LayerError(f"variable '{name}' has uneven steps along '{dim}': resample it to cells of one size")
        steps.append(step)
        starts.append(float(centres[0]) - step / 2)
    grid = Affine(steps[0], 0.0, starts[0], 0.0, steps[1], starts[1])
    if stored is not None:  # for a subset, it may be the transform of the complete raster
        differ = np.abs(np.subtract(stored[:6], grid[:6])) / np.array([abs(steps[0])] * 3 + [abs(steps[1])] * 3)
        if differ.max() < 1e-6:
            return stored
    return grid


def _grid_mapping(array: Any) -> Any:
    """Return the coordinate with the coordinate system, by the conventions of CF and rioxarray; None without one."""
    named = array.encoding.get("grid_mapping") or array.attrs.get("grid_mapping") or "spatial_ref"
    return array.coords.get(named)


def _stored_transform(array: Any) -> Affine | None:
    mapping = _grid_mapping(array)
    text = None if mapping is None else mapping.attrs.get("GeoTransform")
    return None if text is None else Affine.from_gdal(*map(float, str(text).split()))


def _crs(array: Any, data: Any, crs: object, name: str) -> CRS | None:
    """Return the coordinate system of a variable: `crs` of the user, or the stored one of CF and rioxarray."""
    mapping = _grid_mapping(array)
    if mapping is None and hasattr(data, "data_vars"):
        named = array.attrs.get("grid_mapping") or "spatial_ref"
        mapping = data.get(named)
    stored = {} if mapping is None else mapping.attrs
    text = crs or stored.get("crs_wkt") or stored.get("spatial_ref") or array.attrs.get("crs")
    if text is None:
        return None
    try:
        return CRS.from_user_input(text)
    except (CRSError, ValueError, TypeError) as problem:
        raise UnknownCrsError(f"unknown coordinate system of '{name}' ({str(text)[:60]}): add layers_crs") from problem


def _nodata(array: Any, dtype: np.dtype[Any]) -> float | None:
    """Return the nodata value of a variable: the declared one, or NaN."""
    for attributes in (array.attrs, {} if dtype.kind == "f" else array.encoding):
        for key in ("_FillValue", "missing_value", "nodata"):
            if attributes.get(key) is not None:
                return float(attributes[key])
    return float("nan") if dtype.kind == "f" else None
