"""What is said about a model of classes: confusion, log loss, AUC, importance, profiles, folds, codes on the map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix, log_loss, roc_auc_score

from sdm.assess.measures.classes import class_profiles, measure_classes, permute_classes
from sdm.errors import DataError
from sdm.estimators.classes import ConditionalMaxent
from sdm.maps.single import class_codes, no_class


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_measures_are_those_of_scikit_learn(seed, classes):
    rng = np.random.default_rng(seed)
    p = 0.9 * rng.dirichlet(np.ones(classes), size=60) + 0.1 / classes
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 60 - classes)])
    m = measure_classes(p.T.copy(), np.eye(classes)[y].T.copy())
    best = p.argmax(axis=1)
    np.testing.assert_allclose(m.confusion, confusion_matrix(y, best, labels=range(classes)))
    assert m.log_loss == pytest.approx(log_loss(y, p, labels=range(classes)), abs=1e-12)
    assert m.kappa == pytest.approx(cohen_kappa_score(y, best, labels=range(classes)), abs=1e-12)
    assert m.accuracy == pytest.approx(np.mean(y == best))
    for c in range(classes):
        assert m.auc[c] == pytest.approx(roc_auc_score(y == c, p[:, c]))
        assert m.recall[c] == pytest.approx(np.mean(best[y == c] == c))


def test_worked_figures():
    p = np.array([[0.5, 0.25, 0.0], [0.5, 0.75, 1.0]])
    shares = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    m = measure_classes(p, shares)
    np.testing.assert_allclose(m.confusion, [[1.0, 0.5], [0.0, 1.5]])
    expected = -(np.log(0.5) + 0.5 * np.log(0.25) + 0.5 * np.log(0.75) + np.log(1.0)) / 3
    assert m.log_loss == pytest.approx(expected)
    assert m.zeros == 0
    assert measure_classes(p, shares[:, ::-1].copy()).zeros == 1


def test_importance_finds_the_variable_that_matters():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 3))
    model = ConditionalMaxent("l").fit(x, (x[:, 1] > 0).astype(int)).model_
    rows = permute_classes(model, x, np.eye(2)[(x[:, 1] > 0).astype(int)].T.copy(), repeats=3)
    assert [row.variable for row in rows] == ["x0", "x1", "x2"]
    assert rows[1].percent > 95
    assert sum(row.percent for row in rows) == pytest.approx(100)


def test_profiles_are_the_predictions_along_a_variable():
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.normal(size=150), np.ones(150), rng.integers(0, 3, 150)])
    y = np.where(x[:, 0] + 0.5 * (x[:, 2] == 1) > 0, "a", "b")
    model = ConditionalMaxent("lq", categorical=[2]).fit(x, y).model_
    first, second = class_profiles(model, x)
    assert (first.variable, second.variable) == ("x0", "x2"), "a constant variable has no profile"
    table = np.tile([0.0, 1.0, np.bincount(x[:, 2].astype(int)).argmax()], (first.x.size, 1))
    table[:, 0] = first.x
    np.testing.assert_allclose(first.y.T, model.predict_proba(table))
    assert second.classes == ("0", "1", "2")


def test_codes_are_the_labels_where_a_byte_holds_them():
    assert class_codes(["3", "17", "254"]) == [3, 17, 254]
    assert class_codes(["0", "1"]) == [0, 1]
    assert class_codes(["7", "0"]) == [7, 0]
    assert class_codes(["absent", "present"]) == [0, 1]
    assert class_codes(["here", "No"]) == [1, 0]
    assert class_codes(["01", "1"]) == [1, 2]
    assert class_codes(["bog", "fen"]) == [1, 2]
    assert class_codes(["1", "255"]) == [1, 2]
    assert (no_class([0, 1]), no_class([1, 2]), no_class(np.array([0, 7], dtype=np.uint8))) == (255, 0, 255)
    with pytest.raises(DataError, match="255 classes"):
        class_codes([f"c{k}" for k in range(255)])


def test_the_constant_model_is_measured_beside():
    targets = np.eye(2)[[0, 0, 0, 1]].T
    p = np.array([[0.75, 0.75, 0.75, 0.75], [0.25, 0.25, 0.25, 0.25]])
    result = measure_classes(p, targets, np.array([[0.6], [0.4]]))
    assert result.constant == pytest.approx(-(3 * np.log(0.6) + np.log(0.4)) / 4)
    assert result.numbers(["a", "b"])["constant_log_loss"] == result.constant
    assert result.warning("test") is None
    worse = measure_classes(p[::-1], targets, p)
    assert "test: the model predicts worse than the null model of class frequencies" in worse.warning("test")
    assert np.isnan(measure_classes(p, targets).constant)
    assert measure_classes(p, targets).warning("test") is None
