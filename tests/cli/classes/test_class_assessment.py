"""Classes, and presence and absence, are tested, tuned and mapped in every way that species are."""

import json
from pathlib import Path

import numpy as np
import pytest
from terminal import as_json, fail, model_answer, read, rows, sdm, succeed, write_table

from sdm.models.file import load_model

LEAN = ("--fc", "l", "--rm", "1", "--no-map", "--no-curves", "--no-report", "--no-importance")
LEAN = (*LEAN, "--categorical", "landcover", "--dpi", "50")
SPLITS = [
    ("random", "--folds", "3"),
    ("leave-one-out", "--split", "leave-one-out"),
    ("block", "--split", "block", "--block-size", "60", "--folds", "3"),
    ("equal blocks", "--split", "equal-blocks"),
    ("checkerboard", "--split", "checkerboard", "--aggregation", "4"),
    ("buffer", "--split", "buffer", "--radius", "5"),
    ("environment", "--split", "environment", "--folds", "3"),
    ("own", "--split", "own", "--fold-column", "team"),
    ("bootstrap", "--replicates", "3", "--replicate-kind", "bootstrap"),
    ("subsample", "--replicates", "3", "--replicate-kind", "subsample"),
]


@pytest.fixture(scope="module")
def survey(world, tmp_path_factory) -> Path:
    """Forty sites of one species, with three teams and a habitat in words."""
    first = rows(world.survey)[0]["species"]
    own = [row for row in rows(world.survey) if row["species"] == first]
    both = [[row for row in own if row["presence"] == value][:count] for value, count in (("1", 18), ("0", 30))]
    body = [
        (row["longitude"], row["latitude"], row["presence"], "ABC"[k % 3], ("wood", "bog", "heath")[k % 3])
        for k, row in enumerate(row for part in both for row in part)
    ]
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    return write_table(path, ("longitude", "latitude", "presence", "team", "habitat"), body)


@pytest.fixture(scope="module")
def two(world) -> tuple[Path, Path]:
    """Two of the layers, where a test is about sites."""
    return world.layers / "landcover.tif", world.layers / "temperature.tif"


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "words"), [(name, words) for name, *words in SPLITS], ids=[s[0] for s in SPLITS])
def test_presence_and_absence_take_every_split(two, survey, tmp_path: Path, method, words) -> None:
    found = model_answer("fit", survey, *two, "--response", "presence", *LEAN, *words, "-o", tmp_path / "out")
    folds = found["cross_validation"]
    assert folds["method"] == method
    assert {"auc.val", "tss.val", "loss.val", "loss.const.val"} <= set(folds["rows"][0])
    assert np.isfinite(folds["mean"]["loss.val.avg"])
    assert found["measures"]["cross-validation"]["sites"] <= found["sites"]
    stored = rows(tmp_path / "out" / "survey_crossValidation.csv")
    assert [row["fold"] for row in stored] == [row["fold"] for row in folds["rows"]]


def test_sites_within_the_buffer_do_not_train(two, survey, tmp_path: Path) -> None:
    words = ("--response", "presence", *LEAN, "--split", "buffer", "--radius")
    near, far = (
        model_answer("fit", survey, *two, *words, radius, "-o", tmp_path / radius)["cross_validation"]["rows"]
        for radius in ("0", "60")
    )
    assert all(row["training_sites"] == 46 for row in near)
    assert any(row["training_sites"] < 46 for row in far)


@pytest.mark.parametrize("split", ["random", "block"])
def test_classes_of_any_number_take_splits_too(two, survey, tmp_path: Path, split) -> None:
    words = ("--folds", "3") if split == "random" else ("--split", "block", "--block-size", "60", "--folds", "2")
    found = model_answer("classify", survey, *two, "--class-column", "habitat", *LEAN, *words, "-o", tmp_path / "o")
    assert found["cross_validation"]["method"] == split
    assert len(found["classes"]) == 3
    assert found["measures"]["cross-validation"]["sites"] == found["sites"]


def test_a_test_file_tests_classes(two, survey, tmp_path: Path) -> None:
    words = ("--response", "presence", *LEAN, "--test", survey)
    found = model_answer("fit", survey, *two, *words, "-o", tmp_path / "out")
    assert found["measures"]["test"] == found["measures"]["training"], "the same sites test and train"
    assert found["training_sites"] == found["sites"] // 2
    assert rows(tmp_path / "out" / "survey_sites.csv")[-1]["test or train"] == "test"


