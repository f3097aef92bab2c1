"""Features that say the same: the cheapest stays, and the optimum does not move."""

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from strategies import cases, rounding, seeds, small_case

from sdm import Maxent
from sdm.estimators.classes import ConditionalMaxent
from sdm.features.domain import Domain
from sdm.features.duplicates import INDIFFERENT, find_duplicates
from sdm.features.feature_set import build_features
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1, PENALTIES
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton


def build(x, classes, names=None, knots="maxent"):
    names = names or [f"v{v}" for v in range(x.shape[1])]
    sample = np.full(len(x), 1 / len(x))
    return build_features(Domain(x, names), classes, knots=knots, sample=sample)


def kept_names(features, penalty_weight):
    keep, copies = find_duplicates(features, penalty_weight)
    names = np.array(features.terms().names([a.name for a in features.domain.variables]))
    return names[keep].tolist(), {names[a]: names[b] for a, b in copies.items()}


def test_the_same_variable_twice():
    x = np.random.default_rng(0).normal(size=(30, 1))
    remaining, copies = kept_names(build(np.hstack([x, x]), "l"), np.array([0.1, 0.1]))
    assert remaining == ["v0"]
    assert copies == {"v1": "v0"}


def test_the_cheapest_of_copies_stays():
    x = np.random.default_rng(0).normal(size=(30, 1))
    remaining, copies = kept_names(build(np.hstack([x, 5 - 2 * x, x]), "l"), np.array([0.3, 0.1, 0.2]))
    assert remaining == ["v1"]
    assert copies == {"v0": "v1", "v2": "v1"}


def test_a_binary_variable_is_its_own_square_threshold_and_hinges():
    x = np.random.default_rng(0).integers(0, 2, (30, 1)).astype(float)
    features = build(x, "lqht", knots="all")
    assert features.size == 5
    remaining, _ = kept_names(features, np.ones(5))
    assert remaining == ["v0"]


def test_one_minus_a_feature_is_a_copy():
    x = np.random.default_rng(0).random((30, 1))
    remaining, _ = kept_names(build(np.hstack([x, 1 - x]), "l"), np.ones(2))
    assert remaining == ["v0"]


def test_near_copies_are_not_copies():
    """A variable that differs in one cell of a thousand is another variable."""
    x = np.random.default_rng(0).random((1000, 1))
    other = x.copy()
    other[500] += 1e-3
    remaining, copies = kept_names(build(np.hstack([x, other]), "l"), np.ones(2))
    assert remaining == ["v0", "v1"]
    assert not copies


@given(cases(max_cells=15), seeds)
def test_exactly_the_copies_are_found(case, seed):
    assume(case.dense("lqpht", 3))
    features = case.features("lqpht", 3)
    columns = naive.matrix(case.dense("lqpht", 3))
    penalty_weight = np.random.default_rng(seed).integers(1, 4, features.size) / 10

    def same(a, b, tolerance):
        straight, turned = np.abs(columns[:, a] - columns[:, b]), np.abs(columns[:, a] + columns[:, b] - 1)
        return min(straight.max(), turned.max()) < tolerance

    keep, copies = find_duplicates(features, penalty_weight)
    assert set(copies) == set(np.flatnonzero(~keep).tolist())
    for left, remaining in copies.items():
        assert keep[remaining]
        assert same(left, remaining, 1e-8)
        assert (penalty_weight[remaining], remaining) < (penalty_weight[left], left)
    # A product far from zero is signed with more rounding than copies may differ by: those may stay.
    survivors = np.flatnonzero(keep & (rounding(case, case.dense("lqpht", 3)) < 1.1e-12))
    for a in survivors:
        assert not any(same(a, b, 1e-14) for b in survivors if b > a)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("beta", [0.05, None])
def test_copies_of_a_variable_are_the_problem_that_was_asked_for(alpha, penalty, beta):
    """One column four times, once upside down, at the same β or at different ones: the optimum over all of them."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 1))
    rows = np.hstack([x, x, 3.0 - x, 2.0 * x])
    y = np.repeat([1, 0], [20, 40])
    rows[:20] += np.array([0.5, 0.5, -0.5, 1.0])
    model = Maxent("l", penalty, entropy=alpha, beta=beta, tolerance=1e-9)
    if beta is None and penalty not in INDIFFERENT:
        model.set_params(beta=np.array([0.02, 0.05, 0.1, 0.03]))
    problem = model.fit(rows, y).problem_
    assert model.coef_.size == (1 if penalty in INDIFFERENT else 4)
    cells = np.vstack([rows[20:], rows[:20]])
    matrix = (cells - cells.min(axis=0)) / np.ptp(cells, axis=0)
    penalty_weight = np.resize(problem.penalty.beta, 4)
    correlation = naive.correlations(matrix, problem.q0, 0.01)
    data = (matrix, problem.q0, problem.sample, alpha, penalty, penalty_weight)
    dense = naive.Dense(*data, correlation=correlation)
    assert model.solution_.objective == pytest.approx(dense.optimum(), abs=1e-7)


@pytest.mark.parametrize("penalty", ["l1", "l2sq", "elastic"])
def test_classes_keep_copies_where_they_count(penalty):
    """With ridge penalties two copies at β are one at β/2; l1 and half of the elastic penalty see only one."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(80, 1))
    y = (x[:, 0] + rng.normal(size=80) > 0).astype(int)
    twice = ConditionalMaxent("l", penalty, beta=0.05, tolerance=1e-9).fit(np.hstack([x, x]), y)
    once = ConditionalMaxent("l", penalty, beta=0.05, tolerance=1e-9).fit(x, y)
    assert twice.coef_.shape[1] == (1 if penalty == "l1" else 2)
    if penalty == "l1":
        assert twice.solution_.objective == pytest.approx(once.solution_.objective, abs=1e-9)
    else:
        assert twice.solution_.objective < once.solution_.objective - 1e-3
    if penalty == "l2sq":
        half = ConditionalMaxent("l", penalty, beta=0.025, tolerance=1e-9).fit(x, y)
        assert twice.solution_.objective == pytest.approx(half.solution_.objective, abs=1e-8)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_the_optimum_is_unchanged(alpha):
    case = small_case(3)
    binary = (case.x[:, :1] > 0).astype(float)
    x = np.hstack([case.x, case.x[:, :1], 3 - case.x[:, 1:2], binary])
    features = build_features(Domain(x, [f"v{v}" for v in range(5)], (), case.q0), "lqht", knots=4, sample=case.sample)
    beta = 0.02 * (1 + np.arange(features.size) % 4)
    keep, copies = find_duplicates(features, beta)
    assert len(copies) >= 5
    full = solve_newton(Problem(features, case.sample, Entropy(alpha), L1(beta)), tolerance=1e-10)
    part = solve_newton(Problem(features.subset(keep), case.sample, Entropy(alpha), L1(beta[keep])), tolerance=1e-10)
    assert part.objective == pytest.approx(full.objective, abs=1e-9)
    np.testing.assert_allclose(part.p, full.p, atol=1e-6)
