"""The tutorial with a real species: its commands run on the published data, and its figures are the results."""

import json
import re

import pandas as pd
import pytest
from documents.commands import page_of

MEASURES = {"AUC": "auc.val", "Boyce index": "cbi.val", "10p omission": "or.10p", "gain": "gain.val"}


def table(heading: str) -> pd.DataFrame:
    """A table of the page, by the heading of its first column."""
    text = page_of("bradypus").read_text(encoding="utf-8").partition(f"\n| {heading} |")[2]
    lines = f"| {heading} |{text}".partition("\n\n")[0].splitlines()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    return pd.DataFrame(rows[2:], columns=rows[0]).set_index(heading).astype(float)


@pytest.mark.thorough
def test_the_table_of_tests_has_the_measures_of_the_runs(sloth) -> None:
    shown = table("held-out records")
    for row, folder in zip(shown.index, ("random", "blocks"), strict=True):
        numbers = json.loads((sloth.folder / folder / "bradypus_variegatus.json").read_text(encoding="utf-8"))
        folds = pd.DataFrame(numbers["cross_validation"]["rows"]).mean(numeric_only=True)
        for title, measure in MEASURES.items():
            assert folds[measure] == pytest.approx(shown.loc[row, title], rel=0.01, abs=0.002), (row, title)


@pytest.mark.thorough
def test_the_table_of_settings_has_the_results_of_tuning(sloth) -> None:
    tuned = pd.read_csv(sloth.folder / "tuned" / "tune.csv").set_index("tune.args")
    assert len(tuned) == 12
    assert tuned.index[tuned["chosen"]].tolist() == ["fc.L_rm.0.5"]
    assert tuned["auc.val.avg"].idxmax() == "fc.LQH_rm.2"
    assert tuned["AICc"].idxmin() == "fc.LQH_rm.1"
    shown = table("setting")
    for title in shown.columns:
        found = tuned.loc[shown.index, f"{MEASURES[title]}.avg"]
        assert found.tolist() == pytest.approx(shown[title].tolist(), rel=0.01, abs=0.002), title


@pytest.mark.thorough
def test_the_text_has_the_numbers_of_the_final_model(sloth) -> None:
    page = page_of("bradypus").read_text(encoding="utf-8")
    numbers = json.loads((sloth.folder / "final" / "bradypus_variegatus.json").read_text(encoding="utf-8"))
    outside = numbers["outside"]
    assert f"{outside['cells']} of {outside['of_cells']:,} cells are outside" in page
    assert f"{numbers['training_presences']} of 116 records are used" in page
    assert f"keeps {len(numbers['variable_selection']['kept'])} of the 14\nvariables" in page
    (share,) = re.findall(r"`10p`, (\d+) % of the area is suitable", page)
    assert 100 * numbers["thresholds"]["10p"]["area"] == pytest.approx(float(share), abs=1)
    importance = pd.DataFrame(numbers["importance"]["permutation"]).nlargest(2, "percent")
    assert importance["variable"].tolist() == ["ecoreg", "pre6190_l10"]
    for name in ("bradypus_variegatus_sd.tif", "results.gpkg", "bradypus_variegatus_odmap.csv", "run.yaml"):
        assert (sloth.folder / "final" / name).is_file()


@pytest.mark.thorough
def test_the_page_of_the_certificate_has_the_bounds_of_the_default_fit(sloth) -> None:
    """The bounds are in proportion to the root of the gap, which differs between processors."""
    page = page_of("certificate").read_text(encoding="utf-8")
    result = json.loads((sloth.folder / "random" / "bradypus_variegatus.json").read_text(encoding="utf-8"))[
        "certificate"
    ]
    (gap,) = (float(text) for text in re.findall(r"duality gap (\S+) nats", result["text"]))
    (shown,) = (row.split(" | ")[2:] for row in page.splitlines() if row.startswith("| 10⁻⁶ |"))
    for bound, text in zip(("largest", "mean"), shown, strict=True):
        at_default = result["cloglog"][bound] * (1e-6 / gap) ** 0.5
        assert at_default == pytest.approx(float(text.strip(" |")), rel=0.06), bound
