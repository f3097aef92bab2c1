"""`sdm fit`: options in every spelling, run files, tests, thresholds, study areas, backgrounds."""

import json
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
import yaml
from inputs.reading import inputs_of, plans_of, refusal, same_tables, table_of
from shapely.geometry import box
from terminal import BARE, PLAIN, QUICK, as_json, fail, read, rows, succeed, write_table

from sdm.errors import DataError, OptionError
from sdm.models.file import load_model


def numbers(world, folder: Path, *words) -> dict:
    """Fit quickly; return the numbers of the only species."""
    quick = (*QUICK, *PLAIN, "--no-map-picture")
    return as_json("fit", world.records, world.layers, *quick, "-o", folder, *words)["models"][0]["numbers"]


def west(world, path: Path) -> Path:
    """A study area: the western half of the landscape, as a GeoPackage in another CRS."""
    with rasterio.open(next(world.layers.glob("*.tif"))) as source:
        left, bottom, right, top = source.bounds
    half = geopandas.GeoDataFrame(geometry=[box(left, bottom, (left + right) / 2, top)], crs="EPSG:4326")
    half.geometry = half.geometry.segmentize(0.05)
    half.to_crs("EPSG:3035").to_file(path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("--multiplier", "3", "--scale", "raw"),
        ("--fit.multiplier", "3", "--predict.scale", "raw"),
        ("--rm", "3", "--outputformat", "raw"),
        ("--betamultiplier=3", "--outputformat=raw"),
    ],
)
def test_spellings_mean_the_same(world, tmp_path: Path, words) -> None:
    succeed("fit", world.records, world.layers, *BARE, *PLAIN, "-o", tmp_path / "out", *words)
    run = yaml.safe_load((tmp_path / "out" / "run.yaml").read_text())
    assert run["fit"]["multiplier"] == 3.0
    assert run["predict"]["scale"] == "raw"


def test_maxent_words_alone_are_a_whole_command(world, tmp_path: Path) -> None:
    succeed(
        *("fit", "--samplesfile", world.records, "--environmentallayers", world.layers, "--outputdirectory"),
        *(tmp_path / "out", "--togglelayertype", "landcover", "--maximumbackground", 500, "--randomtestpoints", 25),
        *("--betamultiplier", 2, "--no-responsecurves", "--no-doclamp", "--randomseed", 3, "--fc", "LQ", *PLAIN),
    )
    run = yaml.safe_load((tmp_path / "out" / "run.yaml").read_text())
    assert (run["background"]["points"], run["test"]["percent"], run["seed"]) == (500, 25.0, 3)
    assert (run["predict"]["extrapolation"], run["output"]["curves"]) == ("free", False)
    assert load_model(next((tmp_path / "out").glob("*.npz"))).meta["classes"].startswith("lq")


