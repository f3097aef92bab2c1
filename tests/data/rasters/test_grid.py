"""The grid: a wrong cell is a wrong climate for the species."""

import math

import numpy as np
import pytest
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from naive import ellipsoid_km2
from pyproj import CRS as ProjectionCRS
from rasterio.crs import CRS

from sdm.data.crs import same_crs
from sdm.data.rasters.grid import Grid

WGS84 = CRS.from_epsg(4326)


def make_grid(width=40, height=30, cell=0.05, x0=-94.8, y0=23.55, crs=WGS84) -> Grid:
    return Grid(width=width, height=height, transform=Affine(cell, 0, x0, 0, -cell, y0), crs=crs)


grids = st.builds(
    make_grid,
    width=st.integers(1, 5000),
    height=st.integers(1, 5000),
    cell=st.sampled_from([0.05, 1 / 120, 0.1, 2.5 / 60, 1.0, 30.0, 500.0]),
    x0=st.sampled_from([-180.0, -94.8, 0.0, 249_000.0]),
    y0=st.sampled_from([90.0, 23.55, 0.0, 6_632_000.0]),
)


@given(grids, st.data())
def test_centre_of_a_cell_is_in_that_cell(grid, data):
    row = data.draw(st.integers(0, grid.height - 1))
    col = data.draw(st.integers(0, grid.width - 1))
    assert np.ravel(grid.rowcol(*grid.xy(row, col))).tolist() == [row, col]


binary_grids = st.builds(
    make_grid,
    width=st.integers(1, 5000),
    height=st.integers(1, 5000),
    cell=st.sampled_from([0.125, 0.5, 1.0, 30.0]),
    x0=st.integers(-180, 249_000),
    y0=st.integers(-90, 6_632_000),
)


@given(binary_grids, st.data())
def test_point_on_an_edge_belongs_to_the_right_and_above(grid, data):
    row, col = data.draw(st.integers(0, grid.height)), data.draw(st.integers(0, grid.width))
    x, y = grid.transform.c + col * grid.transform.a, grid.transform.f + row * grid.transform.e
    assert np.ravel(grid.rowcol(x, y)).tolist() == [max(row - 1, 0), min(col, grid.width - 1)]


@given(grids, st.data())
def test_decimal_edges_fall_as_in_java_maxent(grid, data):
    """Plain double precision from the lower-left corner; exact decimals would give 67 of 116 Bradypus samples."""
    row, col = data.draw(st.integers(0, grid.height)), data.draw(st.integers(0, grid.width))
    left, bottom, _, _ = grid.bounds
    # The edge as the user writes it, in decimals.
    x = float(f"{grid.transform.c + col * grid.transform.a:.4f}")
    y = float(f"{grid.transform.f + row * grid.transform.e:.4f}")
    java_col = math.floor((x - left) / grid.transform.a)
    java_row = grid.height - 1 - math.floor((y - bottom) / -grid.transform.e)
    if 0 <= java_col < grid.width and 0 <= java_row < grid.height:
        assert np.ravel(grid.rowcol(x, y)).tolist() == [java_row, java_col]


@given(grids)
def test_no_record_on_the_outer_frame_is_lost(grid):
    """The corners in decimals are in the corner cells, whatever the last bit says."""
    left, bottom, right, top = (float(f"{edge:.9f}") for edge in grid.bounds)
    rows, cols = grid.rowcol([left, right, left, right], [bottom, bottom, top, top])
    last = grid.height - 1, grid.width - 1
    assert rows.tolist() == [last[0], last[0], 0, 0]
    assert cols.tolist() == [0, last[1], 0, last[1]]


@given(binary_grids, st.data())
def test_south_up_grid_holds_a_point_in_the_same_place(grid, data):
    left, bottom, right, top = grid.bounds
    x, y = data.draw(st.floats(left, right)), data.draw(st.floats(bottom, top))
    flipped = Affine(grid.transform.a, 0, left, 0, -grid.transform.e, bottom)
    other = Grid(width=grid.width, height=grid.height, transform=flipped, crs=grid.crs)
    row, col = np.ravel(grid.rowcol(x, y))
    assert np.ravel(other.rowcol(x, y)).tolist() == [grid.height - 1 - row, col]
    np.testing.assert_allclose(other.xy(grid.height - 1 - row, col), grid.xy(row, col))


def test_points_outside_have_no_cell():
    grid = make_grid(width=4, height=3, cell=1, x0=0, y0=3)
    rows, cols = grid.rowcol([-0.1, 4.1, 2, 2, np.nan, np.inf, 4, 2], [1, 1, 3.1, -0.1, 1, 1, 0, np.nan])
    assert rows.tolist() == [-1, -1, -1, -1, -1, -1, 2, -1]
    assert cols.tolist() == [-1, -1, -1, -1, -1, -1, 3, -1]


