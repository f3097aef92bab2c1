"""Knots: the presets of Java Maxent and maxnet, which users choose by name and expect to find as they know them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.errors import OptionError
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.knots import check_knots, hinge_knots, midpoints, threshold_knots

X = np.array([1.0, 1.0, 2.0, 4.0, 8.0, 8.0])[:, None]


def knots_of(preset, present=(0, 5)):
    domain = Domain(X, ["a"])
    sample = np.zeros(6)
    sample[list(present)] = 1 / len(present)
    return hinge_knots(domain, preset)[0].tolist(), threshold_knots(domain, preset, sample)[0].tolist()


def test_maxent_bends_at_midpoints_and_steps_only_between_the_presences():
    hinges, thresholds = knots_of("maxent", present=(2, 3))
    assert hinges == [1.5, 3.0, 6.0]
    assert thresholds == [3.0]


def test_all_steps_between_all_distinct_values():
    assert knots_of("all", present=(2, 3)) == ([1.5, 3.0, 6.0], [1.5, 3.0, 6.0])


def test_maxnet_has_98_hinges_and_50_thresholds_a_variable():
    sample = np.full(6, 1 / 6)
    letters = build_features(Domain(X, ["a"]), "ht", knots="maxnet", sample=sample).letters().tolist()
    assert letters.count("h") == 98
    assert letters.count("t") == 50


def test_a_number_means_quantiles_of_the_cells():
    assert knots_of(1) == ([3.0], [3.0])  # half of the cells are at or below 2
    assert knots_of(100)[0] == [1.5, 3.0, 6.0]


def test_a_skewed_variable_gets_no_more_quantiles_than_values():
    x = np.repeat([0.0, 5.0], [99, 1])[:, None]
    assert hinge_knots(Domain(x, ["a"]), 9)[0].tolist() == [2.5]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True))
def test_a_midpoint_always_splits_its_two_values(values):
    """Even of neighbouring floating-point numbers and of the largest ones: else a step would be constant."""
    values = np.unique(values)
    middle = midpoints(values)
    assert np.all(np.isfinite(middle))
    assert np.all(middle > values[:-1])
    assert np.all(middle <= values[1:])


def test_categorical_and_constant_variables_have_no_knots():
    domain = Domain(np.column_stack([X, X, np.ones(6)]), ["a", "class", "flat"], ["class"])
    assert [k.size for k in hinge_knots(domain, "maxnet")] == [50, 0, 0]


@pytest.mark.parametrize("bad", ["Maxent", "", 0, -3, True, 2.5, None, [1]])
def test_a_bad_choice_is_one_line(bad):
    with pytest.raises(OptionError, match="knots=") as caught:
        check_knots(bad)
    assert "\n" not in str(caught.value)


def test_numpy_integers_are_numbers_too():
    assert check_knots(np.int64(5)) == 5
