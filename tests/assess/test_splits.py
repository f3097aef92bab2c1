"""Folds: every record where it belongs, in the proportions that were asked for, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from sdm.assess.splits.folds import Split
from sdm.assess.splits.methods import (
    METHODS,
    bootstrap,
    labelled_folds,
    leave_one_out,
    random_folds,
    split_table,
    subsample,
)
from sdm.assess.splits.spatial import (
    blocks,
    buffered_leave_one_out,
    checkerboard,
    environmental_clusters,
    equal_blocks,
    kmeans,
    nearest,
)
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError


def points(seed: int, m: int = 30, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 10, (m, 2)), rng.uniform(0, 10, (n, 2))


def table(m: int = 30, n: int = 200, weighted: bool = False) -> SampleTable:
    xy, around = points(5, m, n)
    rng = np.random.default_rng(6)
    return SampleTable(
        species="sp",
        names=("a", "b", "soil"),
        categorical=("soil",),
        presence=np.column_stack([xy, rng.integers(0, 3, m)]),
        background=np.column_stack([around, rng.integers(0, 3, n)]),
        presence_x=xy[:, 0],
        presence_y=xy[:, 1],
        background_x=around[:, 0],
        background_y=around[:, 1],
        weights=rng.random(n) if weighted else None,
        presence_weights=rng.random(m) if weighted else None,
    )


def check_partition(split: Split, m: int, n: int) -> None:
    """Each presence is held out once and trains otherwise; so does the background, if it is divided."""
    held_out = np.concatenate([fold.test for fold in split.folds])
    assert sorted(held_out.tolist()) == list(range(m))
    for k, fold in enumerate(split.folds):
        assert sorted([*fold.train, *fold.test]) == list(range(m))
        assert np.all(split.group[fold.test] == k)
        if split.background == "full":
            assert fold.background_train is None
            assert fold.background_test is None
        else:
            assert sorted([*fold.background_train, *fold.background_test]) == list(range(n))
            assert np.all(split.background_group[fold.background_test] == k)


@given(st.integers(3, 60), st.integers(2, 12), st.integers(0, 99))
def test_random_folds_are_of_equal_size(m, k, seed) -> None:
    if k > m:
        with pytest.raises(DataError, match="too few"):
            random_folds(m, k, seed)
        return
    if m - -(-m // k) < 2:
        with pytest.raises(DataError, match="expected at least 1 to hold out and 2 for training"):
            random_folds(m, k, seed)
        return
    split = random_folds(m, k, seed)
    check_partition(split, m, 0)
    sizes = [fold.test.size for fold in split.folds]
    assert len(sizes) == k
    assert max(sizes) - min(sizes) <= 1
    assert np.array_equal(split.group, random_folds(m, k, seed).group)


def test_every_seed_has_its_own_folds() -> None:
    drawn = {tuple(random_folds(30, 3, seed).group.tolist()) for seed in range(20)}
    assert len(drawn) == 20


def test_leave_one_out_holds_out_each_once() -> None:
    split = leave_one_out(7)
    check_partition(split, 7, 0)
    assert [fold.test.tolist() for fold in split.folds] == [[i] for i in range(7)]


@given(st.integers(3, 40), st.integers(1, 6), st.integers(0, 99))
def test_bootstrap_holds_out_what_was_not_drawn(m, replicates, seed) -> None:
    split = bootstrap(m, replicates, seed)
    assert len(split.folds) == replicates
    for fold in split.folds:
        assert fold.train.size == m
        assert sorted({*fold.train.tolist(), *fold.test.tolist()}) == list(range(m))
        assert not set(fold.train.tolist()) & set(fold.test.tolist())


@given(st.integers(3, 60), st.floats(1, 90), st.integers(0, 99))
def test_subsample_holds_out_its_share(m, percent, seed) -> None:
    split = subsample(m, 4, percent, seed)
    for fold in split.folds:
        assert sorted([*fold.train, *fold.test]) == list(range(m))
        assert fold.train.size >= 2
        assert abs(fold.test.size - m * percent / 100) <= max(1, 0.1 * m + 2)
    assert len({tuple(fold.test) for fold in subsample(50, 6, 30).folds}) == 6, "replicates differ"


def test_own_folds_keep_their_names() -> None:
    split = labelled_folds(["north", "south", "north", "east", "south"], ["south", "east", "north"], "partition")
    assert [fold.name for fold in split.folds] == ["east", "north", "south"]
    assert split.folds[1].test.tolist() == [0, 2]
    assert split.folds[1].background_test.tolist() == [2]
    check_partition(split, 5, 3)
    with pytest.raises(DataError, match="fold 'west', which contains no presence"):
        labelled_folds([1, 1, 2, 2], ["west"])
    with pytest.raises(DataError, match="1 distinct values"):
        labelled_folds([1, 1, 1])
    with pytest.raises(OptionError, match="do not divide the background"):
        labelled_folds([1, 1, 2, 2], background="partition")


@pytest.mark.parametrize("background", ["full", "partition"])
def test_blocks_keep_squares_whole_and_folds_even(background: str) -> None:
    xy, around = points(3, 60, 400)
    split = blocks(xy, around, 2.0, 4, seed=2, background=background)
    check_partition(split, 60, 400)
    corner = np.minimum(xy.min(axis=0), around.min(axis=0))
    owner: dict[tuple, int] = {}
    for place, fold in [*zip(xy, split.group), *zip(around, split.background_group)]:
        square = tuple(np.floor((place - corner) / 2.0))
        assert owner.setdefault(square, int(fold)) == fold
    sizes = np.bincount(split.group)
    assert sizes.max() - sizes.min() <= 2, "the fullest square holds a few presences"
    assert np.ptp(np.bincount(split.background_group)) < 100
    with pytest.raises(DataError, match="use a smaller size"):
        blocks(xy, around, 100.0, 4)


def test_equal_blocks_by_hand() -> None:
    """Nine presences as ENMeval's get.block divides them: 5 south (3 + 2) and 4 north (2 + 2)."""
    y = np.arange(9.0)
    x = np.array([4.0, 0.0, 3.0, 1.0, 2.0, 8.0, 5.0, 7.0, 6.0])
    around = np.array([[2.4, 4.4], [2.6, 4.4], [6.4, 4.6], [6.6, 4.6]])
    split = equal_blocks(np.column_stack([x, y]), around, background="partition")
    # south: x = 4 0 3 1 2 → three lowest 0 1 2; line between 2 and 3. North: 8 5 7 6 → 5 6; line 6.5. Between: y = 4.5
    assert split.group.tolist() == [1, 0, 1, 0, 0, 3, 2, 3, 2]
    assert split.background_group.tolist() == [0, 1, 2, 3]
    check_partition(split, 9, 4)


