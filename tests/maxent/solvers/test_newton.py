"""The default solver: the optimality condition and an independent optimiser, for every entropy with every penalty."""

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from optimality import distance
from strategies import Case, cases, combinations, make_pair, sample_on, small_case

from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.maxent.columns import ColumnPool
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem
from sdm.maxent.solution import MEANING
from sdm.maxent.solvers.newton import solve_newton

FREE = [c for c in combinations if c[1] == "none"]
PRICED = [c for c in combinations if c[1] != "none"]


@pytest.mark.parametrize("alpha, penalty", combinations)
@pytest.mark.parametrize("scale", [0.01, 0.2])
def test_the_optimality_condition_holds(alpha, penalty, scale):
    """−ε in the subdifferential of the penalty, feature by feature."""
    problem = make_pair(small_case(8), alpha, penalty, classes="lqp", scale=scale).problem
    solution = solve_newton(problem, tolerance=1e-12)
    state = problem.state(solution.weights)
    assert solution.gap <= 1e-10
    assert distance(problem.penalty, solution.weights, state.eps).max() < 1e-5


def check_objective(alpha, penalty, seed):
    pair = make_pair(small_case(seed), alpha, penalty, scale=0.03)
    solution = solve_newton(pair.problem, tolerance=1e-9)
    assert solution.status == "converged"
    assert solution.objective == pytest.approx(pair.dense.optimum(), abs=1e-6)
    assert solution.objective == pytest.approx(pair.dense.objective(solution.weights), abs=1e-12)


@pytest.mark.parametrize("alpha, penalty", combinations)
def test_an_independent_optimiser_finds_the_same_objective(alpha, penalty):
    for seed in (11, 12):
        check_objective(alpha, penalty, seed)


@given(
    cases(max_cells=25),
    st.sampled_from(PRICED),
    st.sampled_from(["lq", "lqpht", "h"]),
    st.sampled_from([0.003, 0.05, 0.5]),
)
def test_every_penalised_problem_converges(case, combination, classes, scale):
    """Ties, classes, constant variables, one presence, densities that collapse onto a few cells: all must end well."""
    assume(np.abs(case.x).max() < 1e5 and case.dense(classes, 3))
    pair = make_pair(case, *combination, classes=classes, scale=scale)
    solution = solve_newton(pair.problem)
    assert solution.status == "converged", solution
    assert solution.gap <= 1e-6
    assert solution.p.sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0])
def test_a_density_that_collapses_onto_two_cells_still_converges(alpha):
    """Above order 1 a step too long leaves cells without density and without curvature: Newton was stuck there."""
    rng = np.random.default_rng(14)
    n = int(rng.integers(5, 60))
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), rng.integers(1, 4, n) * 10.0])
    case = Case(x, (2,), np.full(n, 1 / n), sample_on(n, rng))
    pair = make_pair(case, alpha, "l1", classes="lqpht", scale=0.001)
    solution = solve_newton(pair.problem)
    assert solution.status == "converged"
    assert solution.objective <= pair.dense.optimum() + 1e-6


def test_a_saturated_penalty_over_a_single_cell_is_no_crash():
    """All density on one cell, and smoothed l1 so far out that it is flat: the Hessian is zero there."""
    x = np.array([[1.0, 30], [2, 40], [3, 10], [1, 40], [2, 20]])
    q0 = np.array([0.23007516, 0.09179757, 0.28826017, 0.3032313, 0.0866358])
    sample = np.array([1.0, 0, 0, 0, 0])
    for alpha in (1.5, 2.0):
        pair = make_pair(Case(x, (1,), q0 / q0.sum(), sample), alpha, "smoothed_l1", scale=0.01)
        solution = solve_newton(pair.problem, tolerance=1e-9)
        assert solution.objective <= pair.dense.optimum() + 1e-6


def test_l1_weights_are_exactly_zero():
    """Sparse models are what makes response curves and predictions quick and readable."""
    problem = make_pair(small_case(8), 1.0, "l1", classes="lqph", scale=0.1).problem
    solution = solve_newton(problem)
    assert 0 < solution.n_nonzero < problem.features.size / 2
    assert solution.gain == -solution.objective > 0


