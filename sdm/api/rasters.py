"""Maps in memory: an array with its grid, and the same as a DataArray of xarray where that is installed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rasterio
from numpy.typing import NDArray

from sdm.api.saving import CellAxes
from sdm.data.opening.rasters import open_local
from sdm.errors import OptionError, ResultsError, UnknownNameError
from sdm.types import Numbers

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class RasterMap:
    """A map as an array, with where its cells are.

    Attributes
    ----------
    values : (rows, columns) or (bands, rows, columns) array of float32
        NaN where there is nothing.
    profile : dict
        Of rasterio: `crs`, `transform`, `width`, `height`, `count`, `dtype` and `nodata`.
    name : str
        What the map shows.
    bands : tuple of str
        The names of several bands, such as classes or species.
    tags : dict
        What the file says of itself: scale, species, model.

    Examples
    --------
    >>> import numpy as np
    >>> from rasterio import Affine
    >>> from sdm import RasterMap
    >>> grid = {"crs": None, "transform": Affine(1000, 0, 0, 0, -1000, 0), "width": 3, "height": 2}
    >>> found = RasterMap(np.zeros((2, 3), np.float32), grid, "suitability")
    >>> found.shape, found.to_xarray()["x"].values.tolist()
    ((2, 3), [500.0, 1500.0, 2500.0])
    """

    values: NDArray[np.float32]
    profile: Numbers
    name: str = ""
    bands: tuple[str, ...] = ()
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.values.shape

    def to_xarray(self) -> "xarray.DataArray":
        """Return the same as a DataArray with coordinates of the cells' centres; `.rio` of rioxarray knows its CRS."""
        import xarray

        grid, height, width = self.profile["transform"], self.profile["height"], self.profile["width"]
        # The very numbers that rioxarray gives to the layers: xarray aligns only what is equal.
        x, y = np.arange(width) * grid.a + (grid.a * 0.5 + grid.c), np.arange(height) * grid.e + (grid.e * 0.5 + grid.f)
        known: Numbers = {"GeoTransform": " ".join(repr(float(v)) for v in grid.to_gdal())}
        if self.profile["crs"] is not None:
            wkt = self.profile["crs"].to_wkt()
            known |= {"crs_wkt": wkt, "spatial_ref": wkt}
        coords: Numbers = {"y": y, "x": x, "spatial_ref": ((), 0, known)}
        dims: tuple[str, ...] = ("y", "x")
        if self.values.ndim == 3:
            dims, coords["band"] = ("band", "y", "x"), np.array(self.bands, dtype=object)
        attrs = {**{key: value for key, value in self.tags.items() if key != "AREA_OR_POINT"}, "long_name": self.name}
        array = xarray.DataArray(self.values, coords, dims, name="map", attrs=attrs)
        array.encoding["grid_mapping"] = "spatial_ref"
        return array


Map = Any
"""A map as users get it: an `xarray.DataArray` where xarray is installed, else a `RasterMap`."""


def as_map(found: RasterMap, axes: Sequence[CellAxes] = ()) -> Map:
    """Return a map as users get it: a DataArray where xarray is installed, else the array with its profile.

    Layers that were objects of xarray give it their coordinates (`axes`) to the last digit, in their order and with the
    names of their dimensions: xarray takes cells together only if their coordinates are equal.
    """
    if find_spec("xarray") is None:
        return found
    array = found.to_xarray()
    near = (one for one in axes if _same_cells(array["y"].values, one.y) and _same_cells(array["x"].values, one.x))
    own = next(near, None)
    if own is None:
        return array
    if own.y[0] < own.y[-1]:
        array = array[..., ::-1, :]
    array = array.assign_coords(y=own.y, x=own.x)
    down, across = own.names
    return array.rename({old: new for old, new in (("y", down), ("x", across)) if old != new})


def _same_cells(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether coordinates are those of the same cells, in whatever order."""
    if one.size != other.size or one.size < 2:
        return False
    other = other if (one[0] < one[-1]) == (other[0] < other[-1]) else other[::-1]
    return bool(np.abs(one - other).max() < 1e-3 * abs(one[1] - one[0]))


def read_raster(path: Path, name: str = "") -> RasterMap:
    """Read a raster of results."""
    try:
        with open_local(path) as source:
            values = source.read(masked=True).astype(np.float32).filled(np.nan)
            keys = ("crs", "transform", "width", "height", "count")
            profile = {key: source.profile[key] for key in keys}
            profile |= {"driver": "GTiff", "dtype": "float32", "nodata": float("nan")}
            bands = tuple(text or str(k) for k, text in enumerate(source.descriptions, start=1))
            tags = source.tags()
    except rasterio.errors.RasterioError as error:
        raise ResultsError(f"{path} cannot be read as a raster ({error}): run the command again") from error
    single = len(values) == 1
    return RasterMap(values[0] if single else values, profile, name or path.stem, () if single else bands, tags)


def named_rasters(folder: Path, files: Numbers, before: str = "") -> dict[str, Path]:
    """Return the rasters among the files of some results, by what they are."""
    found: dict[str, Path] = {}
    for key, value in files.items():
        if isinstance(value, dict):
            found |= named_rasters(folder, value, "" if key == "maps" else f"{key} ")
        elif isinstance(value, str) and value.endswith(".tif") and (folder / value).is_file():
            found[f"{before}{key}"] = folder / value
    return found


def choose_raster(places: Mapping[str, Path], name: str | None, whose: str, none: str) -> Path:
    """Return the raster that is named, or else the first; `none` is what to say where there are no rasters."""
    if not places:
        raise ResultsError(none)
    if name not in (None, *places):
        raise UnknownNameError(f"there is no map '{name}' of {whose}: expected one of {', '.join(places)}")
    return places[name or next(iter(places))]


def stacked(maps: Sequence[RasterMap], names: Sequence[str], name: str = "") -> RasterMap:
    """Return maps of one grid as one map with a band each."""
    first = maps[0]
    for one in maps:
        same = [one.profile[key] == first.profile[key] for key in ("transform", "width", "height")]
        if not all(same) or one.values.ndim != 2:
            raise OptionError("the maps have different grids, or several bands: use them one by one")
    values = np.stack([one.values for one in maps])
    return RasterMap(values, {**first.profile, "count": len(maps)}, name, tuple(names), first.tags)
