"""Longitudes and polygons across the date line and around the poles.

A polygon in degrees is moved into one piece, possibly beyond ±180°, and then repeated over the layers at intervals of a
full turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rasterio.crs import CRS

from sdm.data.rasters.grid import Grid

if TYPE_CHECKING:
    from shapely import Geometry

_SEAM = 1e-9  # degrees from the meridian where a projection is cut
_STEP = 0.25  # degrees between vertices of an area that is cut there
_WORLD = 179.0  # a rectangle with both sides beyond this longitude is the world, not the strip between them


def widest_gap(lon: np.ndarray) -> float | None:
    """Return the meridian in the middle of the widest gap between longitudes; None if the widest gap is at the date
    line."""
    order = np.unique(lon[np.isfinite(lon)])
    if len(order) < 2:
        return None
    gaps = np.diff(order)
    k = int(np.argmax(gaps))
    return float((order[k] + order[k + 1]) / 2) if gaps[k] > order[0] + 360 - order[-1] else None


def in_one_piece(lon: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Return longitudes without a jump at the date line: 179° and -179° as 179° and 181°.

    They are cut in their widest gap, and the `others` at the same meridian.
    """
    parts = [lon, *others]
    if len(lon) and np.isfinite(lon).any() and np.ptp(lon[np.isfinite(lon)]) > 360:  # several conventions
        parts = [(part + 180) % 360 - 180 for part in parts]
    cut = widest_gap(parts[0])
    return parts if cut is None else [np.where(part < cut, part + 360, part) for part in parts]


def near(lon: np.ndarray, middle: np.ndarray | float) -> np.ndarray:
    """Return longitudes shifted by full turns to within half a turn of a middle."""
    return np.asarray(middle + (lon - middle + 180) % 360 - 180)


def unwrap_polygon(polygon: Geometry) -> Geometry:
    """Return a polygon or multipolygon in degrees in one piece, if an edge jumps by more than half a turn: such an edge
    crosses the date line.

    A polygon around a pole is closed over it. Other polygons are unchanged.
    """
    import shapely

    parts = [part for part in shapely.get_parts(polygon) if part.geom_type == "Polygon"]
    if not any(_jumps(shapely.get_coordinates(ring)).any() for part in parts for ring in _rings(part)):
        return polygon
    unwrapped = []
    for part in parts:
        outer, *holes = (_unwrap_ring(shapely.get_coordinates(ring)) for ring in _rings(part))
        for hole in holes:
            middle = near(np.array([hole.centroid.x]), outer.centroid.x)[0]
            outer = outer.difference(_turn(hole, round((middle - hole.centroid.x) / 360) * 360))
        unwrapped.append(outer)
    return shapely.union_all(unwrapped)


def _rings(polygon: Geometry) -> list[Geometry]:
    return [polygon.exterior, *polygon.interiors]


def _jumps(ring: np.ndarray) -> np.ndarray:
    """Return a mask of edges of a ring across the date line; none in a rectangle around the world, or along a pole."""
    lon, lat = ring[:, 0], ring[:, 1]
    if not len(ring):
        return np.zeros(0, dtype=bool)
    step = np.abs(np.diff(lon))
    left, right = lon.min(), lon.max()
    if len(ring) <= 5 and left <= -_WORLD and right >= _WORLD:
        return np.zeros(len(step), dtype=bool)
    ends = (np.abs(lon[:-1]) >= 180 - _SEAM) & (np.abs(lon[1:]) >= 180 - _SEAM)
    pole = (np.abs(lat[:-1]) >= 90 - _SEAM) & (np.abs(lat[1:]) >= 90 - _SEAM)
    return np.asarray((step > 180) & ~ends & ~pole)


def _unwrap_ring(ring: np.ndarray) -> Geometry:
    """Return the polygon of a ring with edges along the short way, closed over the pole that it surrounds."""
    import shapely

    step = np.diff(ring[:, 0])
    step = np.where(_jumps(ring), (step + 180) % 360 - 180, step)
    lon = ring[0, 0] + np.concatenate([[0.0], np.cumsum(step)])
    corners = np.column_stack([lon, ring[:, 1]])
    if abs(lon[-1] - lon[0]) > 180:
        pole = np.copysign(90.0, ring[:, 1].mean())
        corners = np.vstack([corners, [lon[-1], pole], [lon[0], pole]])
    return shapely.make_valid(shapely.polygons(corners))


def _turn(area: Geometry, degrees: float) -> Geometry:
    from shapely.affinity import translate

    return translate(area, degrees) if degrees else area


def turns_over(area: Geometry, grid: Grid) -> list[int]:
    """Return the shifts in degrees for which an area overlaps a grid in degrees; 0 for other grids."""
    if grid.crs is None or not grid.crs.is_geographic:
        return [0]
    left, _, right, _ = grid.bounds
    west, _, east, _ = area.bounds
    return [turn for turn in (-720, -360, 0, 360, 720) if west + turn < right and left < east + turn]


def over_grid(area: Geometry, grid: Grid) -> Geometry:
    """Repeat an area in degrees at all shifts by full turns that overlap a grid in degrees."""
    import shapely

    turns = turns_over(area, grid)
    return shapely.union_all([_turn(area, turn) for turn in turns]) if turns else area


def seam(crs: CRS, lat: float) -> float | None:
    """Return the meridian where a projection of the world is cut, at a latitude; None without a cut there."""
    from pyproj import Transformer

    middle = float(crs.to_dict().get("lon_0", 0.0))
    x, y = Transformer.from_crs("EPSG:4326", crs.to_wkt(), always_xy=True).transform(
        np.array([middle + 180 - 1e-6, middle + 180 + 1e-6]), np.array([lat, lat])
    )
    apart = np.hypot(x[1] - x[0], y[1] - y[0]) * float(crs.linear_units_factor[1])
    return middle + 180 if np.isfinite(apart) and apart > 1e5 else None


def open_at(area: Geometry, meridian: float) -> Geometry:
    """Return an area in degrees within the full turn that ends at a meridian, in parts if it crosses it."""
    import shapely

    sheet = shapely.box(meridian - 360 + _SEAM, -90.0, meridian - _SEAM, 90.0)
    west, _, east, _ = area.bounds
    turns = [turn for turn in (-720, -360, 0, 360, 720) if west + turn < meridian and meridian - 360 < east + turn]
    cut = shapely.union_all([_turn(shapely.make_valid(area), turn).intersection(sheet) for turn in turns])
    return shapely.segmentize(cut, _STEP)  # meridians are curves in most projections of the world
