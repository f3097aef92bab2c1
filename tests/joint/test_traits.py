"""The fourth corner: weights that species share through their traits, against a plain regression of a stacked table."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from sdm.errors import DataError, OptionError
from sdm.estimators.community import JointModel
from sdm.joint.curvature import curvature
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.graph import chain
from sdm.joint.inference import marginals
from sdm.joint.learners.registry import BIAS_PENALTY
from sdm.joint.likelihood import LogLoss
from sdm.joint.traits import Traits

GAMMA = np.array([[1.0, 0.0], [0.0, 0.0]])  # the first trait makes species like heat; rain and the second do nothing


def sizes(n=250, species=12, seed=0, own=0.2):
    """Species whose liking for heat grows with their size."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, 2)), columns=["heat", "rain"])
    names = [f"s{k}" for k in range(species)]
    traits = pd.DataFrame(rng.normal(size=(species, 2)), index=names, columns=["size", "wing"])
    tau = (traits - traits.mean()) / traits.std(ddof=0)
    weights = tau.to_numpy() @ GAMMA.T + own * rng.normal(size=(species, 2))
    score = x.to_numpy() @ weights.T - 0.5
    y = pd.DataFrame((score + rng.logistic(size=score.shape) > 0).astype(int), columns=names)
    return x, y, traits


def test_the_fourth_corner_is_that_of_a_stacked_regression():
    """Without edges: one logistic regression of all labels on species' own columns and products with traits."""
    x, y, traits = sizes(80, 4)
    c = 0.7
    model = JointModel("crf-l2", "none", "l", c=c, traits=traits, tolerance=1e-11).fit(x, y).model_
    z = x.to_numpy()
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    tau = ((traits - traits.mean()) / traits.std(ddof=0)).to_numpy()
    rows, present = [], []
    for s in range(4):
        for i in range(len(z)):
            own = np.zeros((4, 3))
            own[s] = [*z[i], 1.0]
            rows.append([*own.ravel(), *np.outer(z[i], tau[s]).ravel()])
            present.append(y.iloc[i, s])
    design, present = np.array(rows), np.array(present)
    penalty = np.array([*[1 / c, 1 / c, BIAS_PENALTY] * 4, *[0.01 / c] * 4])

    def loss(w):
        score = design @ w
        p = 1 / (1 + np.exp(-score))
        value = np.logaddexp(0, score).sum() - score @ present + 0.5 * penalty @ w**2
        return value, design.T @ (p - present) + penalty * w

    w = minimize(loss, np.zeros(16), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    p = 1 / (1 + np.exp(-design @ w))
    covariance = np.linalg.inv((design.T * (p * (1 - p))) @ design + np.diag(penalty))
    corner = {(row["feature"], row["trait"]): row for row in model.meta["fourth_corner"]}
    for k, pair in enumerate((a, b) for a in ("heat", "rain") for b in ("size", "wing")):
        assert corner[pair]["weight"] == pytest.approx(w[12 + k], abs=1e-4)
        assert corner[pair]["sd"] == pytest.approx(np.sqrt(covariance[12 + k, 12 + k]), rel=1e-3)
    effects = {(row["species"], row["feature"]): row for row in model.effects()}
    for s, name in enumerate(y):
        for k, feature in enumerate(("heat", "rain")):
            part = np.zeros(16)
            part[3 * s + k], part[12 + 2 * k : 14 + 2 * k] = 1.0, tau[s]
            assert effects[name, feature]["weight"] == pytest.approx(part @ w, abs=1e-4)
            assert effects[name, feature]["sd"] == pytest.approx(np.sqrt(part @ covariance @ part), rel=1e-3)


def test_slope_and_curvature_are_those_of_the_loss():
    """By differences, on a chain with a column of levels before the features."""
    rng = np.random.default_rng(2)
    labels = (rng.random((30, 3)) < 0.5).astype(np.int8)
    labels[0, 1] = -1
    sites = LabelledSites(np.column_stack([rng.normal(size=(30, 4)), np.ones(30)]), labels)
    d = Discriminant(chain(3), 5).with_traits(rng.normal(size=(3, 2)), 1)
    w, step = rng.normal(size=d.size) * 0.5, 1e-5
    assert d.size == 15 + 2 + 6
    loss = LogLoss(d, sites)
    slope, units = loss(w)[1], np.eye(d.size) * step
    np.testing.assert_allclose(slope, [(loss(w + u)[0] - loss(w - u)[0]) / (2 * step) for u in units], atol=1e-6)
    fitted = marginals(d.forest, d.unary(w, sites.x), d.table(w), sites.states)
    numeric = np.array([(loss(w + u)[1] - loss(w - u)[1]) / (2 * step) for u in units])
    np.testing.assert_allclose(curvature(d, sites, fitted), numeric, atol=1e-5)


@pytest.fixture(scope="module")
def fitted():
    x, y, traits = sizes()
    return JointModel(features="l", traits=traits).fit(x, y), x, y, traits


def test_the_trait_that_matters_is_found(fitted):
    model, *_ = fitted
    assert model.solution_.status == "converged"
    first, *rest = model.model_.meta["fourth_corner"]
    assert (first["trait"], first["feature"]) == ("size", "heat")
    assert first["low"] < 1.0 < first["high"]
    assert first["low"] > 0.5
    assert all(row["low"] < 0 < row["high"] for row in rest)


def test_traits_help_species_with_few_presences(fitted):
    """Ten sites of a species: its size says what it likes."""
    _, x, y, traits = fitted
    few = y.astype(float)
    few.iloc[10:, 0] = np.nan
    ways = {"graph": "none", "features": "l", "c": 0.3}
    loss = [
        JointModel(**ways, **more).fit(x, few).log_loss(x[10:], y[10:][["s0"]]) for more in ({}, {"traits": traits})
    ]
    assert loss[1] < loss[0] - 0.02


def test_a_random_effect_and_traits_go_together(fitted):
    _, x, y, traits = fitted
    at = np.repeat(list("abcde"), 50)
    model = JointModel(features="l", c=1.0, traits=traits, random_effect="plot", random_spread=0.5).fit(
        x.assign(plot=at), y
    )
    assert model.solution_.status == "converged"
    assert model.model_.random.effect.shape == (12, 5)
    assert model.model_.meta["fourth_corner"][0]["trait"] == "size"


def test_text_and_gaps_in_the_table():
    table = pd.DataFrame({"diet": ["seed", "meat", None], "size": [1.0, np.nan, 3.0]}, index=["a", "b", "c"])
    traits = Traits.learn(table)
    assert traits.names == ("diet=seed", "size")
    np.testing.assert_allclose(traits.of(["c", "b", "a"]), [[0, 1], [-1, 0], [1, -1]])
    assert "use the mean: d" in traits.check(["a", "b", "c", "d"])[0]
    with pytest.raises(DataError, match="has 2 of the 3 species, expected three or more"):
        traits.check(["a", "b", "d"])


def test_what_cannot_be_is_refused(fitted):
    _, x, y, traits = fitted
    with pytest.raises(OptionError, match="crf-l2"):
        JointModel("m3n", traits=traits).fit(x, y)
    with pytest.raises(DataError, match="has 0 of the 12 species"):
        JointModel(traits=traits.rename(index=str.upper)).fit(x, y)
    with pytest.raises(DataError, match="same for all species"):
        JointModel(traits=traits.assign(legs=6)).fit(x, y)
    with pytest.raises(DataError, match="occurs twice"):
        JointModel(traits=pd.concat([traits, traits])).fit(x, y)
