"""The domain: what it refuses and says, its base measure, and its two fast passes over the cells."""

import numpy as np
import pytest
from hypothesis import given
from strategies import cases, seeds

from sdm.errors import DataError
from sdm.executors import ahead
from sdm.features.domain import Domain, weighted_gram


def test_missing_values_are_named_and_counted():
    """Without the column and the count a user cannot find them among a million cells."""
    x = np.zeros((1200, 3))
    x[5:1100, 1] = np.nan
    x[7, 2] = np.inf
    with pytest.raises(DataError, match=r"'rain' has 1,095, 'slope' has 1 of 1,200 rows") as caught:
        Domain(x, ["heat", "rain", "slope"])
    assert "heat" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_base_measure_that_is_not_positive_is_refused(bad):
    q0 = np.ones(10)
    q0[3] = bad
    with pytest.raises(DataError, match="1 weights of the base measure are not positive"):
        Domain(np.arange(10.0)[:, None], ["a"], (), q0)


def test_the_base_measure_is_scaled_to_one():
    domain = Domain(np.arange(4.0)[:, None], ["a"], (), np.array([1.0, 2.0, 3.0, 4.0]))
    assert domain.q0 == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert Domain(np.arange(4.0)[:, None], ["a"]).q0.tolist() == [0.25] * 4


@given(cases(), seeds)
def test_marginals_and_lookup(case, seed):
    rng = np.random.default_rng(seed)
    domain = case.domain()
    mass = rng.normal(size=domain.n)
    marginals = domain.measure(mass).marginals
    table = rng.normal(size=domain.values.size)
    theta = np.zeros(domain.n)
    for v, variable in enumerate(domain.variables):
        for k, value in enumerate(variable.values):
            at = domain.start[v] + k
            cells = case.x[:, v] == value
            assert domain.values[at] == value
            assert marginals[at] == pytest.approx(mass[cells].sum(), abs=1e-12)
            theta[cells] += table[at]
    assert domain.lookup(table) == pytest.approx(theta, abs=1e-12)


def test_lookup_over_several_blocks():
    """More cells than one block of the kernel: none may be left out or counted twice."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (10_001, 2)).astype(float)
    domain = Domain(x, ["a", "b"])
    table = rng.normal(size=18)
    np.testing.assert_allclose(domain.lookup(table), table[x[:, 0].astype(int)] + table[9 + x[:, 1].astype(int)])


def test_gram_over_several_blocks():
    rng = np.random.default_rng(0)
    x, mass = rng.normal(size=(10_001, 3)), rng.normal(size=10_001)
    np.testing.assert_allclose(weighted_gram(x, mass), x.T @ (mass[:, None] * x), atol=1e-9)


def test_threads_change_no_byte(monkeypatch):
    monkeypatch.delenv("SDM_THREADS", raising=False)
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.normal(size=(9_000, 3)).round(2), rng.integers(0, 4, 9_000)])
    mass, tables = rng.random(9_000), rng.normal(size=4_000)

    def everything():
        domain = Domain(x, ["a", "b", "c", "d"], ["d"])
        measure = domain.measure(mass)
        result = domain.codes, measure.marginals, measure.gram, domain.lookup(tables[: domain.values.size])
        return [part.tobytes() for part in (*result, *(variable.values for variable in domain.variables))]

    alone = everything()
    monkeypatch.setattr(ahead, "MANY", 1)
    for threads in (1, 2, 5):
        with ahead.run_threads(threads):
            assert everything() == alone
