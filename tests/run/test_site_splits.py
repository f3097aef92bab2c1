"""How survey sites are divided, for classes and communities alike: every split, and whole sites."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sdm.assess.splits.folds import Split
from sdm.assess.splits.methods import random_folds
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.site_folds import fold_numbers, training_rows
from sdm.data.site_sample import ClassSample, CommunitySample, SiteSample
from sdm.errors import DataError, OptionError
from sdm.kinds.splitting import set_sites_aside, split_sites, with_default_folds
from sdm.options.reading import make_options
from sdm.simulate.world import simulate

SPLITS = {
    "random": {"folds": 4},
    "leave-one-out": {"split": "leave-one-out"},
    "block": {"split": "block", "block_size": 30, "folds": 3},
    "equal-blocks": {"split": "equal-blocks"},
    "checkerboard": {"split": "checkerboard", "aggregation": 4},
    "buffer": {"split": "buffer", "radius": 20},
    "environment": {"split": "environment", "folds": 3},
    "own": {"split": "own", "fold_column": "part"},
    "bootstrap": {"replicates": 5, "replicatetype": "bootstrap"},
    "subsample": {"replicates": 5, "replicatetype": "subsample"},
    "replicates": {"replicates": 3},
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    folder: Path = tmp_path_factory.mktemp("world")
    simulate(folder, size=40, layers=3, records=20, seed=6)
    return open_stack(folder / "layers", categorical=[])


def sample(kind: str, stack: Stack, sites: int = 50, visits: int = 2, seed: int = 1) -> SiteSample:
    """Sites at random places of the layers, each visited so many times, in mixed order."""
    rng = np.random.default_rng(seed)
    left, bottom, right, top = stack.bounds
    group = rng.permutation(np.repeat(np.arange(sites), visits))
    x, y = rng.uniform(left, right, sites)[group], rng.uniform(bottom, top, sites)[group]
    values = np.column_stack([x + rng.normal(0, 0.1, x.size), y])
    part = np.array(["north", "south", "west"])[group % 3]
    common = (("heat", "rain"), (), values)
    if kind == "classes":
        target = np.array(["bog", "fen", "heath"])[
            np.where(rng.random(x.size) < 0.7, group % 3, rng.integers(0, 3, x.size))
        ]
        return ClassSample("habitat", *common, target, x, y, group, part)
    labels = pd.DataFrame({name: rng.integers(0, 2, x.size) for name in ("a", "b", "c")})
    return CommunitySample("sites", *common, labels, x, y, group, part)


@pytest.mark.parametrize("kind", ["classes", "community"])
@pytest.mark.parametrize("name", SPLITS)
def test_every_split_keeps_the_visits_of_a_site_on_one_side(kind: str, name: str, stack: Stack) -> None:
    """Otherwise a model is tested where it was trained, and the test flatters it."""
    sites = sample(kind, stack)
    split = split_sites(sites, make_options(SPLITS[name]), stack)
    assert split is not None
    for fold in split.folds:
        assert not set(sites.group[fold.train]) & set(sites.group[fold.test])
        for rows in (fold.train, fold.test):
            times = np.bincount(rows, minlength=len(sites))
            assert all(np.unique(times[sites.group == g]).size == 1 for g in range(50))
        whole = np.union1d(fold.train, fold.test)
        assert whole.size == 100 or name == "buffer"
        assert len(fold.training(sites)) == fold.train.size
    if split.group is not None:
        assert all((split.group[fold.test] == k).all() for k, fold in enumerate(split.folds))
        held = np.sort(np.concatenate([fold.test for fold in split.folds]))
        np.testing.assert_array_equal(held, np.arange(100))


def test_random_folds_are_those_of_earlier_versions(stack: Stack) -> None:
    """The same seed gives the same folds: stratified by class, or of the sites in the order of their first visit."""
    classes, options = sample("classes", stack), make_options({"folds": 4, "seed": 9})
    split = split_sites(classes, options)
    expected = fold_numbers(classes.label, 4, np.random.default_rng([9, 7]), classes.group)
    np.testing.assert_array_equal(split.group, expected)

    community = sample("community", stack)
    split = split_sites(community, options)
    first = list(dict.fromkeys(community.group.tolist()))
    by_site = random_folds(50, 4, seed=9).group
    np.testing.assert_array_equal(split.group, [by_site[first.index(g)] for g in community.group])


@pytest.mark.parametrize("kind", ["classes", "community"])
def test_neighbours_of_a_held_out_site_do_not_train(kind: str, stack: Stack) -> None:
    sites = sample(kind, stack)
    split = split_sites(sites, make_options(SPLITS["buffer"]), stack)
    lon, lat = np.radians(sites.x), np.radians(sites.y)
    unit = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    far = 6371.0088 * np.arccos(np.clip(unit @ unit.T, -1, 1)) > 20
    assert len(split.folds) == 50
    for fold in split.folds:
        np.testing.assert_array_equal(fold.train, np.flatnonzero(far[fold.test].all(axis=0)))
        assert np.unique(sites.group[fold.test]).size == 1


def test_blocks_and_boards_are_laid_over_places_not_visits(stack: Stack) -> None:
    """The third visit to a site has a hair of another place: it goes with the first."""
    sites = sample("community", stack)
    once = replace(sites, x=sites.x.copy())
    later = np.setdiff1d(np.arange(100), np.unique(sites.group, return_index=True)[1])
    once.x[later] += 3.0
    for name in ("block", "equal-blocks", "checkerboard", "buffer"):
        options = make_options(SPLITS[name])
        assert divided(split_sites(once, options, stack)) == divided(split_sites(sites, options, stack))


def divided(split: Split | None) -> list[tuple[list[int], list[int]]]:
    assert split is not None
    return [(fold.train.tolist(), fold.test.tolist()) for fold in split.folds]


def test_replicates_of_classes_are_drawn_class_by_class(stack: Stack) -> None:
    sites = sample("classes", stack, sites=30, visits=1)
    rare = np.array(["bog"] * 13 + ["fen"] * 14 + ["heath"] * 3)
    sites = replace(sites, target=rare)
    split = split_sites(sites, make_options({**SPLITS["bootstrap"], "replicates": 20}))
    for fold in split.folds:
        assert np.unique(rare[fold.train], return_counts=True)[1].tolist() == [13, 14, 3]
        np.testing.assert_array_equal(fold.test, np.setdiff1d(np.arange(30), fold.train))
    split = split_sites(sites, make_options({**SPLITS["subsample"], "test_percent": 40}))
    for fold in split.folds:
        assert np.unique(rare[fold.train], return_counts=True)[1].tolist() == [8, 8, 2]
    assert len({tuple(fold.test) for fold in split.folds}) > 1


def test_percent_sets_whole_sites_aside(stack: Stack) -> None:
    classes, community = sample("classes", stack), sample("community", stack)
    options = make_options({"test_percent": 30, "seed": 4})
    train = set_sites_aside(classes, options)
    np.testing.assert_array_equal(train, training_rows(classes.label, 30, np.random.default_rng([4, 7]), classes.group))
    train = set_sites_aside(community, options)
    alike = np.zeros(100, dtype=np.int64)
    np.testing.assert_array_equal(train, training_rows(alike, 30, np.random.default_rng([4, 1]), community.group))
    assert np.unique(community.group[~train]).size == 15
    assert not set(community.group[train]) & set(community.group[~train])
    assert set_sites_aside(classes, make_options({})).all()
    assert set_sites_aside(classes, make_options({**SPLITS["subsample"], "test_percent": 30})).all()


def test_without_a_request_there_is_no_split_and_a_choice_has_five_folds(stack: Stack) -> None:
    sites = sample("classes", stack)
    assert split_sites(sites, make_options({}), stack) is None
    split = split_sites(sites, with_default_folds(make_options({})), stack)
    assert len(split.folds) == 5
    asked = make_options({"split": "equal-blocks"})
    assert with_default_folds(asked) is asked


ONE_PLACE = {"x": np.full(100, 10.0), "y": np.full(100, 50.0)}


@pytest.mark.parametrize(
    ("given", "changes", "said"),
    [
        ({"folds": 60}, {}, r"there are 50 sites \(100 visits, .*\) for 60 folds: use --folds 50 at most"),
        ({"replicates": 60}, {}, "there are 50 sites"),
        ({"split": "block", "block_size": 9000}, {}, "5 folds need at least 5 blocks with sites, got 1 of size 9000"),
        ({"split": "buffer", "radius": 9000}, {}, r"site 1 has 0 others beyond 9000"),
        ({"split": "block", "block_size": 9}, {"x": np.full(100, np.nan)}, "50 of 50 sites have no coordinates"),
        ({"split": "checkerboard"}, ONE_PLACE, "the sites are all on squares of one colour"),
        ({"split": "environment"}, {"values": np.ones((100, 2))}, "no continuous variable varies"),
        ({"split": "own", "fold_column": "part"}, {"folds": None}, "fold of every site: name it with test.fold_column"),
        ({"split": "own", "fold_column": "part"}, {"folds": np.repeat(["a", ""], 50)}, "50 of 100 sites have no fold"),
        ({"split": "own", "fold_column": "part"}, {"folds": np.repeat("a", 100)}, "1 distinct values"),
        ({"split": "equal-blocks", "validation_background": "partition"}, {}, "does not apply to sites"),
        ({"test_percent": 1}, {}, "1 % of 50 sites leaves no site for testing"),
    ],
)
@pytest.mark.parametrize("kind", ["classes", "community"])
def test_what_cannot_work_is_refused_in_words_of_sites(kind: str, given, changes, said: str, stack: Stack) -> None:
    sites, options = replace(sample(kind, stack), **changes), make_options(given)
    divide = set_sites_aside if "test_percent" in given else partial(split_sites, stack=stack)
    with pytest.raises((DataError, OptionError), match=said) as caught:
        divide(sites, options)
    assert "presence" not in str(caught.value)


def test_a_class_that_a_fold_would_not_learn_is_refused(stack: Stack) -> None:
    sites = sample("classes", stack)
    target = np.where(sites.folds == "north", "bog", np.where(np.arange(100) % 2, "fen", "heath"))
    with pytest.raises(
        DataError,
        match=r"^fold north: 0 of \d+ records of class 'bog' remain .*: remove --split own, or drop the class with ",
    ):
        split_sites(replace(sites, target=target), make_options(SPLITS["own"]))
    shares = pd.DataFrame({"bog": (sites.folds == "north").astype(float), "fen": np.ones(100)})
    with pytest.raises(DataError, match=r"fold north: 0 of \d+ records of class 'bog' .* at least 1: remove --spl"):
        split_sites(replace(sites, target=shares), make_options(SPLITS["own"]))


def test_a_fold_without_a_species_to_learn_or_a_label_is_refused(stack: Stack) -> None:
    sites = sample("community", stack)
    north = sites.folds == "north"
    only = pd.DataFrame({"a": north.astype(float), "b": np.ones(100)})
    with pytest.raises(DataError, match="fold north: no species has presences and absences for training: change"):
        split_sites(replace(sites, target=only), make_options(SPLITS["own"]))
    blank = sites.target.astype(float).mask(pd.Series(north), axis=0)
    with pytest.raises(DataError, match="fold north: every label is missing at its test sites: change or remove --"):
        split_sites(replace(sites, target=blank), make_options(SPLITS["own"]))


def test_a_site_in_several_folds_of_a_column_is_said(stack: Stack, caplog: pytest.LogCaptureFixture) -> None:
    """Folds by year are a test of their own, so the column counts; but nobody should be surprised."""
    sites = sample("community", stack)
    split_sites(sites, make_options(SPLITS["own"]))
    assert not caplog.messages
    years = np.where(np.arange(100) % 2, "2001", "2002")
    split = split_sites(replace(sites, folds=years), make_options(SPLITS["own"]))
    np.testing.assert_array_equal(split.folds[0].test, np.flatnonzero(years == "2001"))
    (text,) = caplog.messages
    both = sum(np.unique(years[sites.group == g]).size > 1 for g in range(50))
    assert text.startswith(f"warning: {both} sites have visits in several folds of column 'part'")
