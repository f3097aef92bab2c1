"""The accessible area: distances on the ground, in degrees, metres, over the date line and round a pole."""

import numpy as np
import pytest
from affine import Affine
from pyproj import Geod
from rasterio.crs import CRS

from sdm.data.rasters.accessible import accessible_area
from sdm.data.rasters.grid import Grid
from sdm.data.records.occurrences import project
from sdm.errors import DataError, OptionError

GLOBE = Grid(width=360, height=180, transform=Affine(1, 0, -180, 0, -1, 90), crs=CRS.from_epsg(4326))
PACIFIC = Grid(width=360, height=180, transform=Affine(1, 0, 0, 0, -1, 90), crs=CRS.from_epsg(4326))
NORWAY = Grid(width=100, height=80, transform=Affine(5000, 0, 100_000, 0, -5000, 7_000_000), crs=CRS.from_epsg(25833))
MERCATOR = Grid(width=80, height=80, transform=Affine(9000, 0, 0, 0, -9000, 9_000_000), crs=CRS.from_epsg(3857))


def nearest(grid, lon, lat):
    """Distance of every cell's centre from the nearest point, in km, by the geodesic of each pair."""
    rows, cols = np.indices((grid.height, grid.width)).reshape(2, -1)
    x, y = grid.lonlat(rows + 0.5, cols + 0.5)
    each = [Geod(ellps="WGS84").inv(np.full(x.size, a), np.full(x.size, b), x, y)[2] for a, b in zip(lon, lat)]
    return np.min(each, axis=0).reshape(grid.height, grid.width) / 1000


@pytest.mark.parametrize(
    ("grid", "points", "km"),
    [
        (GLOBE, [(0, 0), (179.2, 10), (-100, 50), (20, 85), (50, -88)], 900),
        (PACIFIC, [(0.5, -5), (179.2, 10), (350, 50)], 600),
        (NORWAY, [(9, 62), (10.5, 61.5), (8, 61)], 50),
        (MERCATOR, [(2, 60.5), (4, 62)], 60),
    ],
)
def test_a_buffer_is_all_within_a_distance(grid, points, km):
    lon, lat = np.array(points, dtype=float).T
    x, y = project(lon, lat, "EPSG:4326", grid.crs)
    inside = accessible_area(grid, x, y, "buffer", km).mask(grid)
    away = nearest(grid, lon, lat)
    assert inside.any()
    assert away[inside].max() < 1.005 * km
    assert away[~inside].min() > 0.995 * km


def test_a_hull_holds_all_between_the_records():
    x, y = np.array([10.0, 20, 15, 14]), np.array([0.0, 0, 8, 2])
    plain, wide = (accessible_area(GLOBE, x, y, "hull", km).geometries[0] for km in (0, 200))
    assert plain.area == pytest.approx(40)
    assert list(plain.bounds) == [10, 0, 20, 8]
    _, bottom, right, _ = wide.bounds
    assert (right - 20) * 111.3 == pytest.approx(200, rel=0.01)
    assert -bottom * 110.6 == pytest.approx(200, rel=0.01)
    assert wide.contains(plain)


def test_what_cannot_be_drawn():
    with pytest.raises(OptionError, match="--buffer 200"):
        accessible_area(GLOBE, np.zeros(2), np.zeros(2), "buffer")
    with pytest.raises(DataError, match="has no area: widen it with --buffer"):
        accessible_area(GLOBE, np.array([1.0, 2]), np.array([1.0, 2]), "hull")
    bare = Grid(width=3, height=3, transform=Affine(1, 0, 0, 0, -1, 3), crs=None)
    with pytest.raises(DataError, match="no coordinate reference system"):
        accessible_area(bare, np.ones(1), np.ones(1), "buffer", 5)
