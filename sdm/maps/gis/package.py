"""`results.gpkg`: points and polygons of the results of a model in one file for a GIS."""

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
    """Add the polygons of thresholded maps to a GeoPackage, and return the names of the layers.

    Each map has a layer `range_<name>` with one feature per patch and its area on the ellipsoid in km². The layer
    `centroids` has the centroid of each map. A map without presence has no layer, and no point in `centroids`.
    """
    import geopandas
    import shapely

    layers, rows, crs = [], [], None
    for name, raster in rasters.items():
        frame, _ = patch_frame(raster, tags.get("species", name), 0.0)
        raster_tags = _tags_of(raster)
        middle, crs = presence_centroid(raster)
        row: Numbers = {"map": name, **tags, **raster_tags, "patches": len(frame)}
        row["area_km2"] = float(frame["area_km2"].sum()) if len(frame) else 0.0
        row |= {key: middle.get(key) if middle else None for key in ("lon", "lat")}
        rows.append((row, None if middle is None else shapely.Point(middle["x"], middle["y"])))
        if len(frame):
            for key, value in {**tags, **raster_tags}.items():
                if key not in frame:
                    frame[key] = value
            layers.append(f"range_{name}")
            write_geopackage(frame, path, layers[-1])
    if rows:
        table = geopandas.GeoDataFrame([row for row, _ in rows], geometry=[point for _, point in rows], crs=crs)
        write_geopackage(table, path, "centroids")
        layers.append("centroids")
    return layers


def _tags_of(raster: Path) -> dict[str, str]:
    """Return the tags for the scenario and threshold of a raster."""
    with open_local(raster) as source:
        tags = source.tags()
    return {key: tags[key] for key in ("scenario", "threshold_rule", "threshold") if key in tags}


def presence_centroid(raster: Path) -> tuple[dict[str, float] | None, Any]:
    """Return the area-weighted centroid of the cells that are 1, or None if there are none, and the coordinate
    system."""
    with open_local(raster) as source:
        grid = Grid.of(source)
        ground = Ground(grid)
        total: Any = 0.0
        for _, window in source.block_windows(1):
            band = source.read(1, window=window).ravel().astype(np.uint8)
            total = total + ground.tally(window, band, (1,))
    return ground.centroid(np.asarray(total)), grid.crs
