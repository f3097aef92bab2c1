"""Maps of models with variables of place: what a table with coordinates predicts, cell by cell."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from affine import Affine
from shapely.geometry import box

import sdm.data.rasters.stack
from sdm import Maxent
from sdm.data.place import Region
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError
from sdm.estimators.shared import SharedMaxent
from sdm.maps.novelty import MEASURES, NoveltyMaps, novelty_places
from sdm.maps.passes import MapPass
from sdm.maps.single import PlannedMap, predict_raster, predict_rasters, write_spread_maps
from sdm.models.species import Model

HEIGHT, WIDTH = 150, 210
GRIDS = {
    "degrees": ("EPSG:4326", Affine(0.01, 0, 5, 0, -0.01, 50)),
    "metres": ("EPSG:32632", Affine(500, 0, 4.1e5, 0, -500, 5.3e6)),
}


@pytest.fixture(scope="module", params=GRIDS)
def world(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, list[Model]]:
    """Layers with cells that have no data, the table of all cells with their coordinates, and two models."""
    folder = tmp_path_factory.mktemp("layers")
    crs, transform = GRIDS[request.param]
    row, col = np.mgrid[:HEIGHT, :WIDTH]
    bands = {"heat": np.sin(col / 40) + row / HEIGHT, "rain": np.cos(row / 30) * col / WIDTH}
    for name, band in bands.items():
        band[40:60, 30:90] = -9999
        profile = {"driver": "GTiff", "count": 1, "height": HEIGHT, "width": WIDTH, "dtype": "float32"}
        profile |= {"nodata": -9999, "crs": crs, "transform": transform, "tiled": True}
        with rasterio.open(folder / f"{name}.tif", "w", **profile, blockxsize=64, blockysize=64) as out:
            out.write(band.astype("float32"), 1)
    x, y = transform @ (col + 0.5, row + 0.5)
    table = pd.DataFrame({name: band.astype("float32").astype(float).ravel() for name, band in bands.items()})
    table = table.assign(place_x=x.ravel(), place_y=y.ravel()).replace(-9999, np.nan)
    return folder, table, [fitted(table, seed) for seed in (1, 2)]


def fitted(table: pd.DataFrame, seed: int) -> Model:
    known = table.dropna().sample(700, random_state=seed)
    # Presences are in the south-west, where it is warm.
    shares = [known[name].rank(pct=True) for name in ("place_x", "place_y", "heat")]
    labels = ((shares[2] - shares[0] - shares[1]).rank(pct=True) > 0.8).to_numpy().astype(int)
    return Maxent(features="lq", multiplier=0.2).fit(known, labels).model_


def expected(model: Model, table: pd.DataFrame) -> np.ndarray:
    return model.predict(table[list(model.names)]).reshape(HEIGHT, WIDTH)


def band_of(path: Path) -> np.ndarray:
    with rasterio.open(path) as data:
        return data.read(1, masked=True).astype(float).filled(np.nan)


@pytest.mark.parametrize("budget", [32 << 20, 60_000])
def test_a_map_is_what_a_table_with_coordinates_predicts(world, tmp_path: Path, monkeypatch, budget: int) -> None:
    folder, table, models = world
    monkeypatch.setattr(sdm.data.rasters.stack.Stack.windows, "__kwdefaults__", {"budget": budget})
    for model in models:
        stack = open_stack(folder, names=model.names)
        assert (len(stack.windows()) > 3) == (budget < 1 << 20)
        assert any("place_x" in name for name in model.feature_names), "the model depends on place"
        predict_raster(model, stack, tmp_path / "map.tif")
        found, truth = band_of(tmp_path / "map.tif"), expected(model, table)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(truth))
        assert np.isnan(found).sum() == 20 * 60
        np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-9)


def test_maps_made_together_and_their_spread_are_those_of_the_table(world, tmp_path: Path) -> None:
    folder, table, models = world
    stack = open_stack(folder, names=models[0].names)
    first, second = (expected(model, table) for model in models)
    predict_rasters([PlannedMap(model, tmp_path / f"{k}.tif") for k, model in enumerate(models)], stack)
    for k, truth in enumerate((first, second)):
        np.testing.assert_allclose(band_of(tmp_path / f"{k}.tif"), truth, rtol=1e-6, atol=1e-9)
    write_spread_maps(models, stack, {"mean": tmp_path / "mean.tif"})
    np.testing.assert_allclose(band_of(tmp_path / "mean.tif"), (first + second) / 2, rtol=1e-6, atol=1e-9)


def test_a_study_area_leaves_the_rest_as_it_is(world, tmp_path: Path) -> None:
    folder, table, (model, _) = world
    stack = open_stack(folder, names=model.names)
    left, _, right, top = stack.bounds
    area = StudyArea((box(left, stack.xy(79, 0)[1], (left + right) / 2, top),), "area")
    predict_raster(model, stack, tmp_path / "map.tif", MapPass(study_area=area))
    found, truth = band_of(tmp_path / "map.tif"), expected(model, table)
    assert np.isnan(found[:, 110:]).all()
    assert np.isnan(found[85:]).all()
    np.testing.assert_allclose(found[:75, :100], truth[:75, :100], rtol=1e-6, atol=1e-9)


def test_a_group_of_species_knows_where_it_is(world) -> None:
    folder, table, _ = world
    sites = table.dropna().sample(500, random_state=3)
    west, warm = (sites[sites[name].rank(pct=True) < 0.2] for name in ("place_x", "heat"))
    species = [None] * len(sites) + ["west"] * len(west) + ["warm"] * len(warm)
    group = SharedMaxent(features="lq", strength=0.5).fit(pd.concat([sites, west, warm]), species).model_
    low = dict(zip(group.names, group.training_range.low))
    assert np.isneginf(low["place_x"])
    assert low["heat"] == sites["heat"].min()
    truth = group.values(table[list(group.names)]).T.reshape(2, HEIGHT, WIDTH)
    assert np.nanmax(truth[0, :, :20]) > 2 * np.nanmax(truth[0, :, -20:])
    stack = open_stack(folder, names=group.names)
    for window, values in stack.scan(stack.tiles(40, 50)):
        found = group.column_values(list(values.reshape(len(values), -1))).reshape(2, *values.shape[1:])
        rows, cols = window.toslices()
        np.testing.assert_allclose(found, truth[:, rows, cols], rtol=1e-12)
    region = Region.of_model(group)
    assert region is not None
    region.check(stack)


def narrow(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of the middle alone, so that every border of the map is beyond them."""
    middle = table.rank(pct=True)[["place_x", "place_y"]].sub(0.5).abs().max(axis=1) < 0.3
    return table[middle]


