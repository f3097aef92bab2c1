"""Model files of Java Maxent on the command line: every command that takes a model takes them, and `sdm convert`."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from terminal import fail, read, succeed

SAMPLE = ROOT / "sample_data"
JAVA = ROOT / "tests" / "models" / "java"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Java Maxent's model of a species of the sample data, with its cumulative scale beside it."""
    for ending in (".lambdas", "_omission.csv"):
        (tmp_path / f"montanus{ending}").write_bytes((JAVA / f"lq{ending}").read_bytes())
    return tmp_path / "montanus.lambdas"


def test_commands_take_a_file_of_java_maxent(model: Path, tmp_path: Path) -> None:
    said = succeed("info", model).stdout
    assert "Java Maxent" in said
    assert "slope" in said
    succeed("convert", model, tmp_path / "ours.npz")
    for name, scale in (("montanus.lambdas", "cumulative"), ("ours.npz", "cumulative")):
        succeed("predict", tmp_path / name, SAMPLE / "warmer", "--scale", scale, "-o", tmp_path / f"{name}.tif")
    there, here = (read(tmp_path / f"{name}.tif") for name in ("montanus.lambdas", "ours.npz"))
    np.testing.assert_array_equal(there, here)
    assert 50 < here.max() <= 100
    words = (
        "--presences",
        SAMPLE / "occurrences.csv",
        "--species",
        "Virtualis montanus",
        "--layers",
        SAMPLE / "layers",
    )
    found = json.loads(succeed("evaluate", model, *words, "--json").stdout)["models"][0]["numbers"]
    assert 0.85 < found["auc"] < 0.92


def test_a_folder_of_java_maxent_is_projected(model: Path, tmp_path: Path) -> None:
    words = ("--scenarios", SAMPLE / "warmer", "--reference", SAMPLE / "layers", "--thresholds", "0.4")
    said = succeed("project", tmp_path, *words, "-o", tmp_path / "out").output
    assert "training environment" in said, "why there is no map of novelty"
    assert (tmp_path / "out" / "montanus.html").is_file()


def test_what_is_asked_for_in_vain_is_said(model: Path, tmp_path: Path) -> None:
    assert "Java Maxent" in fail("predict", model, SAMPLE / "layers", "--novelty", "mess", "-o", tmp_path / "map.tif")
    assert ".npz or .lambdas" in fail("convert", model, tmp_path / "model.csv")
    (tmp_path / "montanus_omission.csv").write_text("Raw value,Corresponding cumulative value\nx,1\n")
    assert "montanus_omission.csv" in fail("info", model)
