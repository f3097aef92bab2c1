"""Variables that are left out of a run of any kind, by their correlation, their VIF or their importance."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from terminal import BARE, PLAIN, QUICK, as_json, fail, files, model_answer, picture, read, rows, sdm, succeed

from sdm.models.file import load_model

POINTS = ("--background-points", 600)
LEAN = ("--no-report", "--dpi", 50)  # where nobody looks at pages and pictures
ALL = {"elevation", "flat", "height", "landcover", "precipitation", "slope", "temperature", "total"}


def kept(folder: Path) -> set[str]:
    (model,) = folder.glob("*.npz")
    return set(load_model(model).encoder.names)


@pytest.mark.thorough
def test_of_correlated_variables_the_one_with_the_larger_gain_stays(redundant, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("fit", redundant.records, redundant.layers, *QUICK, *POINTS, "--projections", redundant.warmer)
    answer = model_answer(*words, "--drop-correlated", 0.7, "--dpi", 50, "-o", out)
    found = answer["variable_selection"]
    gone = {row["variable"]: row for row in found["dropped"]}
    assert gone
    assert {"elevation", "height"} & set(gone), "they are nearly the same"
    assert not {"landcover", "flat"} & set(gone), "categories and constants take no part"
    for row in gone.values():
        assert found["gains"][row["kept_instead"]] >= found["gains"][row["variable"]]
        assert abs(row["value"]) > 0.7
        assert row["kept_instead"] in found["kept"]
    assert kept(out) == set(found["kept"]) == ALL - set(gone)
    table = {row["variable"]: row for row in rows(out / "variables.csv")}
    assert set(table) == ALL
    assert {name for name, row in table.items() if row["kept"] == "False"} == set(gone)
    assert table["landcover"]["reason"] == "categories take no part"
    assert table["flat"]["reason"] == "one value"
    assert any(f"{len(gone)} of 8 variables dropped, over 600 background points" in note for note in answer["notes"])
    assert any("1 constant variables" in note and "flat" in note for note in answer["notes"])
    assert read(out / f"{answer['name'].replace(' ', '_')}.tif").count() > 0
    assert picture(out / "plots" / "correlation.png").std() > 0
    page = next(out.glob("*.html")).read_text(encoding="utf-8")
    assert "Selection of variables" in page
    assert all(row["reason"] in page for row in gone.values())


def test_the_run_file_repeats_it_and_the_model_predicts_from_the_layers_that_it_has(redundant, tmp_path: Path) -> None:
    words = ("fit", redundant.records, redundant.layers, *QUICK, *POINTS, "--drop-correlated", 0.7, "--drop-vif", 5)
    answer = model_answer(*words, *PLAIN, "-o", tmp_path / "one")
    gone = [row["by"] for row in answer["variable_selection"]["dropped"]]
    rest = 8 - gone.count("correlation")  # from which the second rule starts
    assert any(f"dropped of {rest}," in note or f"of {rest} variables dropped" in note for note in answer["notes"])
    assert yaml.safe_load((tmp_path / "one" / "run.yaml").read_text())["layers"]["drop_correlated"] == 0.7
    succeed("fit", tmp_path / "one" / "run.yaml", "-o", tmp_path / "two")
    (first,), (second,) = ((tmp_path / name).glob("*.npz") for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    few = tmp_path / "few"
    few.mkdir()
    for name in kept(tmp_path / "one"):
        (few / f"{name}.tif").symlink_to(redundant.layers / f"{name}.tif")
    succeed("predict", first, few, "-o", tmp_path / "map.tif")
    np.testing.assert_allclose(read(tmp_path / "map.tif"), read(first.with_suffix(".tif")), rtol=1e-6)
    succeed("evaluate", first, "--presences", redundant.records, "--layers", few)


def test_a_sum_of_others_goes_by_its_vif(redundant, tmp_path: Path) -> None:
    words = ("fit", redundant.records, redundant.layers, *BARE, *POINTS, *PLAIN)
    answer = model_answer(*words, "--drop-vif", 10, "-o", tmp_path / "out")
    gone = {row["variable"] for row in answer["variable_selection"]["dropped"]}
    assert gone & {"elevation", "precipitation", "total"}
    table = {row["variable"]: row for row in rows(tmp_path / "out" / "variables.csv")}
    among = [float(row["VIF among kept"]) for row in table.values() if row["VIF among kept"]]
    assert max(among) <= 10
    assert len(among) == 8 - 2 - len(gone)
    assert answer["variable_selection"]["gains"] == {}, "no model is fitted for a VIF"
    none = model_answer(*words, "--drop-vif", 1e9, "-o", tmp_path / "all")
    dropped = none["variable_selection"]["dropped"]
    assert all(row["reason"].startswith("VIF") for row in dropped)


def test_every_species_has_variables_of_its_own(redundant, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("fit", redundant.both, redundant.layers, *BARE, *POINTS, *PLAIN)
    answer = as_json(*words, "--drop-correlated", 0.7, "-o", out)
    for model in answer["models"]:
        folder = Path(model["folder"])
        assert kept(folder) == set(model["numbers"]["variable_selection"]["kept"])
        assert (folder / "variables.csv").exists()


@pytest.mark.thorough
def test_folds_choose_by_their_own_training_records(redundant, tmp_path: Path) -> None:
    words = ("fit", redundant.records, redundant.layers, *BARE, *POINTS, "--drop-correlated", 0.6, "--folds", 3)
    more = ("--jackknife", "--null-models", 2, "--test-percent", 20, *LEAN)
    answer = model_answer(*words, *more, "-o", tmp_path / "out")
    assert len(answer["cross_validation"]["rows"]) == 3
    assert any("every fold chose among correlated variables" in note for note in answer["notes"])
    assert len(answer["importance"]["jackknife"]) == 1 + 2 * len(answer["variable_selection"]["kept"])
    maps = ("fit", redundant.records, redundant.layers, *QUICK, *POINTS, "--drop-correlated", 0.6, "--folds", 3)
    shared = model_answer(*maps, *LEAN, "--uncertainty", "-o", tmp_path / "maps")
    assert any("used the held-out records of the folds" in note for note in shared["notes"])


@pytest.mark.parametrize("more", [(), ("--reduce-to", 2)])
def test_reduction(redundant, tmp_path: Path, more) -> None:
    out = tmp_path / "out"
    words = ("fit", redundant.records, redundant.layers, *BARE, *POINTS, "--repeats", 2, *(more or ("--reduce",)))
    words = (*words, "--dpi", 50)
    answer = model_answer(*words, "-o", out)
    steps = rows(out / "reduction.csv")
    assert [int(row["variables"]) for row in steps] == list(range(8, 8 - len(steps), -1))
    assert [row["dropped"] == "" for row in steps] == [True] + [False] * (len(steps) - 1)
    gone = [row["dropped"] for row in steps[1:] if row["kept"] == "True"]
    assert kept(out) == ALL - set(gone)
    assert [row["variable"] for row in answer["variable_selection"]["dropped"]] == gone
    assert picture(out / "plots" / "reduction.png").std() > 0
    (note,) = (note for note in answer["notes"] if note.startswith("reduce: "))
    assert "(5 random folds by default)" in note
    loss, error = (np.array([float(row[name]) for row in steps]) for name in ("held-out loss", "standard error"))
    assert np.isfinite(loss).all()
    if more:
        assert len(kept(out)) == 2
    else:
        for k in range(1, len(steps)):
            best = int(np.argmin(loss[:k]))
            assert (steps[k]["kept"] == "True") == (loss[k] <= loss[best] + error[best])
    assert "All steps" in next(out.glob("*.html")).read_text(encoding="utf-8")


def test_the_first_to_go_is_what_matters_least(redundant, tmp_path: Path) -> None:
    """A variable of one value has no importance at all, and no other is worth less in this world with so few folds."""
    words = ("fit", redundant.records, redundant.layers, *BARE, *POINTS, "--repeats", 2, "--reduce", "--folds", 3)
    succeed(*words, *LEAN, "-o", tmp_path / "out")
    steps = rows(tmp_path / "out" / "reduction.csv")
    assert float(steps[1]["importance"]) <= 1e-9
    assert len(rows(tmp_path / "out" / next(p.name for p in (tmp_path / "out").glob("*_crossValidation.csv")))) == 3


def test_tuning_tries_settings_with_the_variables_that_are_kept(redundant, tmp_path: Path) -> None:
    words = ("tune", redundant.records, redundant.layers, "--categorical", "landcover", "--no-map", "--no-curves")
    more = ("--feature-sets", "l,lq", "--multipliers", "1,2", "--drop-correlated", 0.7, *POINTS, *LEAN)
    answer = model_answer(*words, *more, "-o", tmp_path / "out")
    assert kept(tmp_path / "out") == set(answer["variable_selection"]["kept"]) < ALL
    assert {"tune.csv", "variables.csv"} <= set(files(tmp_path / "out"))


@pytest.mark.thorough
def test_path_and_curves_have_fewer_variables_and_strata_none(redundant, tmp_path: Path) -> None:
    words = (redundant.records, redundant.layers, "--categorical", "landcover", "--fc", "l", *POINTS, *LEAN)
    path = model_answer("path", *words, "--drop-correlated", 0.7, "--no-map", "--no-curves", "-o", tmp_path / "path")
    assert kept(tmp_path / "path") == set(path["variable_selection"]["kept"]) < ALL
    curve = ("curve", "sensitivity", *words, "--sets", "l", "--strengths", "1", "--partitions", 2, "--drop-vif", 5)
    assert any("drop_vif 5: " in notice for notice in as_json(*curve, "-o", tmp_path / "curve")["notices"])
    strata = fail("path", *words, "--strata", "landcover", "--drop-vif", 5, "-o", tmp_path / "strata", code=2)
    assert "layers.drop_vif=5.0 does not apply to strata, which have no variables" in strata


@pytest.mark.thorough
def test_presence_and_absence(redundant, tmp_path: Path) -> None:
    words = ("fit", redundant.survey, redundant.layers, "--response", "presence", "--fc", "l", "--rm", 1, "--no-curves")
    more = ("--categorical", "landcover", "--drop-correlated", 0.7, "--folds", 3, "--no-map-picture", *LEAN)
    first = rows(redundant.survey)[0]["species"]
    answer = as_json(*words, "--species", first, *more, "-o", tmp_path / "out")
    for model in answer["models"]:
        assert kept(Path(model["folder"])) == set(model["numbers"]["variable_selection"]["kept"]) < ALL
        assert any("over 150 sites" in note for note in model["notes"])
        assert any("every fold chose" in note for note in model["notes"])
        assert len(model["numbers"]["cross_validation"]["rows"]) == 3
    fewer = ("--reduce-to", 3, "--repeats", 2, "--folds", 2, "--no-map", *LEAN)
    reduced = model_answer(
        *(*words, "--species", first, "--categorical", "landcover", *fewer, "-o", tmp_path / "reduced")
    )
    assert len(kept(tmp_path / "reduced")) == 3
    assert [step["variables"] for step in reduced["variable_selection"]["steps"]] == [8, 7, 6, 5, 4, 3]


def test_communities(redundant, tmp_path: Path) -> None:
    words = ("joint", redundant.survey, redundant.layers, "--categorical", "landcover", "--learner", "crf-l2")
    words = (*words, "--cost", 1, *LEAN)
    more = ("--drop-correlated", 0.7, "--drop-vif", 10, "--projections", f"warmer={redundant.warmer}", "--folds", 2)
    answer = model_answer(*words, *more, "-o", tmp_path / "out")
    found = answer["variable_selection"]
    assert kept(tmp_path / "out") == set(found["kept"]) == set(answer["variables"]) < ALL
    assert all(found["gains"][row["kept_instead"]] >= found["gains"][row["variable"]] for row in found["dropped"])
    assert any("over 150 sites" in note for note in answer["notes"])
    assert any("used the held-out records" in note for note in answer["notes"])
    assert (tmp_path / "out" / "variables.csv").exists()
    said = fail(*words, "--reduce", "-o", tmp_path / "no", code=2)
    assert "layers.reduce=True does not apply to a joint model (a joint model has no permutation importance" in said


def test_tables_of_samples(redundant, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = tmp_path / "swd.csv"
    lines = ["species,x,y,a,b,c"]
    for k in range(300):
        a, c = rng.normal(), rng.normal()
        a += 1.5 if k < 60 else 0
        lines.append(f"{'sp' if k < 60 else 'background'},0,0,{a},{-a + 0.05 * rng.normal()},{c}")
    table.write_text("\n".join(lines) + "\n")
    answer = model_answer("fit", table, "--fc", "l", "--no-curves", "--drop-correlated", 0.9, "-o", tmp_path / "out")
    (gone,) = answer["variable_selection"]["dropped"]
    assert {gone["variable"], gone["kept_instead"]} == {"a", "b"}
    assert gone["value"] < -0.9


def test_check_says_what_it_can_without_fitting(redundant, tmp_path: Path) -> None:
    words = ("check", redundant.records, redundant.layers, "--categorical", "landcover", *POINTS)
    said = succeed(*words, "--drop-correlated", 0.7, "--drop-vif", 10).stdout
    assert "of 8 variables have |r| above 0.7 with another, over 600 background points: " in said
    assert "of 8 variables have a VIF above 10, one after the other, over 600 background points: " in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--drop-correlated", 1), "layers.drop_correlated"),
        (("--drop-correlated", 0), "layers.drop_correlated"),
        (("--drop-vif", 0.5), "layers.drop_vif"),
        (("--reduce-to", 8), "layers.reduce_to=8: there are 8 variables, expected a smaller number"),
        (("--reduce-to", 0), "layers.reduce_to"),
    ],
)
def test_numbers_that_make_no_sense(redundant, tmp_path: Path, words, said) -> None:
    assert said in fail("fit", redundant.records, redundant.layers, *BARE, "-o", tmp_path / "out", *words, code=2)


def test_without_the_options_nothing_changes(redundant, tmp_path: Path) -> None:
    succeed("fit", redundant.records, redundant.layers, *BARE, *POINTS, "-o", tmp_path / "out")
    assert kept(tmp_path / "out") == ALL
    assert "variables.csv" not in files(tmp_path / "out")
    (numbers,) = (tmp_path / "out").glob("*.json")
    assert "variable_selection" not in json.loads(numbers.read_text())


def test_variables_command_is_in_the_help() -> None:
    assert "variables" in sdm("--help").stdout
