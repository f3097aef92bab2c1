"""What cannot be projected is refused in one sentence, before anything is written."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import rasterio
from projection.futures import Futures, Models, case, make_future, numbers, project
from rasterio.crs import CRS
from terminal import as_json, change_raster, fail, files, read

SAMPLE = Path(__file__).parents[3] / "sample_data"
EARLIER = Path(__file__).parents[2] / "models" / "earlier"


@pytest.fixture
def spoilt(futures: Futures, tmp_path: Path) -> Path:
    """Two scenarios, the second of which a test may spoil."""
    for name in futures.titles[:2]:
        shutil.copytree(futures.folder / name, tmp_path / "future" / name)
    return tmp_path / "future" / futures.titles[1]


def other_grid(folder: Path) -> None:
    for path in folder.glob("*.tif"):
        with rasterio.open(path) as data:
            transform = data.transform @ rasterio.Affine.translation(0.5, 0)
        change_raster(path, path.with_suffix(".new"), transform=transform).rename(path)


def other_size(folder: Path) -> None:
    for path in folder.glob("*.tif"):
        with rasterio.open(path) as data:
            band, profile = data.read(1)[:-1], {**data.profile, "height": data.height - 1}
        with rasterio.open(path, "w", **profile) as out:
            out.write(band, 1)


def other_system(folder: Path) -> None:
    for path in folder.glob("*.tif"):
        change_raster(path, path.with_suffix(".new"), crs=CRS.from_epsg(4269)).rename(path)


def damaged(folder: Path) -> None:
    path = folder / "temperature.tif"
    path.write_bytes(path.read_bytes()[:100])


def emptied(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "temperature.tif").unlink(), "temperature"),
        (other_grid, "use --align first"),
        (other_size, "use --align first"),
        (other_system, "use --align first"),
        (damaged, "temperature.tif"),
        (emptied, "no raster"),
    ],
    ids=["variable", "origin", "size", "system", "damaged", "empty"],
)
@pytest.mark.parametrize("reference", [True, False])
def test_layers_of_one_scenario(
    spoil: Callable[[Path], None], said: str, reference: bool, spoilt: Path, world, models: Models, tmp_path: Path
) -> None:
    spoil(spoilt)
    words = ("--scenarios", tmp_path / "future" / "{gcm}_{ssp}_{period}", "-o", tmp_path / "out")
    words += ("--reference", world.layers) if reference else ()
    text = fail(*project(models.species, *words))
    assert text.startswith(f"scenario {spoilt.name}"), text
    assert said in text
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["future"]


def test_words_that_mean_nothing(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    common = ("-o", tmp_path / "out")
    there = ("--scenarios", futures.pattern)
    cases = [
        (("--scenarios", f"{futures.folder}/{{gcm}}_{{ssp}}"), 1, "in two ways"),
        (("--scenarios", f"{futures.folder}/{{gcm}}_{{gcm}}_{{p}}"), 2, "the field {gcm} twice"),
        (("--scenarios", f"{tmp_path}/nothing/{{gcm}}"), 1, "no file or folder matches"),
        (("--scenarios", tmp_path / "nothing"), 1, "nothing"),
        (("--scenarios", tmp_path / "nothing.csv"), 1, "does not exist"),
        ((), 2, "no scenarios"),
        (
            (*there, "--over", "rcp"),
            2,
            "--over rcp: expected a field of the scenarios or models; the fields are gcm, ssp, period",
        ),
        (
            ("--scenarios", futures.folder / futures.titles[0], "--over", "gcm"),
            2,
            "add fields in braces to the pattern",
        ),
        ((*there, "--thresholds", "best"), 2, "--thresholds best: expected a number, or one of the model's thresholds"),
        ((*there, "--thresholds", "nan"), 2, "--thresholds nan: expected a number, or one of the model's thresholds"),
        ((*there, "--novelty", "odd"), 2, "--novelty odd"),
        ((*there, "--scale", "odd"), 2, "scale"),
        ((*there, "--extrapolation", "odd"), 2, "extrapolation"),
        ((*there, "--reference", tmp_path / "nothing"), 1, "nothing"),
        ((*there, "--projection-area", tmp_path / "nothing.gpkg"), 1, "nothing.gpkg"),
        (
            ("--scenarios", f"reference={futures.folder / futures.titles[0]}"),
            2,
            "the name 'reference' of a scenario is reserved",
        ),
        (("--scenarios", f"{futures.folder}/{{gcm}}_{{rest}}_{{p}}"), 2, "the name 'rest' of a field is reserved"),
    ]
    for words, code, said in cases:
        text = fail(*project(models.species, *words, *common), code=code)
        assert said in text, (words, text)
    assert files(tmp_path) == []


def test_models_that_are_not_there(models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", futures.pattern, "-o", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.npz").write_text("no model")
    for place, said in [
        (tmp_path / "nothing.npz", "nothing.npz"),
        (tmp_path / "empty", "contains no model"),
        (tmp_path / "text.npz", "text.npz"),
        (tmp_path / "*.zip", "no file matches"),
        (f"{tmp_path}/{{run}}.zip", "no file or folder matches"),
    ]:
        assert said in fail(*project(place, *words)), place
    assert "no model" in fail(*project(*words), code=2)
    both = f"{models.folder}/runs/{{gcm}}/{models.species.name}"
    assert "models and scenarios both have a field 'gcm'" in fail(*project(both, *words), code=2)
    assert files(tmp_path) == ["empty", "text.npz"]


def test_models_of_an_earlier_version(tmp_path: Path) -> None:
    """Without what it was fitted to there is no novelty, and that is said before the reference is mapped."""
    words = ("--scenarios", SAMPLE / "warmer", "--reference", SAMPLE / "layers", "-o", tmp_path / "out")
    for name in ("species", "joint"):
        assert "fit it again" in fail(*project(EARLIER / f"{name}.npz", *words)), name
    assert files(tmp_path) == []
    answer = as_json(*project(EARLIER / "species.npz", *words, "--novelty", "none", "--extrapolation", "none"))
    assert answer["models"][0]["numbers"]["scenarios"][0]["outside"]["cells"] > 0, "its limits are known"


@pytest.mark.thorough
def test_a_scenario_that_is_all_outside_goes_on_with_an_empty_map(
    world, models: Models, futures: Futures, tmp_path: Path
) -> None:
    far = tmp_path / "future" / "far_2090"
    make_future(world, far, 100.0)
    shutil.copytree(futures.folder / futures.titles[0], tmp_path / "future" / "near_2090")
    words = ("--reference", world.layers, "--extrapolation", "none", "-o", tmp_path / "out")
    answer = as_json("project", models.species, "--scenarios", tmp_path / "future" / "{gcm}_{period}", *words)
    assert [text for text in answer["warnings"] if "1 of 2 scenarios (far_2090) have an empty map" in text]
    found = numbers(tmp_path / "out", models.species.stem)
    empty, near = (case(found, title) for title in ("far_2090", "near_2090"))
    assert empty["suitability"] == {"cells": 0, "min": None, "max": None, "mean": None}
    assert empty["outside"]["share"] == 1.0
    assert (empty["centroid"], empty["shift"]) == (None, None)
    assert all(empty["change"][code]["cells"] == 0 for code in ("gain", "loss", "stable_present", "stable_absent"))
    assert read(tmp_path / "out" / "far_2090" / f"{models.species.stem}.tif").count() == 0
    assert near["suitability"]["cells"] > 0
    (group,) = found["across"]
    assert group["numbers"]["mean"]["cells"] == 0
    assert (tmp_path / "out" / f"{models.species.stem}.html").is_file()


def test_layers_without_any_common_cell(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    shutil.copytree(futures.folder / futures.titles[0], tmp_path / "void")
    path = tmp_path / "void" / "slope.tif"
    change_raster(path, path.with_suffix(".new"), lambda band: np.full_like(band, -9999)).rename(path)
    text = fail(*project(models.species, "--scenarios", tmp_path / "void", "-o", tmp_path / "out"))
    assert "slope" in text or "no cell of the layers has a value" in text
    assert files(tmp_path / "out") == []
