"""Sampling bias from the terminal and from a run file: what was done must be done, said and recorded."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from inputs.reading import refusal, table_of
from terminal import PLAIN, QUICK, as_json, change_raster, model_answer, picture, read, rows, succeed

from sdm import load_model
from sdm.errors import DataError, OptionError
from sdm.options.reading import make_options
from sdm.run.run import run

ACCENT = (200, 85, 61)


@pytest.fixture(scope="module")
def effort(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Effort that grows towards the east, on the grid of the world."""
    path = tmp_path_factory.mktemp("effort") / "effort.tif"
    return change_raster(
        world.layers / "temperature.tif",
        path,
        lambda band: np.where(band == -9999, -9999, 1.0 + np.arange(band.shape[1])[None] ** 2),
    )


@pytest.mark.parametrize("treatment", ["sample", "prior"])
def test_the_treatment_is_recorded(world, effort, tmp_path, treatment):
    out = tmp_path / "out"
    bias = ("--bias", effort, "--bias-treatment", treatment, "--background-points", 400)
    result = as_json("fit", world.records, world.layers, *QUICK, *PLAIN, "-o", out, *bias)
    name = rows(world.records)[0]["species"].replace(" ", "_")
    expected = {"background": "random", "bias": "effort.tif", "bias_treatment": treatment}
    assert load_model(out / f"{name}.npz").meta["sampling"] == expected
    assert json.loads((out / f"{name}.json").read_text())["sampling"] == expected
    assert result["models"][0]["numbers"]["sampling"] == expected
    assert any("sampling effort 'effort.tif'" in notice for notice in result["notices"])
    assert f"bias=effort.tif, bias_treatment={treatment}" in succeed("info", out / f"{name}.npz").output
    assert model_answer("info", out / f"{name}.npz")["meta"]["sampling"] == expected
    again = tmp_path / "again"
    succeed("fit", out / "run.yaml", "-o", again)
    assert (again / f"{name}.npz").read_bytes() == (out / f"{name}.npz").read_bytes(), "the run file repeats the run"
    plain = tmp_path / "plain"
    succeed("fit", world.records, world.layers, *QUICK, *PLAIN, "-o", plain, "--background-points", 400)
    assert np.abs(read(plain / f"{name}.tif") - read(out / f"{name}.tif")).max() > 0.02


