"""Random effects: intercepts of levels, against a plain penalised regression; what they tell of held-out sites."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from sdm.errors import DataError, OptionError
from sdm.estimators.community import JointModel
from sdm.joint.learners.registry import BIAS_PENALTY
from sdm.joint.levels import Levels, level_names
from sdm.models.community import FittedJoint

SPREAD = 1.0


def reserves(n=400, levels=15, seed=0, spread=SPREAD):
    """Sites in reserves, where three species are more common, or rarer, than the two variables explain."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, 2)), columns=["heat", "rain"])
    at = rng.integers(0, levels, n)
    truth = spread * rng.normal(size=(3, levels))
    score = x.to_numpy() @ np.array([[1.0, 0.0], [0.0, -1.0], [0.5, 0.5]]).T + truth[:, at].T
    y = pd.DataFrame((score + rng.logistic(size=score.shape) > 0).astype(int), columns=list("abc"))
    return x.assign(reserve=[f"R{k:02d}" for k in at]), y, truth


def test_effects_are_those_of_a_penalised_regression():
    """Without edges every species is a logistic regression with 1/C on slopes and 1/σ² on levels."""
    x, y, _ = reserves(120, 6)
    c, spread = 0.7, 0.6
    ways = {"c": c, "random_effect": "reserve", "random_spread": spread, "tolerance": 1e-10}
    model = JointModel("crf-l2", "none", "l", **ways).fit(x, y).model_
    z = x[["heat", "rain"]].to_numpy()
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    design = np.column_stack([z, np.ones(len(z)), pd.get_dummies(x["reserve"]).to_numpy(dtype=float)])
    penalty = np.array([1 / c, 1 / c, BIAS_PENALTY, *[1 / spread**2] * 6])

    def loss(w, present):
        score = design @ w
        return np.logaddexp(0, score).sum() - score @ present + 0.5 * penalty @ w**2

    for s, name in enumerate(y):
        w = minimize(loss, np.zeros(9), (y[name].to_numpy(),), method="BFGS", options={"gtol": 1e-7}).x
        np.testing.assert_allclose(model.random.effect[s], w[3:], atol=2e-4)
        p = 1 / (1 + np.exp(-design @ w))
        covariance = np.linalg.inv((design.T * (p * (1 - p))) @ design + np.diag(penalty))
        np.testing.assert_allclose(model.random.variance[s], np.diag(covariance)[3:], rtol=1e-3)
        np.testing.assert_allclose(model.predict_proba(x)[:, s], p, atol=1e-4)


@pytest.fixture(scope="module")
def fitted():
    x, y, truth = reserves()
    return JointModel("crf-l2", features="l", c=10.0, random_effect="reserve").fit(x[:300], y[:300]), x, y, truth


def test_reserves_that_differ_are_found_and_help_at_other_sites_of_them(fitted):
    model, x, y, truth = fitted
    random = model.model_.random
    assert random.levels == tuple(f"R{k:02d}" for k in range(15))
    assert 0.4 <= random.spread <= 1.6
    assert np.corrcoef(random.effect.ravel(), truth.ravel())[0, 1] > 0.8
    inside = np.abs(random.effect - truth) < 1.96 * np.sqrt(random.variance)
    assert inside.mean() > 0.85, "95 % intervals"
    other, result = x[300:], y[300:]
    without = JointModel("crf-l2", features="l", c=10.0).fit(x[:300].drop(columns="reserve"), y[:300])
    assert model.log_loss(other, result) < without.log_loss(other.drop(columns="reserve"), result) - 0.1


def test_new_levels_and_tables_without_the_column_have_the_mean(fitted):
    model, x, _, _ = fitted
    mean = model.predict_proba(x.drop(columns="reserve"))
    np.testing.assert_array_equal(model.predict_proba(x.assign(reserve="elsewhere")), mean)
    np.testing.assert_array_equal(model.predict_proba(x.assign(reserve=None)), mean)
    assert np.abs(model.predict_proba(x) - mean).max() > 0.1
    np.testing.assert_array_equal(
        model.model_.predict_proba(x.drop(columns="reserve"), levels=x["reserve"]), model.predict_proba(x)
    )


def test_the_file_keeps_the_levels(fitted, tmp_path):
    model, x, y, _ = fitted
    model.save(tmp_path / "joint.npz")
    again = FittedJoint.load(tmp_path / "joint.npz")
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert again.log_loss(x, y) == model.log_loss(x, y)
    assert again.description()["random effect"][0]["spread"] > 0


def test_sites_of_one_reserve_stay_together_where_the_spread_is_chosen():
    """Visits to a site are held out together, unless the sites are the levels: nothing would be left of a level."""
    levels = Levels.learn(np.array(["a", "a", "a", "a", "b", "b", "b", "b"]), "reserve")
    site = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    assert levels.held_out_units(site) is site
    assert Levels.learn(np.array(list("aabbccdd")), "site").held_out_units(site) is None


def test_whole_numbers_are_the_same_level_with_and_without_a_decimal_point():
    assert level_names([1, 2.0, "3 ", None, np.nan]).tolist() == ["1", "2", "3", "", ""]


@pytest.mark.parametrize(
    ("column", "said"),
    [(["a"] * 8, "only the level 'a'"), (list("abcdefgh"), "another level in every row"), ([None] * 8, "no level")],
)
def test_columns_that_tell_nothing_are_refused(column, said):
    with pytest.raises(DataError, match=said):
        Levels.learn(level_names(column), "reserve")


def test_what_cannot_be_is_refused():
    x, y, _ = reserves(40, 3)
    with pytest.raises(OptionError, match="crf-l2"):
        JointModel("m3n", random_effect="reserve").fit(x, y)
    with pytest.raises(DataError, match="not a column of X"):
        JointModel(random_effect="park").fit(x, y)
