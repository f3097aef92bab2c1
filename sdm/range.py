"""The range: the patches of a map where the species can be, as polygons in a GeoPackage."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

from sdm.errors import DataError, OutputError

BLOCK = 256
# GeoPackages hold a date of their own; a fixed one keeps equal runs equal.
DATE = "2000-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Range:
    """What was written: how many patches, their area together, and how many were too small."""

    path: Path
    patches: int
    area_km2: float
    dropped: int
    dropped_km2: float


def write_range(raster: Path, path: Path, *, species: str, min_patch: float = 0.0) -> Range:
    """Write where a map is above zero as polygons, one a patch of cells that share edges, holes left out.

    Parameters
    ----------
    raster : path
        A map whose zeros are exact.
    path : path
        The GeoPackage, with the columns species, patch and area_km2.
    species : str
    min_patch : float
        Leave out patches of less than so many km² (true area in degrees; without a CRS, units are taken as metres).
    """
    import geopandas
    import shapely

    with rasterio.open(raster) as source:
        crs, bounds = source.crs, source.bounds
    degrees = crs.is_geographic if crs else max(map(abs, bounds)) <= 360
    metres = 1.0 if crs is None or degrees else float(crs.linear_units_factor[1])
    kept, areas, dropped = [], [], []
    for shape in _patches(raster):
        area = _on_ellipsoid(shape) if degrees else float(shape.area) * metres**2 / 1e6
        if area < min_patch:
            dropped.append(area)
        else:
            kept.append(shape)
            areas.append(area)
    if not kept:
        least = f"of at least {min_patch:g} km²" if dropped else "above zero"
        raise DataError(f"{raster.name} has no patch {least}: lower predict.min_patch or the order of the entropy")
    order = np.argsort(-np.array(areas), kind="stable")
    frame = geopandas.GeoDataFrame(
        {"species": species, "patch": np.arange(1, len(kept) + 1), "area_km2": np.array(areas)[order]},
        geometry=shapely.multipolygons([[kept[k]] for k in order]),
        crs=crs,
    )
    _write(frame, path)
    return Range(path, len(kept), float(sum(areas)), len(dropped), float(sum(dropped)))


def _write(frame: Any, path: Path) -> None:
    """Write a GeoPackage whose bytes depend on its content alone."""
    import pyogrio

    earlier = pyogrio.get_gdal_config_option("OGR_CURRENT_DATE")
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": DATE})
    try:
        pyogrio.write_dataframe(frame, path, driver="GPKG", layer="range")
    except pyogrio.errors.DataSourceError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": earlier})


def _patches(raster: Path) -> Iterator[Any]:
    """Yield the polygons of the cells above zero; the mask goes through a file, so that memory stays bounded."""
    import shapely.geometry
    from rasterio.features import shapes

    with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=raster.parent) as folder:
        mask = Path(folder) / "mask.tif"
        with rasterio.open(raster) as source:
            profile = {**source.profile, "driver": "GTiff", "dtype": "uint8", "nodata": None, "compress": "deflate"}
            profile |= {"tiled": True, "blockxsize": BLOCK, "blockysize": BLOCK, "predictor": 1}
            with rasterio.open(mask, "w", **profile) as out:
                for _, window in source.block_windows(1):
                    band = source.read(1, window=window, masked=True)
                    out.write((band.filled(0) > 0).astype(np.uint8), 1, window=window)
        with rasterio.open(mask) as source:
            band = rasterio.band(source, 1)
            for geometry, _ in shapes(band, mask=band):
                yield shapely.geometry.shape(geometry)


def _on_ellipsoid(shape: Any) -> float:
    """Return the true area in km² of a polygon in degrees."""
    from pyproj import Geod
    from shapely.geometry.polygon import orient

    area, _ = Geod(ellps="WGS84").geometry_area_perimeter(orient(shape))
    return float(abs(area)) / 1e6