def test_settings_of_classes_are_tuned(two, survey, tmp_path: Path) -> None:
    words = ("--response", "presence", "--categorical", "landcover", "--no-map", "--no-curves", "--no-report")
    words = (*words, "--no-importance", "--dpi", "50")
    grid = ("--feature-sets", "l,lq", "--multipliers", "0.5,2", "--folds", "3", "--choose-by", "tss.val.avg")
    found = model_answer("tune", survey, *two, *words, *grid, "-o", tmp_path / "out")
    tried = rows(tmp_path / "out" / "tune.csv")
    assert [row["tune.args"] for row in tried] == ["fc.L_rm.0.5", "fc.L_rm.2", "fc.LQ_rm.0.5", "fc.LQ_rm.2"]
    best = max(tried, key=lambda row: float(row["tss.val.avg"]))
    assert float(best["tss.val.avg"]) == pytest.approx(found["tuning"]["best"]["tss.val.avg"])
    assert {"loss.val.avg", "loss.const.val.avg", "auc.val.avg"} <= set(best)
    assert found["multiplier"] == pytest.approx(found["tuning"]["best"]["rm"])
    text = fail("tune", survey, *two, *words, "--choose-by", "cbi.val.avg", "-o", tmp_path / "no", code=2)
    assert "cbi.val.avg" in text


