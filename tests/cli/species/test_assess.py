"""What a model is worth, from the terminal, a run file and Python: folds, importance, jackknife, survey sites."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
import yaml
from sklearn.metrics import brier_score_loss, roc_auc_score
from terminal import (
    BARE,
    PLAIN,
    QUICK,
    as_json,
    chart_parts,
    fail,
    model_answer,
    picture,
    read,
    rows,
    succeed,
    write_table,
)

from sdm import load_model
from sdm.options.reading import make_options
from sdm.run.run import run

POINTS = ("--background-points", 400)


@pytest.fixture(scope="module")
def results(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit with everything that can be asked for."""
    out = tmp_path_factory.mktemp("assess") / "out"
    succeed(
        *("fit", world.records, world.layers, "--fc", "lq", "--categorical", "landcover", *POINTS, "-o", out),
        *("--folds", 4, "--split", "block", "--block-size", 30, "--validation-background", "partition"),
        *("--test-percent", 20, "--jackknife", "--null-models", 4, "--uncertainty"),
        *("--surfaces", "temperature:precipitation,landcover:temperature", "--threshold", "10p", "--dpi", 50),
    )
    return out


def numbers_of(folder: Path) -> dict:
    return json.loads(next(folder.glob("*.json")).read_text())


def table_of(folder: Path, what: str) -> list[dict[str, str]]:
    return rows(folder / numbers_of(folder)["files"][what])


def test_folds_hold_every_record_once_and_average_to_what_is_said(results: Path) -> None:
    numbers = numbers_of(results)
    found = numbers["cross_validation"]
    assert (found["method"], found["background"]) == ("block", "partition")
    folds = table_of(results, "folds")
    kinds = {kind: [row["fold"] for row in folds if row["kind"] == kind] for kind in ("presence", "background")}
    assert len(kinds["presence"]) == numbers["training_presences"] == 48
    assert len(kinds["background"]) == 400
    for row in found["rows"]:
        assert row["test_presences"] == kinds["presence"].count(row["fold"])
        assert row["training_presences"] == 48 - row["test_presences"]
    for name in ("auc.val", "auc.diff", "cbi.val", "or.mtp", "or.10p", "loss.val"):
        values = [row[name] for row in found["rows"] if row[name] is not None]
        assert found["mean"][f"{name}.avg"] == pytest.approx(np.mean(values))
        assert found["mean"][f"{name}.sd"] == pytest.approx(np.std(values, ddof=1))
    written = table_of(results, "cross-validation")
    assert [float(row["auc.val"]) for row in written] == pytest.approx([row["auc.val"] for row in found["rows"]])


def test_importance_in_tables_json_and_maxents_own_file(results: Path) -> None:
    numbers = numbers_of(results)
    (java,) = rows(results / "maxentResults.csv")
    for kind, column, title in (
        ("contribution", "contribution", "contribution"),
        ("permutation", "permutation importance", "permutation importance"),
    ):
        found = {row["variable"]: row["percent"] for row in numbers["importance"][kind]}
        assert sum(found.values()) == pytest.approx(100)
        for row in table_of(results, "importance"):
            assert float(row[column]) == pytest.approx(found[row["variable"]])
            assert float(java[f"{row['variable']} {title}"]) == pytest.approx(found[row["variable"]])
    parts = [float(row["contribution"]) for row in table_of(results, "importance")]
    assert parts == sorted(parts, reverse=True)
    whole = sum(row["gain"] for row in numbers["importance"]["contribution"])
    assert whole == pytest.approx(numbers["gain"], abs=1e-3), "parts of the gain without its penalty"


def test_the_jackknife_is_that_of_fits_to_fewer_variables(results: Path, world, tmp_path: Path) -> None:
    (java,) = rows(results / "maxentResults.csv")
    rest = [path for path in sorted(world.layers.glob("*.tif")) if path.stem != "elevation"]
    words = ("--fc", "lq", "--no-curves", "--no-map", "--test-percent", 20, *PLAIN)
    only = as_json("fit", world.records, world.layers / "elevation.tif", *words, *POINTS, "-o", tmp_path / "only")
    without = as_json(
        "fit", world.records, *rest, *words, "--categorical", "landcover", *POINTS, "-o", tmp_path / "without"
    )
    for fitted, word in ((only, "with only"), (without, "without")):
        n = fitted["models"][0]["numbers"]
        assert float(java[f"Training gain {word} elevation"]) == pytest.approx(n["regularized_gain"], abs=2e-3)
        assert float(java[f"Test gain {word} elevation"]) == pytest.approx(n["test_gain"], abs=0.02)
        assert float(java[f"AUC {word} elevation"]) == pytest.approx(n["auc_test"], abs=0.01)
    assert [row["kind"] for row in table_of(results, "jackknife")] == ["all", *["without", "only"] * 5]


