"""Sampling effort: who reads it wrongly corrects for a bias that is not there."""

import numpy as np
import pytest
from affine import Affine

from sdm.data.background import Weighting, background_from_points, sample_background, sample_backgrounds
from sdm.data.rasters import effort as effort_module
from sdm.data.rasters.effort import REACH, kernel_effort, open_effort
from sdm.data.rasters.layers import open_stack
from sdm.data.records.clean import finish_cleaning, locate
from sdm.data.records.occurrences import Occurrences
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError


@pytest.fixture
def effort_file(tmp_path, write_raster):
    """Write effort on the grid of the landscape."""

    def write(array, **options):
        return write_raster(tmp_path / "effort.tif", np.asarray(array, dtype="float32"), nodata=-9999, **options)

    return write


@pytest.fixture
def plane():
    """Effort from 1 in the west to 4 in the east, none in the north, unknown in a corner."""
    array = np.tile(np.linspace(1, 4, 90, dtype="float32"), (60, 1))
    array[:5] = 0
    array[55:, :9] = np.nan
    return array


def test_a_raster_is_read_as_it_is(stack, effort_file, plane):
    effort = open_effort(effort_file(np.where(np.isnan(plane), -9999, plane)), stack)
    for window in stack.windows(rows=17):
        np.testing.assert_array_equal(effort.window(window), plane[window.toslices()])
    rows, cols = np.array([0, 57, 30]), np.array([3, 2, 89])
    np.testing.assert_array_equal(effort.at_cells(rows, cols), plane[rows, cols])
    assert effort.name == "effort.tif"


def test_what_is_no_effort_raster(stack, effort_file, tmp_path, write_raster, plane):
    plane[7, 9] = -2
    with pytest.raises(DataError, match=r"'effort.tif' has a negative effort \(-2 at row 7, column 9\)"):
        sample_background(stack, n=50, effort=open_effort(effort_file(plane), stack).window)
    with pytest.raises(DataError, match="has 2 layers: expected one band"):
        open_effort(write_raster(tmp_path / "two.tif", np.ones((2, 60, 90), dtype="float32")), stack)
    other = write_raster(tmp_path / "coarse.tif", np.ones((30, 45), dtype="float32"), cell=1.0)
    with pytest.raises(DataError, match="has 45×30 cells, the stack has 90×60: use --align first"):
        open_effort(other, stack)
    with pytest.raises(DataError, match="no valid cell with a weight above 0"):
        sample_background(stack, n=50, effort=open_effort(effort_file(np.zeros((60, 90))), stack).window)


def test_another_grid_is_resampled_on_request(stack, tmp_path, write_raster):
    coarse = np.repeat(np.arange(45, dtype="float32")[None], 30, axis=0) + 1
    effort = open_effort(write_raster(tmp_path / "coarse.tif", coarse, cell=1.0), stack, align=True)
    fine = effort.window(stack.windows()[0])
    assert fine.shape == (60, 90)
    np.testing.assert_allclose(fine[30, 2:-2], np.arange(90)[2:-2] / 2 + 0.75, atol=1e-4)


def test_sample_draws_by_effort_and_prior_weighs_by_it(stack, effort_file, plane):
    effort = open_effort(effort_file(np.where(np.isnan(plane), -9999, plane)), stack)
    drawn, weighed = (
        sample_background(stack, n=600, seed=2, effort=effort.window, weighting=Weighting(treatment=how))
        for how in ("sample", "prior")
    )
    for background in (drawn, weighed):
        assert (effort.at_cells(background.rows, background.cols) > 0).all()
        assert background.weight.mean() == pytest.approx(1)
        assert background.notices == (
            "45 valid cells have no sampling effort (taken as zero): they are not background",
            "400 valid cells have zero sampling effort: they are not background",
        )
    assert drawn.cols.mean() > weighed.cols.mean() + 5
    own = effort.at_cells(weighed.rows, weighed.cols)
    np.testing.assert_allclose(weighed.weight, own / own.mean())
    assert np.ptp(drawn.weight) < np.ptp(weighed.weight) / 4, "what is drawn by effort need hardly be weighed"


@pytest.mark.parametrize("n", [20, 800, 3000, 4000])
def test_weights_make_up_for_drawing_without_replacement(stack, plane, n):
    """Whatever the number of cells, the weighted sample stands for effort: its mean column is that of all effort."""
    effort = np.nan_to_num(plane) ** 3
    whole = sample_background(stack, n="all", effort=lambda w: effort[w.toslices()])
    own = effort[whole.rows, whole.cols]
    np.testing.assert_allclose(whole.weight, own / own.mean(), err_msg="all cells: the weight is the effort")
    expected = np.average(whole.cols, weights=own)
    means = []
    for seed in range(40):
        some = sample_background(stack, n=n, seed=seed, effort=lambda w: effort[w.toslices()], threads=1)
        assert len(some) == n
        means.append(np.average(some.cols, weights=some.weight))
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - expected) < 3.5 * error + 1e-9
    assert error < 0.7


