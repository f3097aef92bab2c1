"""`--features lqh,relu:N`: random rectified features from the terminal, and the kinds of models that have none."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from inputs.reading import refusal
from terminal import BARE, PLAIN, as_json, model_answer, rows, succeed

from sdm import load_model
from sdm.errors import OptionError

FEATURES = ("--features", "lq,relu:40", "--categorical", "landcover")


@pytest.fixture(scope="module")
def results(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("relu") / "out"
    succeed("fit", world.folder / "one.csv", world.layers, *FEATURES, "--importance", "--seed", 5, "-o", out)
    return out


def test_everything_is_there(results: Path) -> None:
    numbers = json.loads(next(results.glob("*_*.json")).read_text())
    assert numbers["status"] == "converged"
    assert numbers["gap"] <= 1e-6
    assert numbers["classes"] == "lq,relu:40"
    assert sum(float(row["contribution"]) for row in rows(next(results.glob("*_importance.csv")))) > 99
    assert {row["kind"] for row in rows(next(results.glob("*_curves.csv")))} == {"marginal", "only", "partial"}
    assert "lq,relu:40" in next(results.glob("*.html")).read_text()


def test_info_names_them(results: Path) -> None:
    model = next(results.glob("*.npz"))
    assert "relu " in succeed("info", model, "--weights", 99).output
    names = [feature["name"] for feature in model_answer("info", model)["features"]]
    assert sum(name.startswith("relu ") for name in names) >= 1


def test_the_map_is_the_prediction_of_the_model(results: Path, world, tmp_path: Path) -> None:
    """And the run file repeats the run, seed included."""
    succeed("predict", next(results.glob("*.npz")), world.layers, "-o", tmp_path / "map.tif")
    assert (tmp_path / "map.tif").read_bytes() == next(results.glob("*.tif")).read_bytes()
    assert yaml.safe_load((results / "run.yaml").read_text())["fit"]["features"] == "lq,relu:40"
    succeed("fit", results / "run.yaml", "--no-curves", "--no-map", *PLAIN, "-o", tmp_path / "again")
    first, second = (load_model(next(folder.glob("*.npz"))) for folder in (results, tmp_path / "again"))
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.shapes.ridges.directions, second.shapes.ridges.directions)


def test_another_seed_draws_others(results: Path, world, tmp_path: Path) -> None:
    succeed("fit", results / "run.yaml", "--seed", 6, "--no-curves", "--no-map", *PLAIN, "-o", tmp_path / "other")
    first, second = (load_model(next(folder.glob("*.npz"))) for folder in (results, tmp_path / "other"))
    assert not np.array_equal(first.shapes.ridges.bend, second.shapes.ridges.bend)


@pytest.mark.thorough
def test_they_can_be_tuned_and_followed(world, tmp_path: Path) -> None:
    words = (
        world.folder / "one.csv",
        world.layers,
        "--background-points",
        300,
        *BARE[2:],
        *PLAIN,
        "--features",
        "l,relu:9",
    )
    found = as_json("tune", *words, "--multipliers", "0.5,2", "--folds", 2, "-o", tmp_path / "tuned")
    assert found["models"][0]["numbers"]["classes"] == "l,relu:9"
    assert len(rows(tmp_path / "tuned" / "tune.csv")) == 2
    found = as_json("path", *words, "--smallest", 0.5, "--folds", 2, "-o", tmp_path / "path")
    table = rows(next((tmp_path / "path").glob("*_path.csv")))
    losses = [float(row["held-out loss"]) for row in table]
    assert np.isfinite(losses).all()
    assert losses[0] != losses[-1]


@pytest.mark.parametrize(
    "words, text",
    [
        (("--features", "lq,relu"), "relu:1000"),
        (("--features", "lq,relu:99999"), "10,000"),
        (("--features", "lq,relu:9,trees:4"), "relu:9"),
        (("--model", "structural", "--families", "lq,relu:9,trees:4"), "relu:9"),
        (("--model", "committee", "--features", "lq,relu:9"), "committee"),
    ],
)
def test_what_is_refused(words, text) -> None:
    """Before any file is read: these do not exist."""
    assert text in refusal(OptionError, "none.csv", "none", *words)


def test_other_kinds_of_models_have_none() -> None:
    for more in (("--kind", "classes", "--response", "presence"), ("--kind", "community")):
        said = refusal(OptionError, "none.csv", "none", "--features", "lq,relu:9", *more)
        assert "needs a maxent model of one species" in said
