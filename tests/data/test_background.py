"""Background: a sample that depends on anything but the seed cannot be repeated."""

import json

import numpy as np
import pytest

from sdm.data.background import Weighting, background_from_points, sample_background
from sdm.data.rasters import layers
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.layers import open_stack
from sdm.data.records.occurrences import Occurrences
from sdm.errors import DataError, OptionError


def naive_background(stack, n, seed, weight=None):
    """One random number a cell, the n smallest among valid cells."""
    valid = np.isfinite(np.concatenate([array for _, array in stack.scan(stack.windows(rows=7))], axis=1)).all(axis=0)
    key = np.random.default_rng(seed).random((stack.height, stack.width))
    if weight is not None:
        key = -np.log1p(-key) / weight
    order = np.argsort(np.where(valid, key, np.inf), axis=None)[: min(n, valid.sum())]
    return np.sort(order)


@pytest.mark.parametrize("n", [1, 50, 1000, 5200])
def test_sample_is_the_smallest_keys(stack, n):
    sample = sample_background(stack, n=n, seed=5)
    np.testing.assert_array_equal(sample.rows * stack.width + sample.cols, naive_background(stack, n, 5))
    np.testing.assert_array_equal(sample.values, stack.sample(sample.rows, sample.cols))
    np.testing.assert_array_equal(stack.rowcol(sample.x, sample.y), [sample.rows, sample.cols])
    assert sample.n_valid == 5200
    assert (sample.weight == 1).all()
    assert not np.isnan(sample.values).any()


@pytest.mark.parametrize("budget", [1, 3000, 20_000, 60_000])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_windows_and_threads_do_not_matter(stack, monkeypatch, budget, threads):
    expected = sample_background(stack, n=100, seed=1)
    cut = stack.windows(budget=budget)
    monkeypatch.setattr(layers.Stack, "windows", lambda self, rows=None: cut)
    sample = sample_background(
        stack, n=100, seed=1, threads=threads, lookup_cells=(np.array([3, 59]), np.array([3, 0]))
    )
    assert len(cut) > 1
    np.testing.assert_array_equal(sample.rows, expected.rows)
    np.testing.assert_array_equal(sample.cols, expected.cols)
    np.testing.assert_array_equal(sample.values, expected.values)
    assert sample.summary.n_valid == expected.n_valid
    np.testing.assert_array_equal(np.isnan(sample.presence_values), [[0, 1, 0], [0, 0, 0]])


