"""`--features "elevation:lq, slope:h, elevation*precipitation"` through a whole run."""

import pytest
from conftest import ROOT
from terminal import fail, model_answer, rows

INPUTS = (ROOT / "sample_data" / "occurrences.csv", ROOT / "sample_data" / "layers")
WAYS = ("--species", "Virtualis montanus", "--points", "300", "--no-report", "--no-map", "--no-curves")


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    place = tmp_path_factory.mktemp("features") / "run"
    text = "elevation:lq, slope:l, elevation * precipitation"
    return model_answer("fit", *INPUTS, *WAYS, "--features", text, "--folds", "2", "--jackknife", "-o", place)


def test_the_model_has_the_variables_that_features_name(answer):
    assert answer["classes"] == "elevation:lq,slope:l,elevation*precipitation"
    assert answer["features"] == 4
    jackknife = answer["importance"]["jackknife"]
    assert {row["variable"] for row in jackknife} == {"", "elevation", "slope", "precipitation"}
    assert len(answer["cross_validation"]["rows"]) == 2


def test_a_run_file_repeats_it(answer, tmp_path):
    from pathlib import Path

    run = Path(answer["folder"]) / "run.yaml"
    again = model_answer("fit", run, "-o", tmp_path / "again")
    assert again["regularized_gain"] == answer["regularized_gain"]
    assert rows(tmp_path / "again" / "maxentResults.csv") == rows(Path(answer["folder"]) / "maxentResults.csv")


def test_a_variable_that_is_not_there_is_named(tmp_path):
    said = fail("fit", *INPUTS, *WAYS, "--features", "lq, slop:h", "-o", tmp_path / "no", code=2)
    assert "features: 'slop' is not a variable: did you mean 'slope'?" in said
    said = fail("fit", *INPUTS, *WAYS, "--features", "slop:h", "-o", tmp_path / "no", code=2)
    assert said.startswith("--features: 'slop' matches no layer: did you mean 'slope'?")
