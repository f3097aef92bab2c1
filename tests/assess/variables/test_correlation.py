"""Correlations, variance inflation factors and groups, against scipy and least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr

from sdm.assess.variables.correlation import inflation_factors, measure_collinearity
from sdm.assess.variables.selection import drop_correlated, drop_inflated
from sdm.errors import DataError


def sample(seed: int, n: int = 60, v: int = 6) -> np.ndarray:
    """Variables that share two common factors, the last in steps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, v)) + rng.uniform(0.05, 1) * rng.normal(size=(n, v))
    x[:, -1] = np.round(x[:, -1])
    return x


def names(v: int) -> tuple[str, ...]:
    return tuple(f"v{k}" for k in range(v))


def slow_factors(x: np.ndarray) -> np.ndarray:
    """1 / (1 − R²) of a regression of every column on the others."""
    out = []
    for k in range(x.shape[1]):
        others = np.column_stack([np.ones(len(x)), np.delete(x, k, axis=1)])
        rest = x[:, k] - others @ np.linalg.lstsq(others, x[:, k], rcond=None)[0]
        out.append(np.sum((x[:, k] - x[:, k].mean()) ** 2) / np.sum(rest**2))
    return np.array(out)


@given(st.integers(0, 10_000))
def test_correlations_and_factors_are_those_of_others(seed: int) -> None:
    x = sample(seed)
    result = measure_collinearity(x, names(6))
    remaining = [int(name[1:]) for name in result.names]
    np.testing.assert_allclose(result.pearson, np.corrcoef(x[:, remaining].T), atol=1e-12)
    np.testing.assert_allclose(result.spearman, np.atleast_2d(spearmanr(x[:, remaining]).statistic), atol=1e-12)
    np.testing.assert_allclose(result.vif, slow_factors(x[:, remaining]), rtol=1e-6)


@given(st.integers(0, 10_000))
def test_merges_are_scipys_average_linkage(seed: int) -> None:
    result = measure_collinearity(sample(seed, v=8), names(8))
    theirs = linkage(squareform(1 - np.abs(result.pearson), checks=False), "average")
    np.testing.assert_array_equal(result.merges(), theirs)


def test_a_sum_of_others_has_an_infinite_factor_and_the_rest_a_finite_one() -> None:
    x = sample(1, v=5)
    x[:, 4] = 2 * x[:, 0] - x[:, 1]
    result = measure_collinearity(x, names(5))
    assert np.isinf(result.vif[[0, 1, 4]]).all()
    np.testing.assert_allclose(result.vif[[2, 3]], slow_factors(x[:, :4])[2:], rtol=1e-6)
    dropped = drop_inflated(result, 1e6)
    assert [(one.variable, one.value) for one in dropped] == [("v4", np.inf)], "of equals the last goes"


@given(st.integers(0, 10_000), st.floats(1.5, 20))
def test_stepwise_factors_end_below_the_limit(seed: int, limit: float) -> None:
    x = sample(seed)
    result = measure_collinearity(x, names(6))
    left = [int(name[1:]) for name in result.names]
    for gone in drop_inflated(result, limit):
        factors = slow_factors(x[:, left])
        assert gone.value == pytest.approx(factors.max(), rel=1e-5)
        assert int(gone.variable[1:]) == left[int(np.argmax(factors))]
        left.remove(int(gone.variable[1:]))
    assert len(left) == 1 or slow_factors(x[:, left]).max() <= limit * (1 + 1e-9)


@given(st.integers(0, 10_000), st.floats(0.3, 0.95))
def test_no_two_that_are_kept_are_correlated_and_each_that_is_not_has_a_better_one(seed: int, limit: float) -> None:
    result = measure_collinearity(sample(seed, v=8), names(8))
    gain = dict(zip(result.names, np.random.default_rng(seed).integers(0, 4, len(result.names)).tolist()))
    asked: list[str] = []

    def gains(some: list[str]) -> dict[str, float]:
        asked.extend(some)
        return {name: float(gain[name]) for name in some}

    dropped, known = drop_correlated(result, limit, gains)
    assert set(known) == set(asked)
    gone = {one.variable for one in dropped}
    remaining = [k for k, name in enumerate(result.names) if name not in gone]
    r = np.abs(result.pearson)
    assert not np.any(np.triu(r[np.ix_(remaining, remaining)], 1) > limit)
    for one in dropped:
        k, other = result.names.index(one.variable), result.names.index(one.other)
        assert abs(one.value) == r[k, other] > limit
        assert (gain[one.other], -other) > (gain[one.variable], -k)
    assert len(asked) == sum(np.count_nonzero(row > limit) > 1 for row in r), "others need no fit"


