"""scikit-learn's conventions, tested with scikit-learn, which the package itself never imports."""

import numpy as np
import pytest

from sdm import Maxent

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(0.7, 0.6, (60, 2)), rng.normal(size=(200, 2))])
    return x, np.repeat([1, 0], [60, 200])


def test_parameters_go_in_and_out():
    model = Maxent("lq", multiplier=2.0)
    assert model.get_params()["features"] == "lq"
    assert model.get_params(deep=False) == model.get_params()
    assert model.set_params(multiplier=3.0, knots=7) is model
    assert (model.multiplier, model.knots) == (3.0, 7)
    with pytest.raises(ValueError, match="no parameter 'gamma'"):
        model.set_params(gamma=1)


def test_clone(data):
    beta = np.array([0.1, 0.2])
    model = Maxent("l", beta=beta, categorical=[]).fit(*data)
    copy = clone(model)
    assert not hasattr(copy, "model_")
    assert repr(copy) == repr(model)
    np.testing.assert_array_equal(copy.fit(*data).coef_, model.coef_)


def test_the_constructor_changes_nothing():
    """scikit-learn compares what goes in with what comes out, by identity."""
    features = ["linear", "hinge"]
    assert Maxent(features).features is features


def test_it_is_a_classifier():
    assert is_classifier(Maxent())


def test_in_a_pipeline(data):
    """Features are scaled to [0, 1] anyway: standardising first changes nothing but rounding (for linear features)."""
    x, y = data
    piped = make_pipeline(StandardScaler(), Maxent("l", tolerance=1e-10)).fit(x, y)
    plain = Maxent("l", tolerance=1e-10).fit(x, y)
    np.testing.assert_allclose(piped.predict(x), plain.predict(x), atol=1e-6)
    assert piped.score(x, y) == pytest.approx(plain.score(x, y), abs=1e-6)


def test_in_a_grid_search(data):
    x, y = data
    grid = {"multiplier": np.array([0.5, 5.0]), "features": ["l", "lq"], "knots": np.arange(2, 4)}
    search = GridSearchCV(Maxent(), grid, cv=3).fit(x, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.all(np.isfinite(scores))
    assert search.best_score_ == scores.max()
    assert np.isfinite(search.best_estimator_.predict(x)).all()


def test_cross_validation(data):
    scores = cross_val_score(make_pipeline(StandardScaler(), Maxent("lq")), *data, cv=4)
    assert np.all(scores > 0)
