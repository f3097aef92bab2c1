"""`results.gpkg`: points and polygons of a model's results in one file that a GIS opens, beside its rasters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.maps.projection.change import Ground
from sdm.maps.ranges import patch_frame, write_geopackage
from sdm.types import Numbers

PACKAGE = "results.gpkg"


def add_ranges(rasters: Mapping[str, Path], path: Path, tags: Mapping[str, str]) -> list[str]:
    """Add the polygons of thresholded maps, by their names, to a GeoPackage: one layer `range_<name>` each, one feature
    per patch with its area on the ellipsoid in km²; and a layer `centroids` with the middle of each. Return the names
    of the layers. A map without a present cell has no layer, and is a row of `centroids` without a point."""
    import geopandas
    import shapely

    layers, rows, crs = [], [], None
    for name, raster in rasters.items():
        frame, _ = patch_frame(raster, tags.get("species", name), 0.0)
        own = _own_tags(raster)
        middle, crs = presence_centroid(raster)
        row: Numbers = {"map": name, **tags, **own, "patches": len(frame)}
        row["area_km2"] = float(frame["area_km2"].sum()) if len(frame) else 0.0
        row |= {key: middle.get(key) if middle else None for key in ("lon", "lat")}
        rows.append((row, None if middle is None else shapely.Point(middle["x"], middle["y"])))
        if len(frame):
            for key, value in {**tags, **own}.items():
                if key not in frame:
                    frame[key] = value
            layers.append(f"range_{name}")
            write_geopackage(frame, path, layers[-1])
    if rows:
        table = geopandas.GeoDataFrame([row for row, _ in rows], geometry=[point for _, point in rows], crs=crs)
        write_geopackage(table, path, "centroids")
        layers.append("centroids")
    return layers


def _own_tags(raster: Path) -> dict[str, str]:
    """Return what a raster says of its scenario and cutoff."""
    with open_local(raster) as source:
        found = source.tags()
    return {key: found[key] for key in ("scenario", "threshold_rule", "threshold") if key in found}


def presence_centroid(raster: Path) -> tuple[dict[str, float] | None, Any]:
    """Return the middle of the cells of a map that are 1, weighted by their area, and the coordinate system; None
    where there is no such cell."""
    with open_local(raster) as source:
        grid = Grid.of(source)
        ground = Ground(grid)
        total: Any = 0.0
        for _, window in source.block_windows(1):
            band = source.read(1, window=window).ravel().astype(np.uint8)
            total = total + ground.tally(window, band, (1,))
    return ground.centroid(np.asarray(total)), grid.crs
