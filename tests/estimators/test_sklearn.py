"""scikit-learn's conventions, tested with scikit-learn, which the package itself never imports."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import sdm
from sdm import ConditionalMaxent, FeatureClasses, JointModel, Maxent, SharedMaxent
from sdm.errors import DataError, OptionError


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


def test_the_area_under_the_roc_curve_is_a_score(data):
    """`scoring="roc_auc"` asks for decision_function: its order is that of predictions."""
    x, y = data
    scores = cross_val_score(Maxent("lq"), x, y, scoring="roc_auc", cv=4)
    assert np.all(scores > 0.6)
    model = Maxent("lq").fit(x, y)
    assert roc_auc_score(y, model.decision_function(x)) == roc_auc_score(y, model.predict(x))


@pytest.mark.parametrize("entropy", [1.0, 1.5, 2.0])
def test_probability_decision_and_suitability_agree(data, entropy):
    x, y = data
    model = Maxent("lq", entropy=entropy).fit(x, y)
    suitability = model.predict(x)
    np.testing.assert_array_equal(model.predict_proba(x), np.column_stack([1 - suitability, suitability]))
    np.testing.assert_array_equal(model.decision_function(x) > 0, suitability > 0.5)
    assert 0.05 < np.mean(suitability > 0.5) < 0.95


def test_the_decision_function_of_an_order_next_to_one_is_close_to_shannon(data):
    """A difference divided by α − 1 lost its digits: the decision changed by 0.1 at α = 1 + 1e-15."""
    x, y = data
    decisions = [Maxent("l", entropy=order).fit(x, y).decision_function(x) for order in (1.0, 1.0 + 1e-15)]
    np.testing.assert_allclose(decisions[1], decisions[0], atol=1e-4)


def test_permutation_importance_and_partial_dependence(data):
    x, y = data
    noise = np.column_stack([x, np.random.default_rng(3).normal(size=len(x))])
    model = Maxent("lq").fit(noise, y)
    result = permutation_importance(model, noise, y, scoring="roc_auc", n_repeats=3, random_state=1).importances_mean
    assert result[2] < min(result[:2])
    curve = partial_dependence(model, noise, [0], grid_resolution=5, response_method="predict_proba")["average"]
    assert curve.shape == (1, 5)
    assert np.ptp(curve) > 0.1


def test_columns_of_several_kinds(data):
    """ColumnTransformer hands on data frames (`set_output`), whose categories Maxent knows by name."""
    x, y = data
    frame = pd.DataFrame({"heat": x[:, 0], "rain": x[:, 1], "soil": np.where(x[:, 0] > 0.5, "peat", "clay")})
    numbers = ColumnTransformer(
        [("scaled", StandardScaler(), ["heat", "rain"])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    model = make_pipeline(numbers, Maxent("lq", categorical=["soil"])).fit(frame, y)
    assert model[-1].feature_names_in_.tolist() == ["heat", "rain", "soil"]
    assert "(soil=peat)" in model[-1].feature_names_
    assert model.score(frame, y) > 0
    assert cross_val_score(model, frame, y, scoring="roc_auc", cv=3).min() > 0.6


def test_features_for_other_estimators(data):
    """Any linear model can have the features of Maxent, by name where data frames are asked for."""
    x, y = data
    frame = pd.DataFrame(x, columns=["heat", "rain"])
    expand = FeatureClasses("lqp").set_output(transform="pandas")
    features = expand.fit_transform(frame, y)
    assert list(features.columns) == ["heat", "rain", "heat^2", "rain^2", "heat*rain"]
    assert features.min().min() >= 0
    assert features.max().max() <= 1
    model = make_pipeline(FeatureClasses("lqh", knots=5), LogisticRegression()).fit(frame, y)
    assert roc_auc_score(y, model.predict_proba(frame)[:, 1]) > 0.7
    far = frame.assign(heat=99.0)
    np.testing.assert_array_equal(expand.transform(far)["heat"], 1.0)


def test_the_features_are_those_of_a_model(data):
    x, y = data
    model = Maxent("lqpht", knots=6).fit(x, y)
    expand = FeatureClasses("lqpht", knots=6, clamp=False).fit(x, y)
    names = expand.get_feature_names_out().tolist()
    columns = [names.index(name) for name in model.feature_names_]
    score = expand.transform(x)[:, columns] @ model.coef_
    expected = model.predict(x, "link")
    np.testing.assert_allclose(score - score[0], expected - expected[0], atol=1e-9)


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e9, -1e9])
def test_features_at_new_points_are_those_of_a_model(data, offset, clamp):
    """Products of values within their ranges can leave the range of the product; far from zero they lost all digits."""
    x, y = data
    x = np.round(x, 3) + offset
    new = offset + np.random.default_rng(1).uniform(-6, 6, size=(200, 2)).round(3)
    model = Maxent("lqp").fit(x, y)
    expand = FeatureClasses("lqp", clamp=clamp).fit(x, y)
    assert expand.get_feature_names_out().tolist() == model.feature_names_
    values = expand.transform(new)
    expected = model.predict(new, "link", clamp)
    score = values @ model.coef_
    np.testing.assert_allclose(score - score[0], expected - expected[0], atol=1e-9 * np.abs(values).max())
    assert not clamp or (values.min() >= 0.0 and values.max() <= 1.0)


@pytest.mark.parametrize("check", ["set_output_transform_pandas", "global_output_transform_pandas"])
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_data_frames_out(check):
    getattr(estimator_checks, f"check_{check}")("FeatureClasses", FeatureClasses("lqp"))


def test_series_and_weights_of_zero(data):
    """Rows of weight zero in the background are as good as not there; labels and weights may be pandas' Series."""
    x, y = data
    weight = pd.Series(np.where((y == 0) & (np.arange(len(y)) % 2 == 0), 0.0, 1.0))
    remaining = weight.to_numpy() > 0
    result = Maxent("lq").fit(pd.DataFrame(x), pd.Series(y), weight)
    np.testing.assert_allclose(result.coef_, Maxent("lq").fit(x[remaining], y[remaining]).coef_)
    classes = np.where(x[:, 0] > 0.5, "warm", "cold")
    options = {"multiplier": 1.0, "features": "l"}
    result = ConditionalMaxent(**options).fit(x, pd.Series(classes), weight)
    np.testing.assert_allclose(result.coef_, ConditionalMaxent(**options).fit(x[remaining], classes[remaining]).coef_)


