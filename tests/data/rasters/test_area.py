"""The study area: background from elsewhere would be another question."""

import json

import numpy as np
import pytest
from affine import Affine
from rasterio.crs import CRS
from rasterio.windows import Window

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.grid import Grid
from sdm.data.vectors import read_vector
from sdm.errors import DataError

WGS84 = CRS.from_epsg(4326)


def make_grid(width=40, height=30, cell=0.05, x0=-94.8, y0=23.55, crs=WGS84) -> Grid:
    return Grid(width=width, height=height, transform=Affine(cell, 0, x0, 0, -cell, y0), crs=crs)


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
    with pytest.raises(DataError, match="contains no polygon"):
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
    with pytest.raises(DataError, match=r"has the layers one \(Polygon\), two.*name one, as in a.gpkg:one"):
        read_vector(tmp_path / "a.gpkg", kind="polygon")
    with pytest.raises(DataError, match="no layer 'three'"):
        read_vector(tmp_path / "a.gpkg", "three")
    assert len(StudyArea.read(tmp_path / "a.gpkg", WGS84, layer="two").geometries) == 1
