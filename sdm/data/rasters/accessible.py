"""The area that a species can have reached, drawn around its records."""

from typing import Any, Literal

import numpy as np

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.distance import to_lonlat
from sdm.data.rasters.grid import Grid
from sdm.data.records.occurrences import WGS84, project
from sdm.errors import DataError, OptionError

Shape = Literal["buffer", "hull"]
_CORNERS = 64  # of a disc


def accessible_area(grid: Grid, x: np.ndarray, y: np.ndarray, shape: Shape, km: float = 0.0) -> StudyArea:
    """Draw an area around records in the coordinates of the layers. ``"buffer"``: all places within `km` of a record,
    over the ground (on the ellipsoid). ``"hull"``: the convex hull of these discs, which is that of the records,
    widened by `km`."""
    import shapely

    if shape == "buffer" and not km > 0:
        raise OptionError("an area of buffers needs a distance: give it in km, as in --buffer 200")
    size = f"{shape} of {km:g} km" if shape == "buffer" else f"convex hull{f' and {km:g} km' if km else ''}"
    source = f"{size} around {len(x):,} records"
    points = np.unique(np.column_stack([x, y]), axis=0)
    rings = _discs(grid, points, km) if km > 0 else [points]
    if shape == "hull":
        area = shapely.convex_hull(shapely.multipoints(np.concatenate(rings)))
        if area.area == 0:
            raise DataError(f"the {source} has no area: widen it with --buffer, in km")
    else:
        area = shapely.union_all([shapely.make_valid(shapely.polygons(ring)) for ring in rings])
    return StudyArea((_around(area, grid),), source)


def _discs(grid: Grid, points: np.ndarray, km: float) -> list[np.ndarray]:
    """Return the edge of a disc around each point, in the coordinates of the grid."""
    from pyproj import Geod

    lon, lat = to_lonlat(points[:, 0], points[:, 1], grid, "an area around records")
    n = len(lon)
    azimuth = np.tile(np.linspace(0, 360, _CORNERS, endpoint=False), n)
    at = np.repeat(lon, _CORNERS), np.repeat(lat, _CORNERS)
    east, north, _ = Geod(ellps="WGS84").fwd(*at, azimuth, np.full(n * _CORNERS, 1000.0 * km))
    east = at[0] + (np.asarray(east) - at[0] + 180) % 360 - 180  # in one piece, beyond ±180° if need be
    rings = []
    for k in range(n):
        part = slice(k * _CORNERS, (k + 1) * _CORNERS)
        ring = np.column_stack([east[part], np.asarray(north)[part]])
        if np.abs(np.diff(np.append(ring[:, 0], ring[0, 0]))).max() > 180:  # its edge jumps by a whole turn
            ring = _over_pole(ring, lon[k], lat[k])
        rings.append(np.column_stack(project(ring[:, 0], ring[:, 1], WGS84, grid.crs)))
    whole = [ring[np.isfinite(ring).all(axis=1)] for ring in rings]
    return [ring for ring in whole if len(ring) > 2]


def _over_pole(ring: np.ndarray, lon: float, lat: float) -> np.ndarray:
    """Return a disc with a pole in it as all that is polewards of its edge."""
    ring = ring[np.argsort(ring[:, 0])]
    pole = np.copysign(90.0, lat)
    west, east = lon - 180, lon + 180
    ends = np.interp([west, east], ring[:, 0], ring[:, 1], period=360)
    return np.vstack([[west, pole], [west, ends[0]], ring, [east, ends[1]], [east, pole]])


def _around(area: Any, grid: Grid) -> Any:
    """Repeat an area in degrees a whole turn to either side, so that none of it is lost beyond ±180°."""
    import shapely
    from shapely.affinity import translate

    if grid.crs is None or not grid.crs.is_geographic:
        return area
    left, _, right, _ = grid.bounds
    turns = [turn for turn in (-360, 0, 360) if area.bounds[0] + turn < right and left < area.bounds[2] + turn]
    return shapely.union_all([translate(area, turn) for turn in turns]) if turns else area
