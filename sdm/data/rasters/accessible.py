"""The accessible area of a species, drawn around its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from affine import Affine
from rasterio.crs import CRS

from sdm.data.crs import DEGREE_KM, WGS84, reproject
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.globe import in_one_piece, near, open_at, over_grid, seam, unwrap_polygon
from sdm.data.rasters.grid import Grid, to_lonlat
from sdm.errors import ConflictError, StudyAreaError

if TYPE_CHECKING:
    from shapely import Geometry

Shape = Literal["buffer", "hull"]
_CORNERS = 64  # of a disc


def accessible_area(grid: Grid, x: np.ndarray, y: np.ndarray, shape: Shape, km: float = 0.0) -> StudyArea:
    """Draw an area around records in the coordinates of the layers.

    ``"buffer"``: all places within `km` of a record (on the ellipsoid). ``"hull"``: the convex hull of the records,
    widened by `km`. Records on both sides of the date line are joined as on the globe, and a hull of records around a
    pole contains it.
    """
    if shape == "buffer" and not km > 0:
        raise ConflictError("background.area=buffer needs a distance in km: add --buffer, as in --buffer 200")
    size = f"{shape} of {km:g} km" if shape == "buffer" else f"convex hull{f' and {km:g} km' if km else ''}"
    source = f"{size} around {len(x):,} records"
    points = np.unique(np.column_stack([x, y]), axis=0)
    degrees = grid.crs is not None and grid.crs.is_geographic
    if degrees:
        points[:, 0] = in_one_piece(points[:, 0])[0]
    edge = None if degrees or grid.crs is None else _seam_between(grid, points, km)
    area = _drawn(grid, points, shape, km) if edge is None else _drawn_on_globe(grid, points, shape, km, edge)
    if area.area == 0:
        raise StudyAreaError(f"the {source} has no area: widen it with --buffer, in km")
    return StudyArea((over_grid(area, grid),), source)


def _drawn(grid: Grid, points: np.ndarray, shape: Shape, km: float) -> Geometry:
    """Return the area in the coordinates of the grid."""
    import shapely

    if grid.crs is not None and grid.crs.is_geographic and shape == "hull" and _round_a_pole(points):
        return _polar_hull(grid, points, km)
    rings = _discs(grid, points, km) if km > 0 else [points]
    if shape == "hull":
        return shapely.convex_hull(shapely.multipoints(np.concatenate(rings)))
    return shapely.union_all([shapely.make_valid(shapely.polygons(ring)) for ring in rings])


def _seam_between(grid: Grid, points: np.ndarray, km: float) -> float | None:
    """Return the meridian at which a world map is cut, if it divides the area around the records."""
    lon, lat = to_lonlat(points[:, 0], points[:, 1], grid, "an area around records")
    edge = seam(cast(CRS, grid.crs), float(np.clip(np.median(lat), -80, 80)))
    if edge is None:
        return None
    together = in_one_piece(near(lon, edge - 180))[0]
    reach = km / DEGREE_KM / np.maximum(np.cos(np.deg2rad(np.abs(lat))), 1e-3)  # in degrees of longitude, at least
    beyond = (together.max() > edge) | (np.abs(near(lon, edge) - edge) < 1.1 * reach).any()
    return edge if beyond else None


def _drawn_on_globe(grid: Grid, points: np.ndarray, shape: Shape, km: float, edge: float) -> Geometry:
    """Return the area in the coordinates of the grid, drawn in degrees and cut at a meridian."""
    import shapely

    globe = Grid(width=360, height=180, transform=Affine(1, 0, edge - 360, 0, -1, 90), crs=CRS.from_epsg(4326))
    lon, lat = to_lonlat(points[:, 0], points[:, 1], grid, "an area around records")
    area = _drawn(globe, np.column_stack([in_one_piece(near(lon, edge - 180))[0], lat]), shape, km)
    return shapely.make_valid(shapely.transform(open_at(area, edge), lambda xy: _reprojected(xy, WGS84, grid.crs)))


def _reprojected(xy: np.ndarray, source: Any, target: Any) -> np.ndarray:
    """Return vertices in another coordinate reference system."""
    return np.column_stack(reproject(xy[:, 0], xy[:, 1], source, target))


def _round_a_pole(points: np.ndarray) -> bool:
    """Whether records surround a pole: all beyond 60°, on one side, without a gap of half a turn."""
    lon, lat = points.T
    order = np.sort(lon)
    gap = max(float(np.diff(order).max(initial=0.0)), order[0] + 360 - order[-1])
    return bool(gap < 180 and (np.sign(lat) * lat > 60).all() and np.ptp(np.sign(lat)) == 0)


def _polar_hull(grid: Grid, points: np.ndarray, km: float) -> Geometry:
    """Return the convex hull on a map centred at the pole (azimuthal equidistant), in degrees."""
    import shapely

    pole = 90.0 if points[0, 1] > 0 else -90.0
    flat = CRS.from_proj4(f"+proj=aeqd +lat_0={pole:g} +lon_0=0 +ellps=WGS84 +units=m")
    lon, lat = to_lonlat(points[:, 0], points[:, 1], grid, "an area around records")
    hull = shapely.convex_hull(shapely.multipoints(np.column_stack(reproject(lon, lat, WGS84, flat)))).buffer(1000 * km)
    ring = shapely.get_coordinates(shapely.segmentize(hull.exterior, 20_000))
    degrees = shapely.polygons(_reprojected(ring, flat, WGS84))
    return unwrap_polygon(degrees)


def _discs(grid: Grid, points: np.ndarray, km: float) -> list[np.ndarray]:
    """Return the edge of a disc around each point, in the coordinates of the grid."""
    from pyproj import Geod

    degrees = grid.crs is not None and grid.crs.is_geographic
    lon, lat = to_lonlat(points[:, 0], points[:, 1], grid, "an area around records")
    lon = near(lon, points[:, 0]) if degrees else lon
    n = len(lon)
    azimuth = np.tile(np.linspace(0, 360, _CORNERS, endpoint=False), n)
    centre = np.repeat(lon, _CORNERS), np.repeat(lat, _CORNERS)
    east, north, _ = Geod(ellps="WGS84").fwd(*centre, azimuth, np.full(n * _CORNERS, 1000.0 * km))
    east = near(np.asarray(east), centre[0])  # in one piece, possibly beyond ±180°
    rings = []
    for k in range(n):
        part = slice(k * _CORNERS, (k + 1) * _CORNERS)
        ring = np.column_stack([east[part], np.asarray(north)[part]])
        if np.abs(np.diff(np.append(ring[:, 0], ring[0, 0]))).max() > 180:  # its edge jumps by a full turn
            ring = _over_pole(ring, lon[k], lat[k])
            rings.append(ring if degrees else _reprojected(ring, WGS84, grid.crs))
            continue
        x, y = reproject(ring[:, 0], ring[:, 1], WGS84, grid.crs)
        rings.append(np.column_stack([near(x, points[k, 0]) if degrees else x, y]))
    finite = [ring[np.isfinite(ring).all(axis=1)] for ring in rings]
    return [ring for ring in finite if len(ring) > 2]


def _over_pole(ring: np.ndarray, lon: float, lat: float) -> np.ndarray:
    """Return a disc that contains a pole as the area polewards of its edge."""
    ring = ring[np.argsort(ring[:, 0])]
    pole = np.copysign(90.0, lat)
    west, east = lon - 180, lon + 180
    ends = np.interp([west, east], ring[:, 0], ring[:, 1], period=360)
    return np.vstack([[west, pole], [west, ends[0]], ring, [east, ends[1]], [east, pole]])
