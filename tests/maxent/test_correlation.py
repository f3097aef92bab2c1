"""The mahalanobis penalty: what it makes of features that go together, and where it says no."""

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import Case, cases, make_pair, small_case

from sdm import ConditionalMaxent, Maxent, load_model
from sdm.errors import OptionError
from sdm.maxent import correlation
from sdm.maxent.solvers.newton import solve_newton


@given(cases(max_cells=20, max_variables=2), st.sampled_from([1e-3, 0.1, 1.0]))
def test_correlations_are_those_of_the_base_measure(case, uncorrelated):
    """Pair by pair, with weights of cells, categories, and variables that hardly vary."""
    assume(np.abs(case.x).max() < 1e5 and case.dense("lqh", 3))
    features = case.features("lqh", 3)
    result = correlation.feature_correlation(features, uncorrelated)
    np.testing.assert_allclose(
        result.matrix, naive.correlations(naive.matrix(case.dense("lqh", 3)), case.q0, uncorrelated), atol=1e-7
    )
    assert np.linalg.eigvalsh(result.matrix).min() > 0.5 * uncorrelated


def test_blocks_of_columns_make_the_same_matrix(monkeypatch):
    """On a large domain not all columns are in memory at once."""
    features = small_case(3).features("lqph", 5)
    full = correlation.feature_correlation(features, 0.01).matrix
    monkeypatch.setattr(correlation, "BLOCK", 4 * features.domain.n)
    np.testing.assert_allclose(correlation.feature_correlation(features, 0.01).matrix, full, atol=1e-14)


def table(n=200, presences=30, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    x[:presences] += 0.7
    return x, np.repeat([1, 0], [presences, n - presences])


def fit(x, y, **options):
    options = {"features": "l", "regularization": "mahalanobis", "beta": 0.05, "tolerance": 1e-10} | options
    return Maxent(**options).fit(x, y)


def test_without_correlations_it_is_the_ridge_penalty():
    x, y = table()
    ridge = fit(x, y, regularization="l2sq")
    np.testing.assert_allclose(fit(x, y, uncorrelated=1.0).coef_, ridge.coef_, atol=1e-6)
    assert np.abs(fit(x, y, uncorrelated=0.01).coef_ - ridge.coef_).max() > 1e-3


def test_copies_of_a_variable_do_not_change_the_model():
    """Under l2sq two copies of a variable halve its penalty. A map must not depend on how often a layer was given."""
    x, y = table()
    copies = np.column_stack([x[:, 0], x[:, 0], x[:, 0], x[:, 1]])
    maps = {name: [fit(rows, y, regularization=name, uncorrelated=1e-4).predict(rows, "raw") for rows in (x, copies)]
            for name in ("mahalanobis", "l2sq")}  # fmt: skip
    differ = {name: np.abs(one / many - 1).max() for name, (one, many) in maps.items()}
    assert differ["mahalanobis"] < 1e-4
    assert differ["l2sq"] > 0.05


@pytest.mark.parametrize("alpha", [1.0, 1.5])
@pytest.mark.parametrize("scale", [1e-6, 1e4])
def test_extreme_strengths_against_an_independent_optimiser(alpha, scale):
    pair = make_pair(small_case(31), alpha, "mahalanobis", classes="lq", scale=scale)
    solution = solve_newton(pair.problem, tolerance=1e-9)
    assert solution.status == "converged"
    assert solution.objective <= pair.dense.optimum() + 1e-8
    assert solution.objective == pytest.approx(pair.dense.objective(solution.weights), abs=1e-9)


def test_one_record_and_more_features_than_points():
    """Nothing could be inverted there without the share that is left out; the fit says so in its notes."""
    rng = np.random.default_rng(1)
    model = Maxent("lqh", "mahalanobis", knots=20).fit(rng.normal(size=(15, 2)), np.repeat([1, 0], [1, 14]))
    assert model.feature_set_.size > 15
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-6
    assert any("more than the 15 points" in note and "uncorrelated=0.01 keeps" in note for note in model.notes_)


def test_a_feature_without_variance_has_the_penalty_of_l2sq():
    """A category of one cell with next to no base measure has no correlation with anything."""
    soil = np.array([10.0, 20.0] * 10 + [30.0])
    q0 = np.full(21, 0.05)
    q0[-1] = 1e-14
    case = Case(np.column_stack([np.arange(21.0), soil]), (1,), q0 / q0.sum(), np.full(21, 1 / 21))
    pair = make_pair(case, 1.0, "mahalanobis", classes="l")
    result = correlation.feature_correlation(pair.problem.features, 0.01)
    assert result.constant == 1
    assert result.notes(21, 0.01) == [
        "1 of 4 features have the same value all over the background: mahalanobis gives them the penalty of l2sq"
    ]
    assert [np.count_nonzero(row) for row in result.matrix].count(1) == 1
    solution = solve_newton(pair.problem, tolerance=1e-9)
    assert solution.status == "converged"
    assert solution.objective <= pair.dense.optimum() + 1e-8


def test_too_many_features_are_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(correlation, "MOST", 3)
    x, y = table()
    with pytest.raises(OptionError, match=r"at most 3 features, and there are 4: use fewer .* or .*'l2sq'"):
        fit(x, y, features="lq")


@pytest.mark.parametrize("penalty", ["mahalanobis", "lp"])
def test_classes_refuse_it(penalty):
    x, y = table()
    with pytest.raises(OptionError, match="that penalty is for species"):
        ConditionalMaxent("l", regularization=penalty).fit(x, y)


@pytest.mark.parametrize("options", [{"uncorrelated": 0.2}, {"regularization": "lp", "power": 1.2}])
def test_a_saved_model_predicts_the_same_and_knows_its_penalty(tmp_path, options):
    x, y = table()
    model = fit(x, y, **options)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    remaining = again.meta["settings"]
    assert {name: remaining[name] for name in options} == options
    again = Maxent(**{k: v for k, v in remaining.items() if k in Maxent().get_params()}).fit(x, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