@pytest.mark.parametrize("alpha, penalty", PRICED)
def test_a_penalty_beyond_every_deviation_leaves_nothing(alpha, penalty):
    problem = make_pair(small_case(8), alpha, penalty, scale=1e6).problem
    solution = solve_newton(problem)
    assert solution.status == "converged"
    np.testing.assert_allclose(solution.p, problem.q0, atol=1e-5)


def test_a_sample_equal_to_the_base_measure_needs_no_step():
    """No deviation at all: nothing to divide by."""
    case = small_case(8)
    for alpha, penalty in combinations:
        pair = make_pair(Case(case.x, (), case.q0, case.q0), alpha, penalty)
        solution = solve_newton(pair.problem)
        assert solution.status == "converged"
        assert solution.objective == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("alpha, penalty", combinations)
def test_one_iteration_is_reported_with_its_gap(alpha, penalty):
    problem = make_pair(small_case(9), alpha, penalty, scale=0.01).problem
    solution = solve_newton(problem, max_iterations=1)
    assert solution.status == "max_iterations"
    assert solution.message == MEANING["max_iterations"]
    assert solution.iterations == len(solution.history) == 1
    assert 0 < solution.gap < np.inf
    assert solution.seconds > 0


def test_the_history_tells_the_run():
    problem = make_pair(small_case(9), 1.0, "l1", classes="lqph", scale=0.01).problem
    solution = solve_newton(problem)
    assert len(solution.history) == solution.iterations
    assert solution.history[-1].gap == solution.gap
    assert solution.history[-1].objective == solution.objective
    assert all(later.gap <= earlier.gap for earlier, later in zip(solution.history[:-1], solution.history[1:]))
    assert solution.history[-1].working_set >= solution.n_nonzero


@pytest.mark.parametrize("alpha, penalty", combinations)
def test_a_warm_start_saves_iterations_and_ends_at_the_same_optimum(alpha, penalty):
    problem = make_pair(small_case(10), alpha, penalty, classes="lqp", scale=0.02).problem
    cold = solve_newton(problem, tolerance=1e-9)
    warm = solve_newton(problem, start=cold.weights, tolerance=1e-9)
    assert warm.iterations < cold.iterations
    assert warm.iterations <= 2
    assert warm.objective == pytest.approx(cold.objective, abs=1e-8)


@pytest.mark.parametrize("alpha, penalty", PRICED)
@pytest.mark.parametrize("factor", [0.5, 3.0, 100.0])
def test_a_warm_start_at_another_penalty(alpha, penalty, factor):
    """A path over multipliers goes both ways; far up, all weights of the start have to vanish again."""
    pair = make_pair(small_case(10), alpha, penalty, scale=0.05)
    start = solve_newton(pair.problem).weights
    again = make_pair(small_case(10), alpha, penalty, scale=0.05 * factor).problem
    warm, cold = solve_newton(again, start=start), solve_newton(again)
    assert warm.status == cold.status == "converged"
    assert warm.objective == pytest.approx(cold.objective, abs=2e-6)


@pytest.mark.parametrize("penalty", ["l2", "l2sq", "smoothed_l1", "none", "mahalanobis", "lp"])
def test_many_features_go_through_conjugate_gradients(penalty, monkeypatch):
    """More features than a matrix is made for: the same answer through the oracles alone."""
    problem = make_pair(small_case(13), 1.0, penalty, classes="lqp", scale=0.05).problem
    dense = solve_newton(problem, tolerance=1e-8)
    monkeypatch.setattr("sdm.maxent.problem.DENSE_WEIGHTS", 0)
    free = solve_newton(problem, tolerance=1e-8)
    assert dense.status == free.status == "converged"
    assert free.objective == pytest.approx(dense.objective, abs=2e-8)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_rough_first_steps_on_many_cells_change_nothing(alpha, monkeypatch):
    """The first Hessians come from some of the cells only; at order 2 those may all be without density."""
    monkeypatch.setattr("sdm.maxent.columns.ROUGH_CELLS", 2000)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20_000, 3))
    sample = np.zeros(20_000)
    sample[np.argsort(((x - 1.5) ** 2).sum(axis=1))[:40]] = 1 / 40
    features = build_features(Domain(x, list("abc")), "lqp", sample=sample)
    problem = Problem(features, sample, Entropy(alpha), L1(np.full(features.size, 0.01)))
    rough = solve_newton(problem)
    exact = solve_newton(problem, start=np.zeros(features.size))
    assert rough.status == exact.status == "converged"
    assert rough.objective == pytest.approx(exact.objective, abs=2e-6)


