"""Cells side by side, their sums, and the moments of bands, against plain numpy."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdm.errors import DataError
from sdm.maps.cells import KnownCells
from sdm.maps.gis.tags import Moments

SETTINGS = settings(deadline=None)


def window(seed: int, rows: int, width: int, share: float) -> np.ndarray:
    """Return five layers in which some cells have no value, or an infinite one."""
    rng = np.random.default_rng(seed)
    flat = rng.normal(50, 9, (5, rows * width)).astype(np.float32)
    flat[rng.random(flat.shape) > share] = np.nan
    flat[0, rng.random(rows * width) < 0.05] = np.inf
    return flat


@SETTINGS
@given(
    st.integers(0, 999), st.integers(1, 9), st.integers(1, 40), st.sampled_from([0.0, 0.6, 0.95, 1.0]), st.booleans()
)
def test_cells_go_back_to_their_places(seed: int, rows: int, width: int, share: float, masked: bool) -> None:
    flat, rng = window(seed, rows, width, share), np.random.default_rng(seed)
    inside = rng.random(rows * width) < 0.7 if masked else None
    cells = KnownCells(flat, (3, 0, 1), width, inside)
    known = np.isfinite(flat[[3, 0, 1]]).all(axis=0) & (True if inside is None else inside)
    np.testing.assert_array_equal(cells.known, known)
    np.testing.assert_array_equal(cells.values, flat[[3, 0, 1]][:, known])
    assert cells.count == known.sum()
    part = rng.normal(size=cells.count)
    whole = np.full(rows * width, -9999, dtype=np.float32)
    whole[known] = part
    spread = cells.spread(part, -9999.0, np.float32)
    assert spread.dtype == np.float32
    np.testing.assert_array_equal(spread, whole)


@SETTINGS
@given(st.integers(0, 999), st.integers(1, 9), st.integers(1, 40), st.sampled_from([0.0, 0.5, 1.0]))
def test_sums_are_weighted_by_area(seed: int, rows: int, width: int, share: float) -> None:
    flat, rng = window(seed, rows, width, 0.95), np.random.default_rng(seed)
    cells, area = KnownCells(flat, (2, 4), width), rng.uniform(0.5, 1, rows)
    weight = np.repeat(area, width)[cells.known]
    chosen = rng.random(cells.count) < share
    values = flat[[2, 4]][:, cells.known].astype(np.float64)
    np.testing.assert_allclose(cells.sums(area), [weight.sum(), *(values @ weight)])
    np.testing.assert_allclose(cells.sums(area, chosen), [weight[chosen].sum(), *(values[:, chosen] @ weight[chosen])])
    whole = np.zeros(rows * width, dtype=bool)
    whole[cells.known] = chosen
    np.testing.assert_allclose(cells.size(area, chosen), [whole.sum(), whole.reshape(rows, width).sum(axis=1) @ area])


@pytest.mark.parametrize(("dtype", "nodata"), [("float32", -9999.0), ("uint8", 255), ("int16", -9999.0)])
def test_moments_of_windows_are_numpys_of_the_band(dtype: str, nodata: float) -> None:
    rng, moments = np.random.default_rng(1), Moments(nodata)
    band = rng.uniform(3, 90, (70, 33)).astype(dtype)
    band[:30][rng.random((30, 33)) < 0.4] = nodata
    band[30:40] = nodata  # a window without any value
    for window in (band[:30], band[30:40], band[40:], band[:0]):
        moments.add(window)
    values, found = band[band != np.dtype(dtype).type(nodata)].astype(np.float64), moments.summary(Path("map.tif"))
    assert (found.cells, found.minimum, found.maximum) == (values.size, values.min(), values.max())
    assert found.mean == pytest.approx(values.mean(), rel=1e-9), "rounded to nine digits"
    assert found.deviation == pytest.approx(values.std(), rel=2e-9)


def test_a_band_without_any_value() -> None:
    moments = Moments(255)
    moments.add(np.full((4, 4), 255, dtype=np.uint8))
    assert moments.summary(Path("map.tif"), empty=True).cells == 0
    with pytest.raises(DataError, match=r"map\.tif would be empty"):
        moments.summary(Path("map.tif"))