@pytest.mark.thorough
def test_terminal_run_file_and_python_are_one(world, effort, tmp_path):
    """The same options in three places, for two species, with folds: the same models."""
    settings = {
        "background": {"bias": str(effort), "bias_treatment": "prior", "points": 300},
        "fit": {"features": "lq"},
        "test": {"folds": 3, "importance": False},
        "layers": {"files": str(world.layers), "categorical": "landcover"},
        "occurrences": {"file": str(world.both), "thin_distance": 8},
        "output": {"curves": False, "map": False, "report": False, "dpi": 50},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    succeed("fit", tmp_path / "run.yaml", "-o", tmp_path / "yaml")
    words = ("--bias", effort, "--bias-treatment", "prior", "--background-points", 300, "--fc", "lq", "--folds", 3)
    more = ("--categorical", "landcover", "--thin-distance", 8, "--no-curves", "--no-map", "-o", tmp_path / "words")
    succeed("fit", world.both, world.layers, *words, *PLAIN, *more)
    done = run(make_options(settings, {"output": str(tmp_path / "python")}))
    assert not done.failed
    models = [sorted((tmp_path / where).glob("*/*.npz")) for where in ("yaml", "words", "python")]
    assert [len(found) for found in models] == [2, 2, 2]
    for same in zip(*models):
        assert len({path.read_bytes() for path in same}) == 1
    for species in done.models:
        assert species.numbers["sampling"]["thinned_to_km"] == 8
        assert len(species.numbers["cross_validation"]["rows"]) == 3
        assert species.records is not None
        assert species.records["thinned"] > 0


def test_target_group_density_is_written(world, tmp_path):
    out = tmp_path / "out"
    words = ("--bias", "target-group", "--bandwidth", 15, "--background-points", 300)
    said = succeed("fit", world.both, world.layers, *QUICK, *PLAIN, "--no-map", "-o", out, *words).output
    assert "a kernel of 15 km over" in said
    surface = read(out / "effort.tif")
    assert surface.min() >= 0
    assert surface.max() > 0
    assert (surface.mask == read(world.layers / "temperature.tif").mask).all()
    alone = tmp_path / "alone"
    group = ("--bias", "target-group", "--target-group", world.both)
    result = as_json("fit", world.records, world.layers, *QUICK, *PLAIN, "--no-map", "-o", alone, *group)
    assert result["models"][0]["files"]["effort"] == "effort.tif"
    assert (alone / "effort.tif").exists()
    assert result["models"][0]["numbers"]["sampling"]["bandwidth_km"] > 0


def test_target_group_background(world):
    words = (world.both, world.layers, "--background", "target-group")
    table = table_of(*words, *QUICK, "--species", rows(world.both)[0]["species"])
    sites = {(row["longitude"], row["latitude"]) for row in rows(world.both)}
    assert 60 < table.n_background <= len(sites), "of both species"
    assert "the same bias twice" in refusal(OptionError, *words, "--bias", "target-group")


@pytest.mark.parametrize("shape", ["buffer", "hull"])
def test_the_accessible_area_is_on_the_map(world, tmp_path, shape):
    out, words = tmp_path / "out", (*QUICK, "--no-report", "--no-importance")
    succeed("fit", world.records, world.layers, *words, "-o", out, "--study-area", shape, "--buffer", 20)
    name = rows(world.records)[0]["species"].replace(" ", "_")
    plain = tmp_path / "plain"
    succeed("fit", world.records, world.layers, *words, "-o", plain)
    inside, whole = read(out / f"{name}.tif"), read(plain / f"{name}.tif")
    assert 0 < np.count_nonzero(~inside.mask) < np.count_nonzero(~whole.mask), "nothing is mapped outside"
    near = [np.abs(picture(where / f"{name}.png").astype(int) - ACCENT).max(axis=2) < 40 for where in (out, plain)]
    assert near[0].sum() > 300, "its outline is drawn"
    assert near[1].sum() < 50
    assert yaml.safe_load((out / "run.yaml").read_text())["background"]["area"] == shape


def test_what_went_is_said(world, tmp_path):
    said = succeed(
        *("fit", world.records, world.layers, *QUICK, *PLAIN, "--no-map", "-o", tmp_path / "out"),
        *("--thin-distance", 20, "--thin-bins", 6, "--thin-variables", "temperature", "--thin-tries", 3),
    ).output
    (count,) = rows(tmp_path / "out" / "records.csv")
    assert int(count["thinned"]) > 0
    assert f"{count['thinned']} thinned" in said
    assert int(count["read"]) == int(count["kept"]) + int(count["thinned"])
    words = (world.records, world.layers, *QUICK, "--thin-bins", 6, "--thin-variables", "snow")
    assert "thin_variables=snow: expected some of" in refusal(OptionError, *words)


def test_bad_effort_is_one_clear_sentence(world, effort, tmp_path):
    words = (world.records, world.layers, *QUICK)
    negative = change_raster(effort, tmp_path / "negative.tif", lambda band: np.where(band == 2, -3, band))
    assert "has a negative effort (-3 at" in refusal(DataError, *words, "--bias", negative)
    nothing = change_raster(effort, tmp_path / "nothing.tif", lambda band: band * 0)
    assert "60 where the sampling effort is zero or missing" in refusal(DataError, *words, "--bias", nothing)
    assert "does not exist" in refusal(DataError, *words, "--bias", tmp_path / "gone.tif")
    said = refusal(OptionError, *words, "--bias", effort, "--bias-treatment", "divide")
    assert "expected 'sample', 'prior' or 'records'" in said


def test_a_table_with_columns_of_effort_and_weight(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "swd.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "heat", "rain", "looked", "trust"])
        for k in range(400):
            x = rng.normal(size=2)
            writer.writerow(["p" if k < 60 else "background", *(x + (k < 60)), rng.uniform(0.1, 3), 1 + k % 2])
    words = ("fit", path, "--fc", "lq", "--no-curves", *PLAIN, "--effort-column", "looked", "--record-weights", "trust")
    result = as_json(*words, "-o", tmp_path / "out", "--folds", 3)
    numbers = result["models"][0]["numbers"]
    assert numbers["sampling"]["bias"] == "column looked"
    assert numbers["sampling"]["record_weights"] == "trust"
    model = load_model(tmp_path / "out" / "p.npz")
    assert model.names == ("heat", "rain")
    assert model.meta["effective_presences"] == pytest.approx(90**2 / (30 * 1 + 30 * 4))
    assert len(numbers["cross_validation"]["rows"]) == 3