def test_null_models_lose(results: Path) -> None:
    found = numbers_of(results)["null_models"]
    assert found["iterations"] == 4
    area = next(test for test in found["tests"] if test["measure"] == "auc.val")
    assert area["real"] == pytest.approx(numbers_of(results)["cross_validation"]["mean"]["auc.val.avg"])
    assert area["null_mean"] < area["real"]
    assert area["p"] == pytest.approx(1 / 5)
    assert len(table_of(results, "null models")) == len(found["tests"])


def test_maps_over_replicates_enclose_their_mean(results: Path) -> None:
    files = numbers_of(results)["files"]
    maps = {what: read(results / files[f"{what} map"]) for what in ("mean", "sd", "lower", "upper")}
    plain = read(results / files["map"])
    for band in maps.values():
        assert (band.mask == plain.mask).all()
    low, mean, high = (maps[what].compressed() for what in ("lower", "mean", "upper"))
    assert np.all(low <= mean + 1e-6)
    assert np.all(mean <= high + 1e-6)
    assert maps["sd"].min() >= 0
    assert np.corrcoef(mean, plain.compressed())[0, 1] > 0.9


def test_bands_and_surfaces(results: Path) -> None:
    bands = table_of(results, "bands")
    assert {row["variable"] for row in bands} == set(load_model(next(results.glob("*.npz"))).names)
    assert all(float(row["lower"]) <= float(row["upper"]) for row in bands)
    surfaces = table_of(results, "surfaces")
    assert {(row["first"], row["second"]) for row in surfaces} == {
        ("temperature", "precipitation"),
        ("landcover", "temperature"),
    }
    assert 0 <= min(float(row["response"]) for row in surfaces) < max(float(row["response"]) for row in surfaces) <= 1


def test_pictures(results: Path) -> None:
    for name in ("importance", "jackknife", "jackknife_test_gain", "jackknife_test_auc", "bands"):
        assert chart_parts(results / "plots" / f"{name}.svg") > 10
    for name in ("folds", "surface_temperature_precipitation", "surface_landcover_temperature"):
        assert picture(results / "plots" / f"{name}.png").std() > 5


def test_thresholds_have_binomial_probabilities(results: Path) -> None:
    numbers = numbers_of(results)
    (java,) = rows(results / "maxentResults.csv")
    for found in numbers["thresholds"].values():
        assert 0 <= found["binomial"] <= 1
        assert float(java[f"{found['name']} binomial probability"]) == pytest.approx(found["binomial"])
        assert float(java[f"{found['name']} Cloglog threshold"]) == pytest.approx(found["cloglog"], abs=1e-6)
    assert numbers["thresholds"]["mtp"]["binomial"] < 0.05, "thirteen records and a good model"


@pytest.mark.parametrize(
    ("words", "method", "folds"),
    [
        (("--folds", 3), "random", 3),
        (("--replicates", 3), "random", 3),
        (("--split", "block", "--block-size", 40), "block", 5),
        (("--split", "equal-blocks", "--orientation", "lon_lat"), "equal blocks", 4),
        (("--split", "checkerboard", "--aggregation", "3"), "checkerboard", 2),
        (("--split", "checkerboard", "--aggregation", "2,3"), "checkerboard", 4),
        (("--split", "environment", "--folds", 3, "--validation-background", "partition"), "environment", 3),
        (("--replicates", 2, "--replicatetype", "bootstrap"), "bootstrap", 2),
        (("--replicates", 2, "--replicatetype", "subsample", "--randomtestpoints", 40), "subsample", 2),
    ],
)
def test_every_way_to_divide(world, tmp_path: Path, words, method, folds) -> None:
    result = succeed("fit", world.records, world.layers, *BARE, *PLAIN, *POINTS, "-o", tmp_path / "out", *words)
    found = numbers_of(tmp_path / "out")["cross_validation"]
    assert (found["method"], len(found["rows"])) == (method, folds)
    assert f"{folds} {'replicates' if method in ('bootstrap', 'subsample') else 'folds'}" in result.stdout
    assert all(0.4 < row["auc.val"] <= 1 for row in found["rows"])
    if method == "subsample":
        assert {row["test_presences"] for row in found["rows"]} == {24}
        assert numbers_of(tmp_path / "out")["training_presences"] == 60, "the percentage is the replicates'"


