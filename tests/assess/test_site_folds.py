"""How survey sites are divided into those that train and those that test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.site_folds import check_folds, check_training, fold_numbers, number_sites, training_rows
from sdm.errors import DataError


@given(st.lists(st.integers(0, 3), min_size=4, max_size=60), st.integers(2, 5))
def test_folds_divide_every_class_evenly(label, folds):
    fold = fold_numbers(label, folds, np.random.default_rng(0))
    assert set(fold) <= set(range(folds))
    for c in set(label):
        counts = np.bincount(fold[np.array(label) == c], minlength=folds)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(fold, minlength=folds)
    assert counts.max() - counts.min() <= 1


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), min_size=4, max_size=60),
    st.integers(2, 5),
)
def test_visits_to_a_cell_are_in_one_fold(visits, folds):
    label, cell = np.array(visits).T
    fold = fold_numbers(label, folds, np.random.default_rng(0), cell)
    for c in set(cell):
        assert np.unique(fold[cell == c]).size == 1
    cells = np.array([fold[cell == c][0] for c in set(cell)])
    counts = np.bincount(cells, minlength=folds)
    assert counts.max() - counts.min() <= 1


def test_a_cell_counts_for_the_rarest_of_its_classes():
    label, cell = np.array([0, 0, 0, 1, 0, 2, 1]), np.array([9, 9, 4, 4, 7, 7, 7])
    member, own = number_sites(label, cell)
    assert member.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert own.tolist() == [0, 1, 2]


@given(st.lists(st.integers(0, 3), min_size=4, max_size=60), st.integers(2, 5))
def test_one_visit_a_cell_is_as_before(label, folds):
    cell = np.random.default_rng(1).permutation(len(label))
    plain, grouped = (fold_numbers(label, folds, np.random.default_rng(0), g) for g in (None, cell))
    assert plain.tolist() == grouped.tolist()


@given(st.integers(6, 30), st.integers(1, 8), st.integers(10, 60), st.integers(0, 99))
def test_visits_to_a_site_are_on_one_side(sites, visits, percent, seed):
    """Otherwise a model is tested where it was trained, and the test flatters it."""
    rng = np.random.default_rng(seed)
    site = rng.permutation(np.repeat(np.arange(sites), visits))
    train = training_rows(np.zeros(site.size, dtype=np.int64), percent, rng, site)
    sides = [np.unique(train[site == c]) for c in range(sites)]
    assert all(side.size == 1 for side in sides)
    aside = sum(not side[0] for side in sides)
    assert aside == min(round(sites * percent / 100), sites - 2)


def test_two_sites_of_a_class_stay_for_training():
    label, site = np.array([0] * 8 + [1, 1, 1]), np.arange(11)
    train = training_rows(label, 90, np.random.default_rng(1), site)
    assert np.bincount(label[train]).tolist() == [2, 2]
    with pytest.raises(
        DataError, match=r"50 % of 2 sites leaves no site for testing.* a larger --test-percent, or --folds"
    ):
        training_rows(np.repeat([0, 1], 20), 50, np.random.default_rng(1), np.repeat([3, 5], 20))


def test_more_folds_than_sites_are_refused():
    check_folds(3, np.array([1, 1, 2, 5]))
    with pytest.raises(
        DataError, match=r"3 sites \(4 visits, .* for 4 folds: use --folds 3 at most, or .*--site-column"
    ):
        check_folds(4, np.array([1, 1, 2, 5]))
    with pytest.raises(DataError, match=r"there are 2 sites for 3 folds: use --folds 2 at most$"):
        check_folds(3, np.arange(2))


def test_a_class_that_would_not_be_learned_is_refused():
    targets = np.eye(3)[[0, 0, 0, 1, 1, 1, 2, 2]].T
    train = np.array([1, 1, 0, 1, 1, 0, 1, 0], dtype=bool)
    with pytest.raises(DataError, match=r"1 of 2 records of class 'c' remain .*: remove --folds, .* --least 3"):
        check_training(targets, train, ["a", "b", "c"], "--folds")
    check_training(targets[:2, :6], train[:6], ["a", "b"], "--folds")
    with pytest.raises(DataError, match=r"remove --test-percent$"):
        check_training(targets[:2, :6], np.arange(6) < 4, ["a", "b"], "--test-percent")
    check_training(np.array([[0.5, 1.0], [0.5, 0.0]]), np.array([True, False]), ["a", "b"], "--folds")
    with pytest.raises(DataError, match="0 of 1 records of class 'b' remain for training"):
        check_training(np.array([[0.5, 1.0], [0.5, 0.0]]), np.array([False, True]), ["a", "b"], "--folds")
