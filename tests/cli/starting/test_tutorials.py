"""The tutorials after the second one, and the notebooks as pages: what they say is what a reader gets."""

import json
import re

import pandas as pd
import pytest
from documents.commands import ROOT, blocks, page_of
from terminal import rows

from tools.notebook_page import NOTEBOOKS

DOCS = ROOT / "docs"
NUMBER = re.compile(r"\d[\d.,]*")


def change(folder, period: str, measure: str) -> float:
    """A figure of the table of a projection."""
    table = pd.read_csv(folder / "scenarios.csv", dtype={"scenario": str})
    (value,) = table.query("scenario == @period and measure == @measure and unit == 'km2'")["value"]
    return float(value)


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
