"""Finer levels of a map inside a page: sharp within a budget, all cells when asked for."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from affine import Affine
from browser import Browser
from rasterio.crs import CRS
from report_runs import project, unpacked

from sdm.kinds.pages import make_page, write_page
from sdm.kinds.registry import read_results
from sdm.report.pages.maps.live_map import BUDGET, LEVELS, NOTHING, TILE, live_map
from sdm.report.pages.maps.scenario_panel import BUDGET as PANEL_BUDGET
from sdm.report.pages.maps.scenario_panel import LEVELS as PANEL_LEVELS
from sdm.report.pages.maps.scenario_panel import panel
from sdm.report.pictures import PIXELS, read_picture, resized
from sdm.report.projection import StoredProjection
from sdm.report.results import Results

SHAPE = (1400, 1900)


@pytest.fixture(scope="module")
def large(full: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results whose maps have far more cells than a page can hold: rough, so that they hardly become shorter."""
    folder = tmp_path_factory.mktemp("large") / "results"
    shutil.copytree(full, folder)
    rng = np.random.default_rng(1)
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    smooth = 0.5 + 0.4 * np.sin(rows / 90) * np.cos(columns / 70)
    values = (smooth + rng.normal(0, 0.01, SHAPE)).clip(0, 1).astype(np.float32)
    values[(rows - 700) ** 2 + (columns - 950) ** 2 < 120**2] = -9999
    results = read_results(folder)
    for key in ("map", "mean map", "sd map", "lower map", "upper map"):
        path = results.path(key)
        with rasterio.open(path) as source:
            left, _, right, top = source.bounds
            cell = (right - left) / SHAPE[1]
        profile = {"driver": "GTiff", "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
        grid = {"height": SHAPE[0], "width": SHAPE[1], "transform": Affine(cell, 0, left, 0, -cell, top)}
        with rasterio.open(path, "w", **profile, **grid, tiled=True) as out:
            out.write(values, 1)
    return folder


def ask_for_all(folder: Path) -> Results:
    """Results of a run with `--page-map full`."""
    run = folder / "run.yaml"
    run.write_text(run.read_text().replace("page_map: reduced", "page_map: full"))
    return read_results(folder)


def joined(fine: dict[str, Any]) -> np.ndarray:
    """The cells of a level, from its tiles."""
    high, wide = fine["height"], fine["width"]
    out = np.full((high, wide), -1)
    texts = iter(fine["tiles"])
    for row in range(0, high, TILE):
        for column in range(0, wide, TILE):
            part = out[row : row + TILE, column : column + TILE]
            part[:] = unpacked(next(texts), part.shape)
    return out


def test_a_page_of_large_maps_stays_below_two_megabytes_and_is_finer_than_its_overview(large: Path) -> None:
    results = read_results(large)
    live = live_map(results)
    assert live is not None
    fine = live["layers"][0]["fine"]
    assert fine["width"] > PIXELS
    assert 0.6 * BUDGET < letters(live) <= BUDGET
    assert len(make_page(results).encode()) < 2_000_000
    assert live["reduced"]
    values = joined(fine)
    band = read_picture(results.path("map"), fine["width"]).values
    assert values.shape == band.shape
    known = np.isfinite(band) & (values != NOTHING)
    assert known.mean() > 0.9
    near = np.abs(values[known] / LEVELS - band[known]) < 1.5 / LEVELS
    assert near.mean() > 0.5, "tiles hold cells of the raster, those of a strip to a row or so"


def letters(live: dict[str, Any]) -> int:
    """How many letters the cells of all layers take."""
    parts = [(layer["values"], *(layer["fine"] or {"tiles": []})["tiles"]) for layer in live["layers"]]
    return sum(len(text) for texts in parts for text in texts)


def test_other_layers_have_finer_levels_too_where_there_is_room(large: Path, tmp_path: Path) -> None:
    shutil.copytree(large, tmp_path / "copy")
    (path,) = (tmp_path / "copy").glob("*.json")
    numbers = json.loads(path.read_text())
    kept = ("map", "mean map")
    numbers["files"] = {key: name for key, name in numbers["files"].items() if " map" not in key or key in kept}
    numbers["files"] = {key: name for key, name in numbers["files"].items() if "projection" not in key}
    path.write_text(json.dumps(numbers))
    live = live_map(read_results(path))
    assert live is not None
    first, second = live["layers"]
    assert first["fine"]["width"] > second["fine"]["width"] > 1.3 * second["width"]
    assert letters(live) <= BUDGET


def test_the_panel_has_finer_levels_of_large_maps(tmp_path: Path) -> None:
    folder = project(tmp_path / "out", scenarios=[{"gcm": "A", "period": "2050"}], size=(700, 900))
    (path,) = folder.glob("*.json")
    results = read_results(path)
    stored = StoredProjection(folder, results.numbers)
    live = panel(stored)
    assert live is not None
    for entry, case in zip(live["entries"], stored.cases):
        fine, raster = entry["fine"]["suitability"], case.raster("suitability")
        assert raster is not None
        assert fine["width"] > 1.3 * live["grids"][entry["grid"]]["width"]
        values = joined(fine)
        band = resized(read_picture(raster, 10_000).values, values.shape)
        known = np.isfinite(band) & (values != NOTHING)
        assert known.mean() > 0.5
        assert np.mean(np.abs(values[known] / PANEL_LEVELS - band[known])) < 0.02
    texts = [text for entry in live["entries"] for text in entry["layers"].values()]
    texts += [text for entry in live["entries"] for fine in entry["fine"].values() for text in fine["tiles"]]
    assert sum(map(len, texts)) <= PANEL_BUDGET
    assert len(make_page(results).encode()) < 2_000_000


@pytest.mark.thorough
def test_full_pages_hold_every_cell_of_every_map(large: Path, tmp_path: Path) -> None:
    shutil.copytree(large, tmp_path / "copy")
    results = ask_for_all(tmp_path / "copy")
    live = live_map(results)
    assert live is not None
    assert not live["reduced"]
    with rasterio.open(results.path("map")) as source:
        band = source.read(1, masked=True)
    for layer in live["layers"][:2]:
        values = joined(layer["fine"])
        assert np.array_equal(values == NOTHING, band.mask)
    first = joined(live["layers"][0]["fine"])
    assert np.abs(first[~band.mask] / LEVELS - band.compressed()).max() <= 1.0001 / LEVELS


def test_small_maps_have_no_finer_level(full: Path) -> None:
    live = live_map(read_results(full))
    assert live is not None
    assert live["layers"][0]["fine"] is None
    assert not live["reduced"]


def test_the_panel_of_scenarios_leaves_room_for_the_map(large: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(large, folder)
    shutil.rmtree(folder / "scenarios")
    fields = [{"gcm": f"G{k}", "period": "2050"} for k in range(8)]
    project(folder / "scenarios", (read_results(folder).title,), fields, size=(400, 600))
    assert len(make_page(read_results(folder)).encode()) < 2_000_000


@pytest.mark.parametrize(("crs", "unit"), [("EPSG:4326", None), ("EPSG:3035", 1.0), ("EPSG:2263", 0.3048006)])
def test_a_scale_bar_knows_the_unit_of_the_map(tmp_path: Path, crs: str, unit: float | None) -> None:
    profile = {"driver": "GTiff", "count": 1, "dtype": "float32", "width": 3, "height": 2, "crs": CRS.from_string(crs)}
    with rasterio.open(tmp_path / "a.tif", "w", **profile, transform=Affine(1, 0, 0, 0, -1, 2)) as out:
        out.write(np.zeros((2, 3), dtype=np.float32), 1)
    found = read_picture(tmp_path / "a.tif").metres
    assert found == (None if unit is None else pytest.approx(unit))


def test_a_map_becomes_sharp_when_it_is_enlarged(large: Path, browser: Browser) -> None:
    browser.console.clear()
    browser.size(1280, 900)
    browser.open(write_page(read_results(large)), "document.querySelector('#live').dataset.ready === 'yes'")
    for _ in range(6):
        browser.click("[data-act=in]")
    browser.wait("document.querySelector('#values').dataset.sharp === 'yes'")
    text = json.dumps(browser.text("#hover"))
    assert not re.search("NaN|undefined", text)
    assert browser.console == []