@given(st.integers(8, 40), st.integers(0, 50), st.sampled_from(["lat_lon", "lon_lat", "lat_lat", "lon_lon"]))
def test_equal_blocks_are_of_equal_counts(m, seed, orientation) -> None:
    xy, around = points(seed, m)
    split = equal_blocks(xy, around, orientation)
    sizes = np.bincount(split.group)
    assert sizes.size == 4
    assert sizes.max() - sizes.min() <= 2
    # a presence is on the same side of every line as its group
    again = equal_blocks(xy, xy, orientation)
    assert np.array_equal(again.group, again.background_group)


def test_checkerboard_by_hand() -> None:
    """A raster of 4 × 4 cells of side 1 with its upper left corner at (0, 4), aggregated by 2: white, black / black,
    white. As dismo's gridSample colours it, the upper left square is white: ENMeval's group 1."""
    centres = np.array([[c + 0.5, 3.5 - r] for r in range(4) for c in range(4)])
    split = checkerboard(centres, centres, origin=(0.0, 4.0), cell=1.0, aggregation=2)
    assert split.group.reshape(4, 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert np.array_equal(split.group, split.background_group)
    # hierarchical: cells as the fine board, 2 × 2 cells as the coarse one; white on white is the first fold
    two = checkerboard(centres, centres, origin=(0.0, 4.0), cell=1.0, aggregation=(1, 2), background="partition")
    assert two.group.reshape(4, 4).tolist() == [[0, 2, 1, 3], [2, 0, 3, 1], [1, 3, 0, 2], [3, 1, 2, 0]]
    check_partition(two, 16, 16)
    with pytest.raises(DataError, match="one colour"):
        checkerboard(centres, centres, origin=(0.0, 4.0), cell=1.0, aggregation=4)
    with pytest.raises(OptionError, match="whole numbers from 1 on"):
        checkerboard(centres, centres, origin=(0.0, 4.0), cell=1.0, aggregation=(2, 2, 2))


def test_checkerboard_folds_are_those_with_presences() -> None:
    xy = np.array([[0.5, 3.5], [1.5, 2.5], [2.5, 3.5], [3.5, 2.5]])  # white on white and white on black
    around = np.array([[0.5, 2.5], [0.5, 3.5], [2.5, 3.5]])
    split = checkerboard(xy, around, origin=(0.0, 4.0), cell=1.0, aggregation=(1, 2), background="partition")
    assert [fold.name for fold in split.folds] == ["1", "2"]
    assert split.background_group.tolist() == [-1, 0, 1]
    assert split.folds[0].background_train.tolist() == [0, 2], "black background trains always"


def test_buffer_leaves_out_neighbours() -> None:
    xy = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [6.0, 0.0], [20.0, 0.0]])
    around = np.array([[0.5, 0.0], [30.0, 0.0], [5.0, 0.5], [20.0, 1.0], [1.0, 0.0], [6.0, 0.0]])
    split = buffered_leave_one_out(xy, around, 1.0)
    assert split.folds[0].train.tolist() == [2, 3, 4]
    assert split.folds[4].train.tolist() == [0, 1, 2, 3]
    assert [fold.test.tolist() for fold in split.folds] == [[i] for i in range(5)]
    near = buffered_leave_one_out(xy, around, 1.0, background="partition")
    assert near.folds[0].background_test.tolist() == [0, 4]
    assert near.folds[0].background_train.tolist() == [1, 2, 3, 5]
    with pytest.raises(DataError, match="use a smaller radius"):
        buffered_leave_one_out(xy, around, 25.0)


