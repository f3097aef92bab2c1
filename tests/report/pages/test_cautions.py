"""Everything that could mislead is in one box, in plain sentences, and nothing is in it that does not apply."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from sdm.kinds.pages import make_page
from sdm.kinds.registry import page_of, read_results
from sdm.report.pages.cautions import cautions
from sdm.report.results import Results

GOOD = {"warnings": None}


def told(results: Results) -> list[str]:
    parts = page_of(results).cautions
    return [
        caution.text for caution in cautions(results, parts, ["fit", "records", "validation", "classes", "scenarios"])
    ]


def change(folder: Path, to: Path, **numbers: Any) -> Results:
    """A copy of results without scenarios, with other numbers; None takes one out."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("scenarios"))
    (path,) = to.glob("*.json")
    tree = json.loads(path.read_text()) | GOOD | numbers
    path.write_text(json.dumps({key: value for key, value in tree.items() if value is not None}))
    return read_results(to)


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        ({"status": "iterations"}, "The fit stopped before it converged (status: iterations)"),
        ({"training_presences": 9}, "The model has only 9 training records: with fewer than 15"),
        ({"test_gain": -0.25}, "On test records the model predicts worse than the null model"),
        (
            {"warnings": ["3 records are less certain than a cell is wide"]},
            "3 records are less certain than a cell is wide.",
        ),
        ({"warnings": ["layer 'a' has 40 cells of -999"]}, "Layer 'a' has 40 cells of -999."),
        (
            dict.fromkeys(("auc_test", "test_presences", "cross_validation", "test_gain", "measures")),
            "The model was not tested: all measures are from the training records",
        ),
    ],
)
def test_each_reason_is_told_where_it_applies(full: Path, tmp_path: Path, numbers: dict[str, Any], wanted: str) -> None:
    before = told(change(full, tmp_path / "good"))
    assert not any(text.startswith(wanted) for text in before)
    results = change(full, tmp_path / "bad", **numbers)
    found = [text for text in told(results) if text not in before]
    assert [text.startswith(wanted) for text in found] == [True]
    page = make_page(results)
    box = page.partition('id="warnings"')[2].partition("</ul>")[0]
    assert len(re.findall("<li>", box)) == len(before) + 1


def test_held_out_folds_count_too(full: Path, tmp_path: Path) -> None:
    folds = read_results(full).numbers["cross_validation"]
    bad = {**folds, "mean": {**folds["mean"], "gain.val.avg": -0.01}}
    assert any("held-out folds" in text for text in told(change(full, tmp_path / "a", cross_validation=bad)))


def test_extrapolation_of_scenarios_is_told_once(full: Path) -> None:
    results = read_results(full)
    said = [text for text in told(results) if "outside the training range" in text]
    assert len(said) == 1
    assert not said[0].startswith(results.title), "the page says whose it is"


def test_variables_that_go_together_are_named(full: Path) -> None:
    results = read_results(full)
    model = results.model
    assert model is not None
    together = [text for text in told(results) if text.startswith("Collinear variables: ")]
    import numpy as np

    reference = model.reference
    matrix = np.abs(np.corrcoef(reference.values[:, list(reference.continuous)], rowvar=False))
    strongest = (matrix - np.eye(len(matrix))).max()
    assert bool(together) == bool(strongest >= 0.7)


def test_a_class_model_that_is_worse_than_frequencies_says_so(surveyed: Path, tmp_path: Path) -> None:
    measures = read_results(surveyed).numbers["measures"]
    good = told(change(surveyed, tmp_path / "a"))
    measures["test"] = {**measures["test"], "log_loss": 0.9, "constant_log_loss": 0.5}
    found = [text for text in told(change(surveyed, tmp_path / "b", measures=measures)) if text not in good]
    assert len(found) == 1
    assert "worse than the null model" in found[0]
    assert "log loss 0.9, null model 0.5" in found[0]
    known = ["test: the model predicts worse than the null model of class frequencies"]
    stored = told(change(surveyed, tmp_path / "c", measures=measures, warnings=known))
    assert sum("worse than" in text for text in stored) == 1, "what the run said is not said again"


def test_a_community_without_folds_is_untested(community: Path, tmp_path: Path) -> None:
    untested = change(community, tmp_path / "copy", test=None)
    assert any(text.startswith("The model was not tested") for text in told(untested))
    assert not any(text.startswith("The model was not tested") for text in told(read_results(community)))


def test_a_page_without_warnings_says_that_too(full: Path, tmp_path: Path) -> None:
    results = change(full, tmp_path / "copy")
    (tmp_path / "copy" / results.files["model"]).unlink()  # which says what goes together
    page = make_page(read_results(tmp_path / "copy"))
    assert "No warnings: the run detected none of the known problems." in page
