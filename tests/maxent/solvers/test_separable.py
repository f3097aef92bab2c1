"""No penalty on data that features can tell apart: the fit ends, and says what is wrong."""

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.optimize import linprog
from strategies import Case, cases, make_pair, small_case

from sdm.maxent.solvers.newton import solve_newton


def problem_of(x, present, alpha=1.0, categorical=(), classes="lq"):
    x = np.asarray(x, dtype=float)
    sample = np.bincount(list(present), minlength=len(x)) / len(present)
    case = Case(x, categorical, np.full(len(x), 1 / len(x)), sample)
    return make_pair(case, alpha, "none", classes=classes)


def ends_separable(pair):
    solution = solve_newton(pair.problem)
    assert solution.status == "separable"
    assert "use a penalty" in solution.message
    assert np.isfinite(solution.gap)
    assert np.all(np.isfinite(solution.weights))
    assert solution.iterations < 100
    return solution


def test_all_presences_at_the_top_of_one_variable():
    ends_separable(problem_of(np.arange(20.0)[:, None], [19, 19], classes="l"))


def test_a_class_without_any_presence():
    x = np.column_stack([np.random.default_rng(0).normal(size=30), np.repeat([1.0, 2.0, 3.0], 10)])
    pair = problem_of(x, range(0, 20, 2), categorical=(1,), classes="l")
    assert pair.problem.features.size == 3  # the empty class has no feature, but the two others sum to one without it
    ends_separable(pair)


def test_several_variables_together():
    """Neither variable alone tells the presences apart; their sum does."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (60, 2))
    order = np.argsort(x.sum(axis=1))
    ends_separable(problem_of(x, order[-2:], classes="lqp"))


def test_more_features_than_cells():
    ends_separable(problem_of(np.random.default_rng(2).normal(size=(12, 3)), [0, 1, 2], classes="lqpht"))


def test_data_that_cannot_be_told_apart_converge():
    pair = make_pair(small_case(3), 1.0, "none")
    solution = solve_newton(pair.problem, tolerance=1e-9)
    assert solution.status == "converged"
    assert solution.gap <= 1e-9
    assert solution.objective == pytest.approx(pair.dense.optimum(), abs=1e-8)
    state = pair.problem.state(solution.weights)
    assert np.abs(state.eps).max() < 1e-5


def interior(columns, sample):
    """How much mass every cell can keep while the expectations match: zero if and only if the data are separable."""
    n = len(columns)
    objective = np.append(np.zeros(n), -1.0)
    equal = np.vstack([np.append(columns.T, np.zeros((columns.shape[1], 1)), axis=1), np.append(np.ones(n), 0.0)])
    below = np.hstack([-np.eye(n), np.ones((n, 1))])
    result = linprog(objective, below, np.zeros(n), equal, np.append(columns.T @ sample, 1.0), bounds=(0, None))
    return -result.fun if result.success else 0.0


@given(cases(max_cells=25, max_variables=2))
def test_separable_only_when_a_linear_program_says_so(case):
    """A narrow niche is no separable one. And if separable it is, the fit ends: so called, or certified before that."""
    # far from zero a square is nearly linear, and a direction that tells apart only by its bend drowns in rounding
    assume(np.all(np.abs(case.x).max(axis=0) < 100 * np.ptp(case.x, axis=0)) and case.dense("lq", 3))
    pair = make_pair(case, 1.0, "none")
    room = interior(pair.dense.f, case.sample)
    assume(room < 1e-12 or room > 1e-4)
    solution = solve_newton(pair.problem)
    assert solution.status == "converged" or (solution.status == "separable" and room < 1e-12)


def test_a_niche_far_narrower_than_its_variable():
    """Log densities a thousand apart are right for a niche of a fiftieth of the range: nothing is separable there."""
    x = np.concatenate([np.linspace(0.0, 1.0, 60), [13.0]])[:, None]
    pair = problem_of(x, [20, 24, 30, 36, 40])
    solution = solve_newton(pair.problem)
    assert np.ptp(pair.problem.state(solution.weights).theta) > 700
    assert solution.status == "converged"


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0])
def test_above_order_one_the_optimum_is_finite_all_the_same(alpha):
    """Cells can get exactly zero density there, at finite weights: the fit is certified, not called separable."""
    for pair in (
        problem_of(np.arange(20.0)[:, None], [19, 19], alpha, classes="l"),
        problem_of(np.random.default_rng(2).normal(size=(12, 3)), [0, 1, 2], alpha, classes="lqp"),
    ):
        solution = solve_newton(pair.problem)
        assert solution.status == "converged"
        assert solution.gap <= 1e-6
        assert np.count_nonzero(solution.p == 0.0) > 0
        assert solution.objective == pytest.approx(pair.dense.optimum(), abs=1e-4)