def test_cells_in_degrees_have_their_area_on_the_ellipsoid():
    """Area-weighted background would be biased otherwise: bands of all latitudes make up the Earth."""
    grid = make_grid(width=36, height=18, cell=10, x0=-180, y0=90)
    km2 = grid.cell_km2(np.arange(18))
    assert km2.sum() * 36 == pytest.approx(510_065_621.724, rel=1e-11)  # the surface of WGS 84
    expected = [ellipsoid_km2(10, 80 - 10 * row, 90 - 10 * row) for row in range(18)]
    np.testing.assert_allclose(km2, expected, rtol=1e-12)
    np.testing.assert_allclose(grid.cell_area(np.arange(18)), np.cos(np.deg2rad(85 - 10 * np.arange(18))), rtol=2e-2)
    fine = make_grid(width=10, height=2, cell=1 / 120, x0=0, y0=1 / 120)
    np.testing.assert_allclose(fine.cell_area([0, 1]), 1, rtol=1e-8)
    beyond = make_grid(width=4, height=2, cell=1, x0=0, y0=91)
    assert beyond.cell_km2([0]) == 0


def test_cells_of_a_projection_have_their_area_on_the_plane():
    assert make_grid(crs=CRS.from_epsg(25833), cell=500.0).cell_area([0, 5]).tolist() == [1, 1]
    np.testing.assert_allclose(make_grid(crs=CRS.from_epsg(25833), cell=500.0).cell_km2([0, 5]), 0.25)
    feet = make_grid(crs=CRS.from_epsg(2263), cell=1000.0)  # US survey feet
    np.testing.assert_allclose(feet.cell_km2([3]), (1000 * 1200 / 3937 / 1000) ** 2, rtol=1e-9)
    sphere = make_grid(crs=CRS.from_proj4("+proj=longlat +R=6371000 +no_defs"), cell=1.0, y0=1.0)
    np.testing.assert_allclose(sphere.cell_km2([0]), 6371**2 * np.radians(1) * np.sin(np.radians(1)), rtol=1e-12)


@pytest.mark.parametrize(
    "crs", ["EPSG:4326", "EPSG:4267", "EPSG:4979", "EPSG:4807", "OGC:CRS84", "+proj=longlat +R=6e6"]
)
def test_the_ellipsoid_is_that_which_proj_knows(crs):
    """WGS 84, Clarke 1866, with heights, of grads, and a sphere."""
    known = ProjectionCRS.from_user_input(crs).ellipsoid
    radius, e = make_grid(crs=CRS.from_user_input(crs))._ellipsoid
    assert radius == pytest.approx(known.semi_major_metre / 1000, rel=1e-12)
    assert e**2 == pytest.approx(1 - (known.semi_minor_metre / known.semi_major_metre) ** 2, abs=1e-11)


@given(grids, st.integers(1, 300), st.integers(1, 300), st.integers(1, 100_000))
def test_tiles_cover_every_cell_once(grid, block_height, block_width, cells):
    height, width = grid.tile_size((block_height, block_width), cells)
    assert height >= 1
    assert width >= 1
    if block_height * block_width <= cells:
        assert min(height, grid.height) * width <= cells
    if grid.n_cells / (height * width) < 200:
        windows = grid.tiles(height, width)
        assert sum(w.width * w.height for w in windows) == grid.n_cells
        assert all(w.col_off + w.width <= grid.width and w.row_off + w.height <= grid.height for w in windows)


def test_grids_that_differ_by_a_hair_are_the_same():
    grid = make_grid()
    assert make_grid(x0=-94.8 + 1e-9, cell=0.05 + 1e-9).difference(grid) is None
    assert "has 41×30 cells, the stack has 40×30" in str(make_grid(width=41).difference(grid))
    assert "starts at" in str(make_grid(x0=-94.81).difference(grid))
    assert "EPSG:25833" in str(make_grid(crs=CRS.from_epsg(25833)).difference(grid))
    assert "no known coordinate reference system" in str(make_grid(crs=None).difference(grid))


def test_crs_in_another_dialect_is_the_same():
    esri = CRS.from_wkt(
        'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],'
        'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]'
    )
    assert same_crs(esri, WGS84)
    assert not same_crs(CRS.from_epsg(4258), WGS84)
    assert not same_crs(None, WGS84)
    assert same_crs(None, None)