def test_more_members_than_the_pool_holds(monkeypatch):
    """Columns not asked for in a round are let go, and computed again when they come back."""
    monkeypatch.setattr(ColumnPool.__init__, "__defaults__", (1, 12))
    problem = make_pair(small_case(5, n=200), 1.0, "l1", classes="lqph", scale=0.005).problem
    assert solve_newton(problem).status == "converged"


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_many_cells_are_looked_at_in_part_first(monkeypatch, alpha):
    """From every 16th cell to every 4th and to all of them: the optimum is that of all cells."""
    problem = make_pair(small_case(5, n=2000), alpha, "l1", classes="lqph", scale=0.005).problem
    full = solve_newton(problem, tolerance=1e-11)
    monkeypatch.setattr("sdm.maxent.columns.ROUGH_CELLS", 100)
    strides = []
    hessian = ColumnPool.hessian
    monkeypatch.setattr(ColumnPool, "hessian", lambda *given: strides.append(given[0].stride) or hessian(*given))
    solution = solve_newton(problem, tolerance=1e-11)
    assert set(strides) == {16, 4, 1}
    assert strides == sorted(strides, reverse=True)
    assert solution.status == "converged"
    assert solution.objective == pytest.approx(full.objective, abs=2e-11)


def test_repeated_fits_are_identical():
    """Same input, same bytes."""
    problem = make_pair(small_case(5), 1.5, "l1", classes="lqph", scale=0.01).problem
    first, second = solve_newton(problem), solve_newton(problem)
    np.testing.assert_array_equal(first.weights, second.weights)
    assert first.tau == second.tau


def similar_features(noise, seed=4, scale=0.0, alpha=1.9):
    """Return a problem of three variables with two near copies of each, and penalties over 12 decades."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 3))
    x = np.hstack([x, *(x + noise * rng.normal(size=x.shape) for _ in range(2))])
    chance = np.exp(2 * x[:, 0])
    cells = rng.choice(60, 12, p=chance / chance.sum())
    x *= 10.0 ** rng.uniform(-scale, scale, 9)
    sample = np.bincount(cells, minlength=60) / 12
    features = build_features(Domain(x, [f"v{i}" for i in range(9)]), "l", sample=sample)
    return Problem(features, sample, Entropy(alpha), L1(10.0 ** rng.uniform(-12, 0, 9)))


@pytest.mark.parametrize("noise, seed", [(0.0, 2), (0.0, 6), (1e-9, 1), (1e-9, 4)])
def test_near_copies_under_penalties_over_twelve_decades_converge(noise, seed):
    """In single precision near copies are one feature: the fit ended after 500 rounds with a gap of 1.3."""
    problem = similar_features(noise, seed)
    solution = solve_newton(problem, tolerance=1e-8)
    assert solution.status == "converged"
    assert solution.iterations <= 30
    assert distance(problem.penalty, solution.weights, problem.state(solution.weights).eps).max() <= 1e-8


@pytest.mark.thorough
@pytest.mark.parametrize("alpha", [1.0, 1.9])
@pytest.mark.parametrize("noise, scale", [(0.0, 0.0), (1e-9, 0.0), (1e-9, 6.0), (1e-6, 0.0), (1e-3, 0.0)])
def test_the_gap_and_the_status_of_near_copies_are_true(noise, scale, alpha):
    """A penalty below the rounding of the gradient cannot be met: the fit is near the optimum, and stalled."""
    for seed in range(4, 8):
        problem = similar_features(noise, seed, scale, alpha)
        solution = solve_newton(problem, tolerance=1e-8)
        columns = np.array([problem.features.column(j) for j in range(9)]).T
        dense = naive.Dense(columns, problem.q0, problem.sample, alpha, "l1", problem.penalty.beta)
        best = min(dense.optimum(), dense._minimise(solution.weights))
        assert solution.objective <= best + 1e-5
        assert solution.objective - solution.gap <= best + 1e-9
        assert solution.status == ("converged" if solution.gap <= 1e-8 else "stalled")
