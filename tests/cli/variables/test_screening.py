"""`sdm variables`: correlations, VIF, groups, a picture and a suggestion, for every kind of model."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from terminal import as_json, fail, files, model_answer, picture, rows, succeed

from sdm.kinds.species.inputs import prepare_species
from sdm.options.reading import make_options

POINTS = ("--background-points", 600)
CATEGORICAL = ("--categorical", "landcover")


def matrix(path: Path) -> tuple[list[str], np.ndarray]:
    table = rows(path)
    names = [row["variable"] for row in table]
    return names, np.array([[float(row[name]) for name in names] for row in table])


def test_tables_picture_and_suggestion(redundant, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = (redundant.records, redundant.layers, *CATEGORICAL, *POINTS)
    answer = model_answer("variables", *words, "-o", out)
    written = {"correlation_pearson.csv", "correlation_spearman.csv", "variables.csv", "suggestion.txt"}
    assert written | {"correlation.png", "run.yaml", "command.txt"} == set(files(out))
    prepared = prepare_species(
        make_options(
            {
                "occurrences": str(words[0]),
                "layers": str(words[1]),
                "categorical": "landcover",
                "background_points": 600,
            }
        )
    )
    (table,) = prepared.tables.values()
    names, pearson = matrix(out / "correlation_pearson.csv")
    assert names == [name for name in table.names if name not in ("landcover", "flat")] == answer["variables"]
    x = table.background[:, [table.names.index(name) for name in names]]
    np.testing.assert_allclose(pearson, np.corrcoef(x.T), atol=1e-8)
    np.testing.assert_allclose(matrix(out / "correlation_spearman.csv")[1], spearmanr(x).statistic, atol=1e-8)
    assert answer["constant"] == ["flat"]
    assert answer["points"] == 600
    assert any({"elevation", "height"} <= set(group) for group in answer["groups"])
    assert set(answer["gains"]) == set(names)
    said = (out / "suggestion.txt").read_text()
    assert "constant     flat: no information" in said
    assert "--drop-correlated 0.7 applies this" in said
    assert picture(out / "correlation.png").std() > 10
    (numbers,) = {row["group"] for row in rows(out / "variables.csv") if row["variable"] in ("elevation", "height")}
    assert numbers != ""


def test_what_it_suggests_is_what_a_run_does(redundant, tmp_path: Path) -> None:
    words = (redundant.records, redundant.layers, *CATEGORICAL, *POINTS, "--fc", "lq", "--drop-correlated", 0.6)
    suggested = model_answer("variables", *words, "--drop-vif", 1e9)
    done = model_answer("fit", *words, "--no-map", "--no-curves", "--no-report", "--dpi", 50, "-o", tmp_path / "out")
    assert suggested["kept"] == done["variable_selection"]["kept"]
    assert suggested["dropped"] == done["variable_selection"]["dropped"]


def test_without_a_folder_nothing_is_written(redundant, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = succeed("variables", redundant.records, redundant.layers, *CATEGORICAL, *POINTS).stdout
    assert "keep         " in said
    assert files(tmp_path) == []


def test_results_are_not_overwritten(world, tmp_path: Path) -> None:
    layers = (world.layers / "slope.tif", world.layers / "temperature.tif")
    words = ("variables", world.records, *layers, *POINTS, "-o", tmp_path / "out", "--dpi", 50)
    succeed(*words)
    assert "--overwrite" in fail(*words)
    succeed(*words, "--overwrite")


def test_several_species_presence_and_absence_and_communities(redundant) -> None:
    both = model_answer("variables", redundant.both, redundant.layers, *CATEGORICAL, *POINTS)
    assert both["points"] == 600, "species share their background"
    assert len(both["gains_of"]) == 2
    sites = (redundant.survey, redundant.layers, *CATEGORICAL)
    classes = model_answer("variables", *sites, "--response", "presence")
    assert (classes["over"], classes["points"]) == ("sites", 150)
    community = model_answer("variables", *sites, "--kind", "community")
    assert (community["over"], community["points"]) == ("sites", 150)
    assert community["pearson"] == pytest.approx(np.array(classes["pearson"]), abs=1e-9)
    assert set(community["gains"]) == set(classes["gains"])


def test_other_limits_and_no_group(world) -> None:
    words = ("variables", world.records, world.layers, *CATEGORICAL, *POINTS)
    said = succeed(*words, "--drop-correlated", 0.9999, "--drop-vif", 1e15).stdout
    assert "none: no correlation |r| is above 0.9999" in said
    assert "drop         none" in said


def test_options_that_do_not_act_here_are_refused(redundant) -> None:
    said = fail("variables", redundant.records, redundant.layers, *CATEGORICAL, "--reduce", code=2)
    assert "--reduce needs the folds of a run" in said


def test_folds_of_a_run_file_are_no_matter(redundant, tmp_path: Path) -> None:
    """A run file may ask for blocks without a size: nothing is divided here."""
    words = ("variables", redundant.records, redundant.layers, *CATEGORICAL, *POINTS)
    assert as_json(*words, "--split", "block", "--folds", 3)["models"] == as_json(*words)["models"]
