"""The tutorials after the second one, and the notebooks as pages: what they say is what a reader gets."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documents.commands import ROOT, blocks, page_of
from documents.tables import table_of
from terminal import rows

from tools.notebook_page import NOTEBOOKS

DOCS = ROOT / "docs"
NUMBER = re.compile(r"\d[\d.,]*")


def change(folder, period: str, measure: str) -> float:
    """A figure of the table of a projection."""
    table = pd.read_csv(folder / "scenarios.csv", dtype={"scenario": str})
    (value,) = table.query("scenario == @period and measure == @measure and unit == 'km2'")["value"]
    return float(value)


def numbers(folder: Path) -> dict[str, Any]:
    """All numbers of a run of the species of the tutorials."""
    found: dict[str, Any] = json.loads((folder / "Virtualis_montanus.json").read_text(encoding="utf-8"))
    return found


def of_folds(folder: Path) -> list[float]:
    """AUC, Boyce index and omission: means over the folds of a run."""
    means = pd.DataFrame(numbers(folder)["cross_validation"]["rows"]).mean(numeric_only=True)
    return [float(means[name]) for name in ("auc.val", "cbi.val", "or.10p")]


def near(shown: str, value: float) -> bool:
    """Whether a number of a page is a value, or next to it in its last digit."""
    digits = len(shown.rstrip(".").partition(".")[2])
    return abs(float(shown.rstrip(".")) - value) <= 1.5 * 10.0**-digits


@pytest.mark.thorough
def test_the_first_model_is_as_good_as_the_page_states(tutorial) -> None:
    auc, boyce, omission = of_folds(tutorial.folder / "results")
    shown = table_of("first_model", "measure")
    expected = [numbers(tutorial.folder / "results")["auc_train"], auc, boyce, omission]
    assert all(near(row[0], value) for row, value in zip(shown.values(), expected, strict=True))
    text = " ".join(page_of("first_model").read_text(encoding="utf-8").split())
    found = re.search(r"AUC ([\d.]+) instead of ([\d.]+), Boyce index ([\d.]+) instead of ([\d.]+), "
                      r"10p omission ([\d.]+) instead of ([\d.]+)\.", text)  # fmt: skip
    smooth = of_folds(tutorial.folder / "smooth")
    pairs = [value for pair in zip(smooth, (auc, boyce, omission), strict=True) for value in pair]
    assert all(near(each, value) for each, value in zip(found.groups(), pairs, strict=True))
    warmer = pd.read_csv(tutorial.folder / "future" / "scenarios.csv").query("scenario == 'warmer'")
    change = warmer.query("measure == 'net' and unit == 'percent'")["value"].iloc[0]
    assert -25 < change < -15, "the page: about a fifth"


@pytest.mark.thorough
def test_the_study_has_the_measures_of_the_page(study) -> None:
    table = table_of("study", "")
    models = [study.folder / name for name in ("naive", "corrected")]
    tested = [text for line, text in study.said.items() if line.startswith("sdm evaluate")]
    found = {
        "AUC of the folds (not comparable)": [of_folds(folder)[0] for folder in models],
        "AUC at the sites of the survey": [float(re.search(r"AUC +([\d.]+)", text)[1]) for text in tested],
        "correlation of the map with the truth": [
            float(re.search(r"correlation ([\d.]+)", text)[1]) for text in tested
        ],
    }
    assert all(
        near(each, value) for row, values in found.items() for each, value in zip(table[row], values, strict=True)
    )
    text = page_of("study").read_text(encoding="utf-8")
    assert near(re.search(r"10p omission of ([\d.]+)", text)[1], of_folds(models[1])[2])
    correlations = pd.read_csv(study.folder / "variables" / "correlation_pearson.csv", index_col=0)
    assert near(re.search(r"\(r = −([\d.]+)\)", text)[1], -correlations.loc["elevation", "temperature"])


@pytest.mark.thorough
def test_the_study_for_users_of_r_has_the_columns_of_enmeval(tuning) -> None:
    text = page_of("r_users").read_text(encoding="utf-8")
    names = re.findall(r"`([\w.]+)`", text.partition("under the same names: ")[2].partition(". It adds")[0])
    assert len(names) == 14
    assert set(names) <= set(pd.read_csv(tuning.folder / "tuned" / "tune.csv", nrows=1).columns)
    for name in ("tuned/tune_folds.csv", "nulls/Virtualis_montanus_nullModels.csv", "nulls/Virtualis_montanus_rmm.csv",
                 "future/scenarios.csv", "future/warmer/mess.tif"):  # fmt: skip
        assert name.rpartition("/")[2].removeprefix("Virtualis_montanus") in text
        assert (tuning.folder / name).is_file()


@pytest.mark.thorough
def test_future_climates_say_what_the_page_says(climates) -> None:
    """Every line that the page shows is printed, with nearly the same numbers."""
    said = next(text for line, text in climates.said.items() if "-o climates" in line).splitlines()
    shown = [line for line in blocks(page_of("future"), "text") if line.startswith(("warning", "Virtualis", "  2"))]
    assert len(shown) == 4
    for line in shown:
        alike = [each for each in said if NUMBER.sub("#", each) == NUMBER.sub("#", line)]
        (theirs,) = [each for each in alike if each[:6] == line[:6]]
        for ours, value in zip(NUMBER.findall(line), NUMBER.findall(theirs), strict=True):
            got, wanted = (float(text.rstrip(".").replace(",", "")) for text in (value, ours))
            assert got == pytest.approx(wanted, rel=0.05, abs=1), line


@pytest.mark.thorough
def test_a_limit_to_dispersal_takes_from_the_gain_alone(climates) -> None:
    """What steps 3 to 5 of the page say: a little less gain, the same loss; nothing depends on extrapolation."""
    gains = [change(climates.folder / name, "2080", "gain") for name in ("climates", "reachable")]
    losses = [change(climates.folder / name, "2080", "loss") for name in ("climates", "reachable")]
    assert 0.99 * gains[0] < gains[1] < gains[0]
    assert losses[1] == pytest.approx(losses[0])
    areas = [change(climates.folder / name, "2080", "suitable area") for name in ("climates", "strict")]
    assert areas[1] == pytest.approx(areas[0])
    assert change(climates.folder / "climates", "2080", "suitable area outside the training range") == 0


@pytest.mark.thorough
def test_a_cluster_and_two_processes_give_the_same_bytes(many) -> None:
    names = ["Virtualis_montanus/Virtualis_montanus.npz", "Virtualis_aridus/Virtualis_aridus.tif"]
    for name in names:
        assert (many.folder / "batch" / name).read_bytes() == (many.folder / "cluster" / name).read_bytes()
    assert [row["status"] for row in rows(many.folder / "batch" / "summary.csv")] == ["converged"] * 3
    assert "done         3 of 3 species (100 %)" in many.said["sdm status batch"]
    assert (many.folder / "batch" / "index.html").is_file()
    changed = pd.read_csv(many.folder / "batch_warmer" / "scenarios.csv")
    assert changed["species"].nunique() == 3


def test_every_notebook_has_a_page() -> None:
    assert {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.thorough
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_page_of_a_notebook_is_the_notebook(notebook: str) -> None:
    """Its code is run by tests/test_api.py; the page has that code, and the texts, cell by cell."""
    tree = json.loads((DOCS / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    rest = page_of(NOTEBOOKS[notebook]).read_text(encoding="utf-8")
    for cell in tree["cells"]:
        text = "".join(cell["source"]).rstrip()
        part = f"```python\n{text.removesuffix(';')}\n```" if cell["cell_type"] == "code" else text
        assert part in rest, f"make docs-figures writes the page again: {text[:60]}"
        rest = rest.partition(part)[2]
