"""`sdm tune`: what was tried, what was chosen, and that the result is the fit of what was chosen."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from inputs.reading import options_of
from terminal import PLAIN, as_json, fail, model_answer, picture, rows, succeed

from sdm import Maxent
from sdm.assess.validation import cross_validate
from sdm.errors import OptionError
from sdm.kinds.registry import task_for
from sdm.options.reading import make_options
from sdm.run.studies.tuning import run_tuning, settings_to_try

POINTS = ("--categorical", "landcover", "--background-points", 300, "--no-map", "--no-curves", *PLAIN)
GRID = ("--feature-sets", "l,lq", "--multipliers", "0.5,2")
ENMEVAL = [
    "fc", "rm", "tune.args", "auc.train", "cbi.train", "auc.diff.avg", "auc.diff.sd", "auc.val.avg", "auc.val.sd",
    "cbi.val.avg", "cbi.val.sd", "or.10p.avg", "or.10p.sd", "or.mtp.avg", "or.mtp.sd", "AICc", "delta.AICc", "w.AIC",
    "ncoef",
]  # fmt: skip


@pytest.fixture(scope="module")
def tuned(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tune") / "out"
    succeed("tune", world.records, world.layers, *POINTS, *GRID, "--folds", 3, "-o", out)
    return out


def numbers_of(folder: Path) -> dict:
    return json.loads(next(folder.glob("*.json")).read_text())


def test_the_table_has_enmevals_columns_and_every_combination(tuned: Path) -> None:
    table = rows(tuned / "tune.csv")
    assert [*table[0]][: len(ENMEVAL)] == ENMEVAL, "its columns, in its order; ours come after them"
    assert [(row["fc"], row["rm"]) for row in table] == [("L", "0.5"), ("L", "2"), ("LQ", "0.5"), ("LQ", "2")]
    assert table[2]["tune.args"] == "fc.LQ_rm.0.5"
    delta = [float(row["delta.AICc"]) for row in table]
    assert min(delta) == 0
    assert sum(float(row["w.AIC"]) for row in table) == pytest.approx(1)
    folds = rows(tuned / "tune_folds.csv")
    assert len(folds) == 4 * 3
    assert [*folds[0]][:4] == ["fc", "rm", "tune.args", "fold"]
    for row in table:
        own = [float(fold["loss.val"]) for fold in folds if fold["tune.args"] == row["tune.args"]]
        assert float(row["loss.val.avg"]) == pytest.approx(np.mean(own))


def test_the_best_is_chosen_and_fitted(tuned: Path, world, tmp_path: Path) -> None:
    """The folder is that of `sdm fit` with the chosen settings: the same model, byte for byte."""
    table = rows(tuned / "tune.csv")
    best = min(table, key=lambda row: float(row["loss.val.avg"]))
    assert [row["chosen"] for row in table].count("True") == 1
    assert best["chosen"] == "True"
    run = yaml.safe_load((tuned / "run.yaml").read_text())
    assert (run["fit"]["features"].upper(), run["fit"]["multiplier"]) == (best["fc"], float(best["rm"]))
    assert numbers_of(tuned)["tuning"]["chosen"] == best["tune.args"]
    words = ("--fc", best["fc"].lower(), "--rm", best["rm"], "--folds", 3)
    succeed("fit", world.records, world.layers, *POINTS, *words, "-o", tmp_path / "fit")
    model = next(tuned.glob("*.npz"))
    assert model.read_bytes() == (tmp_path / "fit" / model.name).read_bytes()
    succeed("fit", tuned / "run.yaml", "-o", tmp_path / "again")
    assert model.read_bytes() == (tmp_path / "again" / model.name).read_bytes()
    mean = numbers_of(tmp_path / "fit")["cross_validation"]["mean"]
    for name in ("auc.val.avg", "loss.val.avg", "or.10p.avg"):
        assert float(best[name]) == pytest.approx(mean[name], abs=1e-3), "the same folds, warm or not"
    assert picture(tuned / "plots" / "tune.png").std() > 5


def test_folds_of_its_own_and_words_for_people(world, tmp_path: Path) -> None:
    result = succeed("tune", world.records, world.layers, *POINTS, *GRID, "-o", tmp_path / "out")
    assert "tuned       fc." in result.stdout
    assert "best by loss.val.avg of 4 settings" in result.stdout
    numbers = numbers_of(tmp_path / "out")
    assert numbers["tuning"]["folds"] == 5, "where none were asked for"
    assert "cross_validation" not in numbers


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("--choose-by", "AICc"), lambda row: float(row["AICc"])),
        (("--choose-by", "auc.val.avg"), lambda row: -float(row["auc.val.avg"])),
        (
            ("--choose-by", "or.10p.avg,auc.val.avg"),
            lambda row: (float(row["or.10p.avg"]), -float(row["auc.val.avg"])),
        ),
    ],
)
def test_chosen_by_any_measure(world, tmp_path: Path, words, key) -> None:
    succeed("tune", world.records, world.layers, *POINTS, *GRID, *words, "--folds", 2, "-o", tmp_path / "out")
    table = rows(tmp_path / "out" / "tune.csv")
    (chosen,) = [row for row in table if row["chosen"] == "True"]
    assert key(chosen) == min(key(row) for row in table)


@pytest.mark.parametrize("words", [(), ("--folds", 0)])
def test_a_choice_that_needs_no_folds_fits_none(world, tmp_path: Path, words, monkeypatch) -> None:
    """Four settings and the chosen one are five fits."""
    fits = []
    solve = Maxent._solve
    monkeypatch.setattr(Maxent, "_solve", lambda self, *values: fits.append(self) or solve(self, *values))
    chosen = ("--choose-by", "AICc,ncoef", "--report", *words)
    succeed("tune", world.records, world.layers, *POINTS, *GRID, *chosen, "-o", tmp_path / "out")
    assert len(fits) == 5
    table = rows(tmp_path / "out" / "tune.csv")
    assert not [name for name in table[0] if name.endswith((".avg", ".sd"))]
    assert min(table, key=lambda row: float(row["AICc"]))["chosen"] == "True"
    assert not (tmp_path / "out" / "tune_folds.csv").exists()
    numbers = numbers_of(tmp_path / "out")
    assert numbers["tuning"]["folds"] == 0
    assert "cross_validation" not in numbers
    page = next((tmp_path / "out").glob("*.html")).read_text()
    assert "on the training records, without folds" in page
    assert "The model was not tested" in page


def test_one_standard_error_takes_the_simplest_that_is_near(world, tmp_path: Path) -> None:
    words = ("--choose-rule", "one_se", "--folds", 3)
    succeed("tune", world.records, world.layers, *POINTS, *GRID, *words, "-o", tmp_path / "out")
    table = rows(tmp_path / "out" / "tune.csv")
    best = min(table, key=lambda row: float(row["loss.val.avg"]))
    limit = float(best["loss.val.avg"]) + float(best["loss.val.sd"]) / np.sqrt(3)
    near = [row for row in table if float(row["loss.val.avg"]) <= limit]
    (chosen,) = [row for row in table if row["chosen"] == "True"]
    assert int(chosen["ncoef"]) == min(int(row["ncoef"]) for row in near)


@pytest.mark.thorough
def test_terminal_run_file_and_python_are_one_on_any_number_of_processes(world, tmp_path: Path) -> None:
    source = {
        "occurrences": {"file": str(world.both)},
        "layers": {"files": str(world.layers), "categorical": "landcover"},
        "background": {"points": 300},
        "test": {"folds": 2, "importance": False},
        "tune": {"feature_sets": ["l", "lq"], "multipliers": [0.5, 2], "budget": 3, "entropies": [1, 1.5]},
        "output": {"map": False, "curves": False, "report": False, "dpi": 50},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(source))
    succeed("tune", tmp_path / "run.yaml", "-o", tmp_path / "yaml", "--processes", 2)
    words = (*GRID, "--budget", 3, "--entropies", "1,1.5", "--folds", 2)
    succeed("tune", world.both, world.layers, *POINTS, *words, "-o", tmp_path / "words")
    done = run_tuning(make_options(source, {"output": str(tmp_path / "python")}))
    assert not done.failed
    for ending in ("tune.csv", "tune_folds.csv", "*.npz"):
        found = [sorted((tmp_path / where).glob(f"*/{ending}")) for where in ("yaml", "words", "python")]
        assert [len(paths) for paths in found] == [2, 2, 2], "two species, each with a choice of its own"
        for same in zip(*found):
            assert len({path.read_bytes() for path in same}) == 1
    drawn = rows(next((tmp_path / "yaml").glob("*/tune.csv")))
    assert len({row["tune.args"] for row in drawn}) == 3
    assert all(0.5 <= float(row["rm"]) <= 2 and 1 <= float(row["entropy"]) <= 1.5 for row in drawn)


@pytest.mark.parametrize("more, again", [((), False), (("--map", "--uncertainty"), True)])
def test_folds_that_chose_are_not_fitted_again(world, tmp_path: Path, monkeypatch, more, again: bool) -> None:
    """The model that was chosen has the cross-validation that chose it, unless models of the folds are mapped."""
    fitted = []
    monkeypatch.setattr(
        "sdm.kinds.assessing.cross_validate",
        lambda *given, **ways: fitted.append(1) or cross_validate(*given, **ways),
    )
    words = (*GRID, "--folds", 2, *more, "-o", tmp_path / "out")
    found = model_answer("tune", world.records, world.layers, *POINTS, *words)
    assert bool(fitted) == again
    own = [row for row in rows(tmp_path / "out" / "tune_folds.csv") if row["tune.args"] == found["tuning"]["chosen"]]
    told = found["cross_validation"]["rows"]
    assert [row["fold"] for row in own] == [row["fold"] for row in told]
    exact = {"abs": 2e-3} if again else {"rel": 1e-9}  # tables have ten digits
    assert [float(row["loss.val"]) for row in own] == pytest.approx([row["loss.val"] for row in told], **exact)
    assert sum(row["test_presences"] for row in told) == found["training_presences"]
    assert "4 settings were compared by the same folds" in found["notes"][0]


def test_folds_of_a_class_model_that_chose_are_not_fitted_again(world, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sdm.kinds.assessing.cross_validate", None)
    common = ("--response", "presence", "--species", rows(world.survey)[0]["species"], "--categorical", "landcover")
    words = ("--feature-sets", "l", "--multipliers", "1,3", "--folds", 2, "--no-map", "--no-curves", *PLAIN)
    words = (*words, "-o", tmp_path / "out")
    found = model_answer("tune", world.survey, world.layers, *common, *words)
    own = [row for row in rows(tmp_path / "out" / "tune_folds.csv") if row["tune.args"] == found["tuning"]["chosen"]]
    assert len(own) == 2
    assert found["measures"]["cross-validation"]["sites"] == found["measures"]["training"]["sites"]


def test_records_set_aside_play_no_part_in_the_choice(world, tmp_path: Path) -> None:
    words = ("--test-percent", 50, "--folds", 2)
    found = as_json("tune", world.records, world.layers, *POINTS, *GRID, *words, "-o", tmp_path / "out")
    assert found["models"][0]["numbers"]["training_presences"] == 30
    assert not any("compared by the same folds" in note for note in found["models"][0]["notes"]), "there is a test"
    folds = rows(tmp_path / "out" / "tune_folds.csv")
    plain = as_json("tune", world.records, world.layers, *POINTS, *GRID, "--folds", 2, "-o", tmp_path / "all")
    assert plain["models"][0]["numbers"]["training_presences"] == 60
    assert folds[0]["auc.train"] != rows(tmp_path / "all" / "tune_folds.csv")[0]["auc.train"]


@pytest.mark.thorough
def test_structural_prices(world, tmp_path: Path) -> None:
    words = ("--model", "structural", "--families", "trees:3", "--lambdas", "0.05,0.2", "--betas", "0.02,0.1")
    succeed("tune", world.records, world.layers, *POINTS, *words, "--folds", 2, "-o", tmp_path / "out")
    table = rows(tmp_path / "out" / "tune.csv")
    assert [(row["lambda"], row["beta"]) for row in table] == [
        ("0.05", "0.02"),
        ("0.05", "0.1"),
        ("0.2", "0.02"),
        ("0.2", "0.1"),
    ]
    assert "rm" not in table[0], "a multiplier does not apply to trees"
    structure = numbers_of(tmp_path / "out")["structure"]
    (chosen,) = [row for row in table if row["chosen"] == "True"]
    assert (structure["lambda"], structure["beta"]) == (float(chosen["lambda"]), float(chosen["beta"]))


def test_the_default_is_twenty_five_settings() -> None:
    task = task_for("species")
    found = settings_to_try(task, make_options())
    assert len(found) == 25
    assert found[0] == {"features": "l", "multiplier": 0.5}
    with_all = settings_to_try(task, make_options({"regularizations": "l1,l2", "entropies": "1,2"}))
    assert len(with_all) == 100
    finite = make_options({"model": "structural", "families": "l,trees:3", "multipliers": "1,2"})
    assert settings_to_try(task, finite) == [{"multiplier": 1.0}, {"multiplier": 2.0}]
    given = settings_to_try(task, make_options({"features": "lq", "multipliers": "1,2"}))
    assert [item["features"] for item in given] == ["lq", "lq"], "classes that were given stay"
    assert settings_to_try(task, make_options({"model": "committee", "multipliers": 3})) == [{"multiplier": 3.0}]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--choose-by", "kappa"), "tune.choose_by='kappa': expected one of auc.val.avg"),
        (("--choose-by", "AICc", "--choose-rule", "one_se"), "needs an average over folds, not AICc"),
        (("--feature-sets", "l,xyz"), "not a feature class"),
        (("--feature-sets", "lq:2"), "expected classes; multipliers go"),
        (("--multipliers", "0,1"), "tune.multipliers='0': expected"),
        (("--entropies", "3"), "a number of at most 2"),
        (("--regularizations", "l3"), "tune.regularizations='l3': expected"),
        (("--lambdas", "0.1"), "add --model structural"),
        (("--model", "structural", "--families", "trees:2"), "there is nothing to tune"),
        (("--model", "committee", "--entropies", "2"), "tune.entropies does not apply to a committee model"),
        (("--model", "structural", "--lambdas", "0.1", "--feature-sets", "l"), "does not apply to a structural model"),
    ],
)
def test_options_that_make_no_sense(world, tmp_path: Path, words, part) -> None:
    rest = words if "--feature-sets" in words or "--multipliers" in words else (*words, "--multipliers", 1)
    with pytest.raises(OptionError) as refused:
        run_tuning(options_of(world.records, world.layers, *POINTS, "--folds", 2, "-o", tmp_path / "out", *rest))
    assert part in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_it_needs_a_place_and_overwrites_nothing(world, tmp_path: Path) -> None:
    assert "no output folder" in fail("tune", world.records, world.layers, *GRID, code=2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("x")
    assert "--overwrite" in fail("tune", world.records, world.layers, *GRID, "-o", tmp_path / "out")
