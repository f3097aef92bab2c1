"""The library as a stranger uses it: the notebooks of the documentation, and one script, from start to end."""

import json
import re
from itertools import zip_longest
from pathlib import Path

import pytest
from conftest import ROOT
from documents.inventory import OUTPUT

from tools.notebook_page import NOTEBOOKS, run_cell

FOLDER, TUTORIALS = ROOT / "docs" / "notebooks", ROOT / "docs" / "tutorials"
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which the sample data are where a notebook of the repository finds them."""
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    folder = tmp_path / "docs" / "notebooks"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def execute(path: Path) -> dict[str, object]:
    """Run the code of a notebook from start to end, and compare what it prints with its page; return its names."""
    shown = iter(OUTPUT.findall((TUTORIALS / f"{NOTEBOOKS[path.stem]}.md").read_text(encoding="utf-8")))
    tree = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(tree["cells"], start=1):
        assert cell.get("outputs", []) == [], "notebooks are kept without outputs"
        if cell["cell_type"] == "code" and (printed := run_cell("".join(cell["source"]), names)):
            differ = differences(next(shown), f"```text\n{printed}\n```")
            assert not differ, f"{path.name}, cell {number}: {differ}; `python -m tools.notebook_page` writes the page"
    return names


def differences(page: str, printed: str) -> list[str]:
    """Words of an output that a page has otherwise: texts that differ, and numbers that differ by more than 2 %."""
    pairs = list(zip_longest(page.replace("\\", "/").split(), printed.replace("\\", "/").split(), fillvalue=""))
    return [f"{ours} is not {theirs}" for ours, theirs in pairs if not alike(ours, theirs)]


def alike(ours: str, theirs: str) -> bool:
    """Whether two words are equal up to last digits of numbers; identities and numbers below 1e-6 may be any."""
    if re.fullmatch("[0-9a-f]{16}", ours) and re.fullmatch("[0-9a-f]{16}", theirs):
        return True
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(max(map(abs, map(float, pair))) < 1e-6 or float(pair[0]) == pytest.approx(float(pair[1]), rel=0.02)
               for pair in pairs)  # fmt: skip


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_a_first_model(place: Path) -> None:
    names = execute(FOLDER / "first_model.ipynb")
    assert (place / "first_model" / "Virtualis_montanus.html").is_file()
    assert names["survey"].numbers["auc"] > 0.9, "the truth is known, and found"


@pytest.mark.thorough
def test_from_points_and_xarray_to_a_figure(place: Path) -> None:
    names = execute(FOLDER / "published_figure.ipynb")
    assert (place / "figure_1.pdf").stat().st_size > 10_000
    assert (place / "published" / "inputs" / "layers" / "dryness.tif").is_file()
    assert names["run"].map.shape == names["layers"]["dryness"].shape


@pytest.mark.thorough
def test_a_random_forest_under_the_same_folds(place: Path) -> None:
    names = execute(FOLDER / "scikit_learn.ipynb")
    mean = names["scores"].mean()
    assert mean["maxent", "blocks"] > 0.7
    assert mean["random forest", "blocks"] > 0.7
    assert names["agreement"]["maxent"] > max(0.85, names["agreement"]["random forest"])


STRANGER = """
import geopandas, rioxarray, xarray
import sdm

records = geopandas.read_file("records.gpkg")
names = ["temperature", "precipitation", "wetness", "landcover"]
folder = "../../sample_data/layers"
layers = xarray.Dataset({n: rioxarray.open_rasterio(f"{folder}/{n}.tif").squeeze("band", drop=True) for n in names})
run = sdm.fit(
    records, layers, years="1990-", max_uncertainty="1km", drop_suspicious="all",    # clean
    thin_distance=8, folds=4, split="block", block_size=60, threshold="10p",         # thin, spatial CV
    categorical="landcover", features="lq", background_points=1000)
print(run.cross_validation["auc.val"].mean())
warm = run.map.where(layers["temperature"] > 5)
run.plot.map().figure.savefig("map.png")
run.to_folder("results")
"""


def test_the_script_of_a_stranger(place: Path, capsys: pytest.CaptureFixture) -> None:
    """In 15 lines: a GeoPackage in another system with records to be cleaned; thinned, cross-validated in space,
    fitted, mapped with xarray, drawn, saved."""
    import geopandas
    import pandas as pd

    assert len([line for line in STRANGER.splitlines() if line.strip()]) <= 15
    table = pd.read_csv(ROOT / "sample_data" / "occurrences.csv").query("species == 'Virtualis montanus'")
    points = geopandas.points_from_xy(table["longitude"], table["latitude"], crs=4326)
    extra = {"year": [1985] * 20 + [2001] * 130, "coordinateUncertaintyInMeters": [50] * 140 + [9000] * 10}
    frame = geopandas.GeoDataFrame({"species": table["species"].to_numpy(), **extra}, geometry=points).to_crs(3035)
    frame.to_file("records.gpkg")
    names: dict[str, object] = {}
    exec(compile(STRANGER, "stranger.py", "exec"), names)  # noqa: S102
    run = names["run"]
    counts = run.record_counts.iloc[0]
    assert counts["filtered"] >= 30, "old and uncertain records"
    assert counts["thinned"] > 0
    assert float(capsys.readouterr().out) > 0.7
    assert names["warm"].shape == (120, 120)
    assert int(names["warm"].notnull().sum()) < int(run.map.notnull().sum())
    assert (place / "map.png").stat().st_size > 5000
    assert (place / "results" / "inputs" / "records.parquet").is_file()