def test_seed_decides(stack):
    one, same, other = (sample_background(stack, n=100, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.rows, same.rows)
    assert (one.rows != other.rows).any()


def test_sample_is_uniform(stack):
    """Over many seeds every valid cell is drawn equally often."""
    counts = np.zeros(stack.n_cells)
    for seed in range(40):
        sample = sample_background(stack, n=520, seed=seed, threads=1)
        counts[sample.rows * stack.width + sample.cols] += 1
    drawn = counts.reshape(60, 90)
    assert drawn[:10, :10].sum() == drawn[50:, 80:].sum() == 0
    assert counts.sum() == 40 * 520
    halves = drawn[10:50, :45].sum() / drawn[10:50].sum()
    assert halves == pytest.approx(0.5, abs=0.02)
    assert counts.max() <= 16  # binomial(40, 0.1)


def test_area_weights_follow_latitude(tmp_path, write_raster):
    array = np.ones((90, 60), dtype="uint8")
    stack = open_stack(write_raster(tmp_path / "a.tif", array, origin=(0, 90), cell=1.0))
    sample = sample_background(stack, n=500, seed=1, weighting=Weighting(True))
    weight = stack.cell_area(np.arange(90))[:, None]
    np.testing.assert_array_equal(sample.rows * 60 + sample.cols, naive_background(stack, 500, 1, weight))
    north = np.count_nonzero(sample.rows < 30) / 500  # above 60° lies 1 - sin(60°) of the hemisphere
    assert north == pytest.approx(1 - np.sin(np.pi / 3), abs=0.05)
    everything = sample_background(stack, n="all", seed=1, weighting=Weighting(True))
    assert everything.weight.mean() == pytest.approx(1)
    np.testing.assert_allclose(everything.weight / weight[everything.rows, 0], everything.weight[-1] / weight[-1, 0])


def test_area_weights_change_nothing_in_metres(tmp_path, write_raster):
    array = np.ones((20, 20), dtype="uint8")
    stack = open_stack(write_raster(tmp_path / "a.tif", array, crs="EPSG:25833", cell=500.0))
    one, two = (sample_background(stack, n=50, seed=1, weighting=Weighting(weighted)) for weighted in (False, True))
    np.testing.assert_array_equal(one.rows, two.rows)


def test_weights_are_the_seam_for_bias(stack):
    effort = np.zeros((60, 90))
    effort[20:40, 30:35] = 1
    effort[20:40, 35:40] = 3
    effort[0, 50] = np.nan
    sample = sample_background(stack, n=60, seed=1, effort=lambda w: effort[w.toslices()])
    assert sample.n_valid == 200
    assert (effort[sample.rows, sample.cols] > 0).all()
    assert np.count_nonzero(sample.cols >= 35) > 35
    with pytest.raises(DataError, match="no valid cell with a weight above 0"):
        sample_background(stack, n=60, effort=lambda w: np.zeros((w.height, w.width)))


def test_fewer_valid_cells_than_asked(stack):
    sample = sample_background(stack, n=10_000, seed=1)
    assert len(sample) == sample.n_valid == 5200
    assert sample.notices == ("only 5,200 valid cells: all are background, not 10,000",)
    everything = sample_background(stack, n="all")
    assert not everything.notices
    np.testing.assert_array_equal(everything.values, sample.values)


def test_study_area(tmp_path, stack):
    def area(left, bottom, right, top):
        ring = [[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]]
        path = tmp_path / "a.geojson"
        path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
        return StudyArea.read(path, stack.crs)

    sample = sample_background(stack, n=30, seed=1, study_area=area(20, 30, 25, 35))
    assert sample.n_valid == 100
    assert ((sample.x > 20) & (sample.x < 25) & (sample.y > 30) & (sample.y < 35)).all()
    with pytest.raises(DataError, match="does not overlap"):
        sample_background(stack, study_area=area(120, 30, 125, 35))
    with pytest.raises(DataError, match="no valid cell in the study area"):
        sample_background(stack, study_area=area(11, 46, 12, 47))


def test_number_must_make_sense(stack):
    with pytest.raises(OptionError, match=r"background\.points=0"):
        sample_background(stack, n=0)


def test_layer_without_data_is_an_error(tmp_path, write_raster):
    stack = open_stack(write_raster(tmp_path / "a.tif", np.full((2, 3), -1, "int16"), nodata=-1))
    with pytest.raises(DataError, match=r"'a.tif' has no valid cell"):
        sample_background(stack)


def test_own_points(stack):
    x, y = np.array([20, 20.1, 12, 30, np.nan]), np.array([30, 30.1, 48, 40, 3])
    own = Occurrences(np.array(["p", "q", "p", "q", "p"], dtype=object), x, y)
    background = background_from_points(stack, own)
    assert len(background) == background.n_valid == 3  # two in one cell both count
    assert background.notices == ("background points dropped: 1 without coordinates, 1 on nodata",)
    np.testing.assert_array_equal(background.values, stack.sample(background.rows, background.cols))
    with pytest.raises(DataError, match="background: none of 1 records can be used"):
        background_from_points(stack, own.take(np.array([2])))


def test_bradypus_background(shared):
    stack = open_stack(shared / "phillips2006" / "layers")
    sample = sample_background(stack, seed=1)
    assert (len(sample), sample.n_valid) == (10_000, 648_658)
    assert sample.summary.minimum.shape == (14,)
