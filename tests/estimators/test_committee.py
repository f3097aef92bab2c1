"""The committee: one model that is the mean of its members, from fit to file."""

import numpy as np
import pandas as pd
import pytest

from sdm import Committee, Maxent, load_model
from sdm.errors import OptionError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    x = pd.DataFrame(rng.normal(size=(500, 3)), columns=["warmth", "rain", "noise"])
    x["soil"] = rng.integers(1, 6, 500)
    suitable = np.exp(-((x.warmth - 0.5) ** 2) - 0.5 * x.rain) * np.where(x.soil == 5, 0.0, 1.0)
    present = rng.choice(500, 90, p=suitable / suitable.sum())
    return pd.concat([x.iloc[present], x]), np.repeat([1, 0], [90, 500])


@pytest.fixture(scope="module")
def fitted(data):
    return Committee(categorical=["soil"]).fit(*data)


def test_the_mean_of_five_models(fitted, data):
    x, _ = data
    assert len(fitted.members_) == 5
    assert fitted.solution_.status == "converged"
    assert fitted.solution_.gap == max(member.solution_.gap for member in fitted.members_) <= 1e-6
    codes = x.to_numpy(dtype=float)
    links = [member.model_.predict(codes, "link") for member in fitted.members_]
    difference = fitted.predict(x, "link") - np.average(links, axis=0, weights=[1, 1, 1, 1, 2])
    assert np.ptp(difference) < 1e-10, "but for the normaliser"
    raw = fitted.predict(x, "raw")
    assert raw.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(raw[90:], fitted.solution_.p[:500], atol=1e-12)


SHAPES = ({}, {"knots": "maxnet", "beta": "maxent"}, {"features": "lqp"}, {"features": "t"})
SMOOTH = {"regularization": "l2sq", "multiplier": 10.0, "knots": 10}


def test_members_are_the_models_that_they_say(fitted, data):
    for member, options in zip(fitted.members_, (*SHAPES, SMOOTH), strict=True):
        alone = Maxent(categorical=["soil"], add_presences="all", **options).fit(*data)
        np.testing.assert_array_equal(alone.coef_, member.coef_)


def test_file_and_parameters(fitted, data, tmp_path):
    x, _ = data
    fitted.save(tmp_path / "committee.npz")
    loaded = load_model(tmp_path / "committee.npz")
    np.testing.assert_array_equal(loaded.predict(x.to_numpy(dtype=float)), fitted.predict(x))
    assert loaded.meta["members"] == 5
    again = Committee(**fitted.get_params()).fit(*data)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_starts_from_a_committee_only(fitted, data):
    warm = Committee(multiplier=0.8, categorical=["soil"]).fit(*data, start=fitted)
    cold = Committee(multiplier=0.8, categorical=["soil"]).fit(*data)
    for one, other in zip(warm.members_, cold.members_, strict=True):
        assert one.solution_.objective == pytest.approx(other.solution_.objective, abs=2e-6)
    with pytest.raises(OptionError, match="start from a committee"):
        Committee().fit(*data, start=fitted.members_[0])


@pytest.mark.parametrize("presences", [8, 150])
def test_the_multiplier_is_1_with_few_records_and_with_many(data, presences):
    """A rule by sample size helps on some data and harms on other: fewer records are no reason for more."""
    x, _ = data
    rng = np.random.default_rng(1)
    rows = pd.concat([x.iloc[rng.integers(0, 90, presences)], x.iloc[90:]])
    y = np.repeat([1, 0], [presences, 500])
    committee = Committee(categorical=["soil"]).fit(rows, y)
    plain = Maxent(categorical=["soil"]).fit(rows, y)
    np.testing.assert_array_equal(committee.members_[0].problem_.penalty.beta, plain.problem_.penalty.beta)


def test_a_word_that_is_no_multiplier():
    with pytest.raises(OptionError, match="positive number"):
        Maxent(multiplier="much").fit(np.ones((4, 1)), [1, 1, 0, 0])