@pytest.mark.parametrize("words", [("--split", "leave-one-out"), ("--split", "buffer", "--radius", 40)])
def test_one_at_a_time(world, tmp_path: Path, words) -> None:
    few = write_table(
        tmp_path / "few.csv", ["lon", "lat"], [(r["longitude"], r["latitude"]) for r in rows(world.records)[:12]]
    )
    succeed("fit", few, world.layers, *BARE, *PLAIN, *POINTS, "-o", tmp_path / "out", *words)
    found = numbers_of(tmp_path / "out")["cross_validation"]["rows"]
    assert [row["test_presences"] for row in found] == [1] * 12
    near = sum(row["training_presences"] < 11 for row in found)
    assert near > 0 if "buffer" in words else near == 0


def labelled(world, path: Path) -> Path:
    """The records with a column of folds, the west and the east; three of them twice."""
    body = [
        (r["species"], r["longitude"], r["latitude"], "west" if float(r["longitude"]) < -15 else "east")
        for r in rows(world.records)
    ]
    return write_table(path, ["species", "longitude", "latitude", "side"], [*body, *body[:3]])


def test_own_folds_follow_their_records_through_cleaning(world, tmp_path: Path) -> None:
    """Duplicates go, the labels of the others stay with them."""
    path = labelled(world, tmp_path / "records.csv")
    words = ("--split", "own", "--fold-column", "side")
    succeed("fit", path, world.layers, *BARE, *PLAIN, *POINTS, "-o", tmp_path / "out", *words)
    folds = table_of(tmp_path / "out", "folds")
    assert len(folds) == 60
    assert all((float(row["X"]) < -15) == (row["fold"] == "west") for row in folds)
    assert [row["fold"] for row in numbers_of(tmp_path / "out")["cross_validation"]["rows"]] == ["east", "west"]
    again = fail(
        "fit", path, world.layers, *BARE, "-o", tmp_path / "b", "--split", "own", "--fold-column", "sid", code=2
    )
    assert "has no column 'sid'" in again
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:5], lines[5].rsplit(",", 1)[0] + ",", *lines[6:]]) + "\n")
    message = fail("fit", path, world.layers, *BARE, "-o", tmp_path / "c", *words)
    assert "column 'side' of 'records.csv' is empty for 1 records, first in row 6" in message


def test_own_folds_in_a_table_divide_its_background_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    body = [("p" if k < 40 else "background", *(rng.normal(size=2) + (k < 40)), 1 + k % 3) for k in range(400)]
    path = write_table(tmp_path / "swd.csv", ["species", "heat", "rain", "part"], body)
    words = ("--split", "own", "--fold-column", "part", "--validation-background", "partition")
    succeed("fit", path, "--fc", "lq", "--no-curves", *PLAIN, "-o", tmp_path / "out", *words)
    numbers = numbers_of(tmp_path / "out")
    assert load_model(tmp_path / "out" / "p.npz").names == ("heat", "rain"), "the labels are no variable"
    assert [row["fold"] for row in numbers["cross_validation"]["rows"]] == ["1", "2", "3"]
    assert len(table_of(tmp_path / "out", "folds")) == 400


