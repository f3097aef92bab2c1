"""The one problem that everything solves: its objective and gradient, for every entropy with every penalty."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import cases, combinations, make_pair, seeds, small_case


@given(cases(max_cells=20, max_variables=2), st.sampled_from(combinations), seeds)
def test_objective_and_expectations_equal_the_dense_ones(case, combination, seed):
    assume(case.dense("lqp", 3))
    pair = make_pair(case, *combination, classes="lqp")
    lam = np.random.default_rng(seed).normal(size=pair.problem.features.size)
    state = pair.problem.state(lam)
    far = np.abs(case.x).max() > 1e5  # scaled features far from zero carry rounding of their own
    assert state.objective == pytest.approx(pair.dense.objective(lam), rel=1e-9, abs=1e-4 if far else 1e-9)
    np.testing.assert_allclose(pair.problem.mu, case.sample @ pair.dense.f, atol=1e-4 if far else 1e-9)
    np.testing.assert_allclose(state.theta, pair.dense.f @ lam, atol=1e-4 if far else 1e-9)


@pytest.mark.parametrize("alpha, penalty", combinations)
def test_gradient_by_finite_differences(alpha, penalty):
    """A wrong gradient would make the solver stop where there is no optimum."""
    pair = make_pair(small_case(1), alpha, penalty)
    rng = np.random.default_rng(7)
    lam = rng.choice([-1, 1], pair.problem.features.size) * (0.2 + rng.random(pair.problem.features.size))
    state = pair.problem.state(lam)
    gradient = state.eps + pair.problem.penalty.gradient(lam)
    h = 1e-5
    for j, e in enumerate(np.eye(lam.size)):
        numeric = (pair.dense.objective(lam + h * e) - pair.dense.objective(lam - h * e)) / (2 * h)
        assert gradient[j] == pytest.approx(numeric, abs=1e-6)


@pytest.mark.parametrize("alpha, penalty", combinations)
def test_zero_weights_cost_nothing(alpha, penalty):
    """The gain is measured from the base measure: without weights it is zero."""
    problem = make_pair(small_case(2), alpha, penalty).problem
    state = problem.state(np.zeros(problem.features.size))
    assert state.objective == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(state.p, problem.q0, rtol=1e-14)