def test_a_run_file_with_relative_paths_and_an_override(own, tmp_path: Path, monkeypatch) -> None:
    (own.folder / "runs").mkdir()
    (own.folder / "runs" / "run.yaml").write_text(
        """
occurrences: {samplesfile: ../one.csv}
layers:
  files: ../layers
  categorical: landcover
fit: {fc: lq, rm: 1.5}
predict:
  projections: ["future=../warmer"]
output: {folder: ../results, curves: no}
"""
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    succeed("fit", own.folder / "runs" / "run.yaml", "--fit.multiplier", 2, *PLAIN)
    results = own.folder / "results"
    assert yaml.safe_load((results / "run.yaml").read_text())["fit"]["multiplier"] == 2.0
    assert list((results / "scenarios" / "future").glob("*.tif"))


def test_layers_by_pattern_and_one_by_one(world) -> None:
    listed = sorted(path for path in world.layers.glob("*e*.tif"))
    by_pattern = table_of(world.records, f"{world.layers}/*e*.tif", *BARE)
    assert by_pattern.names == tuple(path.stem for path in listed)
    same_tables(by_pattern, table_of(world.records, *reversed(listed), *BARE))


def test_a_study_area_limits_records_background_and_map(world, tmp_path: Path) -> None:
    area = west(world, tmp_path / "west.gpkg")
    whole = numbers(world, tmp_path / "whole")
    half = numbers(world, tmp_path / "half", "--study-area", area)
    assert half["training_presences"] < whole["training_presences"]
    assert half["background_points"] < 0.7 * whole["background_points"]
    on_map = read(next((tmp_path / "half").glob("*.tif")))
    assert on_map[:, 24:].count() == 0
    assert on_map[:, :24].count() == half["map"]["cells"]
    (ledger,) = rows(tmp_path / "half" / "records.csv")
    assert int(ledger["outside_area"]) == 60 - half["training_presences"]


def test_an_area_elsewhere_says_so(world, tmp_path: Path) -> None:
    geopandas.GeoDataFrame(geometry=[box(100, 0, 101, 1)], crs="EPSG:4326").to_file(tmp_path / "far.gpkg")
    words = (world.records, world.layers, *BARE, "--study-area", tmp_path / "far.gpkg")
    assert "does not overlap" in refusal(DataError, *words)


def test_own_background_is_what_is_used(world, tmp_path: Path) -> None:
    points = [(r["longitude"], r["latitude"]) for r in rows(world.survey)[:120]]
    own = write_table(tmp_path / "background.csv", ["lon", "lat"], points)
    # a column that only the records have does not matter
    table = table_of(world.records, world.layers, *BARE, "--background-file", own, "--species-column", "species")
    assert table.n_background == 120


def test_background_number_and_all(world, tmp_path: Path) -> None:
    assert table_of(world.records, world.layers, *BARE, "--background-points", 300).n_background == 300
    all_cells = numbers(world, tmp_path / "b", "--background-points", "all")
    assert all_cells["background_points"] == all_cells["map"]["cells"] + 60


def test_area_weighting_changes_the_draw(world) -> None:
    words = (world.records, world.layers, *BARE, "--background-points", 300)
    one, two = table_of(*words), table_of(*words, "--area-weighted")
    assert one.background.shape == two.background.shape
    assert not np.array_equal(one.background, two.background)


def test_test_records_from_a_file(world, tmp_path: Path) -> None:
    body = [
        (r["longitude"], r["latitude"], r["presence"]) for r in rows(world.survey) if r["species"] == one_species(world)
    ]
    path = write_table(tmp_path / "test.csv", ["lon", "lat", "presence"], body)
    words = (world.records, world.layers, *BARE, "--test-samples", path)
    (plan,) = plans_of(*words)
    assert plan.table.n_presences == 60
    present = sum(presence == "1" for _, _, presence in body)
    assert len(plan.test[0]) == present, "absences do not test a presence"
    assert "exclude" in refusal(OptionError, *words, "--test-percent", 10)


def one_species(world) -> str:
    return rows(world.records)[0]["species"]


def test_recorded_absences_are_not_fitted_as_presences(world) -> None:
    species = one_species(world)
    prepared = inputs_of(world.survey, world.layers, *BARE, "--species", species)
    present = sum(r["species"] == species and r["presence"] == "1" for r in rows(world.survey))
    counts = prepared.ledger.total()
    assert counts["read"] - counts["filtered"] == present
    assert any("record an absence" in notice for notice in prepared.notices)


def test_folds(world, tmp_path: Path) -> None:
    found = numbers(world, tmp_path / "out", "--no-map", "--folds", 4)["cross_validation"]
    assert [row["test_presences"] for row in found["rows"]] == [15] * 4
    assert found["mean"]["auc.val.avg"] == pytest.approx(np.mean([row["auc.val"] for row in found["rows"]]))


@pytest.mark.parametrize(
    ("threshold", "scale"),
    [("mtp", "cloglog"), ("mtp", "raw"), ("10p", "cumulative"), ("maxsss", "logistic"), ("equal", "cloglog")],
)
def test_named_thresholds_cut_where_they_are_defined(world, tmp_path: Path, threshold, scale) -> None:
    found = numbers(world, tmp_path / "out", "--threshold", threshold, "--scale", scale)
    values = read(next((tmp_path / "out").glob("*[!d].tif")))
    binary = read(next((tmp_path / "out").glob("*_thresholded.tif")))
    assert binary.dtype == np.uint8
    np.testing.assert_array_equal(binary.mask, values.mask)
    assert set(np.unique(binary.compressed())) == {0, 1}
    level = found["map_threshold"]
    clear = np.abs(values.compressed() - level) > 1e-6 * abs(level)
    np.testing.assert_array_equal(binary.compressed()[clear], (values.compressed() >= level)[clear])
    table = rows(next((tmp_path / "out").glob("*_samplePredictions.csv")))
    with rasterio.open(next((tmp_path / "out").glob("*_thresholded.tif"))) as source:
        at = np.array([v[0] for v in source.sample([(float(r["X"]), float(r["Y"])) for r in table])])
    assert np.mean(at == 0) == pytest.approx(found["thresholds"][threshold]["training_omission"])
    if threshold == "mtp":
        assert at.all(), "no training presence is left out"


def test_a_number_is_a_threshold_too(world, tmp_path: Path) -> None:
    assert numbers(world, tmp_path / "out", "--threshold", "0.4")["map_threshold"] == 0.4
    values = read(next((tmp_path / "out").glob("*[!d].tif")))
    binary = read(next((tmp_path / "out").glob("*_thresholded.tif")))
    assert binary.sum() == np.count_nonzero(values.compressed() >= 0.4)


def test_without_map_and_curves(world, tmp_path: Path) -> None:
    succeed("fit", world.records, world.layers, *BARE, *PLAIN, "-o", tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.tif"))
    assert not (tmp_path / "out" / "plots").exists()


@pytest.mark.thorough
def test_names_of_layers_and_projections_never_meet(own, tmp_path: Path) -> None:
    """A layer called `effects`, or `x_only` beside `x`, or a scenario called `thresholded`, keeps its own file."""
    for path, name in zip(sorted(own.layers.glob("*.tif")), ["a b", "a_b", "a_b_only", "effects", "$x,🦥"]):
        path.rename(own.layers / f"{name}.tif")
    words = (
        "fit",
        own.records,
        own.layers,
        "--fc",
        "l",
        "-o",
        tmp_path / "out",
        "--threshold",
        "mtp",
        "--dpi",
        50,
        "--no-report",
    )
    succeed(*words, "--projections", f"thresholded={own.layers}", "--projections", f"../up={own.layers}")
    assert len(list((tmp_path / "out" / "plots").glob("*.svg"))) == 2 * 5 + 4
    assert len(list((tmp_path / "out").glob("*.tif"))) == 2
    assert len(list((tmp_path / "out" / "scenarios").glob("*/*.tif"))) == 2 + 2 * 5 + 5, "and over both"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "own"]


def test_projections_must_have_all_layers_before_anything_is_fitted(own, tmp_path: Path) -> None:
    (own.folder / "warmer" / "elevation.tif").unlink()
    words = ("fit", own.records, own.layers, *QUICK, "-o", tmp_path / "out", "--projections", own.folder / "warmer")
    message = fail(*words)
    assert "scenario warmer" in message
    assert "'elevation'" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_the_examples_run_on_the_sample_data(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    for path in sorted((root / "configs").glob("*.yaml")):
        out = tmp_path / path.stem
        succeed("fit", path, "-o", out, "-q", "--no-curves", "--fc", "lq", "--dpi", 50)
        assert list(out.rglob("*.tif"))
        assert json.loads(next(out.rglob("*.json")).read_text())["status"] == "converged"


def test_a_fit_says_what_the_theory_promises_and_when_that_is_nothing(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, *PLAIN, "--beta", "corollary5", "--delta", 0.1)
    bound = as_json(*words, "-o", tmp_path / "out")["models"][0]["numbers"]["performance_bound"]
    assert bound["delta"] == 0.1
    said = succeed("info", next((tmp_path / "out").glob("*.npz"))).output
    assert f"true log loss at most {bound['excess']:.3f} nats above the best model" in said
    assert "with probability 0.9" in said
    assert ("so the bound is uninformative" in said) == (not bound["informs"])
