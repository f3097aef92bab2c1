"""Maps as text: the same numbers and places, whatever the numbers are, and GDAL reads them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rasterio.transform import Affine, from_origin

from sdm.maps.gis.formats import ASCII, copy_map


def save(path: Path, values: np.ndarray, transform: Affine, nodata: float = -9999.0) -> Path:
    shape = {"height": values.shape[0], "width": values.shape[1], "count": 1, "dtype": values.dtype}
    with rasterio.open(path, "w", driver="GTiff", crs="EPSG:4326", transform=transform, nodata=nodata, **shape) as out:
        out.write(values, 1)
    return path


@given(arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_nine_digits_give_back_every_number_of_32_bits(values: np.ndarray) -> None:
    with TemporaryDirectory() as folder:
        source = save(Path(folder) / "map.tif", values, from_origin(0, 3, 1, 1))
        copy_map(source, Path(folder) / "map.asc", ASCII)
        lines = (Path(folder) / "map.asc").read_text().splitlines()[6:]
    assert [len(line.split()) for line in lines] == [4, 4, 4]
    np.testing.assert_array_equal(np.array([line.split() for line in lines], dtype=np.float32), values)


def test_numbers_are_short_and_missing_ones_have_their_value(tmp_path: Path) -> None:
    values = np.array([[0.25, 0.0, 1.0], [-9999.0, -9999.0, 1e9]], dtype=np.float32)
    source = save(tmp_path / "map.tif", values, from_origin(0, 2, 1, 1))
    copy_map(source, tmp_path / "map.asc", ASCII)
    lines = (tmp_path / "map.asc").read_text().splitlines()[6:]
    assert [line.split() for line in lines] == [["0.25", "0", "1"], ["-9999", "-9999", "1e+09"]]


def test_grid_is_read_by_gdal_with_the_same_numbers_and_place(tmp_path: Path) -> None:
    """Also where the first hundred thousand characters are missing cells, by which readers judge the type."""
    rng = np.random.default_rng(0)
    values = rng.lognormal(-8, 6, (900, 40)).astype(np.float32)
    values[:700] = -9999.0
    source = save(tmp_path / "map.tif", values, from_origin(-70.3, 12.7, 0.1, 0.1))
    copy_map(source, tmp_path / "map.asc", ASCII)
    with rasterio.open(tmp_path / "map.asc") as copied, rasterio.open(source) as first:
        np.testing.assert_array_equal(copied.read(1), values)
        assert (copied.driver, copied.nodata, copied.crs.is_geographic) == (ASCII, -9999.0, True)
        np.testing.assert_allclose(copied.transform, first.transform, atol=1e-9)


def test_presence_is_written_as_whole_numbers(tmp_path: Path) -> None:
    values = np.array([[0, 1], [255, 1]], dtype=np.uint8)
    source = save(tmp_path / "map.tif", values, from_origin(0, 2, 1, 1), nodata=255)
    copy_map(source, tmp_path / "map.asc", ASCII)
    lines = (tmp_path / "map.asc").read_text().splitlines()[6:]
    assert [line.split() for line in lines] == [["0", "1"], ["255", "1"]]
    with rasterio.open(tmp_path / "map.asc") as copied:
        np.testing.assert_array_equal(copied.read(1), values)


def test_cells_that_are_not_square_are_left_to_gdal(tmp_path: Path) -> None:
    values = np.array([[0.5, 1.0]], dtype=np.float32)
    source = save(tmp_path / "map.tif", values, from_origin(0, 2, 1, 0.5))
    copy_map(source, tmp_path / "map.asc", ASCII)
    with rasterio.open(tmp_path / "map.asc") as copied:
        np.testing.assert_array_equal(copied.read(1), values)
        np.testing.assert_allclose(copied.res, (1.0, 0.5))