def test_distances_on_the_globe_are_great_circles() -> None:
    """A degree of longitude is 111.195 km at the equator and half that at 60° north."""
    xy = np.array([[0.0, 60.0], [1.0, 60.0], [2.0, 60.0], [3.0, 60.0], [9.0, 60.0]])
    near = buffered_leave_one_out(xy, xy, 56.0, geographic=True).folds[0].train.tolist()
    nearer = buffered_leave_one_out(xy, xy, 55.0, geographic=True).folds[0].train.tolist()
    assert near == [2, 3, 4]
    assert nearer == [1, 2, 3, 4]


def test_clusters_are_found_in_the_environment() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 1000.0], [5.0, 1000.0], [0.0, 9000.0]])
    values = np.vstack([c + rng.normal(size=(12, 2)) * [0.3, 300.0] for c in centres])
    around = np.vstack([c + rng.normal(size=(50, 2)) * [0.5, 500.0] for c in centres])
    split = environmental_clusters(values, around, 3, seed=1, background="partition")
    check_partition(split, 36, 150)
    for part in (split.group.reshape(3, 12), split.background_group.reshape(3, 50)):
        assert all(len(set(row)) == 1 for row in part.tolist())
    assert np.array_equal(split.group, environmental_clusters(values, around, 3, seed=1).group)
    with pytest.raises(DataError, match="no continuous variable varies"):
        environmental_clusters(values, np.ones((5, 2)), 3)


@pytest.mark.parametrize("seed", range(4))
def test_kmeans_is_as_good_as_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.vstack([rng.normal(c, 0.7, (25, 3)) for c in (0.0, 2.0, 4.0)])
    label, centres = kmeans(x, 3, seed=seed)
    inertia = float(np.sum((x - centres[label]) ** 2))
    assert inertia <= KMeans(3, n_init=10, random_state=0).fit(x).inertia_ * 1.0001
    assert np.array_equal(nearest(x, centres), label)
    for c in range(3):
        assert centres[c] == pytest.approx(x[label == c].mean(axis=0))


@given(st.integers(1, 12), st.integers(0, 200))
def test_no_cluster_is_empty(k, seed) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (12, 2)).astype(float)
    distinct = len(np.unique(x, axis=0))
    if k > distinct:
        with pytest.raises(OptionError, match=f"expected 1 to {distinct}"):
            kmeans(x, k, seed=seed)
    else:
        assert np.bincount(kmeans(x, k, seed=seed)[0], minlength=k).min() > 0


OPTIONS = {
    "random": {"k": 3},
    "leave-one-out": {},
    "block": {"size": 2.0, "k": 3, "background": "partition"},
    "equal-blocks": {"background": "partition"},
    "checkerboard": {"origin": (0.0, 10.0), "cell": 0.5, "aggregation": (2, 2), "background": "partition"},
    "buffer": {"radius": 1.5, "background": "partition"},
    "environment": {"k": 3, "background": "partition"},
    "own": {"labels": np.arange(30) % 4},
    "bootstrap": {"replicates": 3},
    "subsample": {"replicates": 3, "percent": 30},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_is_divided_by_every_method(method: str, weighted: bool) -> None:
    full = table(weighted=weighted)
    split = split_table(full, method, **OPTIONS[method])
    for fold in split.folds:
        train, test = fold.training(full), fold.testing(full)
        assert np.array_equal(train.presence, full.presence[fold.train])
        assert np.array_equal(test.presence_x, full.presence_x[fold.test])
        parts = (train.n_background, test.n_background)
        assert parts == (200, 200) if split.background == "full" else sum(parts) == 200
        assert (train.weights is not None) == weighted
        if weighted:
            assert train.presence_weights.shape == (train.n_presences,)
            assert test.weights.shape == (test.n_background,)
        assert np.array_equal(test.background[:, 0], test.background_x), "values stay with their coordinates"


def test_what_cannot_be_divided_is_said() -> None:
    full = table()
    with pytest.raises(OptionError, match="split='best': expected one of random"):
        split_table(full, "best")
    with pytest.raises(OptionError, match="folds=1"):
        split_table(full, "random", k=1)
    with pytest.raises(OptionError, match="background='half'"):
        split_table(full, "block", size=2.0, background="half")
    with pytest.raises(OptionError, match="size=0"):
        split_table(full, "block", size=0)
    with pytest.raises(OptionError, match="orientation='up'"):
        split_table(full, "equal-blocks", orientation="up")
    with pytest.raises(OptionError, match="radius=-1"):
        split_table(full, "buffer", radius=-1)
    with pytest.raises(OptionError, match="percent=100"):
        split_table(full, "subsample", replicates=2, percent=100)
    with pytest.raises(OptionError, match="replicates=0"):
        split_table(full, "bootstrap", replicates=0)
    nowhere = np.full((30, 2), np.nan)
    with pytest.raises(DataError, match="no coordinates"):
        blocks(nowhere, nowhere, 1.0)
