"""Maps with exact zeros from the terminal: the range, what is inside it, and temperature."""

import json
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
from terminal import BARE, PLAIN, QUICK, as_json, model_answer, read, succeed

from sdm import load_model


@pytest.fixture(scope="module")
def sparse(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("edges") / "out"
    said = succeed("fit", world.records, world.layers, *QUICK, "--entropy", 2, "--test-percent", 30, "-o", out).output
    assert "km² in" in said
    assert "of the test records" in said
    return out


def test_zeros_are_exact_and_the_range_is_what_is_left(sparse: Path) -> None:
    band = read(next(sparse.glob("*.tif")))
    zeros = np.count_nonzero(band.compressed() == 0)
    assert 0 < zeros < band.count()
    frame = geopandas.read_file(next(sparse.glob("*_range.gpkg")))
    numbers = json.loads(next(sparse.glob("*.json")).read_text())
    assert frame.area_km2.sum() == pytest.approx(numbers["range"]["area_km2"])
    assert len(frame) == numbers["range"]["patches"]
    with rasterio.open(next(sparse.glob("*.tif"))) as source:
        cell = abs(source.transform.a * source.transform.e)
    assert sum(shape.area for shape in frame.geometry) / cell == pytest.approx(band.count() - zeros)
    for part in ("train", "test"):
        assert 0 <= numbers[f"outside_support_{part}"] < 0.5
        assert np.isfinite(numbers[f"log_loss_mixed_{part}"])
        assert np.isfinite(numbers[f"fenchel_young_{part}"])


def test_small_patches_and_no_range_at_all(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *QUICK, *PLAIN, "--entropy", 2)
    one = as_json(*words, "--min-patch", 100, "-o", tmp_path / "a")["models"][0]
    frame = geopandas.read_file(tmp_path / "a" / one["files"]["range"])
    assert frame.area_km2.min() >= 100
    none = as_json(*words, "--no-range", "-o", tmp_path / "b")["models"][0]
    assert "range" not in none["files"]
    shannon = as_json("fit", world.records, world.layers, *QUICK, *PLAIN, "-o", tmp_path / "c")["models"][0]
    assert "range" not in shannon["files"]


def test_a_lower_temperature_leaves_less(world, tmp_path: Path) -> None:
    areas = []
    for temperature in (1.5, 1.0, 0.5):
        words = (
            "--entropy",
            1.5,
            "--temperature",
            temperature,
            "--no-importance",
            "--dpi",
            50,
            "-o",
            tmp_path / str(temperature),
        )
        result = as_json("fit", world.records, world.layers, *QUICK, *words)
        areas.append(result["models"][0]["numbers"]["range"]["area_km2"])
        page = (tmp_path / str(temperature) / result["models"][0]["files"]["page"]).read_text()
        assert ("are for the model before this division" in page) == (temperature != 1)
    assert areas == sorted(areas, reverse=True)
    assert areas[-1] < 0.8 * areas[0]


def test_folds_and_evaluation_of_a_model_with_zeros(world, sparse: Path, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, *PLAIN, "--entropy", 1.5, "--folds", 3, "-o", tmp_path / "out")
    result = as_json(*words)["models"][0]["numbers"]
    assert np.isfinite(result["cross_validation"]["mean"]["loss.val.avg"])
    words = ("evaluate", next(sparse.glob("*.npz")), "--presences", world.records, "--layers", world.layers)
    said = model_answer(*words)
    assert 0 <= said["outside_support"] < 0.5
    assert np.isfinite(said["log_loss_mixed"])
    told = succeed(*words).stdout
    assert f"; {said['log_loss_mixed']:.4f} as a mixture with 0.1 % background\n" in told
    assert f"range        contains {1 - said['outside_support']:.1%} of the presences\n" in told


def test_the_order_is_chosen_and_said(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, *PLAIN, "--entropy", "auto", "-o", tmp_path / "out")
    said = as_json(*words)["models"][0]
    notes = [note for note in said["notes"] if "chosen by the held-out log loss" in note]
    assert len(notes) == 1
    order = load_model(next((tmp_path / "out").glob("*.npz"))).alpha
    assert f"entropy of order {order:g}," in notes[0]
