"""A fitted model: the output scales' formulas, clamping, missing values, unseen classes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sdm import Maxent
from sdm.errors import DataError, OptionError
from sdm.models.species import CUMULATIVE_ROWS, SCALES, Model, cumulative_table


def data(seed, n=120, presences=30, weighted=False):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=n), 100 * rng.random(n), rng.integers(1, 4, n)])
    y = np.zeros(n, dtype=int)
    y[rng.choice(n, presences, replace=False, p=np.exp(x[:, 0]) / np.exp(x[:, 0]).sum())] = 1
    return x, y, (rng.random(n) + 0.5 if weighted else None)


@pytest.fixture(scope="module", params=[1.0, 1.5, 2.0], ids=lambda a: f"order {a}")
def fitted(request):
    x, y, weight = data(1, weighted=True)
    return Maxent("lqh", entropy=request.param, knots=5, categorical=[2], prevalence=0.3).fit(x, y, weight)


def domain_rows(model):
    """The raw values of every training cell, in the order of `solution_.p`."""
    domain = model.problem_.domain
    return np.column_stack([variable.values[domain.codes[v]] for v, variable in enumerate(domain.variables)])


def test_raw_is_the_fitted_distribution_per_unit_of_base_measure(fitted):
    domain, solution = fitted.problem_.domain, fitted.solution_
    raw = fitted.model_.predict(domain_rows(fitted), "raw")
    np.testing.assert_allclose(raw * domain.q0 * domain.n, solution.p, atol=1e-12)


def test_raw_sums_to_one_over_equal_cells():
    x, y, _ = data(2)
    model = Maxent("lq").fit(x, y)
    assert model.predict(domain_rows(model), "raw").sum() == pytest.approx(1.0, abs=1e-12)


def test_entropy_is_that_of_the_fitted_distribution():
    x, y, _ = data(2)
    model = Maxent("lq").fit(x, y)
    p = model.solution_.p
    assert model.model_.entropy == pytest.approx(-(p @ np.log(p)), abs=1e-12)


def test_cloglog_and_logistic(fitted):
    model = fitted.model_
    x = domain_rows(fitted)
    strength = model.predict(x, "raw") * np.exp(model.entropy)
    np.testing.assert_allclose(model.predict(x, "cloglog"), 1 - np.exp(-strength), atol=1e-15)
    np.testing.assert_allclose(model.predict(x), model.predict(x, "cloglog"))
    np.testing.assert_allclose(model.predict(x, "logistic"), 0.3 * strength / (0.7 + 0.3 * strength), atol=1e-15)


def test_link_is_the_logarithm_of_raw_for_shannon():
    x, y, _ = data(3)
    model = Maxent("lqp").fit(x, y)
    np.testing.assert_allclose(model.predict(x, "link"), np.log(model.predict(x, "raw")), atol=1e-12)


def test_link_above_order_one_leads_to_the_density(fitted):
    model = fitted.model_
    if model.alpha > 1:
        link = model.predict(domain_rows(fitted), "link")
        density = np.maximum(1 + (model.alpha - 1) * link, 0) ** (1 / (model.alpha - 1))
        np.testing.assert_allclose(density / model.n_domain, model.predict(domain_rows(fitted), "raw"), rtol=1e-10)


def test_cumulative_is_the_share_of_the_distribution_at_or_below(fitted):
    """Java's cumulative output, by a direct sum over the training cells."""
    x = domain_rows(fitted)
    raw, p = fitted.model_.predict(x, "raw"), fitted.solution_.p
    direct = [100 * p[raw <= value * (1 + 1e-9)].sum() for value in raw]
    np.testing.assert_allclose(fitted.model_.predict(x, "cumulative"), direct, atol=1e-4)


def test_cumulative_of_a_model_that_says_the_same_everywhere():
    """All cells share one value, which holds all of the distribution: 100, not 0 by a rounding."""
    x, y, _ = data(4)
    model = Maxent("l", multiplier=1e6).fit(x, y)
    assert model.solution_.n_nonzero == 0
    np.testing.assert_allclose(model.predict(x, "cumulative"), 100.0)


