"""The l_p norm: between l1 and l2, solved in the coordinates of its dual."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import Case, cases, make_pair, small_case

from sdm import Maxent
from sdm.maxent.penalty import LpNorm
from sdm.maxent.solvers.newton import solve_newton

POWERS = [1.02, 1.1, 1.5, 1.9, 1.98]


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("alpha", [1.0, 2.0])
@pytest.mark.parametrize("scale", [1e-5, 0.02])
def test_no_optimiser_finds_a_lower_objective(power, alpha, scale):
    """Near 1 most weights are next to nothing, where the norm has a curvature without bound."""
    pair = make_pair(small_case(11), alpha, "lp", classes="lqh", scale=scale, power=power)
    solution = solve_newton(pair.problem, tolerance=1e-9)
    assert solution.status == "converged"
    assert solution.gap <= 1e-9
    result = pair.dense.optimum()
    assert solution.objective <= result + 1e-8
    assert solution.objective == pytest.approx(pair.dense.objective(solution.weights), abs=1e-10)
    if power > 1.05 and scale == 0.02:  # where it is smooth enough for them to arrive
        assert solution.objective == pytest.approx(result, abs=1e-6)


@given(
    cases(max_cells=20),
    st.sampled_from(POWERS),
    st.sampled_from([1.0, 1.5, 2.0]),
    st.sampled_from(["lq", "lqpht"]),
    st.sampled_from([0.003, 0.5]),
)
def test_every_problem_converges(case, power, alpha, classes, scale):
    """Ties, categories, a single presence, densities that collapse onto a few cells."""
    assume(np.abs(case.x).max() < 1e5 and case.dense(classes, 3))
    problem = make_pair(case, alpha, "lp", classes=classes, scale=scale, power=power).problem
    solution = solve_newton(problem)
    assert solution.status == "converged", solution
    assert solution.gap <= 1e-6


def test_the_ends_are_l1_and_l2():
    """The dual ball of a power near 2 is the l2 ball, and near 1 the box."""
    case = small_case(12)
    for power, name in ((1.9999, "l2"), (1.0001, "l1")):
        near = solve_newton(make_pair(case, 1.0, "lp", classes="lq", scale=0.03, power=power).problem)
        end = solve_newton(make_pair(case, 1.0, name, classes="lq", scale=0.03).problem)
        assert near.status == "converged"
        assert near.objective == pytest.approx(end.objective, abs=1e-3)
        np.testing.assert_allclose(near.p, end.p, rtol=0.02)


@pytest.mark.parametrize("power", [1.1, 1.9])
def test_a_copy_of_a_feature_shares_its_weight(power):
    """A norm of two equal weights is 2^(1/p) of one of them: more than half of what one weight would cost."""
    case = small_case(13, variables=1)
    twice = Case(np.hstack([case.x, case.x]), (), case.q0, case.sample)
    pair = make_pair(twice, 1.0, "lp", classes="l", power=power)
    pair.problem.penalty.beta[:] = pair.dense.beta[:] = 0.05
    solution = solve_newton(pair.problem, tolerance=1e-11)
    first, second = solution.weights
    assert first == pytest.approx(second, rel=1e-3)
    assert solution.objective == pytest.approx(pair.dense.optimum(), abs=1e-8)
    one = make_pair(case, 1.0, "lp", classes="l", power=power)
    one.problem.penalty.beta[:] = 0.05 * 2.0 ** (1.0 / power - 1.0)
    assert solve_newton(one.problem, tolerance=1e-11).objective == pytest.approx(solution.objective, abs=1e-9)


def test_weights_within_the_dual_ball_stay_zero():
    problem = make_pair(small_case(8), 1.0, "lp", scale=1e6).problem
    solution = solve_newton(problem)
    assert solution.iterations == 1
    assert solution.gap == 0.0
    assert not solution.weights.any()


def test_a_start_with_zeros_is_left(monkeypatch):
    """A weight that is zero has no curvature that a step in the weights could use."""
    problem = make_pair(small_case(14), 1.0, "lp", classes="lq", scale=0.01).problem
    assert isinstance(problem.penalty, LpNorm)
    cold = solve_newton(problem, tolerance=1e-10)
    start = np.where(np.arange(cold.weights.size) == 0, 1.0, 0.0)
    warm = solve_newton(problem, start=start, tolerance=1e-10)
    assert np.count_nonzero(warm.weights) == warm.weights.size
    assert warm.objective == pytest.approx(cold.objective, abs=2e-10)


def test_thousands_of_features_through_the_oracles():
    """A hinge and a threshold at every value: no matrix is made, and the gap is still over all of them."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(500, 2))
    x[:40] += 0.8
    model = Maxent("lqht", "lp", knots="all").fit(x, np.repeat([1, 0], [40, 460]))
    assert model.feature_set_.size > 2000
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-6
