"""How sites are divided into those that train and those that test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.errors import DataError
from sdm.run.classifying import _training


@given(st.integers(6, 30), st.integers(1, 8), st.integers(10, 60), st.integers(0, 99))
def test_visits_to_a_cell_are_on_one_side(cells, visits, percent, seed):
    """Otherwise a model is tested where it was trained, and the test flatters it."""
    rng = np.random.default_rng(seed)
    cell = rng.permutation(np.repeat(np.arange(cells), visits))
    train = _training(np.zeros(cell.size, dtype=np.int64), cell, percent, rng)
    sides = [np.unique(train[cell == c]) for c in range(cells)]
    assert all(side.size == 1 for side in sides)
    aside = sum(not side[0] for side in sides)
    assert aside == min(round(cells * percent / 100), cells - 2)


def test_two_cells_of_a_class_stay_for_training():
    label, cell = np.array([0] * 8 + [1, 1, 1]), np.arange(11)
    train = _training(label, cell, 90, np.random.default_rng(1))
    assert np.bincount(label[train]).tolist() == [2, 2]
    with pytest.raises(DataError, match="40 sites in 2 cells are too few to set 50 %"):
        _training(np.repeat([0, 1], 20), np.repeat([3, 5], 20), 50, np.random.default_rng(1))