@given(seeds, st.sampled_from([1.0, 1.5, 2.0]))
def test_cumulative_of_a_few_classes(seed, alpha):
    """Two or three values hold all of the distribution: rounding must not take a class down to the one below."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 4, (90, 1)).astype(float)
    y = np.zeros(90, dtype=int)
    y[np.argsort(x[:, 0] + rng.normal(size=90))[-20:]] = 1
    model = Maxent("l", entropy=alpha, categorical=[0]).fit(x, y)
    cells = domain_rows(model)
    raw, p = model.predict(cells, "raw"), model.solution_.p
    direct = [100 * p[raw <= value * (1 + 1e-9)].sum() for value in raw]
    np.testing.assert_allclose(model.predict(cells, "cumulative"), direct, atol=1e-6)


def test_cumulative_grows_with_raw(fitted):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=500) * 2, 150 * rng.random(500), rng.integers(0, 5, 500)])
    raw, cumulative = fitted.predict(x, "raw"), fitted.predict(x, "cumulative")
    order = np.argsort(raw)
    assert np.all(np.diff(cumulative[order]) >= 0)
    assert cumulative.min() >= 0
    assert cumulative.max() <= 100


def test_a_large_table_is_thinned_and_still_exact_to_a_hundredth():
    rng = np.random.default_rng(1)
    raw = rng.lognormal(size=50_000)
    raw /= raw.sum()
    table = cumulative_table(raw, raw)
    assert table.shape[0] <= CUMULATIVE_ROWS
    assert table[-1, 1] == 100.0
    assert table[-1, 0] == pytest.approx(raw.max())
    direct = 100 * np.cumsum(np.sort(raw))
    np.testing.assert_allclose(np.interp(np.sort(raw), table[:, 0], table[:, 1], left=0.0), direct, atol=0.02)


def test_clamping_holds_variables_at_their_training_range():
    x, y, _ = data(5)
    model = Maxent("lq").fit(x, y)
    lo, hi = x.min(axis=0), x.max(axis=0)
    outside = np.array([[-50.0, -1e4, 2.0], [50.0, 1e4, 2.0]])
    np.testing.assert_allclose(model.predict(outside), model.predict(np.clip(outside, lo, hi)), rtol=1e-12)
    assert not np.allclose(model.predict(outside, "link", clamp=False), model.predict(outside, "link"))


def test_missing_values_give_missing_predictions_on_every_scale(fitted):
    x = np.array([[np.nan, 50.0, 1.0], [0.0, np.nan, 1.0], [0.0, 50.0, np.nan], [0.0, 50.0, 1.0]])
    for scale in SCALES:
        assert np.isnan(fitted.predict(x, scale)).tolist() == [True, True, True, False]


def test_a_class_never_seen_has_no_effect():
    """The rule is stated: it counts for nothing, like the class of weight zero."""
    x, y, _ = data(6)
    model = Maxent("l", categorical=[2]).fit(x, y)
    used = model.model_.terms
    without = model.model_.predict(np.array([[0.0, 50.0, 99.0]]), "link")[0]
    categories = used.kind == 6
    weights = dict(zip(used.knot[categories], used.weight[categories]))
    for level in (1.0, 2.0, 3.0):
        with_level = model.model_.predict(np.array([[0.0, 50.0, level]]), "link")[0]
        assert with_level - without == pytest.approx(weights.get(level, 0.0), abs=1e-12)


def test_or_is_refused_if_asked():
    x, y, _ = data(6)
    model = Maxent("l", categorical=[2], unseen="error").fit(x, y)
    assert np.all(np.isfinite(model.predict(x)))
    assert np.isnan(model.predict([[0.0, 50.0, np.nan]]))[0]
    with pytest.raises(DataError, match=r"'x2' has 2 classes that were not in the training data \(7, 99\)"):
        model.predict([[0.0, 50.0, 99.0], [0.0, 50.0, 7.0], [0.0, 50.0, 1.0]])


def test_a_wrong_number_of_columns_is_named(fitted):
    model: Model = fitted.model_
    with pytest.raises(DataError, match=r"has 2 columns, expected 3 \(x0, x1, x2\): give one row per point"):
        model.predict(np.zeros((4, 2)))
    with pytest.raises(DataError, match="has 7 columns, expected 3"):
        model.predict([np.zeros(7)] * 3)
    with pytest.raises(DataError, match="got 4 columns, expected 3"):
        model.predict_columns([np.zeros(3)] * 4)


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_nested_lists_are_rows_whatever_their_number(fitted, rows):
    """With as many rows as variables, columns and rows would look alike."""
    model, x = fitted.model_, domain_rows(fitted)[:rows]
    expected = model.predict(x)
    np.testing.assert_array_equal(model.predict(x.tolist()), expected)
    np.testing.assert_array_equal(model.predict(list(x)), expected)
    np.testing.assert_array_equal(model.predict(tuple(map(tuple, x))), expected)
    np.testing.assert_array_equal(model.predict_columns(list(x.T)), expected)
    columns = {"x2": x[:, 2], "other": ["text"] * rows, "x0": x[:, 0].tolist(), "x1": x[:, 1]}
    np.testing.assert_array_equal(model.predict(columns), expected)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(columns)), expected)
    np.testing.assert_array_equal(fitted.predict(columns), expected)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0.0, 1.0, 2.0], "X has 1 dimensions"),
        ([[0.0, 1.0, 2.0], [0.0, 1.0]], "rows of X have different lengths"),
        ({"x0": [0.0], "x1": [1.0]}, "has no column 'x2'; it has x0, x1"),
        ({"x0": [0.0], "x1": [1.0, 2.0], "x2": [1.0]}, r"shapes 'x0' \(1,\), 'x1' \(2,\)"),
        ({"x0": 0.0, "x1": 1.0, "x2": 1.0}, "expected one value per point"),
        ([["a", "b", "c"]], "column 'x0' has 'a'"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(fitted, x, message):
    with pytest.raises(DataError, match=message):
        fitted.model_.predict(x)


def test_an_unknown_scale():
    x, y, _ = data(7)
    with pytest.raises(OptionError, match="scale='probability': expected one of raw, cumulative"):
        Maxent("l").fit(x, y).predict(x, "probability")


def test_feature_names_and_weights_belong_together(fitted):
    names = dict(zip(fitted.feature_names_, fitted.coef_))
    for name, weight in zip(fitted.model_.feature_names, fitted.model_.terms.weight):
        assert names[name] == weight != 0.0


def test_no_rows_at_all(fitted):
    assert fitted.model_.predict(np.empty((0, 3))).shape == (0,)
