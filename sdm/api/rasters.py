"""Maps in memory: an array with its grid, or a DataArray of xarray if that is installed."""

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
    """A map as an array with its georeference.

    Attributes
    ----------
    values : (rows, columns) or (bands, rows, columns) array of float32
        NaN without data.
    profile : dict
        Profile of rasterio: `crs`, `transform`, `width`, `height`, `count`, `dtype` and `nodata`.
    name : str
        Title of the map.
    bands : tuple of str
        The names of several bands, such as classes or species.
    tags : dict
        Tags of the file: scale, species, model.

    Examples
    --------
    >>> import numpy as np
    >>> from rasterio import Affine
    >>> from sdm import RasterMap
    >>> grid = {"crs": None, "transform": Affine(1000, 0, 0, 0, -1000, 0), "width": 3, "height": 2}
    >>> raster = RasterMap(np.zeros((2, 3), np.float32), grid, "suitability")
    >>> raster.shape, raster.to_xarray()["x"].values.tolist()
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
        """Return a DataArray with coordinates of the cells' centres; its CRS is in `.rio` of rioxarray."""
        import xarray

        grid, height, width = self.profile["transform"], self.profile["height"], self.profile["width"]
        # Computed exactly as in rioxarray: xarray aligns only equal coordinates.
        x, y = np.arange(width) * grid.a + (grid.a * 0.5 + grid.c), np.arange(height) * grid.e + (grid.e * 0.5 + grid.f)
        attributes: Numbers = {"GeoTransform": " ".join(repr(float(v)) for v in grid.to_gdal())}
        if self.profile["crs"] is not None:
            wkt = self.profile["crs"].to_wkt()
            attributes |= {"crs_wkt": wkt, "spatial_ref": wkt}
        coords: Numbers = {"y": y, "x": x, "spatial_ref": ((), 0, attributes)}
        dims: tuple[str, ...] = ("y", "x")
        if self.values.ndim == 3:
            dims, coords["band"] = ("band", "y", "x"), np.array(self.bands, dtype=object)
        attrs = {**{key: value for key, value in self.tags.items() if key != "AREA_OR_POINT"}, "long_name": self.name}
        array = xarray.DataArray(self.values, coords, dims, name="map", attrs=attrs)
        array.encoding["grid_mapping"] = "spatial_ref"
        return array


Map = Any
"""A map for users: an `xarray.DataArray` if xarray is installed, otherwise a `RasterMap`."""


def as_map(raster: RasterMap, axes: Sequence[CellAxes] = ()) -> Map:
    """Return a map for users: a DataArray if xarray is installed, otherwise the array with its profile.

    The map has the exact coordinates, their order and the dimension names of layers that were xarray objects (`axes`),
    because xarray combines cells only if their coordinates are equal.
    """
    if find_spec("xarray") is None:
        return raster
    array = raster.to_xarray()
    near = (one for one in axes if _same_cells(array["y"].values, one.y) and _same_cells(array["x"].values, one.x))
    user_axes = next(near, None)
    if user_axes is None:
        return array
    if user_axes.y[0] < user_axes.y[-1]:
        array = array[..., ::-1, :]
    array = array.assign_coords(y=user_axes.y, x=user_axes.x)
    down, across = user_axes.names
    return array.rename({old: new for old, new in (("y", down), ("x", across)) if old != new})


def _same_cells(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether coordinates belong to the same cells, in any order."""
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
    """Return the rasters among the files of results, by name."""
    rasters: dict[str, Path] = {}
    for key, value in files.items():
        if isinstance(value, dict):
            rasters |= named_rasters(folder, value, "" if key == "maps" else f"{key} ")
        elif isinstance(value, str) and value.endswith(".tif") and (folder / value).is_file():
            rasters[f"{before}{key}"] = folder / value
    return rasters


def choose_raster(places: Mapping[str, Path], name: str | None, whose: str, none: str) -> Path:
    """Return the raster with a name, or the first; `none` is the message without rasters."""
    if not places:
        raise ResultsError(none)
    if name not in (None, *places):
        raise UnknownNameError(f"there is no map '{name}' of {whose}: expected one of {', '.join(places)}")
    return places[name or next(iter(places))]


def stacked(maps: Sequence[RasterMap], names: Sequence[str], name: str = "") -> RasterMap:
    """Return maps on one grid as one map with a band each."""
    first = maps[0]
    for one in maps:
        same = [one.profile[key] == first.profile[key] for key in ("transform", "width", "height")]
        if not all(same) or one.values.ndim != 2:
            raise OptionError("the maps have different grids, or several bands: use them one by one")
    values = np.stack([one.values for one in maps])
    return RasterMap(values, {**first.profile, "count": len(maps)}, name, tuple(names), first.tags)
