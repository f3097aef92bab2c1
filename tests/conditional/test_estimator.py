"""`ConditionalMaxent`: what a Python user calls."""

import doctest
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from sdm.data.site_folds import fold_numbers
from sdm.errors import DataError, ModelFileError, OptionError, OutputError
from sdm.estimators import classes as estimator
from sdm.estimators.classes import ConditionalMaxent
from sdm.maxent.entropy import ClassEntropy
from sdm.models.classes import ClassModel
from sdm.models.file import save_model
from sdm.models.species import Model


@pytest.fixture(scope="module")
def habitats():
    rng = np.random.default_rng(7)
    x = pd.DataFrame({"warm": rng.normal(size=240), "wet": rng.normal(size=240), "soil": rng.choice(list("abc"), 240)})
    theta = np.column_stack([2 * x.warm, 2 * x.wet, 2.0 * (x.soil == "a")]) + rng.gumbel(size=(240, 3))
    return x, np.array(["bog", "forest", "meadow"])[np.argmax(theta, axis=1)]


@pytest.fixture(scope="module")
def structural(habitats):
    return ConditionalMaxent("l,trees:4,mono:2", categorical=["soil"], lam=0.005).fit(*habitats)


def test_it_predicts_what_it_was_fitted_to(habitats):
    x, y = habitats
    model = ConditionalMaxent("lqh", multiplier=1.0, categorical=["soil"]).fit(x, y)
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-6
    p = model.predict_proba(x)
    np.testing.assert_allclose(p.T, model.solution_.p, atol=1e-9)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(x, y) > 0.7
    assert len(model.feature_names_) == model.coef_.shape[1]
    assert "(soil=a)" in model.feature_names_
    totals = p.mean(axis=0) - [np.mean(y == c) for c in model.classes_]
    assert np.abs(totals).max() <= 1.001e-4  # what the constants' penalty allows


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_order_two_leaves_classes_out(habitats, alpha):
    x, y = habitats
    p = ConditionalMaxent("lq", multiplier=1.0, entropy=alpha, categorical=["soil"]).fit(x, y).predict_proba(x)
    assert (p == 0).any() == (alpha > 1)


def test_trees_and_monomials(habitats, structural):
    x, _ = habitats
    assert structural.solution_.gap <= 1e-4
    assert len(structural.model_.shapes) > 0
    np.testing.assert_allclose(structural.predict_proba(x).T, structural.solution_.p, atol=1e-9)
    assert len(structural.feature_names_) == structural.coef_.shape[1]


