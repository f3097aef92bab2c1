"""Runs of joint models: what is fitted, what is tested, and that the pieces agree with the library."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from community import SPECIES, draw_community, write_community

from sdm.assess.measures.community import measure_community
from sdm.assess.splits.methods import random_folds
from sdm.errors import DataError, OptionError
from sdm.estimators.community import JointModel
from sdm.kinds.community.fit import MeasuredCommunity, survivors
from sdm.kinds.community.inputs import read_community, read_graph
from sdm.kinds.community.outputs import evaluation_rows
from sdm.kinds.registry import task_for
from sdm.options.applies import APPLIES
from sdm.options.reading import leaves, make_options


def options_for(path: Path, **more):
    given = {"occurrences": str(path), "environment": "heat,rain", "learner": "crf-l2", "seed": 5, **more}
    return make_options(given)


def fit(options) -> MeasuredCommunity:
    """Read, divide, fit and measure, as a run does."""
    task, quiet = task_for("community"), None
    prepared = task.prepare(options)
    return task.measure(task.fit(prepared, "joint", options, quiet), prepared, options, quiet)


def divide(options):
    """The folds of the sites, and the number of every row's site."""
    task = task_for("community")
    plan = task.plan(task.prepare(options), "joint", options)
    return plan.split, plan.table.group


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_community(tmp_path_factory.mktemp("joint"))


def test_the_run_is_the_library_with_and_without_edges(sites: Path) -> None:
    options = options_for(sites, folds=3)
    run = fit(options)
    frame = draw_community()
    x, y = frame[["heat", "rain"]], frame[list(SPECIES)]
    for graph, own in (("tree", run.fit.joint), ("none", run.fit.stacked)):
        model = JointModel("crf-l2", graph, "lq", seed=5).fit(x, y)
        np.testing.assert_array_equal(own.weights, model.model_.weights)
    split = random_folds(len(frame), 3, seed=5)
    for fold, row in zip(split.folds, run.testing.folds, strict=True):
        model = JointModel("crf-l2", "tree", "lq", seed=5).fit(x.iloc[fold.train], y.iloc[fold.train])
        values = model.model_.encode(x.iloc[fold.test])
        for key, value in measure_community(model.model_, values, y.iloc[fold.test].to_numpy(dtype=np.int8)).items():
            assert row["joint"][key] == value
    mean = run.testing.mean
    for kind in ("joint", "stacked", "glm"):
        assert mean[kind]["hamming"] == pytest.approx(np.mean([row[kind]["hamming"] for row in run.testing.folds]))
    assert mean["joint"]["log loss"] < mean["stacked"]["log loss"], "labels that hang together are likelier together"


def test_the_table_of_measures_holds_every_fold_and_species(sites: Path) -> None:
    options = options_for(sites, folds=3)
    run = fit(options)
    rows = pd.DataFrame(evaluation_rows(run))
    assert set(rows["fold"]) == {"mean", "1", "2", "3", ""}
    held = rows[(rows["fold"] == "mean") & (rows["measure"] == "auc")]
    assert list(held["species"]) == ["", *SPECIES]
    assert held["joint"].iloc[0] == pytest.approx(held["joint"].iloc[1:].mean(), abs=1e-9)


def test_a_species_that_a_fold_cannot_learn_is_left_out_there_and_said(tmp_path: Path) -> None:
    frame = draw_community()
    frame["rare"] = 0
    frame.loc[[3], "rare"] = 1
    frame["part"] = np.where(np.arange(len(frame)) < 20, "north", "south")
    options = options_for(write_community(tmp_path, frame), split="own", fold_column="part")
    run = fit(options)
    north = next(row for row in run.testing.folds if row["fold"] == "north")
    assert "rare" not in north["joint"]["species"]
    assert any("fold north: 'rare' not tested" in note for note in run.notes)
    assert run.fit.joint.species == (*SPECIES, "rare")


def test_blocks_of_sites_do_not_share_squares(sites: Path) -> None:
    options = options_for(sites, split="block", block_size=60, folds=3)
    community, (split, _) = read_community(options).tables["joint"], divide(options)
    middle = np.radians(community.sites.y)
    east = 111.195 * (community.sites.x - community.sites.x.mean()) * np.cos(middle)
    north = 111.195 * community.sites.y
    squares = np.floor(np.column_stack([east - east.min(), north - north.min()]) / 60)
    held = [set(map(tuple, squares[fold.test])) for fold in split.folds]
    assert sum(map(len, held)) == len(set().union(*held))
    few = options_for(sites, split="block", block_size=5000)
    with pytest.raises(DataError, match="5 folds need at least 5 blocks with sites, got 1"):
        divide(few)


def test_blocks_of_a_table_in_metres(tmp_path: Path) -> None:
    frame = draw_community()
    metres = frame.assign(longitude=500_000 + 70_000 * frame["longitude"], latitude=111_000 * frame["latitude"])
    path = write_community(tmp_path, metres)
    given = {"split": "block", "block_size": 60, "folds": 3, "x_column": "longitude", "y_column": "latitude"}
    with pytest.raises(DataError, match="the coordinates of the table are not degrees"):
        divide(options_for(path, **given))
    split, _ = divide(options_for(path, crs="EPSG:25833", **given))
    assert len(split.folds) == 3


