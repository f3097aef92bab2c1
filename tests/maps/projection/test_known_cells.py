"""Models predict the cells that have values alone: maps are those of plain prediction, also where a window has none."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from rasterio import Affine

import sdm.data.rasters.stack
from sdm import ConditionalMaxent, Maxent
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.kinds.classes.outputs import ProjectedClasses
from sdm.maps.passes import MapPass
from sdm.maps.projection.scenario import ScenarioFiles, ScenarioPass
from sdm.maps.projection.targets import ProjectedModel
from sdm.maps.single import predict_raster

HEIGHT, WIDTH, NAMES = 96, 40, ("heat", "rain")


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """The upper third has no data at all, and below it single cells miss a layer."""
    rng = np.random.default_rng(5)
    profile = {"width": WIDTH, "height": HEIGHT, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
    (tmp_path / "layers").mkdir()
    for name in NAMES:
        band = rng.normal(0, 1.5, (HEIGHT, WIDTH)).astype("float32")
        band[rng.random(band.shape) < 0.05] = -9999
        band[: HEIGHT // 3] = -9999
        path = tmp_path / "layers" / f"{name}.tif"
        with rasterio.open(path, "w", driver="GTiff", transform=Affine(0.5, 0, 0, 0, -0.5, 60), **profile) as out:
            out.write(band, 1)
    return open_stack(tmp_path / "layers", names=NAMES)


def table(n: int = 300) -> tuple[pd.DataFrame, np.random.Generator]:
    rng = np.random.default_rng(6)
    return pd.DataFrame(rng.normal(size=(n, 2)), columns=list(NAMES)), rng


@pytest.mark.parametrize("extrapolation", ["clamp", "free", "none", "fade", "lower"])
def test_maps_of_species_are_those_of_plain_prediction(
    stack: Stack, tmp_path: Path, monkeypatch, extrapolation
) -> None:
    monkeypatch.setattr(sdm.data.rasters.stack.Stack.windows, "__kwdefaults__", {"budget": 8 * WIDTH * 16})
    assert len(stack.windows()) > 5, "some have no cell with a value"
    x, rng = table()
    fits = [Maxent("lqp").fit(x, (x["heat"] * k + rng.normal(size=len(x)) > 1).astype(int)).model_ for k in (1, 2)]
    models = [ProjectedModel(m, f"s{k}", rules=("0.4",), extrapolation=extrapolation) for k, m in enumerate(fits)]
    ScenarioPass(models, ScenarioFiles.of(models, ["mess", "clamping"]), ["mess", "clamping"]).write(stack, tmp_path)
    for k, model in enumerate(fits):
        predict_raster(model, stack, tmp_path / "plain.tif", MapPass(extrapolation))
        with rasterio.open(tmp_path / "plain.tif") as plain, rasterio.open(tmp_path / f"s{k}.tif") as made:
            np.testing.assert_array_equal(made.read(1), plain.read(1))


def test_classes_have_no_probability_where_nothing_is_known(stack: Stack, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sdm.data.rasters.stack.Stack.windows, "__kwdefaults__", {"budget": 8 * WIDTH * 16})
    x, rng = table()
    model = ConditionalMaxent().fit(x, np.array(["u", "v", "w"])[rng.integers(0, 3, len(x))]).model_
    models = [ProjectedClasses(model, "cover")]
    ScenarioPass(models, ScenarioFiles.of(models, []), []).write(stack, tmp_path)
    with stack.reader() as reader:
        known = np.isfinite(reader.read(rasterio.windows.Window(0, 0, WIDTH, HEIGHT))).all(axis=0)
    total = np.zeros(known.shape)
    for label in model.labels:
        with rasterio.open(tmp_path / f"{label}.tif") as data:
            band = data.read(1, masked=True)
        np.testing.assert_array_equal(~np.ma.getmaskarray(band), known)
        total += band.filled(0)
    np.testing.assert_allclose(total[known], 1, atol=1e-6)
