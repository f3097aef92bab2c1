"""`sdm fit points.csv --bounds …`: the density of points without any layer."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
import yaml
from terminal import fail, rows, succeed

import sdm
from benchmarks.inputs.point_patterns import city_pattern
from sdm import Maxent

BOUNDS, CELLS = "0,0,10,8", "30,24"


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crimes of a city, and one at the corner of its map; x and y are km, and look like degrees."""
    x, y = city_pattern(3, columns=50).draw(300, np.random.default_rng(3))
    path = tmp_path_factory.mktemp("points") / "burglary.csv"
    lines = [f"{a:.4f},{b:.4f}" for a, b in zip([0.0, *x], [0.0, *y])]
    path.write_text("\n".join(["x,y", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def results(points: Path) -> Path:
    out = points.parent / "out"
    words = ("--bounds", BOUNDS, "--cells", CELLS, "--crs", "none", "--features", "lqp", "--scale", "raw")
    said = succeed("fit", points, *words, "--folds", 3, "--split", "random", "-o", out).output
    assert "a window of 30 × 24 cells without layers: x 0 to 10, y 0 to 8 (plain coordinates)" in said
    return out


def test_the_map_is_a_density_over_all_cells_of_all_points(points: Path, results: Path) -> None:
    with rasterio.open(results / "burglary.tif") as file:
        raw, transform = file.read(1).astype(float), file.transform
    assert raw.shape == (24, 30)
    assert raw.sum() == pytest.approx(1, abs=1e-5)
    assert (
        json.loads((results / "burglary.json").read_text())["training_presences"] == 301
    )  # all, also those that share a cell
    # The same by hand: cells are the background, and points have the coordinates of their cells.
    x, y = np.loadtxt(points, delimiter=",", skiprows=1).T
    col, row = (np.floor(x * 3).astype(int), 23 - np.floor(y * 3).astype(int))
    cells = np.array([transform * (c + 0.5, r + 0.5) for r in range(24) for c in range(30)])
    at = np.array([transform * (c + 0.5, r + 0.5) for r, c in zip(row, col)])
    labels = np.r_[np.ones(len(at)), np.zeros(len(cells))]
    model = Maxent("lqp", add_presences="distinct").fit(np.r_[at, cells], labels).model_
    assert raw.ravel() == pytest.approx(model.predict(cells, "raw"), rel=1e-4)


def test_everything_else_is_there(results: Path) -> None:
    assert {row["variable"] for row in rows(results / "burglary_importance.csv")} == {"x", "y"}
    assert {row["variable"] for row in rows(results / "burglary_curves.csv")} == {"x", "y"}
    assert len(rows(results / "burglary_crossValidation.csv")) == 3
    assert (results / "burglary.html").stat().st_size > 10_000
    options = yaml.safe_load((results / "run.yaml").read_text())
    assert options["layers"]["bounds"] == [0, 0, 10, 8]
    assert options["background"]["points"] == "all"
    assert options["fit"]["add_presences"] == "distinct"


def test_the_run_file_repeats_it(results: Path, tmp_path: Path) -> None:
    succeed("fit", results / "run.yaml", "--no-curves", "--folds", 0, "--no-report", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "burglary.tif").read_bytes() == (results / "burglary.tif").read_bytes()


def test_any_place_in_the_window_can_be_asked_for(results: Path, tmp_path: Path) -> None:
    table = tmp_path / "places.csv"
    table.write_text("x,y\n1.5,0.5\n8.5,7.5\n")  # the centres of cells (22, 4) and (1, 25)
    succeed("predict", results / "burglary.npz", table, "--scale", "raw", "-o", tmp_path / "out.csv")
    with rasterio.open(results / "burglary.tif") as file:
        raw = file.read(1)
    asked = [float(row["raw"]) for row in rows(tmp_path / "out.csv")]
    assert asked == pytest.approx([raw[22, 4], raw[1, 25]], rel=1e-4)


def test_any_two_columns_span_a_window(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = tmp_path / "accidents.csv"
    hours, days = rng.normal(17, 2, 80) % 24, rng.integers(0, 365, 80)
    table.write_text("hour,day\n" + "\n".join(f"{h:.2f},{d}" for h, d in zip(hours, days)) + "\n")
    columns = ("--x-column", "hour", "--y-column", "day", "--bounds", "0,0,24,365", "--cells", "48,73")
    said = succeed("check", table, *columns, "-o", tmp_path / "out").output
    assert "80 usable presences" in said
    assert "48 × 73 cells" in said
    assert "0 problems, 0 warnings" in said


def test_python_has_it_too(points: Path) -> None:
    run = sdm.fit(points, bounds=(0, 0, 10, 8), cells=20, crs="none", features="l", curves=False, report=False)
    assert run.numbers["background_points"] == 20 * 16


def test_what_does_not_go_together_is_refused(world, points: Path, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "out")
    assert "--bounds xmin,ymin,xmax,ymax" in fail("fit", points, *out)  # what to type without layers
    assert "remove one of them" in fail("fit", points, world.layers, "--bounds", BOUNDS, *out, code=2)
    assert "add --bounds" in fail("fit", world.records, world.layers, "--crs", "none", *out, code=2)
    assert "four numbers" in fail("fit", points, "--bounds", "0,0,0,8", *out, code=2)
    assert "needs layers" in fail("fit", points, "--bounds", BOUNDS, "--projections", world.layers, *out, code=2)
    assert "at most 4,000,000" in fail("fit", points, "--bounds", BOUNDS, "--cells", 5000, *out, code=2)
    assert "does not apply" in fail("fit", points, "--bounds", BOUNDS, "--response", "x", *out, code=2)
    assert not (tmp_path / "out").exists()
