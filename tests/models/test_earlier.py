"""Files that an earlier version wrote: its models predict as they did, and its run files still run."""

import json
from pathlib import Path

import numpy as np
import pytest
from terminal import as_json, succeed

from sdm import load_model
from sdm.kinds.registry import task_of
from sdm.options.reading import make_options, read_yaml

FOLDER = Path(__file__).parent / "earlier"
KINDS = {
    "species": "species",
    "structural": "species",
    "classify": "classes",
    "response": "classes",
    "joint": "community",
}
LEAN = ("--no-map", "--no-report")


@pytest.mark.parametrize("name", KINDS)
def test_an_earlier_model_predicts_as_it_did(name: str) -> None:
    stored = json.loads((FOLDER / "predictions.json").read_text())
    model = load_model(FOLDER / f"{name}.npz")
    assert model.kind == KINDS[name]
    values = {variable: stored["values"][variable] for variable in model.names}
    predict = model.predict if model.kind == "species" else model.predict_proba
    np.testing.assert_allclose(predict(values), stored["predictions"][name], rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_an_earlier_run_file_says_which_kind_of_model_it_is_of(name: str) -> None:
    given = {"kind": KINDS[name]} if name == "joint" else {}  # as the command 'sdm joint' says
    options = make_options(read_yaml(FOLDER / f"{name}.yaml"), given)
    task = task_of(options)
    assert task.kind == KINDS[name]
    task.check_options(options)


@pytest.mark.parametrize(("command", "name"), [("classify", "classify"), ("classify", "response"), ("joint", "joint")])
def test_an_earlier_run_file_runs_and_gives_the_same_model(command: str, name: str, tmp_path: Path) -> None:
    """But for what the file says of itself, and of the run."""
    words = LEAN if command == "joint" else (*LEAN, "--no-curves")
    if name == "classify":  # its folds are no part of the model, and take most of the time
        assert make_options(read_yaml(FOLDER / "classify.yaml"), {}).test.folds == 3
        words = (*words, "--folds", 0)
    succeed(command, FOLDER / f"{name}.yaml", *words, "-o", tmp_path / "out")
    old, new = load_model(FOLDER / f"{name}.npz"), load_model(next((tmp_path / "out").glob("*.npz")))
    np.testing.assert_allclose(new.weights, old.weights, atol=1e-9)


def test_the_same_run_file_serves_another_kind_of_run(tmp_path: Path) -> None:
    """Defaults that a run of species wrote down are not chosen for classes: the multiplier is searched for."""
    words = ("--species", "Virtualis montanus", "--fc", "l", *LEAN, "--no-curves")
    succeed("fit", "sample_data/occurrences.csv", "sample_data/layers", *words, "-o", tmp_path / "species")
    survey = ("--occurrences", "sample_data/presence_absence.csv", "--response", "presence", "--kind", "classes")
    result = as_json("fit", tmp_path / "species" / "run.yaml", *survey, "-o", tmp_path / "classes")
    numbers = result["models"][0]["numbers"]
    assert numbers["multiplier_search"], "no multiplier was given, so it is chosen"
    assert numbers["regularization"] in ("l1", "elastic")