def test_of_equals_the_first_is_kept() -> None:
    x = sample(3, v=3)
    result = measure_collinearity(np.column_stack([x, x]), names(6))
    dropped, _ = drop_correlated(result, 0.999, lambda subset: dict.fromkeys(subset, 0.5))
    assert [(one.variable, one.other) for one in dropped] == [("v3", "v0"), ("v4", "v1"), ("v5", "v2")]


def test_constant_variables_and_categories_take_no_part() -> None:
    x = np.column_stack([sample(2, v=2), np.ones(60), np.arange(60) % 3])
    result = measure_collinearity(x, ("a", "b", "flat", "soil"), ["soil"])
    assert (result.names, result.constant, result.categorical) == (("a", "b"), ("flat",), ("soil",))
    assert result.pearson.shape == result.spearman.shape == (2, 2)
    alone = measure_collinearity(x[:, 2:], ("flat", "soil"), ["soil"])
    assert alone.names == ()
    assert alone.vif.size == 0
    assert drop_inflated(alone, 10) == []
    assert alone.groups(0.7) == []
    assert len(alone.merges()) == 0


def test_groups_are_the_branches_of_the_dendrogram() -> None:
    rng = np.random.default_rng(5)
    a, c, d = rng.normal(size=(3, 4000))
    columns = [a, c, a + 0.3 * rng.normal(size=4000), d, c - 0.2 * rng.normal(size=4000)]
    result = measure_collinearity(np.column_stack(columns), ("a", "c", "a2", "d", "c2"))
    assert result.groups(0.7) == [("a", "a2"), ("c", "c2")]
    assert result.groups(0.99) == []


@given(st.integers(0, 10_000), st.floats(0.2, 0.95))
def test_groups_are_scipys(seed: int, limit: float) -> None:
    result = measure_collinearity(sample(seed, v=8), names(8))
    theirs = linkage(squareform(1 - np.abs(result.pearson), checks=False), "average")
    label = fcluster(theirs, np.nextafter(1 - limit, 0), "distance")
    expected = {tuple(result.names[k] for k in np.flatnonzero(label == g)) for g in set(label.tolist())}
    assert set(result.groups(limit)) == {group for group in expected if len(group) > 1}


def test_what_is_correlated_with_neither_of_two_that_are_kept_stays() -> None:
    rng = np.random.default_rng(5)
    a, c = rng.normal(size=(2, 4000))
    result = measure_collinearity(np.column_stack([a, (a + c) / 2**0.5, c]), ("a", "between", "c"))
    dropped, _ = drop_correlated(result, 0.6, lambda subset: {"a": 1.0, "between": 0.5, "c": 0.4})
    assert [one.variable for one in dropped] == ["between"], "a and c are not correlated, so both stay"


def test_too_few_points_are_refused() -> None:
    with pytest.raises(DataError, match="2 points are too few"):
        measure_collinearity(np.ones((2, 2)), ("a", "b"))
    result = measure_collinearity(np.random.default_rng(1).normal(size=(5, 6)), names(6))
    with pytest.raises(DataError, match="5 points are too few for the VIF of 6 variables"):
        drop_inflated(result, 10)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_very_small_and_large_numbers_are_correlated_alike(scale: float) -> None:
    x = sample(4)
    np.testing.assert_allclose(
        measure_collinearity(x * scale, names(6)).pearson, measure_collinearity(x, names(6)).pearson, atol=1e-9
    )
    assert np.isfinite(inflation_factors(measure_collinearity(x * scale, names(6)).pearson)).all()
