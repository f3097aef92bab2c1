"""Mean, deviation, range, agreement and variance by source, against numpy on all maps at once."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import rasterio
from projection.cells import GRIDS, flat, write_codes, write_layers
from rasterio.crs import CRS

from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import Stack
from sdm.maps.projection.across import Design, write_agreement, write_variance

PLACE = GRIDS["wide"]
CASES = [{"gcm": g, "ssp": s, "run": r} for g, s, r in itertools.product("AB", "xyz", "12")]


@pytest.fixture
def many_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stack.windows, "__kwdefaults__", {"budget": 60_000})


def grid() -> Grid:
    return Grid(width=PLACE.width, height=PLACE.height, transform=PLACE.transform, crs=CRS.from_epsg(4326))


def draw_maps(folder: Path, count: int, seed: int = 1) -> tuple[list[Path], list[Path], np.ndarray, np.ndarray]:
    """Maps of suitability and presence, and the same as arrays; each misses some cells."""
    rng = np.random.default_rng(seed)
    values = rng.random((count, PLACE.height, PLACE.width)).astype("float32")
    values[rng.random(values.shape) < 0.02] = np.nan
    present = np.where(np.isnan(values), 255, values > 0.6).reshape(count, -1)
    names = tuple(f"map {k}" for k in range(count))
    write_layers(folder, PLACE, values, names)
    there = [write_codes(folder / f"present {k}.tif", PLACE, present[k]) for k in range(count)]
    return [folder / f"{name}.tif" for name in names], there, values.reshape(count, -1), present


@pytest.mark.parametrize("count", [2, 5])
def test_maps_over_scenarios(count: int, many_windows: None, tmp_path: Path) -> None:
    maps, present, values, there = draw_maps(tmp_path / "in", count)
    names = ("mean", "sd", "min", "max", "agreement")
    places = {name: tmp_path / f"{name}.tif" for name in names}
    found = write_agreement(grid(), maps, present, places, {"species": "owl"}, threads=3)
    known = ~np.isnan(values).any(axis=0)
    truth = {"mean": values.mean(0), "sd": np.std(values, 0, ddof=1), "min": values.min(0), "max": values.max(0)}
    for name, band in truth.items():
        cells = flat(places[name])
        assert (cells[~known] == -9999).all()
        np.testing.assert_allclose(cells[known], band[known], rtol=1e-5, atol=1e-7, err_msg=name)
        assert found[name]["cells"] == known.sum()
        assert found[name]["mean"] == pytest.approx(band[known].mean(), rel=1e-5)
    agreed, areas = flat(places["agreement"]), PLACE.areas()
    np.testing.assert_array_equal(agreed, np.where(known, (there == 1).sum(0), 255))
    for k in range(count + 1):
        assert found["agreement"][str(k)] == pytest.approx(areas[agreed == k].sum(), rel=1e-6)
    with rasterio.open(places["agreement"]) as data:
        assert data.tags()["cases"] == str(count)
    with rasterio.open(places["sd"]) as data:
        assert data.descriptions == ("owl: standard deviation over scenarios of suitability",)
        assert data.tags()["statistic"] == "standard deviation over scenarios"


def test_more_maps_than_a_byte_counts(tmp_path: Path) -> None:
    maps, present, _, there = draw_maps(tmp_path / "in", 3)
    places = {name: tmp_path / f"{name}.tif" for name in ("mean", "sd", "min", "max", "agreement")}
    write_agreement(grid(), maps * 100, present * 100, places, {})
    known = ~(there == 255).any(axis=0)
    np.testing.assert_array_equal(flat(places["agreement"]), np.where(known, 100 * (there == 1).sum(0), 65535))


def test_sources_of_a_balanced_design_add_up(many_windows: None, tmp_path: Path) -> None:
    maps, _, values, _ = draw_maps(tmp_path / "in", len(CASES))
    design = Design.of(CASES)
    assert list(design.levels) == ["gcm", "ssp", "run"]
    assert design.balanced
    names = ["gcm", "ssp", "run", "rest"]
    places = {name: tmp_path / f"{name}.tif" for name in names}
    found = write_variance(grid(), maps, design, places, {}, threads=3)
    known, areas = ~np.isnan(values).any(axis=0), PLACE.areas()
    values = values.astype(np.float64)
    total = values.var(axis=0)
    assert found["total"] == pytest.approx(np.average(total[known], weights=areas[known]), rel=1e-6)
    left = total.copy()
    for name, row in zip(names[:-1], found["sources"]):
        by_level = [
            values[[case[name] == level for case in CASES]].mean(axis=0)
            for level in sorted({case[name] for case in CASES})
        ]
        part = np.var(by_level, axis=0)
        left -= part
        np.testing.assert_allclose(flat(places[name])[known], part[known], rtol=1e-4, atol=1e-8)
        assert row == {
            "source": name,
            "levels": len(by_level),
            "variance": pytest.approx(np.average(part[known], weights=areas[known]), rel=1e-5),
            "share": pytest.approx(
                np.average(part[known], weights=areas[known]) / np.average(total[known], weights=areas[known]), rel=1e-5
            ),
        }
    np.testing.assert_allclose(flat(places["rest"])[known], left[known], rtol=1e-4, atol=1e-7)
    assert sum(row["variance"] for row in found["sources"]) == pytest.approx(found["total"], rel=1e-6)
    assert sum(row["share"] for row in found["sources"]) == pytest.approx(1.0, rel=1e-6)
    assert found["balanced"] is True


def test_a_design_with_gaps_says_so() -> None:
    assert not Design.of(CASES[:-1]).balanced, "one combination is missing"
    assert not Design.of([*CASES, CASES[0]]).balanced, "one is there twice"
    assert Design.of(CASES * 2).balanced
    assert Design.of([{"gcm": "A", "ssp": "x"}, {"gcm": "B", "ssp": "x"}]).levels.keys() == {"gcm"}, "x is no source"
    lone = Design.of([{"gcm": "A", "ssp": "x"}, {"gcm": "B", "ssp": "y"}])
    parts = lone.decompose(np.array([[0.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_allclose(parts, [[0.25, 0], [0.25, 0], [0.25, 0], [0, 0]])
    assert not lone.balanced, "either may be the source, and the parts do not add up"