def test_structural_penalties_hold_for_every_feature_found(structural):
    """At the optimum no feature in any class is off by more than its penalty λ·B_k + β."""
    problem = structural.problem_
    state = problem.state(structural.solution_.weights)
    excess = np.abs(state.eps) / problem.penalty.beta - 1.0
    assert excess.max() < 0.05
    grown = problem.features.families[-1]
    m = problem.domain.n
    for shape, source, penalty_weight in zip(grown.shapes, grown.sources, problem.penalty.beta[-grown.size :]):
        assert penalty_weight == pytest.approx(0.005 * source.complexity(shape.size, m) + 0.005)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_trees_of_one_split_are_thresholds(alpha):
    """Column generation over stumps ends where a fit with every threshold at the same penalty does."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(70, 2))
    y = np.argmax(1.5 * x @ rng.normal(size=(2, 3)) + rng.gumbel(size=(70, 3)), axis=1)
    options = {"entropy": alpha, "tolerance": 1e-6}
    grown = ConditionalMaxent("trees:1", lam=0.01, beta=0.01, **options).fit(x, y)
    penalty_weight = grown.problem_.penalty.beta.max()
    every = ConditionalMaxent("t", knots="all", beta=penalty_weight, **options).fit(x, y)
    assert grown.solution_.status == every.solution_.status == "converged"
    assert len(grown.model_.shapes) > 3
    assert grown.solution_.objective == pytest.approx(every.solution_.objective, abs=1e-5)
    np.testing.assert_allclose(grown.predict_proba(x), every.predict_proba(x), atol=5e-3)


def test_structural_beats_what_one_feature_less_could_do(habitats):
    """Fully corrective: without the trees the objective is no lower."""
    x, y = habitats
    plain = ConditionalMaxent("l", multiplier=1.0, categorical=["soil"]).fit(x, y)
    options = {"multiplier": 1.0, "lam": 0.002, "beta": 0.002}
    grown = ConditionalMaxent("l,trees:3", categorical=["soil"], **options).fit(x, y)
    assert grown.solution_.objective <= plain.solution_.objective + 1e-6


@pytest.mark.thorough
def test_penalties_are_chosen_by_held_out_loss(habitats):
    x, y = (part[:120] for part in habitats)
    model = ConditionalMaxent("trees:3", categorical=["soil"], lam="auto").fit(x, y)
    assert model.beta_ == 0.005
    best = min(model.search_, key=lambda setting: setting.loss)
    assert (best.lam, best.beta) == (model.lam_, model.beta_)
    assert len({setting.lam for setting in model.search_}) >= 2
    again = ConditionalMaxent("trees:3", categorical=["soil"], lam=model.lam_, beta=0.005).fit(x, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    fold = fold_numbers(np.searchsorted(model.classes_, y), 5, np.random.default_rng([1, 13]))
    held_out = fold == 0
    part = ConditionalMaxent(
        "trees:3", categorical=["soil"], lam=best.lam, beta=0.005, tolerance=3e-3, max_iterations=40
    )
    theta = part.fit(x[~held_out], y[~held_out]).model_.scores(part._encoder.encode(x[held_out]))
    targets = (y[held_out] == model.classes_[:, None]).astype(float)
    assert np.mean(ClassEntropy(1.0).losses(theta, targets)) == pytest.approx(best.losses[0], abs=1e-9)


def test_the_example_of_the_documentation_is_true():
    done = doctest.testmod(estimator)
    assert done.failed == 0
    assert done.attempted >= 5


def test_two_classes_share_their_difference(habitats):
    x, y = habitats
    model = ConditionalMaxent("lq", multiplier=1.0, categorical=["soil"]).fit(x, y == "bog")
    np.testing.assert_allclose(model.coef_[0], -model.coef_[1])
    state = model.problem_.state(model.solution_.weights)
    assert state.objective == pytest.approx(model.solution_.objective, abs=1e-12)
    assert model.classes_.tolist() == [False, True]


def test_proportions_are_targets(habitats):
    """A label is a proportion of one; percent and fractions are the same; columns name the classes."""
    x, y = (part[:120] for part in habitats)
    names = ["bog", "forest", "meadow"]
    corners = pd.DataFrame(np.eye(3)[np.searchsorted(names, y)] * 100, columns=names)
    options = {"features": "lq", "categorical": ["soil"]}
    by_label, by_share = (ConditionalMaxent(**options).fit(x, target) for target in (y, corners))
    np.testing.assert_allclose(by_label.predict_proba(x), by_share.predict_proba(x), atol=1e-12)
    assert by_share.classes_.tolist() == names


def test_sparsemax_wins_on_sparse_proportions():
    """A small version of Table 4 (Blondel et al. 2020, §9.1): shares that are often exactly zero."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(500, 4))
    true, _ = ClassEntropy(2.0).distributions((1.2 * x @ rng.normal(size=(4, 5))).T.copy())
    counts = np.array([rng.multinomial(30, row) for row in true.T])
    error = {}
    for alpha in (1.0, 1.5, 2.0):
        best = np.inf
        for beta in (1e-4, 1e-3, 1e-2):
            model = ConditionalMaxent("l", "l2sq", entropy=alpha, beta=beta).fit(x[:300], counts[:300])
            best = min(best, 0.5 * np.mean(np.sum((model.predict_proba(x[300:]) - true.T[300:]) ** 2, axis=1)))
        error[alpha] = best
    assert error[2.0] < error[1.5] < error[1.0]


def test_scikit_learn_knows_it(habitats):
    x, y = habitats
    model = ConditionalMaxent("l", multiplier=2.0, categorical=["soil"])
    assert clone(model).get_params() == model.get_params()
    assert "multiplier=2.0" in repr(model)
    numbers = x[["warm", "wet"]].to_numpy()
    assert cross_val_score(ConditionalMaxent("l", multiplier=1.0), numbers, y, cv=3).mean() > 0.5
    assert model.set_params(multiplier=3.0).multiplier == 3.0
    with pytest.raises(OptionError, match="no parameter 'many'"):
        model.set_params(many=1)
    with pytest.raises(DataError, match="not fitted"):
        model.predict(x)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 6, "there are 1 classes"),
        (["a", "a", "b", "a", "a", "a"], "class 'b' has one record"),
        (["a", "b", None, "a", "b", "a"], "1 of 6 labels are missing, the first in row 3"),
        (["a", "b", " ", "a", "b", "a"], "labels are missing"),
        ([0.0, 1.0, np.nan, np.nan, 1.0, 0.0], "2 of 6 labels are missing"),
        (["Forest", "forest", "bog", "Forest", "forest", "bog"], "'Forest' and 'forest' differ in case or spaces only"),
        (["a", "b"], "expected one label"),
        (np.array([[1, 0]] * 6), "class '1' is at no site"),
        (np.array([[1, 0]] * 5 + [[0, 0]]), "1 rows have no class, the first is row 6"),
        (np.array([[1.0, 2.0]] * 5 + [[np.nan, 1.0]]), "missing or negative, the first is row 6"),
        (np.array([["x", "y"]] * 6), "must be numbers"),
    ],
)
def test_bad_targets_are_one_sentence(y, message):
    with pytest.raises(DataError, match=message):
        ConditionalMaxent("l").fit(np.arange(12.0).reshape(6, 2), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularization": "ridge"}, "expected auto, none, l1"),
        ({"multiplier": 0}, "multiplier=0"),
        ({"tolerance": -1}, "tolerance=-1"),
        ({"entropy": 3}, "entropy=3"),
        ({"features": "xyz"}, "is not a feature class"),
        ({"features": "trees:4", "beta": "maxent"}, "expected numbers from 0"),
        ({"features": "trees:4", "lam": 0, "beta": 0}, "not both 0"),
        ({"features": "trees:4", "lam": "much"}, "lam='much'"),
        ({"features": "trees:4", "folds": 1}, "2 or more"),
        ({"features": "trees:4", "regularization": "elastic"}, "need l1"),
        ({"knots": 0}, "knots"),
    ],
)
def test_bad_options_are_one_sentence(options, message):
    x, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(OptionError, match=message):
        ConditionalMaxent(**options).fit(x, y)


