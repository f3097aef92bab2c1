"""The grid and the study area: a wrong cell is a wrong climate for the species."""

import json

import numpy as np
import pytest
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS
from rasterio.windows import Window

from sdm.data.area import EDGE_RULE, Grid, StudyArea, read_vector, same_crs
from sdm.errors import DataError

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


@given(grids, st.data())
def test_point_on_an_edge_belongs_to_the_east_and_south(grid, data):
    """The rule for the 79 Bradypus records on an edge: float noise must not decide."""
    row = data.draw(st.integers(0, grid.height))
    col = data.draw(st.integers(0, grid.width))
    # The corner as the user writes it, in decimals.
    x = float(f"{grid.transform.c + col * grid.transform.a:.9f}")
    y = float(f"{grid.transform.f + row * grid.transform.e:.9f}")
    assert np.ravel(grid.rowcol(x, y)).tolist() == [min(row, grid.height - 1), min(col, grid.width - 1)]


def test_edge_rule_is_stated():
    assert "east" in EDGE_RULE
    assert "south" in EDGE_RULE
    assert "east and to the south" in " ".join(Grid.rowcol.__doc__.split())


def test_points_outside_have_no_cell():
    grid = make_grid(width=4, height=3, cell=1, x0=0, y0=3)
    rows, cols = grid.rowcol([-0.1, 4.1, 2, 2, np.nan, np.inf, 4, 2], [1, 1, 3.1, -0.1, 1, 1, 0, np.nan])
    assert rows.tolist() == [-1, -1, -1, -1, -1, -1, 2, -1]
    assert cols.tolist() == [-1, -1, -1, -1, -1, -1, 3, -1]


def test_cell_area_is_that_of_the_sphere():
    """Area-weighted background would be biased otherwise: bands of all latitudes make up the sphere."""
    grid = make_grid(width=36, height=18, cell=10, x0=-180, y0=90)
    area = grid.cell_area(np.arange(18))
    assert area.sum() * np.deg2rad(10) == pytest.approx(2)
    np.testing.assert_allclose(area, np.cos(np.deg2rad(85 - 10 * np.arange(18))), rtol=2e-3)
    assert make_grid(crs=CRS.from_epsg(25833)).cell_area([0, 5]).tolist() == [1, 1]


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
    assert "no known CRS" in str(make_grid(crs=None).difference(grid))


def test_crs_in_another_dialect_is_the_same():
    esri = CRS.from_wkt(
        'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],'
        'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]'
    )
    assert same_crs(esri, WGS84)
    assert not same_crs(CRS.from_epsg(4258), WGS84)
    assert not same_crs(None, WGS84)
    assert same_crs(None, None)


def polygon_file(path, *rings):
    features = [
        {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}} for ring in rings
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def box(left, bottom, right, top):
    return [[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]]


def test_study_area_takes_cells_by_their_centre(tmp_path):
    grid = make_grid(width=10, height=10, cell=1, x0=0, y0=10)
    area = StudyArea.read(polygon_file(tmp_path / "a.geojson", box(2.4, 3.4, 5.6, 7.6), box(8, 0, 9, 1)), WGS84)
    x, y = grid.xy(*np.indices((10, 10)))
    inside = ((x > 2.4) & (x < 5.6) & (y > 3.4) & (y < 7.6)) | ((x > 8) & (x < 9) & (y < 1))
    np.testing.assert_array_equal(area.mask(grid), inside)
    rows, cols = np.indices((10, 10))
    np.testing.assert_array_equal(area.contains(grid, rows.ravel(), cols.ravel()).reshape(10, 10), inside)
    window = Window(3, 2, 4, 5)
    np.testing.assert_array_equal(area.mask(grid, window), inside[2:7, 3:7])
    assert not area.mask(grid, Window(0, 0, 2, 2)).any()


def test_study_area_is_reprojected(tmp_path):
    utm = CRS.from_epsg(32633)
    area = StudyArea.read(polygon_file(tmp_path / "a.geojson", box(14.9, 49.9, 15.1, 50.1)), utm)
    left, bottom, right, top = area.bounds
    assert left < 500_000 < right
    assert 5_500_000 < bottom < top < 5_600_000
    area.check(make_grid(width=100, height=100, cell=1000, x0=450_000, y0=5_600_000, crs=utm))


def test_study_area_elsewhere_is_an_error(tmp_path):
    area = StudyArea.read(polygon_file(tmp_path / "a.geojson", box(100, 0, 101, 1)), WGS84)
    with pytest.raises(DataError, match=r"'a.geojson' .* does not overlap the layers .*: check"):
        area.check(make_grid())


def test_study_area_without_polygon_is_an_error(tmp_path):
    path = tmp_path / "points.geojson"
    path.write_text('{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"a": 1}, '
                    '"geometry": {"type": "Point", "coordinates": [1, 2]}}]}')  # fmt: skip
    with pytest.raises(DataError, match="holds no polygon"):
        StudyArea.read(path, WGS84)


def test_vector_errors_name_the_file(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_vector(tmp_path / "none.gpkg")
    (tmp_path / "bad.gpkg").write_bytes(b"nonsense" * 100)
    with pytest.raises(DataError, match=r"'bad.gpkg' cannot be read as a vector file"):
        read_vector(tmp_path / "bad.gpkg")
    (tmp_path / "bad.parquet").write_bytes(b"nonsense" * 100)
    with pytest.raises(DataError, match=r"'bad.parquet' cannot be read"):
        read_vector(tmp_path / "bad.parquet")


def test_layer_of_a_vector_file_must_be_clear(tmp_path):
    import geopandas
    from shapely.geometry import box as rectangle

    for name in ("one", "two"):
        geopandas.GeoDataFrame(geometry=[rectangle(0, 0, 1, 1)], crs=4326).to_file(tmp_path / "a.gpkg", layer=name)
    with pytest.raises(DataError, match="layers one, two"):
        read_vector(tmp_path / "a.gpkg")
    with pytest.raises(DataError, match="no layer 'three'"):
        read_vector(tmp_path / "a.gpkg", "three")
    assert len(StudyArea.read(tmp_path / "a.gpkg", WGS84, layer="two").geometries) == 1