@pytest.fixture(scope="module")
def whole(world, survey, tmp_path_factory) -> Path:
    """A run of presence and absence with everything."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    words = ("--response", "presence", "--fc", "l", "--rm", "0.3", "--categorical", "landcover", "--folds", "3")
    more = ("--null-models", "3", "--jackknife", "--uncertainty", "--threshold", "maxsss", "--test-percent", "20",
            "--replicate-maps", "--beta-lqp", "0.4", "--dpi", "50")  # fmt: skip
    succeed("fit", survey, world.layers, *words, *more, "-o", folder)
    return folder


def test_cutoffs_divide_the_map_into_presence_and_absence(whole: Path, world, tmp_path: Path) -> None:
    numbers = json.loads((whole / "survey.json").read_text())
    cutoff = numbers["thresholds"]["maxsss"]["probability"]
    assert numbers["map_threshold"] == cutoff
    binary = read(whole / "survey_thresholded.tif")
    p = read(whole / "survey_probability.tif", 1 + numbers["classes"].index("1"))
    np.testing.assert_array_equal(binary.compressed(), (p.compressed() >= np.float32(cutoff)).astype(np.uint8))
    succeed("predict", whole / "survey.npz", world.layers, "--threshold", "maxsss", "-o", tmp_path / "again.tif")
    np.testing.assert_array_equal(read(tmp_path / "again.tif").filled(9), binary.filled(9))


def test_a_cutoff_is_for_presence_and_absence_only(world, survey, tmp_path: Path) -> None:
    words = ("--class-column", "habitat", "--fc", "l", "--rm", "1", "--no-curves", "--categorical", "landcover")
    text = fail("classify", survey, world.layers, *words, "--threshold", "maxsss", "-o", tmp_path / "o", code=2)
    assert "presence and absence" in text


def test_null_models_jackknife_and_spread_are_those_of_classes(whole: Path) -> None:
    numbers = json.loads((whole / "survey.json").read_text())
    assert numbers["null_models"]["iterations"] == 3
    assert {"auc.val", "tss.val", "loss.val"} <= {test["measure"] for test in numbers["null_models"]["tests"]}
    kinds = {row["kind"] for row in rows(whole / "survey_jackknife.csv")}
    assert kinds == {"all", "without", "only"}
    mean, low, high = (read(whole / f"survey_{name}.tif") for name in ("mean", "lower", "upper"))
    assert (low <= mean + 1e-6).all()
    assert (mean <= high + 1e-6).all()
    assert {row["kind"] for row in rows(whole / "survey_curves.csv")} == {"marginal"}, "presence alone"


def test_every_replicate_has_its_map(whole: Path, world, survey, tmp_path: Path) -> None:
    """Of presence and absence the probability of presence; of more classes, those that a model has."""
    maps = [read(whole / "replicates" / f"survey_{k}.tif") for k in (1, 2, 3)]
    np.testing.assert_allclose(np.ma.mean(maps, axis=0), read(whole / "survey_mean.tif"), atol=1e-6)
    words = ("--class-column", "habitat", "--fc", "l", "--rm", "0.1", "--no-curves", "--no-report", "--no-map-picture")
    words = (*words, "--no-importance", "--dpi", "50")
    more = ("--folds", "2", "--uncertainty", "--replicate-maps", "--beta-categorical", "0.3")
    succeed("classify", survey, world.layers, *words, *more, "--categorical", "landcover", "-o", tmp_path / "out")
    place = tmp_path / "out" / "replicates"
    assert {path.name for path in place.glob("*.tif")} == {
        f"habitat_{k}{word}.tif" for k in (1, 2) for word in ("", "_probability", "_entropy")
    }
    first, second = (read(place / f"habitat_{k}_probability.tif", 1) for k in (1, 2))
    np.testing.assert_allclose((first + second) / 2, read(tmp_path / "out" / "habitat_bog_mean.tif"), atol=1e-6)


def test_numbers_of_the_tables_are_those_of_the_model(whole: Path, world, survey, tmp_path: Path) -> None:
    assert load_model(whole / "survey.npz").meta["settings"]["beta_lqp"] == 0.4
    words = ("--response", "presence", "--beta-hinge", "0.3", "--beta", "0.1", "-o", tmp_path / "o")
    assert "--beta-hinge 0.3 has no effect with --beta 0.1" in fail("fit", survey, world.layers, *words, code=2)
    joint = ("--beta-lqp", "0.3", "-o", tmp_path / "o")
    assert "does not apply to a joint model (--cost sets the strength of its one penalty" in fail(
        "joint", survey, *joint, code=2
    )


def test_the_page_shows_the_map_the_roc_curve_calibration_and_odmap(whole: Path) -> None:
    page = (whole / "survey.html").read_text()
    for text in ("ROC curve", "alibration", "ODMAP", "Null models", "Jackknife", "Probability of presence"):
        assert text in page, text


def test_a_table_with_the_values_needs_no_layers(world, survey, tmp_path: Path) -> None:
    """Samples with data: the model is the one of the layers, at the cells of the points."""
    words = (
        "--response",
        "presence",
        "--fc",
        "l",
        "--rm",
        "1",
        "--no-curves",
        "--no-report",
        "--no-importance",
        "--dpi",
        "50",
    )
    layered = model_answer(
        "fit", survey, world.layers, *words, "--categorical", "landcover", "--no-map", "-o", tmp_path / "a"
    )
    names, places = [path.stem for path in sorted(world.layers.glob("*.tif"))], rows(survey)
    at = [sample(world.layers / f"{name}.tif", places) for name in names]
    body = [(row["presence"], row["team"], *values) for row, *values in zip(places, *at)]
    table = write_table(tmp_path / "swd.csv", ("presence", "site", *names), body)
    alone = model_answer("fit", table, *words, "--categorical", "landcover", "-o", tmp_path / "b")
    assert alone["measures"]["training"]["log_loss"] == pytest.approx(
        layered["measures"]["training"]["log_loss"], rel=1e-6
    )
    assert not list((tmp_path / "b").glob("*.tif"))


def sample(path: Path, places: list[dict[str, str]]) -> list[float]:
    """The values of a raster at points."""
    import rasterio

    with rasterio.open(path) as source:
        xy = [(float(row["longitude"]), float(row["latitude"])) for row in places]
        return [float(value[0]) for value in source.sample(xy)]


def test_one_kind_of_run_over_another_leaves_nothing_behind(world, survey, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--fc", "l", "--rm", "1", "--no-map", "--no-curves", "--categorical", "landcover", "--no-importance")
    words = (*words, "--dpi", "50")
    succeed("classify", survey, world.layers, "--class-column", "habitat", *words, "-o", out)
    before = {path.name for path in out.iterdir()}
    succeed("fit", world.records, world.layers, *words, "-o", out, "--overwrite")
    after = {path.name for path in out.iterdir()}
    assert not [name for name in after if name.startswith("habitat")]
    assert "maxentResults.csv" in after - before
    assert len(as_json("report", out)["files"]) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--response", "presence", "--split", "block"), "--block-size"),
        (("--response", "presence", "--folds", "60"), "folds"),
        (("--class-column", "habitat", "--threshold", "mtp"), "presence and absence"),
        (("--class-column", "habitat", "--background-points", "100"), "does not apply to a class model"),
        (("--response", "presence", "--split", "own", "--fold-column", "nothing"), "nothing"),
    ],
)
def test_check_finds_what_the_run_would_refuse(world, survey, tmp_path: Path, words, problem) -> None:
    words = (survey, world.layers, *words, "--fc", "l", "--categorical", "landcover", "-o", tmp_path / "out")
    found = sdm("check", *words, "--json")
    assert found.exit_code == 1
    problems = json.loads(found.stdout)["problems"]
    assert any(problem in text for text in problems), problems
    run = sdm("fit", *words)
    assert run.exit_code in (1, 2)
    assert any(text in run.stderr.replace("error: ", "") for text in problems), (run.stderr, problems)
