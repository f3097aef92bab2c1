"""Novelty beside a map, in one pass over the layers: against slow versions, and whatever the windows are."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio import Affine

import sdm.data.rasters.stack
from sdm import Maxent
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import OptionError
from sdm.maps.novelty import MEASURES, Novelty, NoveltyMaps, novelty_places, read_measures
from sdm.maps.outside import outside_line
from sdm.maps.passes import MapPass
from sdm.maps.single import predict_raster
from sdm.models.species import Model

HEIGHT, WIDTH = 90, 70
GONE = 5  # a category that training does not have


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Heat, rain and soil (categories); some cells are missing in one layer."""
    rng = np.random.default_rng(7)
    heat, rain = rng.normal(0, 1.5, (2, HEIGHT, WIDTH)).astype("float32")
    soil = rng.choice([1, 2, 3, GONE], (HEIGHT, WIDTH), p=[0.5, 0.3, 0.15, 0.05]).astype("float32")
    heat[rng.random(heat.shape) < 0.02] = np.nan
    return np.stack([heat, rain, soil])


@pytest.fixture(scope="module")
def layers(values: np.ndarray, tmp_path_factory) -> Stack:
    folder = tmp_path_factory.mktemp("layers")
    profile = {"width": WIDTH, "height": HEIGHT, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
    place = Affine(0.5, 0, 0, 0, -0.5, 60)  # cells of different areas
    for name, band in zip(("heat", "rain", "soil"), values):
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", transform=place, **profile) as out:
            out.write(np.where(np.isnan(band), -9999, band).astype("float32"), 1)
    return open_stack(str(folder), categorical=["soil"])


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(8)
    n = 400
    columns = {
        "heat": rng.normal(size=n).astype("float32").astype(float),
        "rain": rng.normal(size=n).astype("float32").astype(float),
        "soil": rng.choice([1.0, 2.0, 3.0], n),
    }
    y = (rng.random(n) < 1 / (1 + np.exp(1 - columns["heat"] - columns["rain"] * columns["heat"]))).astype(int)
    return Maxent("lqp", categorical=["soil"]).fit(columns, y).model_


def written(model: Model, stack: Stack, path: Path, **ways):
    places = novelty_places(tuple(MEASURES), path)
    novelty = NoveltyMaps(model, places, tuple(MEASURES), "cloglog")
    predict_raster(model, stack, path, MapPass(**ways), novelty=novelty)
    bands = {}
    for name, place in places.items():
        with rasterio.open(place) as data:
            bands[name] = np.where(data.read(1) == data.nodata, np.nan, data.read(1).astype(float)).ravel()
    return novelty, bands


def test_every_map_is_what_is_measured_at_its_cells(model: Model, layers: Stack, values, tmp_path: Path) -> None:
    novelty, bands = written(model, layers, tmp_path / "map.tif")
    flat = list(values.reshape(3, -1))
    expected = Novelty(model, tuple(MEASURES), "cloglog").measure(flat)
    gone = np.isnan(values).any(axis=0).ravel()
    for name, band in bands.items():
        np.testing.assert_array_equal(np.isnan(band), gone, err_msg=name)
        np.testing.assert_array_equal(band[~gone], expected[name][~gone], err_msg=name)
    assert set(np.unique(bands["mod"][~gone])) <= {1, 2, 3}
    assert (bands["mop_strict"][~gone] == (bands["mess"][~gone] < 0)).all()
    assert ((bands["exdet_variable"] > 0) == ((bands["exdet"] < 0) | (bands["exdet"] > 1)))[~gone].all()
    assert novelty.numbers["novelty"].keys() == {"mess", "exdet", "mop", "mop_strict", "clamping"}


def test_clamping_and_the_limiting_variable_are_as_defined(model: Model, values) -> None:
    flat = values.reshape(3, -1)[:, ::17].astype(float)
    found = Novelty(model, ("clamping", "limiting"), "cloglog").measure(list(flat))
    typical = model.reference.typical[0]
    for k, point in enumerate(flat.T):
        clamped, free = model.predict(point[None])[0], model.predict(point[None], clamp=False)[0]
        if np.isnan(clamped):
            assert np.isnan(found["clamping"][k])
            assert found["limiting"][k] == 255
            continue
        assert found["clamping"][k] == pytest.approx(abs(clamped - free), abs=1e-6)
        raised = []
        for v in range(3):
            other = point.copy()
            other[v] = typical[v]
            raised.append(model.predict(other[None])[0] - clamped)
        best = int(np.argmax(raised))
        assert found["limiting"][k] == (best + 1 if raised[best] > 0 else 0)
    assert len(np.unique(found["limiting"])) > 2


def test_cells_outside_are_counted_with_their_exact_areas(model: Model, layers: Stack, values, tmp_path: Path) -> None:
    novelty, _ = written(model, layers, tmp_path / "map.tif")
    low, high = model.reference.low, model.reference.high
    known = ~np.isnan(values).any(axis=0)
    each = [known & ((values[k] < low[k]) | (values[k] > high[k])) for k in (0, 1)]
    unseen = known & (values[2] == GONE)
    outside = each[0] | each[1] | unseen
    km2 = np.repeat(layers.cell_km2(np.arange(HEIGHT))[:, None], WIDTH, axis=1)
    numbers = novelty.numbers["outside"]
    assert (numbers["of_cells"], numbers["cells"]) == (known.sum(), outside.sum())
    assert numbers["km2"] == pytest.approx(km2[outside].sum(), rel=1e-12)
    assert numbers["share"] == outside.sum() / known.sum()
    for name, mask in zip(("heat", "rain"), each):
        assert numbers["variables"][name]["cells"] == mask.sum() > 0
        assert numbers["variables"][name]["km2"] == pytest.approx(km2[mask].sum(), rel=1e-12)
    assert numbers["unseen_categories"]["soil"]["cells"] == unseen.sum() > 0
    (line,) = novelty.lines
    assert line.startswith(f"outside the training range: {outside.sum():,} of {known.sum():,} cells")
    assert "categories absent from training: soil" in line


def test_only_variables_that_are_often_outside_are_listed() -> None:
    """Dozens of variables, each outside in a handful of cells, would hide the one that matters."""
    parts = {"rain": {"cells": 10}, "heat": {"cells": 500}, "slope": {"cells": 9}}
    outside = {"of_cells": 10_000, "cells": 520, "km2": 2.6, "variables": parts, "unseen_categories": {}}
    line = outside_line(outside)
    assert line == "outside the training range: 520 of 10,000 cells (5.2%, 3 km²): heat 5.0%, rain 0.1%"
    parts = {"slope": {"cells": 9}}
    rare = outside | {"cells": 9, "km2": 0.1, "variables": parts, "unseen_categories": {"soil": {"cells": 0}}}
    assert outside_line(rare) == "outside the training range: 9 of 10,000 cells (under 0.1%, 0 km²)"
    unseen = outside_line(rare | {"unseen_categories": {"soil": {"cells": 3}}})
    assert unseen.endswith("km²): categories absent from training: soil under 0.1%")


def test_nothing_depends_on_windows_or_threads(model: Model, layers: Stack, tmp_path: Path, monkeypatch) -> None:
    seen = set()
    for k, (threads, budget) in enumerate([(1, 32 << 20), (3, 9_000)]):
        monkeypatch.setattr(sdm.data.rasters.stack.Stack.windows, "__kwdefaults__", {"budget": budget})
        (tmp_path / str(k)).mkdir()
        novelty, _ = written(model, layers, tmp_path / str(k) / "map.tif", threads=threads)
        files = sorted((tmp_path / str(k)).glob("*.tif"))
        assert len(files) == 9
        seen.add((*(file.read_bytes() for file in files), str(novelty.numbers)))
    assert len(seen) == 1


def test_maps_of_variables_say_which_number_is_which(model: Model, layers: Stack, tmp_path: Path) -> None:
    written(model, layers, tmp_path / "map.tif")
    for name in ("mod", "exdet_variable", "limiting"):
        with rasterio.open(tmp_path / f"map_{name}.tif") as data:
            assert [data.tags()[f"variable_{k}"] for k in (1, 2, 3)] == ["heat", "rain", "soil"]
            colours = data.colormap(1)
            assert len({colours[k] for k in range(4)}) == 4


@pytest.mark.parametrize("extrapolation", ["clamp", "free", "none", "fade", "lower"])
def test_extrapolation(extrapolation: str, model: Model, layers: Stack, values, tmp_path: Path) -> None:
    predict_raster(model, layers, tmp_path / "map.tif", MapPass(extrapolation))
    flat = values.reshape(3, -1).T.astype(float)
    clamped, free = model.predict(flat), model.predict(flat, clamp=False)
    outside = model.training_range.outside(list(flat.T))
    assert outside.any()
    expected = {
        "clamp": clamped,
        "free": free,
        "none": np.where(outside, np.nan, clamped),
        "fade": np.maximum(clamped - abs(clamped - free), 0),
        "lower": np.minimum(clamped, free),
    }[extrapolation]
    with rasterio.open(tmp_path / "map.tif") as data:
        found = data.read(1, masked=True).astype(float).filled(np.nan).ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_measures_are_words_with_commas_or_a_list() -> None:
    assert read_measures("mop, mess") == read_measures(["mess", "mop,mess"]) == ("mess", "mop")
    assert read_measures(None) == ()
    with pytest.raises(OptionError, match=r"novelty='mes': expected some of mess, exdet, mop, clamping, limiting"):
        read_measures(["mes"])
