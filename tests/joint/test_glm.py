"""The GLM that joint models are compared with is that of other programs, and has finite coefficients."""

import numpy as np
import pandas as pd
import pytest

from sdm.assess.measures.community import measure_community
from sdm.data.encode import Encoder
from sdm.estimators.glm import fit_glm, logistic_regression


def drawn(n=300, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    score = np.column_stack([1.0 + x[:, 0] - 2 * x[:, 0] ** 2, x[:, 1], 0.5 - x[:, 0]])
    labels = (score + rng.logistic(size=score.shape) > 0).astype(np.int8)
    return x * [1.0, 50.0] + offset, labels


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 50.0])
def test_coefficients_are_those_of_another_implementation(ridge):
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, labels = drawn()
    f = np.column_stack([x / x.std(axis=0), (x / x.std(axis=0)) ** 2, np.ones(len(x))])
    for y in labels.T:
        other = linear_model.LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-10, max_iter=10_000)
        expected = other.fit(f, y).coef_[0]
        np.testing.assert_allclose(logistic_regression(f, y > 0, ridge), expected, atol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_it_is_linear_and_quadratic_in_every_variable(offset):
    """Predictions are those of a regression on x and x², wherever zero is."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, labels = drawn(offset=offset)
    encoder = Encoder.learn(pd.DataFrame(x, columns=["heat", "rain"]), ())
    model = fit_glm(x, labels, encoder, ("a", "b", "c"))
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    other = linear_model.LogisticRegression(C=1e4, tol=1e-10, max_iter=10_000)
    for s, y in enumerate(labels.T):
        expected = other.fit(np.column_stack([z, z**2]), y).predict_proba(np.column_stack([z, z**2]))[:, 1]
        np.testing.assert_allclose(model.predict_proba(x)[:, s], expected, atol=2e-3)


def test_its_joint_log_loss_is_the_sum_of_its_species():
    x, labels = drawn()
    labels[:40, 1] = -1
    model = fit_glm(x, labels, Encoder.learn(x, ()), ("a", "b", "c"))
    p = model.predict_proba(x)
    own = np.where(labels == 1, -np.log(p), -np.log1p(-p))
    result = measure_community(model, x, labels)
    assert result["log loss"] == pytest.approx(own[labels >= 0].sum() / len(x))
    assert result["marginal log loss"] == result["log loss"]
    alone = fit_glm(x[40:], labels[40:, [1]], Encoder.learn(x, ()), ("b",))
    assert alone.predict_proba(x)[:, 0] == pytest.approx(p[:, 1], abs=0.02), "sites without a label do not count"


def test_a_species_that_a_variable_separates_has_finite_coefficients():
    x, labels = drawn(60)
    labels[:, 0] = x[:, 0] > 0.5
    model = fit_glm(x, labels, Encoder.learn(x, ()), ("a", "b", "c"))
    assert np.isfinite(model.weights).all()
    assert np.isfinite(measure_community(model, x, labels)["log loss"])
    assert (model.predict(x)[:, 0] == labels[:, 0]).all()