def test_constant_variables_are_refused():
    with pytest.raises(DataError, match="every variable is constant"):
        ConditionalMaxent("l").fit(np.ones((6, 2)), [0, 1] * 3)


def test_files_come_back_as_they_went(habitats, structural, tmp_path):
    x, _ = habitats
    path = tmp_path / "classes.npz"
    structural.save(path)
    loaded = ClassModel.load(path)
    encoded = structural._encoder.encode(x)
    np.testing.assert_array_equal(loaded.predict_proba(encoded), structural.predict_proba(x))
    assert loaded.to_bytes() == path.read_bytes()
    assert loaded.classes == ("bog", "forest", "meadow")
    with pytest.raises(OutputError, match="exists already"):
        structural.save(path)
    with pytest.raises(ModelFileError, match="sdm-classes"):
        Model.load(path)  # as `sdm info` says what it is


def test_damaged_files_are_refused(habitats, tmp_path):
    x, y = habitats
    model = ConditionalMaxent("l", multiplier=1.0, categorical=["soil"]).fit(x, y).model_
    path = save_model(model, tmp_path / "classes.npz")
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.compress_size)
    content[largest.header_offset + 30 + len(largest.filename) + largest.compress_size // 2] ^= 255  # not a date
    (tmp_path / "bad.npz").write_bytes(content)
    for name in ("bad.npz", "none.npz"):
        with pytest.raises(ModelFileError, match=name):
            ClassModel.load(tmp_path / name)


def test_missing_values_are_missing_predictions(habitats):
    x, y = habitats
    model = ConditionalMaxent("l", multiplier=1.0).fit(x[["warm", "wet"]], y)
    p = model.predict_proba([[0.0, np.nan], [0.0, 0.0]])
    assert np.isnan(p[0]).all()
    assert np.isfinite(p[1]).all()
    with pytest.raises(DataError, match="1 rows have missing values"):
        model.predict([[0.0, np.nan], [0.0, 0.0]])


def test_a_model_of_a_file_takes_tables(habitats, tmp_path):
    """Columns in any order and among others, categories by their names."""
    x, y = habitats
    fitted = ConditionalMaxent("lq", multiplier=1.0, categorical=["soil"]).fit(x, y)
    fitted.save(tmp_path / "m.npz")
    model = ClassModel.load(tmp_path / "m.npz")
    table = x.assign(other="text")[["other", "soil", "wet", "warm"]]
    np.testing.assert_array_equal(model.predict_proba(table), fitted.predict_proba(x))
    np.testing.assert_array_equal(model.predict(table), fitted.predict(x))
    np.testing.assert_array_equal(model.predict(x.to_numpy()), fitted.predict(x))
    codes = x.assign(soil=x.soil.map({"a": 0, "b": 1, "c": 2})).to_numpy(dtype=np.float64)
    np.testing.assert_array_equal(model.predict(codes), fitted.predict(x))
    with pytest.raises(DataError, match="no column 'wet'"):
        model.predict(table.drop(columns="wet"))
    with pytest.raises(DataError, match="1 rows have missing values"):
        model.predict(x.assign(warm=x.warm.where(x.index > 0)))


@pytest.mark.parametrize("features", ["q", "lq", "lp"])
def test_values_that_cannot_be_multiplied(habitats, features):
    x, y = habitats
    with pytest.raises(OptionError, match=r"variable 'x0' is too large for that \(up to .*e\+200\)"):
        ConditionalMaxent(features).fit(x[["warm", "wet"]].to_numpy() * 1e200, y)
    model = ConditionalMaxent(features).fit(x[["warm", "wet"]].to_numpy() * 1e140, y)
    assert model.solution_.status == "converged"