def test_terminal_run_file_and_python_are_one(world, tmp_path: Path) -> None:
    settings = {
        "occurrences": {"file": str(world.both)},
        "layers": {"files": str(world.layers), "categorical": "landcover"},
        "background": {"points": 300},
        "fit": {"features": "l"},
        "test": {"split": "checkerboard", "aggregation": [4], "jackknife": True, "null_models": 2},
        "output": {"curves": False, "map": False, "report": False, "dpi": 50},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    succeed("fit", tmp_path / "run.yaml", "-o", tmp_path / "yaml")
    words = ("--split", "checkerboard", "--aggregation", 4, "--jackknife", "--null-models", 2, "--fc", "l")
    more = (
        "--categorical",
        "landcover",
        "--background-points",
        300,
        "--no-curves",
        "--no-map",
        "--no-report",
        "--dpi",
        50,
    )
    succeed("fit", world.both, world.layers, *words, *more, "-o", tmp_path / "words")
    done = run(make_options(settings, {"output": str(tmp_path / "python")}))
    assert not done.failed
    for ending in ("*_crossValidation.csv", "*_jackknife.csv", "*_importance.csv", "*_nullModels.csv", "*_folds.csv"):
        found = [sorted((tmp_path / where).glob(f"*/{ending}")) for where in ("yaml", "words", "python")]
        assert [len(paths) for paths in found] == [2, 2, 2]
        for same in zip(*found):
            assert len({path.read_bytes() for path in same}) == 1
    assert "auc.val.avg" in rows(tmp_path / "yaml" / "summary.csv")[0]


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_bytes_on_any_number_of_processes(world, tmp_path: Path) -> None:
    words = ("--folds", 2, "--jackknife", "--null-models", 2, "--uncertainty", "--fc", "l", "--no-report")
    for name, count in (("a", 1), ("b", 2)):
        more = ("--categorical", "landcover", "--processes", count, *POINTS, "--dpi", 50, "-o", tmp_path / name)
        succeed("fit", world.records, world.layers, *words, *more)
    for one in sorted((tmp_path / "a").rglob("*.*")):
        if one.name not in ("run.yaml", "command.txt") and one.suffix != ".html":
            assert one.read_bytes() == (tmp_path / "b" / one.relative_to(tmp_path / "a")).read_bytes(), one.name


def test_importance_can_be_left_out(world, tmp_path: Path) -> None:
    succeed("fit", world.records, world.layers, *BARE, "--no-importance", "-o", tmp_path / "out")
    numbers = numbers_of(tmp_path / "out")
    assert "importance" not in numbers
    assert "importance" not in numbers["files"]
    (java,) = rows(tmp_path / "out" / "maxentResults.csv")
    assert not any("contribution" in name for name in java)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--split", "block"), "needs the side of a square in km: add --block-size"),
        (("--block-size", 10), "needs --split block: add it"),
        (("--split", "buffer"), "add --radius 50"),
        (("--radius", 10), "needs --split buffer: add it"),
        (("--split", "own"), "--fold-column"),
        (("--fold-column", "side"), "needs --split own: add it"),
        (("--folds", 3, "--replicates", 3), "use one of them"),
        (("--split", "equal-blocks", "--folds", 3), "sets the number of folds"),
        (("--replicatetype", "bootstrap"), "add --replicates 10"),
        (("--replicatetype", "bootstrap", "--replicates", 3, "--split", "environment"), "use one of them"),
        (("--folds", 3, "--validation-background", "partition"), "random folds do not divide the background"),
        (("--null-models", 10), "add --folds 5"),
        (("--null-models", 1, "--folds", 3), "expected 2 or more"),
        (("--folds", 3, "--aggregation", "1,2,3"), "test.aggregation"),
        (("--split", "squares"), "test.split='squares': expected 'random', 'leave-one-out'"),
        (("--surfaces", "heat:rain"), "expected two variables with a colon, of elevation"),
        (("--surfaces", "temperature"), "expected two variables with a colon"),
    ],
)
def test_options_that_make_no_sense(world, tmp_path: Path, words, part) -> None:
    assert part in fail("fit", world.records, world.layers, *BARE, "-o", tmp_path / "out", *words, code=2)
    assert not (tmp_path / "out").exists()


def test_maps_over_replicates_need_replicates_and_a_map(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *QUICK, "-o", tmp_path / "out", "--uncertainty")
    assert "or --replicates 10" in fail(*words, code=2)
    assert "remove --no-map" in fail(*words, "--folds", 3, "--no-map", code=2)


def test_folds_that_the_records_do_not_give(world, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, *POINTS, "-o", tmp_path / "out")
    assert "use a smaller size" in fail(*words, "--split", "block", "--block-size", 5000)
    assert "use a smaller radius" in fail(*words, "--split", "buffer", "--radius", 5000)
    assert "too few for 100 folds" in fail(*words, "--split", "environment", "--folds", 100)


