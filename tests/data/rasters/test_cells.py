"""What is in the cells: a wrong count or range misleads every later step."""

import numpy as np
import pytest
from rasterio.windows import Window

from sdm.data.rasters.cells import CellLookup, Summary, all_valid
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError


def test_summary_counts_and_ranges(stack, landscape, naive):
    expected = naive(landscape, stack.names)
    summary = stack.summary()
    np.testing.assert_array_equal(summary.minimum, np.nanmin(expected, axis=(1, 2)))
    np.testing.assert_array_equal(summary.maximum, np.nanmax(expected, axis=(1, 2)))
    np.testing.assert_array_equal(summary.count, np.isfinite(expected).sum(axis=(1, 2)))
    assert summary.n_valid == np.isfinite(expected).all(axis=0).sum() == 60 * 90 - 100 - 100
    with stack.reader() as reader:
        assert all_valid(reader.read(Window(0, 0, 90, 60))).sum() == summary.n_valid


def test_layer_without_valid_cell_is_an_error(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.array([[1, 2]], dtype="int16"))
    write_raster(tmp_path / "b.tif", np.array([[-9, -9]], dtype="int16"), nodata=-9)
    stack = open_stack(tmp_path)
    with pytest.raises(DataError, match=r"layer 'b.tif' has no valid cell"):
        stack.summary().check(stack)


def test_layers_that_never_overlap_are_an_error(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.array([[1, -9, 3]], dtype="int16"), nodata=-9)
    write_raster(tmp_path / "b.tif", np.array([[-9, 2, -9]], dtype="int16"), nodata=-9)
    stack = open_stack(tmp_path)
    with pytest.raises(DataError, match=r"no cell has data in all 2 layers; 'b' has the fewest \(1 of 3\)"):
        stack.summary().check(stack)


def test_summaries_add_up():
    rng = np.random.default_rng(0)
    array = rng.normal(size=(3, 8, 5)).astype("float32")
    array[0, :2] = np.nan
    array[1, 5:] = np.nan
    whole, valid = Summary.of(array)
    parts = Summary.of(array[:, :3])[0] + Summary.of(array[:, 3:])[0] + Summary.empty(3)
    np.testing.assert_array_equal(whole.minimum, parts.minimum)
    np.testing.assert_array_equal(whole.maximum, parts.maximum)
    np.testing.assert_array_equal(whole.count, [30, 25, 40])
    np.testing.assert_array_equal(whole.count, parts.count)
    assert whole.n_valid == parts.n_valid == valid.sum() == 15


def test_lookup_of_nothing(stack):
    lookup = CellLookup(stack, np.array([], dtype=int), np.array([], dtype=int))
    for window, array in stack.scan():
        lookup.take(window, array)
    assert lookup.values.shape == (0, 3)