def test_random_state_is_the_seed(data):
    x, y = data
    one, two, other = (Maxent("l,relu:20", **way).fit(x, y) for way in ({"seed": 7}, {"random_state": 7}, {"seed": 8}))
    np.testing.assert_array_equal(one.predict(x), two.predict(x))
    assert not np.array_equal(one.predict(x), other.predict(x))
    assert one.model_.to_bytes() == two.model_.to_bytes()
    with pytest.raises(OptionError, match="random_state='now': expected a whole number"):
        Maxent(random_state="now").fit(x, y)


def test_the_larger_label_is_the_presence(data):
    x, y = data
    expected = Maxent("l").fit(x, y)
    for labels in (y == 1, 2 * y - 1, y + 1, y.astype(float)):
        model = Maxent("l").fit(x, labels)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.classes_.tolist() == np.unique(labels).tolist()
        assert model.score(x, labels) == expected.score(x, y)


def test_names_that_an_estimator_had_before(data):
    x, y = data
    shared = SharedMaxent("l", strength=1.0, threads=1).fit(x, np.where(y == 1, "oak", None))
    with pytest.warns(FutureWarning, match=r"fit_ is now called solution_: .* version 0\.3"):
        assert shared.fit_ is shared.solution_
    joint = JointModel(features="l", c=1.0).fit(x, np.column_stack([y, x[:, 0] > 0.5]))
    with pytest.warns(FutureWarning, match="fitted_ is now called model_"):
        assert joint.fitted_ is joint.model_
    assert shared.score(x, np.where(y == 1, "oak", None)) > 0
    assert joint.score(x, np.column_stack([y, x[:, 0] > 0.5])) > 0.7


@pytest.mark.parametrize("name", ["Maxent", "ConditionalMaxent", "SharedMaxent", "JointModel", "FeatureClasses"])
def test_what_cannot_be_read_is_refused_clearly(data, name):
    x, y = data
    labels = np.column_stack([y, 1 - y]) if name == "JointModel" else y
    estimator = getattr(sdm, name)()
    with pytest.raises(DataError, match="X is a sparse matrix, expected a dense table"):
        estimator.fit(csr_array(x), labels)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        (estimator.transform if name == "FeatureClasses" else estimator.predict)(x)


def test_many_labels_at_once(data):
    """A joint model is scored by the AUC of every species."""
    x, _ = data
    rng = np.random.default_rng(4)
    labels = (x + rng.logistic(size=x.shape) > 0.5).astype(int)
    scores = cross_val_score(JointModel(features="l", c=1.0), x, labels, scoring="roc_auc", cv=3)
    assert np.all(scores > 0.6)


@pytest.mark.parametrize(
    "full",
    [
        VotingClassifier([("maxent", Maxent("lq")), ("logistic", LogisticRegression())], voting="soft"),
        BaggingClassifier(Maxent("l,relu:5"), 3, random_state=1),
        CalibratedClassifierCV(Maxent("lq"), cv=3),
    ],
    ids=lambda full: type(full).__name__,
)
def test_inside_other_estimators(data, full):
    x, y = data
    assert roc_auc_score(y, clone(full).fit(x, y).predict_proba(x)[:, 1]) > 0.7


def test_a_search_over_groups_and_communities(data):
    x, y = data
    species = np.where(y == 1, np.where(x[:, 0] > 0.7, "oak", "ash"), None)
    folds = KFold(3, shuffle=True, random_state=0)
    shared = GridSearchCV(SharedMaxent("l", threads=1), {"strength": [0.3, 30.0]}, cv=folds, error_score="raise")
    assert shared.fit(x, species).best_params_ == {"strength": 0.3}
    labels = pd.DataFrame({"oak": x[:, 0] > 0.5, "ash": y}).astype(int)
    table = pd.DataFrame(x, columns=["heat", "rain"])
    joint = GridSearchCV(JointModel(features="l"), {"c": [0.01, 1.0]}, cv=folds, error_score="raise")
    assert joint.fit(table, labels).best_params_ == {"c": 1.0}
