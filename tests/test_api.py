"""The library as a stranger uses it: the notebooks of the documentation, and one script, from start to end."""

import json
from pathlib import Path

import pytest
from conftest import ROOT

NOTEBOOKS = ROOT / "docs" / "notebooks"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which the sample data are where a notebook of the repository finds them."""
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    folder = tmp_path / "docs" / "notebooks"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def execute(path: Path) -> dict[str, object]:
    """Run the code of a notebook from start to end; return the names that it defined."""
    tree = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(tree["cells"], start=1):
        assert cell.get("outputs", []) == [], "notebooks are kept without outputs"
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)  # noqa: S102
    return names


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_a_first_model(place: Path) -> None:
    names = execute(NOTEBOOKS / "first_model.ipynb")
    assert (place / "first_model" / "Virtualis_montanus.html").is_file()
    assert names["survey"].numbers["auc"] > 0.9, "the truth is known, and found"


@pytest.mark.thorough
def test_from_points_and_xarray_to_a_figure(place: Path) -> None:
    names = execute(NOTEBOOKS / "published_figure.ipynb")
    assert (place / "figure_1.pdf").stat().st_size > 10_000
    assert (place / "published" / "inputs" / "layers" / "dryness.tif").is_file()
    assert names["run"].map.shape == names["layers"]["dryness"].shape


@pytest.mark.thorough
def test_a_random_forest_under_the_same_folds(place: Path) -> None:
    names = execute(NOTEBOOKS / "scikit_learn.ipynb")
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
