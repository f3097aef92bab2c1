"""Maps of shared axes: every cell is where the model puts it, colours follow percentiles of the land, and windows do
not matter."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
import shapely
from rio_cogeo import cog_validate
from shared_axes.groups import group
from terminal import read

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError
from sdm.maps.passes import MapPass
from sdm.maps.several import write_axis_maps, write_group_maps
from sdm.models.group import GroupModel


@pytest.fixture(scope="module")
def cells(stack: Stack) -> np.ndarray:
    """The values of both layers, NaN where there are none."""
    return np.stack([read(Path(path)).filled(np.nan).astype(np.float64) for path in stack.paths])


def made(cells: np.ndarray, **ways) -> GroupModel:
    sites = cells.reshape(2, -1).T
    return group(sites[np.isfinite(sites).all(axis=1)][::700], names=("heat", "rain"), **ways)


def test_every_cell_is_where_the_model_puts_it_and_the_title_says_how_much_the_axis_explains(
    stack: Stack, cells: np.ndarray, tmp_path: Path
) -> None:
    model = made(cells, rank=3)
    found = write_axis_maps(model, stack, tmp_path)
    scores = model.axis_scores(list(cells.reshape(2, -1))).reshape(3, *cells.shape[1:])
    assert [one.path.name for one in found] == ["axis_1.tif", "axis_2.tif", "axis_3.tif"]
    for k, one in enumerate(found):
        band = read(one.path)
        np.testing.assert_array_equal(band.mask, np.isnan(scores[k]))
        np.testing.assert_allclose(band.compressed(), scores[k][~np.isnan(scores[k])], rtol=1e-6, atol=1e-6)
        assert cog_validate(one.path)[0]
        title = f"axis {k + 1}, explains {100 * model.explained[k]:.0f} %"
        with rasterio.open(one.path) as source:
            assert source.dtypes == ("float32",)
            assert source.descriptions == (title,)
            assert source.tags()["what"] == title


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_colours_go_from_the_second_to_the_last_but_second_percentile_of_the_land(
    stack: Stack, cells: np.ndarray, tmp_path: Path, rank: int
) -> None:
    model = made(cells, rank=rank)
    write_axis_maps(model, stack, tmp_path)
    land = np.isfinite(cells).all(axis=0)
    with rasterio.open(tmp_path / "axes_rgb.tif") as source:
        bands, tags, kinds = source.read(), source.tags(), [one.name for one in source.colorinterp]
        assert source.nodata is None
    assert kinds == ["red", "green", "blue", "alpha"]
    assert cog_validate(tmp_path / "axes_rgb.tif")[0]
    np.testing.assert_array_equal(bands[3], np.where(land, 255, 0))
    assert not bands[:3, ~land].any()
    for k in range(3):
        if k >= model.rank:
            assert not bands[k].any(), "a colour without an axis"
            continue
        score = read(tmp_path / f"axis_{k + 1}.tif").compressed().astype(np.float64)
        low, high = np.percentile(score, [2, 98])
        ends = [float(end) for end in tags[f"ends_axis_{k + 1}"].split(" to ")]
        assert ends == pytest.approx([low, high], rel=1e-5)
        wanted = np.clip((score - low) / (high - low), 0, 1) * 255
        assert np.abs(bands[k][land] - wanted).max() <= 0.51
        for end in (0, 255):
            assert np.mean(bands[k][land] == end) == pytest.approx(0.02, abs=0.003)


def test_windows_do_not_change_the_maps(stack: Stack, cells: np.ndarray, tmp_path: Path, monkeypatch) -> None:
    model, content = made(cells, rank=3), {}
    for name, budget in (("whole", 1 << 30), ("small", 60_000)):
        monkeypatch.setattr("sdm.maps.rasters.WINDOW_BYTES", budget)
        (tmp_path / name).mkdir()
        write_axis_maps(model, stack, tmp_path / name)
        content[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    assert set(content["small"]) == {"axis_1.tif", "axis_2.tif", "axis_3.tif", "axes_rgb.tif"}
    assert content["small"] == content["whole"]


def test_of_many_axes_six_are_mapped_and_a_model_without_any_has_no_maps(
    stack: Stack, cells: np.ndarray, tmp_path: Path
) -> None:
    names = tuple(f"v{v}" for v in range(5))
    rng = np.random.default_rng(0)
    wide = group(rng.normal(size=(400, 5)), names=names, rank=8, species=20)
    (tmp_path / "many").mkdir()
    (tmp_path / "none").mkdir()
    layers = []
    for name in names:
        path = tmp_path / f"{name}.tif"
        profile = {"width": 12, "height": 9, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
        with rasterio.open(path, "w", driver="GTiff", transform=rasterio.Affine(1, 0, 0, 0, -1, 50), **profile) as out:
            out.write(rng.normal(size=(9, 12)).astype("float32"), 1)
        layers.append(str(path))
    five = open_stack(layers)
    found = write_axis_maps(wide, five, tmp_path / "many")
    assert len(found) == 6
    columns = [read(Path(path)).filled(np.nan).ravel() for path in layers]
    np.testing.assert_allclose(read(found[5].path).ravel(), wide.axis_scores(columns)[5], rtol=1e-5, atol=1e-5)
    assert not write_axis_maps(made(cells, rank=0), stack, tmp_path / "none")
    assert not list((tmp_path / "none").iterdir())


def test_no_prediction_outside_the_training_range_or_the_study_area_if_asked_for(
    stack: Stack, cells: np.ndarray, tmp_path: Path
) -> None:
    model = made(cells)
    (tmp_path / "none").mkdir()
    (tmp_path / "area").mkdir()
    write_axis_maps(model, stack, tmp_path / "none", MapPass("none"))
    lo, hi = model.limits
    with np.errstate(invalid="ignore"):
        inside = ((cells >= lo[:, None, None]) & (cells <= hi[:, None, None])).all(axis=0)
    np.testing.assert_array_equal(read(tmp_path / "none" / "axis_1.tif").mask, ~inside)
    west = StudyArea((shapely.box(0, 40, 1.6, 60),), "EPSG:4326")
    write_axis_maps(model, stack, tmp_path / "area", MapPass(study_area=west))
    outside = read(tmp_path / "area" / "axis_1.tif").mask
    assert outside[:, 161:].all()
    assert not outside[40:, :159].any()
    with rasterio.open(tmp_path / "area" / "axes_rgb.tif") as source:
        np.testing.assert_array_equal(source.read(4) == 0, outside)


@pytest.mark.parametrize("own", [False, True])
def test_the_map_of_a_species_is_what_the_model_predicts_in_one_pass_or_in_several(
    stack: Stack, cells: np.ndarray, tmp_path: Path, monkeypatch, own: bool
) -> None:
    model = made(cells, species=7, own=own)
    wanted = model.column_values(list(cells.reshape(2, -1)), "cloglog").reshape(7, *cells.shape[1:])
    for name, together in (("one", 200), ("several", 3)):
        monkeypatch.setattr("sdm.maps.several.TOGETHER", together)
        monkeypatch.setattr("sdm.maps.several.NUMBERS", 5000)
        (tmp_path / name).mkdir()
        places = {species: tmp_path / name / f"{s}.tif" for s, species in enumerate(model.species)}
        found = write_group_maps(model, stack, places)
        assert list(found) == list(model.species)
        for s, path in enumerate(places.values()):
            band = read(path)
            np.testing.assert_array_equal(band.mask, np.isnan(wanted[s]))
            np.testing.assert_allclose(band.compressed(), wanted[s][~np.isnan(wanted[s])], rtol=1e-5)
    first, second = ((tmp_path / name / "4.tif").read_bytes() for name in ("one", "several"))
    assert first == second


def test_species_without_any_axis_are_not_mapped_where_layers_have_no_data(
    stack: Stack, cells: np.ndarray, tmp_path: Path
) -> None:
    model = made(cells, rank=0, species=2)
    found = write_group_maps(model, stack, {name: tmp_path / f"{name}.tif" for name in model.species})
    assert read(found["Species 0"].path)[:30, :40].mask.all()
    assert found["Species 0"].cells == stack.width * stack.height - 30 * 40


def test_layers_of_another_model_are_refused(stack: Stack, cells: np.ndarray, tmp_path: Path) -> None:
    sites = np.random.default_rng(1).normal(size=(50, 2))
    with pytest.raises(DataError, match="the model needs rain, heat"):
        write_axis_maps(group(sites, names=("rain", "heat")), stack, tmp_path)
