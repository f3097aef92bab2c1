"""The date line and the poles: a study area is the same place however its longitudes are written."""

import geopandas
import numpy as np
import pytest
import shapely
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS
from shapely.geometry import Point, Polygon, box

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.globe import in_one_piece, unwrap_polygon, widest_gap
from sdm.data.rasters.grid import Grid

WGS84 = CRS.from_epsg(4326)


def globe(left, width=360, crs=WGS84):
    return Grid(width=width, height=180, transform=Affine(1, 0, left, 0, -1, 90), crs=crs)


GLOBE, PACIFIC, OCEAN = globe(-180), globe(0), globe(150, 60)
GRIDS = {"-180": GLOBE, "0": PACIFIC, "150": OCEAN, "-210": globe(-210, 60)}


def write(path, *shapes, crs=4326):
    geopandas.GeoDataFrame(geometry=list(shapes), crs=crs).to_file(path)
    return path


def cells(grid, area):
    """Longitude (0 … 360) and latitude of the cells of an area."""
    x, y = grid.xy(*np.nonzero(area.mask(grid)))
    return set(zip((np.round(x, 6) % 360).tolist(), y.tolist()))


def wrap(polygon):
    """Write a polygon's longitudes as files have them: -180 … 180, so that edges jump."""

    def back(xy):
        return np.column_stack([(xy[:, 0] + 180) % 360 - 180, xy[:, 1]])

    return shapely.transform(polygon, back)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("form", ["beyond", "jumping", "in two"])
def test_a_polygon_across_the_date_line(tmp_path, grid, form):
    """Fiji as it is written in three ways, on layers of every convention."""
    whole = Polygon([(176.3, -21), (183.7, -20), (182.2, -12), (177.4, -15)], [[(178, -18), (181, -18), (180.4, -16)]])
    parts = [
        whole.intersection(box(170, -90, 180, 90)),
        shapely.affinity.translate(whole, -360) & box(-180, -90, 0, 90),
    ]
    shapes = {"beyond": [whole], "jumping": [wrap(whole)], "in two": parts}[form]
    layers = GRIDS[grid]
    area = StudyArea.read(write(tmp_path / "a.gpkg", *shapes), layers.crs, grid=layers)
    x, y = (part.ravel() for part in np.meshgrid(np.arange(170.5, 190), np.arange(-29.5, 0)))
    expected = {(float(a) % 360, float(b)) for a, b in zip(x, y) if whole.contains(Point(a, b))}
    assert len(expected) > 20
    assert cells(layers, area) == expected
    assert len([note for note in area.notes if "1 polygons have edges of more than 180°" in note]) == (
        form == "jumping"
    )
    told = any("the longitudes of 1 polygons were shifted by 360°" in note for note in area.notes)
    assert told == (grid != "-180" if form == "in two" else grid in ("-180", "-210"))
    area.check(layers)


@pytest.mark.parametrize("shape", [box(-180, -90, 180, 90), box(-180, -60, 180, 80), box(-179.9, -60, 179.9, 80)])
def test_the_whole_world_is_not_a_strip_at_the_date_line(tmp_path, shape):
    area = StudyArea.read(write(tmp_path / "a.gpkg", shape), WGS84, grid=GLOBE)
    assert area.mask(GLOBE).sum() >= 360 * 140 - 280
    assert not area.notes


def test_the_layers_decide_which_way_round_a_wide_polygon_goes(tmp_path):
    """From -170 to 170 is nearly the world for layers of Europe, and twenty degrees of sea for those of the Pacific."""
    path = write(tmp_path / "a.gpkg", box(-170, -60, 170, 80))
    europe = globe(-20, 60)
    area = StudyArea.read(path, WGS84, grid=europe)
    assert area.mask(europe).sum() == 60 * 140
    assert not area.notes
    assert cells(OCEAN, StudyArea.read(path, WGS84, grid=OCEAN)) == {
        (lon, lat) for lon in np.arange(170.5, 190) for lat in np.arange(-59.5, 80)
    }


@pytest.mark.parametrize(("epsg", "pole"), [(3995, 1), (3031, -1)])
def test_a_polygon_round_a_pole(tmp_path, epsg, pole):
    """A disc and a ring on a polar map are all beyond a latitude, and a belt, on layers in degrees."""
    disc = Point(0, 0).buffer(2e6, 256)
    for name, shape in (("disc", disc), ("belt", disc.difference(Point(0, 0).buffer(1e6, 256)))):
        path = write(tmp_path / f"{name}.gpkg", shape, crs=epsg)
        mask = StudyArea.read(path, WGS84, grid=GLOBE).mask(GLOBE)[::pole]
        lon, lat = (part.ravel() for part in np.meshgrid(np.arange(-179.5, 180), np.arange(89.5, -90, -1) * pole))
        x, y = _polar(epsg, np.column_stack([lon, lat]))
        inside = shapely.contains_xy(shape, x, y).reshape(180, 360)
        assert np.mean(mask != inside) < 1e-3, name
        assert mask[0].all() == (name == "disc")


def _polar(epsg, xy):
    from sdm.data.crs import reproject

    return reproject(xy[:, 0], xy[:, 1], "EPSG:4326", f"EPSG:{epsg}")


def test_a_polygon_on_a_map_of_the_world_is_cut_with_it(tmp_path):
    """On layers in Equal Earth the two sides of the date line are at the two ends of the map."""
    plate = Grid(width=340, height=160, transform=Affine(1e5, 0, -1.7e7, 0, -1e5, 8e6), crs=CRS.from_epsg(8857))
    whole = Polygon([(170, -30), (195, -30), (195, 20), (170, 20)])
    rows, cols = np.indices((160, 340)).reshape(2, -1)
    lon, lat = plate.lonlat(rows + 0.5, cols + 0.5)
    back = np.hypot(*(np.array(_polar(8857, np.column_stack([lon, lat]))) - plate.xy(rows, cols))) < 1
    inside = shapely.contains_xy(whole, lon % 360, lat) & back
    for k, shape in enumerate((whole, wrap(whole))):
        mask = StudyArea.read(write(tmp_path / f"{k}.gpkg", shape), plate.crs, grid=plate).mask(plate).ravel()
        assert inside.sum() > 500
        assert np.mean((mask & back) != inside) < 2e-3, "edges are straight on the map, and curves in degrees"


@given(st.lists(st.integers(-1799, 1799), min_size=1, max_size=12, unique=True), st.sampled_from([-180, 0]))
def test_longitudes_in_one_piece(tenths, left):
    """Slow and obvious: of all places to cut, the one that leaves the shortest piece."""
    lon = (np.array(tenths) / 10 - left) % 360 + left
    together = in_one_piece(lon)[0]
    turns = (together - lon) / 360
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)
    spans = [np.ptp(np.where(lon < cut, lon + 360, lon)) for cut in lon]
    assert np.ptp(together) == pytest.approx(min(spans))
    if np.ptp(lon) <= min(spans) + 1e-9:
        assert widest_gap(lon) is None
        np.testing.assert_array_equal(together, lon)


def test_polygons_that_do_not_jump_are_left_alone():
    for shape in (box(-170, 0, -20, 10), Polygon([(0, 0), (179, 0), (179, 10)])):
        assert unwrap_polygon(shape) is shape