# ------------------------------------------------------------------------------------------- survey sites


def test_absences_among_the_test_records_are_used(world, tmp_path: Path) -> None:
    """One command gives what `sdm evaluate` gives of the same sites, and what scikit-learn computes."""
    out = tmp_path / "out"
    result = succeed("fit", world.records, world.layers, *QUICK, *PLAIN, *POINTS, "-o", out, "--test", world.survey)
    assert "survey      AUC" in result.stdout
    numbers = numbers_of(out)
    found = numbers["presence_absence"]
    other = model_answer("evaluate", next(out.glob("*.npz")), "--presences", world.survey, "--layers", world.layers)
    assert {**found, "calibration": None} == pytest.approx({**other["presence_absence"], "calibration": None})
    assert found["calibration"] == other["presence_absence"]["calibration"]
    sites = [row for row in rows(world.survey) if row["species"] == numbers["species"]]
    observed = np.array([int(row["presence"]) for row in sites])
    assert (found["presences"], found["absences"]) == (observed.sum(), 150 - observed.sum())
    band = read(out / "Virtualis_montanus.tif")
    with rasterio.open(out / "Virtualis_montanus.tif") as data:
        cells = [data.index(float(row["longitude"]), float(row["latitude"])) for row in sites]
    predicted = np.array([band[cell] for cell in cells], dtype=float)
    assert found["auc"] == pytest.approx(roc_auc_score(observed, predicted), abs=1e-6)
    assert found["brier"] == pytest.approx(brier_score_loss(observed, predicted), abs=1e-5)
    assert found["cor"] == pytest.approx(np.corrcoef(observed, predicted)[0, 1], abs=1e-5)
    assert sum(row["count"] for row in found["calibration"]) == 150
    assert len(table_of(out, "calibration")) == len(found["calibration"])
    assert chart_parts(out / "plots" / "calibration.svg") > 10


def test_a_survey_of_several_species_is_divided_among_them(world, tmp_path: Path) -> None:
    succeed("fit", world.both, world.layers, *BARE, *PLAIN, *POINTS, "-o", tmp_path / "out", "--test", world.survey)
    names = {row["species"] for row in rows(world.survey)}
    for name in names:
        numbers = numbers_of(tmp_path / "out" / name.replace(" ", "_"))
        present = sum(row["species"] == name and row["presence"] == "1" for row in rows(world.survey))
        assert numbers["presence_absence"]["presences"] == present


def test_test_records_without_absences_are_as_they_were(world, tmp_path: Path) -> None:
    succeed("fit", world.records, world.layers, *BARE, *PLAIN, *POINTS, "-o", tmp_path / "out", "--test", world.records)
    numbers = numbers_of(tmp_path / "out")
    assert numbers["test_presences"] == 60
    assert "presence_absence" not in numbers


def test_grassland_in_one_command(shared: Path, tmp_path: Path) -> None:
    """Trained on presence-only records, tested on independent plots with and without it, with five class layers."""
    folder = shared / "data" / "grassland"
    if not folder.is_dir():
        pytest.skip("the grassland data are not there")
    layers = sorted(folder.glob("c*/*.tif"))
    classes = ",".join(path.stem for path in sorted(folder.glob("categorical/*.tif")))
    result = succeed(
        *("fit", folder / "occurrence_PO.csv", *layers, "--categorical", classes, "--crs", 25833, "--fc", "lqh"),
        *("--test", folder / "occurrence_PA.csv", "-o", tmp_path / "out", "--no-curves", "--no-map-picture", *PLAIN),
    )
    assert "(46 presences, 76 absences)" in result.stdout
    found = numbers_of(tmp_path / "out")["presence_absence"]
    assert 0.7 < found["auc"] < 0.9
    assert 0.3 < found["cor"] < 0.7
    assert 0.1 < found["brier"] < 0.25, "less than a quarter, what 0.5 everywhere would have"
    assert found["prg"] > 0.4
    assert found["cbi"] > 0.5
    assert 0.3 < found["tss"] <= found["tss.max"]
    share = [(row["predicted"], row["observed"]) for row in found["calibration"] if row["count"] >= 10]
    assert share[-1][1] > share[0][1] + 0.3, "where more is predicted more is found"