def test_a_presence_has_the_weight_that_its_cell_would_have(stack, plane):
    effort = np.nan_to_num(plane)
    for how in ("sample", "prior"):
        for n in (300, "all"):
            found = sample_background(
                stack, n=n, seed=3, effort=lambda w: effort[w.toslices()], weighting=Weighting(True, how)
            )
            again = found.weighting.weight(stack.cell_area(found.rows), effort[found.rows, found.cols])
            np.testing.assert_array_equal(again, found.weight)
    assert Weighting().weight(np.ones(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("how", ["sample", "prior"])
@pytest.mark.parametrize("n", [100, "all"])
def test_constant_effort_is_none(stack, how, n):
    """Tables made with the same effort everywhere are those made without any."""
    own = Occurrences(np.array(["a"] * 3, dtype=object), np.array([20.0, 30, 40]), np.array([30.0, 40, 35]))
    located = locate(own, stack)
    points, _ = finish_cleaning(located, stack.sample(*located.cells))
    background = sample_background(
        stack, n=n, effort=lambda w: np.full((w.height, w.width), 0.3), weighting=Weighting(treatment=how)
    )
    table = SampleTable.from_stack(stack, points["a"], background, presence_effort=np.full(3, 0.3))
    assert table.weights is None
    assert table.base_weights is None
    if how == "prior":
        plain = sample_background(stack, n=n)
        np.testing.assert_array_equal(table.background, plain.values)


def test_records_without_effort_are_in_the_ledger(stack, plane):
    own = Occurrences(np.array(["a"] * 4, dtype=object), np.array([20.0, 30, 20, 11]), np.array([30.0, 40, 49, 21]))
    located = locate(own, stack)
    points, ledger = finish_cleaning(located, stack.sample(*located.cells), effort=lambda r, c: plane[r, c])
    assert points["a"].index.tolist() == [0, 1]
    assert ledger.counts["a"]["no_effort"] == 2
    assert ledger.describe("a") == "2 where the sampling effort is zero or missing"
    _, ledger = finish_cleaning(located, stack.sample(*located.cells), effort=lambda r, c: np.zeros(len(r)))
    with pytest.raises(DataError, match="check the bias raster"):
        ledger.check("a")


def test_several_areas_in_one_pass_are_each_its_own(stack):
    from sdm.data.rasters.accessible import accessible_area

    areas = [None, accessible_area(stack, np.array([20.0]), np.array([30.0]), "buffer", 300)]
    both = sample_backgrounds(stack, areas, n=60, seed=4)
    for area, background in zip(areas, both):
        alone = sample_background(stack, n=60, seed=4, study_area=area)
        np.testing.assert_array_equal(background.rows, alone.rows)
        np.testing.assert_array_equal(background.cols, alone.cols)
    tiny = accessible_area(stack, np.array([20.01]), np.array([30.01]), "buffer", 1)
    assert len(sample_backgrounds(stack, [tiny], n=60)[0]) == 0


def test_own_points_with_effort(stack, plane, effort_file):
    effort = open_effort(effort_file(np.where(np.isnan(plane), -9999, plane)), stack)
    x, y = np.array([20, 20.1, 30, 20]), np.array([30, 30.1, 40, 49])
    own = Occurrences(np.array(["p"] * 4, dtype=object), x, y)
    found = background_from_points(stack, own, effort=effort)
    assert len(found) == 3
    strength = effort.at_cells(found.rows, found.cols)
    np.testing.assert_allclose(found.weight, strength / strength.mean())
    assert len(background_from_points(stack, own, one_per_cell=True)) == 3


def naive_density(stack, valid, rows, cols, km):
    """Sites over valid cells, each pair of cells weighed by a Gaussian of its distance along and across rows."""
    x, y = stack.xy(rows, cols)
    step = 6371.0088 * np.pi / 180
    out = np.full(valid.shape, np.nan)

    def weight(r, c, at_x, at_y):
        across = (at_x - stack.xy(r, c)[0]) * step * np.cos(np.deg2rad(at_y))  # the source's own parallel
        down = (at_y - stack.xy(r, c)[1]) * step
        near = (np.abs(across) <= REACH * km + 1e-9) & (np.abs(down) <= REACH * km + 1e-9)
        return np.where(near, np.exp(-0.5 * (across**2 + down**2) / km**2), 0)

    cells = np.argwhere(valid)
    there = stack.xy(cells[:, 0], cells[:, 1])
    for r, c in cells:
        out[r, c] = weight(r, c, x, y).sum() / weight(r, c, *there).sum()
    return out


def test_kernel_density_is_sites_over_land(tmp_path, write_raster):
    rng = np.random.default_rng(1)
    array = np.where(rng.random((18, 25)) < 0.2, -1, 1).astype("int16")
    stack = open_stack(write_raster(tmp_path / "a.tif", array, nodata=-1, origin=(0, 60)))
    rows, cols = rng.integers(0, 18, 12), rng.integers(0, 25, 12)
    found = kernel_effort(stack, np.append(rows, rows[0]), np.append(cols, cols[0]), bandwidth=70)
    at = {(r, c) for r, c in zip(rows, cols) if array[r, c] == 1}
    assert found.n_sites == len(at), "several records in a cell are one site; nodata has none"
    expected = naive_density(stack, array == 1, *np.array(sorted(at)).T, 70)
    np.testing.assert_allclose(found.surface, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.at_cells(rows, cols), found.surface[rows, cols])


def test_a_wide_kernel_is_that_of_every_cell(tmp_path, write_raster, monkeypatch):
    """Putting fine cells together makes it fast, and changes effort by a few percent of its range at most."""
    rng = np.random.default_rng(2)
    array = np.where(rng.random((150, 170)) < 0.1, -1, 1).astype("int16")
    array[:40, :50] = -1
    stack = open_stack(write_raster(tmp_path / "a.tif", array, nodata=-1, crs="EPSG:25833", cell=1000.0))
    rows, cols = rng.integers(0, 150, 60), rng.integers(0, 170, 60)
    fast = kernel_effort(stack, rows, cols, bandwidth=33).surface
    monkeypatch.setattr(effort_module, "FINE", np.inf)
    exact = kernel_effort(stack, rows, cols, bandwidth=33).surface
    assert np.nanmax(np.abs(fast - exact)) < 0.02 * np.nanmax(exact)
    assert np.nanmax(np.abs(fast - exact)) > 0, "the short cut was taken"


def test_even_sites_are_even_effort_up_to_the_coast(tmp_path, write_raster):
    """Where every land cell is a site effort is 1 everywhere: the edge correction is exact."""
    array = np.where(np.add.outer(np.arange(30), np.arange(30)) < 25, -1, 1).astype("int16")
    stack = open_stack(write_raster(tmp_path / "a.tif", array, nodata=-1))
    found = kernel_effort(stack, *np.nonzero(array == 1), bandwidth=200)
    np.testing.assert_allclose(found.surface[array == 1], 1, rtol=1e-12)
    assert np.isnan(found.surface[array == -1]).all()


def test_bandwidth(tmp_path, write_raster):
    rng = np.random.default_rng(1)
    place = write_raster(tmp_path / "a.tif", np.ones((200, 200), "uint8"), crs="EPSG:25833", cell=1000.0)
    stack = open_stack(place)
    rows, cols = (np.clip(rng.normal(100, 20, 400), 0, 199).astype(int) for _ in range(2))
    sites = np.array(sorted(set(zip(rows, cols)))).T
    auto = kernel_effort(stack, rows, cols)
    spread = np.sqrt(0.5 * (np.var(sites[0]) + np.var(sites[1])))
    assert auto.bandwidth == pytest.approx(spread * sites.shape[1] ** (-1 / 6))
    assert kernel_effort(stack, rows[:1], cols[:1]).bandwidth == 1.0, "at least one cell"
    with pytest.raises(OptionError, match="bandwidth=-3"):
        kernel_effort(stack, rows, cols, bandwidth=-3)
    assert stack.transform == Affine(1000, 0, 10, 0, -1000, 50)


def test_a_group_without_a_record_on_land(stack):
    with pytest.raises(DataError, match="effort cannot be estimated"):
        kernel_effort(stack, np.array([2]), np.array([2]), name="moths.csv")


@pytest.mark.parametrize("bandwidth", [300, 3000, "auto"])
def test_effort_goes_over_the_date_line(tmp_path, write_raster, bandwidth):
    """Sites at 179° make -179° well visited: the same surface as on a globe that is cut elsewhere."""
    rng = np.random.default_rng(3)
    land = np.where(rng.random((60, 120)) < 0.8, 1, -1).astype("int16")
    rows, cols = rng.integers(10, 50, 80), rng.integers(50, 70, 80)
    place = {"origin": (-180.0, 90.0), "cell": 3.0, "nodata": -1}
    middle = open_stack(write_raster(tmp_path / "a.tif", land, **place))
    cut = open_stack(write_raster(tmp_path / "b.tif", np.roll(land, 60, axis=1), **place))
    here = kernel_effort(middle, rows, cols, bandwidth=bandwidth)
    there = kernel_effort(cut, rows, (cols + 60) % 120, bandwidth=bandwidth)
    assert here.bandwidth == pytest.approx(there.bandwidth)
    assert here.bandwidth < 4000
    np.testing.assert_allclose(np.roll(here.surface, 60, axis=1), there.surface, rtol=1e-9, atol=1e-12)
