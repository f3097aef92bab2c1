"""The accessible area: distances on the ground, in degrees, metres, over the date line and round a pole."""

import numpy as np
import pytest
from affine import Affine
from pyproj import Geod
from rasterio.crs import CRS

from sdm.data.crs import reproject
from sdm.data.rasters.accessible import accessible_area
from sdm.data.rasters.grid import Grid
from sdm.errors import DataError, OptionError

GLOBE = Grid(width=360, height=180, transform=Affine(1, 0, -180, 0, -1, 90), crs=CRS.from_epsg(4326))
PACIFIC = Grid(width=360, height=180, transform=Affine(1, 0, 0, 0, -1, 90), crs=CRS.from_epsg(4326))
NORWAY = Grid(width=100, height=80, transform=Affine(5000, 0, 100_000, 0, -5000, 7_000_000), crs=CRS.from_epsg(25833))
PLATE = Grid(width=180, height=90, transform=Affine(2e5, 0, -1.8e7, 0, -2e5, 9e6), crs=CRS.from_epsg(8857))
POLAR = Grid(width=80, height=80, transform=Affine(1e5, 0, -4e6, 0, -1e5, 4e6), crs=CRS.from_epsg(3995))
NAD83 = Grid(width=360, height=180, transform=Affine(1, 0, -180, 0, -1, 90), crs=CRS.from_epsg(4269))
MERCATOR = Grid(width=80, height=80, transform=Affine(9000, 0, 0, 0, -9000, 9_000_000), crs=CRS.from_epsg(3857))


def nearest(grid, lon, lat):
    """Distance of every cell's centre from the nearest point, in km, by the geodesic of each pair."""
    rows, cols = np.indices((grid.height, grid.width)).reshape(2, -1)
    x, y = grid.lonlat(rows + 0.5, cols + 0.5)
    each = [Geod(ellps="WGS84").inv(np.full(x.size, a), np.full(x.size, b), x, y)[2] for a, b in zip(lon, lat)]
    back = np.array(reproject(x, y, "EPSG:4326", grid.crs)) - grid.xy(rows, cols)
    each.append(np.where(np.hypot(*back) % 360 < 1e-3, np.inf, np.nan))  # beside the globe, on a map of it
    return np.min(each, axis=0).reshape(grid.height, grid.width) / 1000


@pytest.mark.parametrize(
    ("grid", "points", "km"),
    [
        (GLOBE, [(0, 0), (179.2, 10), (-100, 50), (20, 85), (50, -88)], 900),
        (PACIFIC, [(0.5, -5), (179.2, 10), (350, 50)], 600),
        (NAD83, [(179.2, 10), (-179.5, 60), (20, 5)], 800),
        (PLATE, [(179.2, 10), (-178.5, -40), (-100, 50), (20, 5)], 900),
        (POLAR, [(179.2, 85), (20, 70)], 900),
        (NORWAY, [(9, 62), (10.5, 61.5), (8, 61)], 50),
        (MERCATOR, [(2, 60.5), (4, 62)], 60),
    ],
)
def test_a_buffer_is_all_within_a_distance(grid, points, km):
    lon, lat = np.array(points, dtype=float).T
    x, y = reproject(lon, lat, "EPSG:4326", grid.crs)
    inside = accessible_area(grid, x, y, "buffer", km).mask(grid)
    away = nearest(grid, lon, lat)
    assert inside.any()
    assert np.nanmax(away[inside]) < 1.005 * km
    assert np.nanmin(away[~inside]) > 0.995 * km


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


def turned(area, degrees):
    """The cells of a study area on the globe, in the columns of a globe that is turned."""
    return np.roll(area.mask(GLOBE), round(degrees), axis=1)


@pytest.mark.parametrize("km", [0, 300])
@pytest.mark.parametrize("middle", [0.0, 100.0, 180.0, -175.0])
def test_a_hull_is_the_same_wherever_the_date_line_is(km, middle):
    """Records at 179° and -179° are neighbours: their hull is not the whole world between them."""
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-25, 25, 40), rng.uniform(-60, 60, 40)
    here = accessible_area(GLOBE, x, y, "hull", km)
    there = accessible_area(GLOBE, (x + middle + 180) % 360 - 180, y, "hull", km)
    np.testing.assert_array_equal(turned(here, middle), there.mask(GLOBE))
    pacific = accessible_area(PACIFIC, (x + middle) % 360, y, "hull", km).mask(PACIFIC)
    np.testing.assert_array_equal(np.roll(pacific, 180, axis=1), there.mask(GLOBE))
    assert 0.05 < np.mean(there.mask(GLOBE)) < 0.3


def test_a_hull_round_a_pole_has_it_inside():
    """Bears all around the Arctic can have reached the pole; the hull in degrees would end at the northernmost."""
    x, y = np.array([-160.0, -100, -40, 20, 80, 140]), np.full(6, 70.0)
    inside = accessible_area(GLOBE, x, y, "hull").mask(GLOBE)
    assert inside[:17].all(), "all beyond 73°"
    assert not inside[21:].any(), "nothing before 69°"
    flat = accessible_area(POLAR, *reproject(x, y, "EPSG:4326", POLAR.crs), "hull").mask(POLAR)
    rows, cols = np.indices(flat.shape).reshape(2, -1)
    lon, lat = POLAR.lonlat(rows + 0.5, cols + 0.5)
    both = inside[tuple(np.array(GLOBE.rowcol(lon, lat)))].reshape(flat.shape)
    assert np.mean(both == flat) > 0.98, "a cell of a degree is wider than one of 100 km"


@pytest.mark.parametrize("km", [0, 500])
def test_a_hull_on_a_map_of_the_world_is_cut_with_it(km):
    """On a map that is cut open at the date line the hull of records in Fiji is two pieces, at both ends."""
    lon, lat = np.array([177.0, 179.5, -178.0, -179.9]), np.array([-15.0, -21, -17, -12])
    x, y = reproject(lon, lat, "EPSG:4326", PLATE.crs)
    inside = accessible_area(PLATE, x, y, "hull", km)
    degrees = accessible_area(GLOBE, lon, lat, "hull", km)
    rows, cols = np.indices((400, 360)).reshape(2, -1)
    at_lon, at_lat = 170 + cols * 0.055, -30 + rows * 0.0751
    at = reproject(at_lon, at_lat, "EPSG:4326", PLATE.crs)
    import shapely

    one = shapely.contains_xy(degrees.geometries[0], (at_lon + 180) % 360 - 180, at_lat)
    two = shapely.contains_xy(inside.geometries[0], *at)
    assert one.any()
    assert np.mean(one != two) < 0.002, "lines are straight in degrees, and are followed on the map"
    assert inside.mask(PLATE).mean() < 0.02
