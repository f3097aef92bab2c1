"""Labelled rows become cells and a sample on them, as Java Maxent or as maxnet does it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sdm.errors import DataError
from sdm.estimators.maxent import Maxent
from sdm.estimators.sample import build_domain, effective_size


@given(seeds, st.sampled_from(["all", "distinct"]), st.booleans())
def test_cells_and_sample(seed, add, weighted):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (30, 2)).astype(float)
    present = rng.random(30) < 0.4
    present[:2] = True, False
    weight = rng.random(30) + 0.1 if weighted else None
    domain, sample, size = build_domain(x, present, ["a", "b"], [], weight, add)

    cells = [tuple(row) for row in x[~present]]
    expected = np.zeros(len(cells)).tolist()
    shares = np.ones(present.sum()) if weight is None else weight[present]
    shares = shares / shares.sum()
    for row, share in zip(map(tuple, x[present]), shares):
        if add == "all" or row not in cells:
            cells.append(row)
            expected.append(share)
        else:
            expected[cells.index(row)] += share
    rows = np.column_stack([variable.values[domain.codes[v]] for v, variable in enumerate(domain.variables)])
    np.testing.assert_array_equal(rows, cells)
    np.testing.assert_allclose(sample, expected, atol=1e-15)
    assert sample.sum() == pytest.approx(1.0)
    assert size == pytest.approx(1 / np.sum(shares**2))
    base = np.ones((~present).sum()) if weight is None else weight[~present]
    base = np.append(base, np.full(len(cells) - base.size, base.mean()))
    np.testing.assert_allclose(domain.q0, base / base.sum(), rtol=1e-12)


@given(seeds, st.sampled_from(["all", "distinct"]))
def test_added_presences_bring_their_own_base_measure(seed, add):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (30, 2)).astype(float)
    present = rng.random(30) < 0.4
    present[:2] = True, False
    weight, base = rng.random((2, 30)) + 0.1
    domain, sample, _ = build_domain(x, present, ["a", "b"], [], weight, add, base)
    expected, seen = list(base[~present]), {tuple(row) for row in x[~present]}
    for row, own in zip(map(tuple, x[present]), base[present]):
        if add == "all" or row not in seen:
            expected.append(own)
            seen.add(row)
    np.testing.assert_allclose(domain.q0, np.array(expected) / np.sum(expected), rtol=1e-12)
    plain = build_domain(x, present, ["a", "b"], [], weight, add)[1]
    np.testing.assert_array_equal(sample, plain, "the sample does not depend on the base measure")


def test_equal_weights_are_worth_their_number():
    present = np.arange(20) < 8
    _, _, size = build_domain(
        np.random.default_rng(0).normal(size=(20, 1)), present, ["a"], [], np.full(20, 0.3), "all"
    )
    assert size == pytest.approx(8.0)


def test_a_presence_of_weight_zero_is_only_a_cell():
    x = np.arange(6.0)[:, None]
    present = np.array([True, True, False, False, False, False])
    domain, sample, size = build_domain(x, present, ["a"], [], np.array([0.0, 1, 1, 1, 1, 1]), "all")
    assert domain.n == 6
    assert sample.tolist() == [0, 0, 0, 0, 0, 1]
    assert size == 1.0


@pytest.mark.parametrize("bad", [[-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1e308, 1e308]])
def test_weights_that_are_none(bad):
    with pytest.raises(DataError, match="at least 0, with a positive and finite sum"):
        build_domain(np.arange(4.0)[:, None], np.array([1, 1, 0, 0], bool), ["a"], [], np.array([*bad, 1, 1]), "all")


def test_no_background():
    with pytest.raises(DataError, match="no background"):
        build_domain(np.arange(3.0)[:, None], np.ones(3, bool), ["a"], [], None, "all")


@pytest.mark.parametrize("n", [*range(1, 200), 1000, 12_345])
def test_so_many_equal_shares_are_worth_exactly_that(n):
    assert effective_size(np.full(n, 1.0 / n)) == n
    unequal = np.arange(1.0, n + 2.0) / np.arange(1.0, n + 2.0).sum()
    assert effective_size(unequal) == pytest.approx(1.0 / np.sum(unequal**2), rel=1e-9)


@pytest.mark.parametrize(("n", "classes"), [(9, "l"), (10, "lq"), (14, "lq"), (15, "lqh"), (79, "lqh"), (80, "lqph")])
def test_a_class_begins_at_its_number_of_presences(n, classes):
    x = np.random.default_rng(n).normal(size=(n + 200, 2))
    model = Maxent(tolerance=1.0).fit(x, np.repeat([1, 0], [n, 200]))
    assert model.model_.meta["classes"] == classes