def test_novelty_leaves_place_out(world, tmp_path: Path) -> None:
    """What is far away is not novel: MESS, ExDet and MOP are those of a model that does not know where it is."""
    folder, table, _ = world
    known = narrow(table).dropna().sample(600, random_state=5)
    labels = (known["heat"].rank(pct=True) > 0.8).to_numpy().astype(int)
    measures = tuple(MEASURES)
    found = {}
    for kind, names in (("plain", ["heat", "rain"]), ("placed", ["place_x", "heat", "place_y", "rain"])):
        model = Maxent(features="lq").fit(known[names], labels).model_
        (tmp_path / kind).mkdir()
        novelty = NoveltyMaps(model, novelty_places(measures, tmp_path / kind / "map.tif"), measures, "cloglog")
        predict_raster(model, open_stack(folder, names=model.names), tmp_path / kind / "map.tif", novelty=novelty)
        found[kind] = model, novelty
    outside = {kind: novelty.numbers["outside"] for kind, (_, novelty) in found.items()}
    assert outside["plain"] == outside["placed"]
    assert list(outside["placed"]["variables"]) == ["heat", "rain"]
    assert 0 < outside["placed"]["cells"] < HEIGHT * WIDTH / 2
    for name in ("mess", "exdet", "mop", "mop_strict"):
        one, two = (band_of(tmp_path / kind / f"map_{name}.tif") for kind in found)
        np.testing.assert_array_equal(one, two, err_msg=name)
    numbers = {1.0: 2.0, 2.0: 4.0, 0.0: 0.0}  # heat and rain are the second and the fourth variable
    for name in ("mod", "exdet_variable"):
        one, two = (band_of(tmp_path / kind / f"map_{name}.tif") for kind in found)
        known_cells = ~np.isnan(one)
        assert set(np.unique(one[known_cells])) >= {1.0, 2.0}
        np.testing.assert_array_equal([numbers[k] for k in one[known_cells]], two[known_cells], err_msg=name)
    limiting = band_of(tmp_path / "placed" / "map_limiting.tif")
    assert set(np.unique(limiting[~np.isnan(limiting)])) <= {0.0, 2.0, 4.0}
    # Clamping differs where the environment is outside, and there alone.
    model = found["placed"][0]
    seen = (table["heat"].between(known["heat"].min(), known["heat"].max())) & table["rain"].between(
        known["rain"].min(), known["rain"].max()
    )
    inside = seen.to_numpy().reshape(HEIGHT, WIDTH)
    clamping = band_of(tmp_path / "placed" / "map_clamping.tif")
    assert np.all(clamping[inside] == 0)
    assert np.nanmax(clamping) > 0
    predict_raster(model, open_stack(folder, names=model.names), tmp_path / "none.tif", MapPass("none"))
    np.testing.assert_array_equal(~np.isnan(band_of(tmp_path / "none.tif")), inside)


def test_novelty_of_place_alone_is_refused(world) -> None:
    _, table, _ = world
    known = table.dropna().sample(300, random_state=5)
    labels = (known["heat"].rank(pct=True) > 0.8).to_numpy().astype(int)
    model = Maxent(features="lq").fit(known[["place_x", "place_y"]], labels).model_
    with pytest.raises(DataError, match="spatial variables only"):
        NoveltyMaps(model, {}, ("mess",))
