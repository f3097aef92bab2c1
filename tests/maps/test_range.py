"""The range as polygons, against the cells of the map."""

from pathlib import Path

import geopandas
import naive
import numpy as np
import pytest
import rasterio
from affine import Affine
from pyproj import Geod

from sdm.errors import DataError
from sdm.maps.ranges import write_range


def raster(
    path: Path, band: np.ndarray, crs: str | None = "EPSG:25833", cell: float = 500.0, top: float = 60.0
) -> Path:
    left, top = (10.0, top) if cell < 1 else (500_000.0, 6_700_000.0)
    with rasterio.open(
        path, "w", driver="GTiff", width=band.shape[1], height=band.shape[0], count=1, dtype="float32", nodata=-9999,
        crs=crs, transform=Affine(cell, 0, left, 0, -cell, top),
    ) as out:  # fmt: skip
        out.write(band.astype(np.float32), 1)
    return path


@pytest.fixture
def band() -> np.ndarray:
    """A ring of 8 cells with a hole, a cell that touches it by a corner, and a block across nodata."""
    out = np.zeros((12, 20))
    out[1:4, 1:4] = 0.5
    out[2, 2] = 0.0
    out[4, 4] = 1e-30
    out[6:10, 10:18] = 0.2
    out[7, 12] = -9999
    return out


def test_patches_holes_and_areas(band: np.ndarray, tmp_path: Path) -> None:
    found, _ = write_range(raster(tmp_path / "map.tif", band), tmp_path / "range.gpkg", species="a 'b' <c>")
    frame = geopandas.read_file(tmp_path / "range.gpkg")
    cells = np.array([4 * 8 - 1, 8, 1])
    np.testing.assert_allclose(frame.area_km2, cells * 0.25)
    np.testing.assert_allclose(frame.geometry.area / 1e6, cells * 0.25)
    assert found["patches"] == len(frame) == 3
    assert found["area_km2"] == pytest.approx(cells.sum() * 0.25)
    assert [len(shape.geoms[0].interiors) for shape in frame.geometry] == [1, 1, 0]
    assert set(frame.species) == {"a 'b' <c>"}
    assert frame.patch.tolist() == [1, 2, 3]
    assert frame.crs == "EPSG:25833"


def test_small_patches_are_left_out_and_counted(band: np.ndarray, tmp_path: Path) -> None:
    found, dropped = write_range(raster(tmp_path / "map.tif", band), tmp_path / "r.gpkg", species="s", min_patch=1.0)
    assert (found["patches"], len(dropped)) == (2, 1)
    assert sum(dropped) == pytest.approx(0.25)
    with pytest.raises(DataError, match="no patch of at least"):
        write_range(tmp_path / "map.tif", tmp_path / "none.gpkg", species="s", min_patch=1e9)
    assert not (tmp_path / "none.gpkg").exists()


def test_degrees_are_measured_on_the_ellipsoid(band: np.ndarray, tmp_path: Path) -> None:
    """A cell of 0.1° at 60° N is about 11.1 km by 5.6 km."""
    write_range(raster(tmp_path / "map.tif", band, "EPSG:4326", 0.1), tmp_path / "r.gpkg", species="s")
    frame = geopandas.read_file(tmp_path / "r.gpkg")
    equal = frame.to_crs("EPSG:6933").geometry.area / 1e6
    np.testing.assert_allclose(frame.area_km2, equal, rtol=1e-9)
    bare, _ = write_range(raster(tmp_path / "bare.tif", band, None, 0.1), tmp_path / "bare.gpkg", species="s")
    assert bare["area_km2"] == pytest.approx(frame.area_km2.sum(), rel=1e-12), "numbers that can be degrees are"


@pytest.mark.parametrize("top", [0.5, 65.5, -40.0])
def test_wide_ranges_have_the_area_of_their_cells(top: float, tmp_path: Path) -> None:
    """An edge along a parallel is no geodesic: taken as one, 100° of it are wrong by several per cent."""
    band, cell = np.zeros((8, 220)), 0.5
    band[1:3, 5:205] = 0.4
    band[3, 5:10] = 0.4
    band[6, 100] = 0.3
    source = raster(tmp_path / "map.tif", band, "EPSG:4326", cell, top=top)
    found, _ = write_range(source, tmp_path / "r.gpkg", species="s")
    frame = geopandas.read_file(tmp_path / "r.gpkg")
    each = [naive.ellipsoid_km2(cell, top - cell * (row + 1), top - cell * row) for row in range(8)]
    counts = (band > 0).sum(axis=1)
    wide, alone = float(counts[:6] @ each[:6]), each[6]
    np.testing.assert_allclose(frame.area_km2, [wide, alone], rtol=1e-10)
    assert found["area_km2"] == pytest.approx(wide + alone, rel=1e-10)
    # The same polygon with its parallels cut into short pieces, which are nearly geodesics.
    dense = frame.geometry.segmentize(0.01)
    geodesic = [abs(Geod(ellps="WGS84").geometry_area_perimeter(shape)[0]) / 1e6 for shape in dense]
    np.testing.assert_allclose(frame.area_km2, geodesic, rtol=1e-6)
    again, dropped = write_range(source, tmp_path / "large.gpkg", species="s", min_patch=alone * 1.0001)
    assert (again["patches"], len(dropped)) == (1, 1)
    assert sum(dropped) == pytest.approx(alone, rel=1e-10)
    assert write_range(source, tmp_path / "all.gpkg", species="s", min_patch=alone * 0.9999)[0]["patches"] == 2


def test_the_same_map_gives_the_same_bytes(band: np.ndarray, tmp_path: Path) -> None:
    source = raster(tmp_path / "map.tif", band)
    for name in ("a.gpkg", "b.gpkg"):
        write_range(source, tmp_path / name, species="s")
    assert (tmp_path / "a.gpkg").read_bytes() == (tmp_path / "b.gpkg").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gpkg", "b.gpkg", "map.tif"]


def test_a_map_without_zeros_or_without_range(tmp_path: Path) -> None:
    whole = raster(tmp_path / "whole.tif", np.ones((300, 300)))
    assert write_range(whole, tmp_path / "w.gpkg", species="s")[0]["patches"] == 1
    with pytest.raises(DataError, match="above zero"):
        write_range(raster(tmp_path / "empty.tif", np.zeros((5, 5))), tmp_path / "e.gpkg", species="s")
