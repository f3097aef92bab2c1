"""`sdm fit`: everything that a run promises is there, and says what it should."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from terminal import QUICK, as_json, chart_parts, fail, files, picture, read, rows, sdm, styled, succeed

from sdm.models.file import load_model

# What other programs read of Java Maxent's results.
JAVA_COLUMNS = """Species,#Training samples,Regularized training gain,Unregularized training gain,Iterations,
Training AUC,#Test samples,Test gain,Test AUC,AUC Standard Deviation,#Background points,Entropy,
Prevalence (average probability of presence over background sites),
Minimum training presence cumulative threshold,Minimum training presence Cloglog threshold,
Minimum training presence area,Minimum training presence training omission,Minimum training presence test omission,
10 percentile training presence Cloglog threshold,Equal training sensitivity and specificity Cloglog threshold,
Maximum training sensitivity plus specificity Cloglog threshold,Fixed cumulative value 1 cumulative threshold,
Balance training omission, predicted area and threshold value area,
Equate entropy of thresholded and original distributions area"""


def test_a_run_leaves_everything_that_is_promised(fit, world) -> None:
    layers = sorted(path.stem for path in world.layers.glob("*.tif"))
    plots = [
        "plots/effects.svg",
        "plots/importance.svg",
        "plots/omission.svg",
        "plots/roc.svg",
        *(f"plots/{name}{kind}.svg" for name in layers for kind in ("", "_only")),
    ]
    of_species = [
        ".html",
        ".json",
        ".npz",
        ".png",
        *styled([".tif", "_thresholded.tif"]),
        "_curves.csv",
        "_importance.csv",
        "_omission.csv",
        "_roc.csv",
    ]
    of_species += ["_preview.png", "_samplePredictions.csv"]
    common = [
        "background.csv",
        "command.txt",
        "maxentResults.csv",
        "plots",
        "records.csv",
        "records_fate.csv",
        "run.yaml",
    ]
    one = f"scenarios/{fit.name}"
    scenarios = ["scenarios", f"{one}.html", f"{one}.json", f"{one}_change.png", f"{one}_scenarios.png"]
    scenarios += [f"{one}_change_maps.png", f"{one}_novelty.png"]
    scenarios += [f"scenarios/{name}" for name in ("command.txt", "mapping.csv", "run.yaml", "scenarios.csv")]
    for title, kinds in (("reference", ("", "_10p")), ("warmer", ("", "_10p", "_change"))):
        scenarios += [f"scenarios/{title}", f"scenarios/{title}/scenario.json"]
        scenarios += styled(f"scenarios/{title}/{fit.name}{kind}.tif" for kind in kinds)
    scenarios += styled(["scenarios/warmer/mess.tif", "scenarios/warmer/mod.tif"])
    assert files(fit.folder) == sorted([*common, *plots, *scenarios, *(fit.name + end for end in of_species)])


def test_the_terminal_shows_the_records_the_certificate_and_where_the_map_is(fit) -> None:
    for text in ("60 read, 60 kept", "certificate converged", "AUC", "log loss", "test", str(fit.folder), fit.map.name):
        assert text in fit.said


def test_numbers_are_complete_and_consistent(fit) -> None:
    numbers = json.loads((fit.folder / f"{fit.name}.json").read_text())
    assert numbers["status"] == "converged"
    assert numbers["gap"] <= 1e-6
    assert (numbers["training_presences"], numbers["test_presences"]) == (48, 12)
    assert numbers["records"]["read"] == numbers["records"]["kept"] == 60
    n = numbers["background_points"]
    for kind, gain in (("train", "gain"), ("test", "test_gain")):
        assert numbers[gain] == pytest.approx(np.log(n) - numbers[f"log_loss_{kind}"])
        assert 0.5 < numbers[f"auc_{kind}"] <= 1
    assert numbers["regularized_gain"] < numbers["gain"]
    assert 0 < numbers["entropy"] < np.log(n)
    assert numbers["map"]["cells"] == read(fit.map).count()
    for name in numbers["files"].values():
        assert (fit.folder / name).exists()


def test_maxent_results_have_the_columns_that_other_programs_read(fit) -> None:
    (row,) = rows(fit.folder / "maxentResults.csv")
    text = JAVA_COLUMNS.replace("\n", "").replace("omission, predicted", "omission; predicted")
    for column in (name.replace(";", ",") for name in text.split(",")):
        assert row[column] != "", column
    assert row["Species"].replace(" ", "_") == fit.name
    assert row["#Training samples"] == "48"
    cumulative = [float(v) for k, v in row.items() if k.endswith("cumulative threshold")]
    assert all(0 <= value <= 100 for value in cumulative)


def test_sample_predictions_are_those_of_the_model_and_the_map(fit) -> None:
    table = rows(fit.folder / f"{fit.name}_samplePredictions.csv")
    assert list(table[0]) == [
        "X",
        "Y",
        "Test or train",
        "Raw prediction",
        "Cumulative prediction",
        "Cloglog prediction",
    ]
    assert [row["Test or train"] for row in table] == ["train"] * 48 + ["test"] * 12
    with rasterio.open(fit.map) as source:
        on_map = [value[0] for value in source.sample([(float(r["X"]), float(r["Y"])) for r in table])]
    np.testing.assert_allclose([float(r["Cloglog prediction"]) for r in table], on_map, rtol=1e-6)
    model = load_model(fit.model)
    raw = np.array([float(r["Raw prediction"]) for r in table])
    np.testing.assert_allclose(model.from_raw(raw, "cumulative"), [float(r["Cumulative prediction"]) for r in table])


def test_omission_falls_with_area(fit) -> None:
    table = rows(fit.folder / f"{fit.name}_omission.csv")
    assert len(table) == 101
    area, train, test = (
        np.array([float(row[name]) for row in table])
        for name in ("Fractional area", "Training omission", "Test omission")
    )
    assert area[0] == 1.0
    assert train[0] == 0.0
    assert np.all(np.diff(area) <= 0)
    assert np.all(np.diff(train) >= 0)
    assert np.all(np.diff(test) >= 0)


def test_curves_as_numbers_have_every_variable_and_kind(fit) -> None:
    table = rows(fit.folder / f"{fit.name}_curves.csv")
    model = load_model(fit.model)
    assert {(r["variable"], r["kind"]) for r in table} == {
        (name, kind) for name in model.names for kind in ("marginal", "only", "additive")
    }
    suitability = [float(r["response"]) for r in table if r["kind"] != "additive"]
    assert 0 <= min(suitability) <= max(suitability) <= 1
    landcover = [r for r in table if r["variable"] == "landcover" and r["kind"] == "only"]
    assert [r["class"] for r in landcover] == [
        f"{c:g}" for c in model.variables[model.names.index("landcover")].classes
    ]
    for r in table:
        assert r["in training range"] in ("True", "False")


def test_pictures_are_not_blank(fit) -> None:
    pixels = picture(fit.folder / f"{fit.name}.png")
    assert min(pixels.shape[:2]) > 100
    assert np.unique(pixels.astype(int) @ [65536, 256, 1]).size > 20
    for path in (fit.folder / "plots").glob("*.svg"):
        assert chart_parts(path) > 10, path


def test_the_map_picture_has_the_map_and_the_points(fit) -> None:
    pixels = picture(fit.folder / f"{fit.name}.png").reshape(-1, 3).astype(int)
    unsuitable, test_record, no_data = [68, 1, 84], [200, 85, 61], [232, 232, 232]
    for colour in (unsuitable, test_record, no_data):
        assert np.any(np.abs(pixels - colour).max(axis=1) < 12), colour


def test_the_ledger_is_saved(fit) -> None:
    (row,) = rows(fit.folder / "records.csv")
    assert row["read"] == row["kept"] == "60"
    assert int(row["duplicates"]) == 0


def test_json_is_one_document_and_messages_are_elsewhere(world, tmp_path: Path) -> None:
    result = as_json("fit", world.records, world.layers, *QUICK, "-o", tmp_path / "out")
    (species,) = result["models"]
    assert (result["command"], result["error"], species["kind"], species["error"]) == ("fit", None, "species", None)
    assert species["numbers"]["status"] == "converged"
    assert species["records"]["kept"] == 60
    assert (Path(species["folder"]) / species["files"]["map"]).exists()
    assert any("categorical layers: landcover" in notice for notice in result["notices"])


def test_quiet_says_nothing_and_works(world, tmp_path: Path) -> None:
    result = succeed("fit", world.records, world.layers, *QUICK, "-o", tmp_path / "out", "-q")
    assert result.output == ""
    assert (tmp_path / "out" / "run.yaml").exists()


@pytest.mark.parametrize("place", ["/proc/none/out", "{tmp}/file/out", "{tmp}/file"])
def test_a_place_that_cannot_be_written(world, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no folder")
    target = place.format(tmp=tmp_path)
    message = fail("fit", world.records, world.layers, *QUICK, "-o", target, "--overwrite")
    assert message.startswith(f"{target} cannot be written")
    check = sdm("check", world.records, world.layers, *QUICK, "-o", tmp_path / "file" / "out", "-q")
    assert check.exit_code == 1
    assert "cannot be written" in check.stderr
    assert files(tmp_path) == ["file"]


def test_results_are_not_overwritten_unless_asked(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *QUICK, "-o", tmp_path / "out")
    succeed(*words, "--threshold", "mtp")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    again = sdm(*words)
    assert again.exit_code == 1
    assert "--overwrite" in again.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()} == before
    succeed(*words, "--rm", 4, "--overwrite")
    after = files(tmp_path / "out")
    assert not any("thresholded" in name for name in after), "a map of the earlier model would mislead"
    model = next((tmp_path / "out").glob("*.npz"))
    assert model.read_bytes() != before[model]
