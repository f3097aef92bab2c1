"""GeoPackages of points, and of ranges: the patches of a map above zero as polygons."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.data.records.frames import pd
from sdm.errors import NoCellError, OutputError
from sdm.types import Numbers

DATE = "2000-01-01T00:00:00.000Z"  # GeoPackages contain a date; a fixed one makes equal runs identical


def write_points(table: pd.DataFrame, path: Path, layer: str, crs: Any) -> Path:
    """Write a table with columns x and y as points of a GeoPackage; rows without coordinates have no point."""
    import geopandas
    import shapely

    x, y = (table[name].to_numpy(dtype=np.float64) for name in ("x", "y"))
    located = np.isfinite(x) & np.isfinite(y)
    points = np.full(len(table), None, dtype=object)
    points[located] = shapely.points(x[located], y[located])
    write_geopackage(geopandas.GeoDataFrame(table, geometry=points, crs=crs), path, layer)
    return path


def write_geopackage(frame: Any, path: Path, layer: str) -> None:
    """Write a layer of a new or existing GeoPackage. The bytes depend on its content only."""
    import pyogrio

    earlier = pyogrio.get_gdal_config_option("OGR_CURRENT_DATE")
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": DATE})
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "'crs' was not provided", UserWarning)  # the layers have none either
            pyogrio.write_dataframe(frame, path, driver="GPKG", layer=layer, append=path.exists())
    except pyogrio.errors.DataSourceError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": earlier})


BLOCK = 256


def write_range(raster: Path, path: Path, *, species: str, min_patch: float = 0.0) -> tuple[Numbers, list[float]]:
    """Write the area above zero of a map (its zeros are exact) as a GeoPackage with one polygon per patch.

    Cells of a patch share edges. Patches below `min_patch` km² are excluded. Return the area and number of the patches,
    and the areas of the excluded ones. The area of a patch is the sum of its cells (`Grid.cell_km2`): on the ellipsoid
    in degrees, in the plane in a projection. Without a CRS, numbers within the limits of degrees are degrees, and
    others are metres.
    """
    frame, dropped = patch_frame(raster, species, min_patch)
    if not len(frame):
        least = f"of at least {min_patch:g} km²" if dropped else "above zero"
        raise NoCellError(f"{raster.name} has no patch {least}: use a smaller predict.min_patch, or entropy order")
    write_geopackage(frame, path, "range")
    return {"area_km2": float(sum(frame["area_km2"])), "patches": len(frame)}, dropped


def patch_frame(raster: Path, species: str, min_patch: float) -> tuple[Any, list[float]]:
    """Return the patches of a map above zero as polygons with areas, the largest first, and the areas of patches below
    `min_patch` km²."""
    import geopandas
    import shapely

    with open_local(raster) as source:
        grid = Grid.of(source)
    measured = grid.located
    polygons, areas, dropped = [], [], []
    for shape in _patches(raster):
        # Edges follow rows and columns, so they remain straight when y is replaced by the area below it.
        flat = shapely.transform(shape, lambda xy: np.column_stack([xy[:, 0], measured.km2_below(xy[:, 1])]))
        area = float(flat.area)
        if area < min_patch:
            dropped.append(area)
        else:
            polygons.append(shape)
            areas.append(area)
    order = np.argsort(-np.array(areas), kind="stable")
    frame = geopandas.GeoDataFrame(
        {"species": species, "patch": np.arange(1, len(polygons) + 1), "area_km2": np.array(areas)[order]},
        geometry=shapely.multipolygons([[polygons[k]] for k in order]) if polygons else [],
        crs=grid.crs,
    )
    return frame, dropped


def _patches(raster: Path) -> Iterator[Any]:
    """Yield the polygons of the cells above zero. The mask is written to a file to limit the memory."""
    import shapely.geometry
    from rasterio.features import shapes

    with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=raster.parent) as folder:
        mask = Path(folder) / "mask.tif"
        with open_local(raster) as source:
            profile = {**source.profile, "driver": "GTiff", "dtype": "uint8", "nodata": None, "compress": "deflate"}
            profile |= {"tiled": True, "blockxsize": BLOCK, "blockysize": BLOCK, "predictor": 1}
            with rasterio.open(mask, "w", **profile) as out:
                for _, window in source.block_windows(1):
                    band = source.read(1, window=window, masked=True)
                    out.write((band.filled(0) > 0).astype(np.uint8), 1, window=window)
        with open_local(mask) as source:
            band = rasterio.band(source, 1)
            for geometry, _ in shapes(band, mask=band):
                yield shapely.geometry.shape(geometry)