def test_percent_sets_so_many_sites_aside(sites: Path) -> None:
    split, _ = divide(options_for(sites, test_percent=25))
    (fold,) = split.folds
    assert (len(fold.train), len(fold.test)) == (120, 40)
    assert not set(fold.train) & set(fold.test)


@pytest.mark.parametrize("given", [{"test_percent": 40}, {"folds": 4}, {"split": "environment", "folds": 3}])
def test_visits_to_one_site_are_tested_together(tmp_path: Path, given) -> None:
    frame = draw_community(90)
    frame["site"] = np.arange(90) // 3
    split, group = divide(options_for(write_community(tmp_path, frame), **given))
    assert np.unique(group).size == 30
    for fold in split.folds:
        assert not set(group[fold.train]) & set(group[fold.test])
        assert len(fold.train) + len(fold.test) == 90
    tested = sorted(np.concatenate([fold.test for fold in split.folds]).tolist())
    assert tested == list(range(90)) or "test_percent" in given


def test_a_split_that_cannot_work_is_refused_before_a_fit(tmp_path: Path, monkeypatch) -> None:
    frame = draw_community(40)
    frame["site"] = np.arange(40) // 20
    path = write_community(tmp_path, frame)
    monkeypatch.setattr(JointModel, "fit", lambda *_: pytest.fail("a model was fitted"))
    for given, said in (
        ({"folds": 3}, r"there are 2 sites \(40 visits.*: use --folds 2 at most, or .*--site-column"),
        (
            {"test_percent": 30},
            r"30 % of 2 sites leaves no site for testing.*: use a larger --test-percent, or --folds",
        ),
    ):
        options = options_for(path, **given)
        with pytest.raises(DataError, match=said):
            fit(options)
    frame["site"] = np.arange(40) // 14
    frame[list(SPECIES)] = np.tile((np.arange(40) < 28).astype(int)[:, None], len(SPECIES))
    options = options_for(write_community(tmp_path, frame), folds=3)
    with pytest.raises(DataError, match=r"no species has presences and absences for training: change or .* --folds"):
        fit(options)


def test_text_classes_and_sites_without_a_value(tmp_path: Path) -> None:
    frame = draw_community()
    frame.loc[[1, 4], "heat"] = np.nan
    options = options_for(write_community(tmp_path, frame), environment="heat,soil", categorical="soil")
    prepared = read_community(options)
    community = prepared.tables["joint"]
    assert len(community.sites) == len(community.environment) == 158
    assert "2 sites without a value of every variable dropped" in prepared.notices
    run = fit(options)
    assert any("soil=peat" in name for name in run.fit.joint.feature_names)


def test_warnings_say_which_model_and_fold(sites: Path, caplog) -> None:
    options = options_for(sites, learner="m3n", cost=10, max_iterations=2, folds=2)
    with caplog.at_level("WARNING", logger="sdm"):
        fit(options)
    said = [text.split(": iteration limit")[0] for text in caplog.messages]
    each = ["joint model", "stacked single-species models"]
    assert said == [*each, *(f"fold {fold}, {what}" for fold in (1, 2) for what in each)]


def test_a_graph_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("from;to;why\nowl;vole;food\nfox;hen;food\n")
    assert read_graph(str(path)) == [("owl", "vole"), ("fox", "hen")]
    options = options_for(write_community(tmp_path), graph=str(path))
    run = fit(options)
    named = [(row["first"], row["second"]) for row in run.fit.joint.associations()]
    assert named == [("owl", "vole"), ("fox", "hen")]
    weights = [row["weight"] for row in run.fit.joint.associations()]
    assert weights[0] > 0.3
    assert weights[1] < -0.3
    path.write_text("from,to\nowl,\n")
    with pytest.raises(DataError, match="row 2: expected two names"):
        read_graph(str(path))
    with pytest.raises(OptionError, match="expected one of tree, chain, none, or a table"):
        read_graph("ring")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"multiplier": 2}, "multiplier=2.0 does not apply to a joint model"),
        ({"jackknife": True}, "test.jackknife=True does not apply to a joint model"),
        ({"split": "buffer"}, "add test.radius=50"),
        ({"split": "leave-one-out", "folds": 3}, "sets the number of folds"),
        ({"test_percent": 20, "folds": 3}, "exclude"),
        ({"learner": "m3n", "shrinkage": 5}, "joint.shrinkage needs joint.learner=laplace"),
    ],
)
def test_options_that_say_nothing_are_refused(given, said) -> None:
    with pytest.raises(OptionError, match=said):
        task_for("community").check_options(make_options(given))


@pytest.mark.parametrize("kind", list(APPLIES))
def test_every_option_that_applies_exists(kind: str) -> None:
    known = {word for leaf in leaves() for word in (leaf.dotted, f"{leaf.section}.")}
    assert {word.removeprefix("-") for word in APPLIES[kind]} <= known


def test_what_survived_is_measured_against_the_largest_weight(sites: Path) -> None:
    options = options_for(sites, learner="crf-l1", cost=0.1)
    run = fit(options)
    rows = [row for row in survivors(run.fit.joint) if row["feature"] != "bias"]
    top = max(abs(row["weight"]) for row in rows)
    assert {row["kept"] for row in rows} == {True, False}
    for row in rows:
        assert row["kept"] == (abs(row["weight"]) >= 0.01 * top)
