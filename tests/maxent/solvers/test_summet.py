"""SUMMET and PLUMMET: slower, proved to converge, and at the same optimum as newton."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import Case, cases, make_pair, small_case

from sdm.errors import OptionError
from sdm.maxent.penalty import BY_WEIGHT as PENALTIES
from sdm.maxent.solvers.newton import solve_newton
from sdm.maxent.solvers.summet import solve_plummet, solve_summet

SOLVERS = [solve_summet, solve_plummet]
solvers = pytest.mark.parametrize("solve", SOLVERS, ids=["summet", "plummet"])
penalties = pytest.mark.parametrize("penalty", PENALTIES)


@solvers
@penalties
def test_all_solvers_agree(solve, penalty):
    """Three programs with nothing in common but the problem: if they agree, none is wrong alone."""
    problem = make_pair(small_case(21, n=40), 1.0, penalty, classes="l", scale=0.05).problem
    exact = solve_newton(problem, tolerance=1e-9)
    solution = solve(problem, tolerance=1e-7)
    assert solution.status == "converged"
    assert solution.gap <= 1e-7
    assert solution.objective == pytest.approx(exact.objective, abs=2e-7)
    np.testing.assert_allclose(solution.p, exact.p, atol=1e-3)


@solvers
@penalties
def test_the_gain_never_falls(solve, penalty):
    """Theorem 14 and 21: every step increases Q."""
    problem = make_pair(small_case(22), 1.0, penalty, classes="lq", scale=0.05).problem
    history = solve(problem, max_iterations=200).history
    objectives = np.array([entry.objective for entry in history])
    assert len(history) > 3
    assert np.all(np.diff(objectives) <= 1e-14)


def step_from_zero(q, mu, beta, move):
    """δ₊ if it is positive, δ₋ if it is negative, else none: Fig. 3 and 5 at weight zero."""
    up, down = move(mu - beta, q), move(mu + beta, q)
    return np.where(up > 0, up, np.where(down < 0, down, 0.0))


def test_the_first_step_of_summet_is_that_of_the_paper():
    """Fig. 3: the one weight whose bound rises most."""
    pair = make_pair(small_case(26), 1.0, "l1", classes="lq", scale=0.01)
    q, mu, beta = pair.dense.q0 @ pair.dense.f, pair.dense.sample @ pair.dense.f, pair.dense.beta
    delta = step_from_zero(q, mu, beta, lambda t, q: np.log(t * (1 - q) / ((1 - t) * q)))
    gain = delta * mu - np.log(1 + np.expm1(delta) * q) - beta * np.abs(delta)
    lam = np.where(np.arange(delta.size) == np.argmax(gain), delta, 0.0)
    second = solve_summet(pair.problem, max_iterations=2).history[1]
    assert second.objective == pytest.approx(pair.dense.objective(lam), abs=1e-12)


def test_the_first_step_of_plummet_is_that_of_the_paper():
    """Fig. 5: all weights at once, for features that sum to at most one at every cell."""
    pair = make_pair(small_case(26), 1.0, "l1", classes="lq", scale=0.01)
    scale = pair.dense.f.sum(axis=1).max()
    q, mu = pair.dense.q0 @ pair.dense.f / scale, pair.dense.sample @ pair.dense.f / scale
    delta = step_from_zero(q, mu, pair.dense.beta / scale, lambda t, q: np.log(t / q))
    second = solve_plummet(pair.problem, max_iterations=2).history[1]
    assert second.objective == pytest.approx(pair.dense.objective(delta / scale), abs=1e-12)


@given(cases(max_cells=15, max_variables=2), st.sampled_from(SOLVERS), st.sampled_from(PENALTIES))
def test_cut_short_the_gap_still_bounds_the_distance(case, solve, penalty):
    assume(np.abs(case.x).max() < 1e5 and case.dense("lq", 3))
    pair = make_pair(case, 1.0, penalty)
    solution = solve(pair.problem, max_iterations=20)
    best = min(solve_newton(pair.problem, tolerance=1e-12).objective, pair.dense.optimum())
    assert solution.gap >= 0.0
    assert solution.gap >= solution.objective - best - 1e-8


@solvers
def test_one_iteration_is_reported(solve):
    problem = make_pair(small_case(23), 1.0, "l1", scale=0.01).problem
    solution = solve(problem, max_iterations=1)
    assert solution.status == "max_iterations"
    assert np.isfinite(solution.gap)


@solvers
@penalties
def test_a_warm_start_is_taken_up(solve, penalty):
    problem = make_pair(small_case(21, n=40), 1.0, penalty, classes="l", scale=0.05).problem
    start = solve_newton(problem, tolerance=1e-10).weights
    solution = solve(problem, start=start, tolerance=1e-6)
    assert solution.status == "converged"
    assert solution.iterations <= 2


@solvers
@pytest.mark.parametrize("alpha", [1.2, 2.0])
def test_other_entropies_are_refused(solve, alpha):
    problem = make_pair(small_case(24), alpha, "l1").problem
    with pytest.raises(OptionError, match="use solver='newton'") as caught:
        solve(problem)
    assert "\n" not in str(caught.value)


@solvers
def test_separable_data_without_a_penalty_end(solve):
    """They cannot converge there; they must still come back with a finite gap and weights."""
    case = small_case(25, n=20, presences=1)
    problem = make_pair(case, 1.0, "none", classes="lqp").problem
    solution = solve(problem, max_iterations=3000)
    assert solution.status in ("max_iterations", "stalled", "separable")
    assert np.isfinite(solution.gap)
    assert np.all(np.isfinite(solution.weights))


def told_apart(kind):
    """Presences that a single feature tells from other cells: at the top of a variable, between two values, …"""
    rng = np.random.default_rng(0)
    x, present, classes = {
        "top": (np.arange(20.0)[:, None], [19, 19], "l"),
        "bottom": (np.abs(np.arange(20.0) - 5)[:, None], [5], "lq"),
        "thresholds": (rng.normal(size=(40, 2)), [0, 1, 2, 3], "t"),
        "hinges": (rng.normal(size=(40, 1)), [0, 1, 2, 3], "h"),
    }[kind]
    sample = np.bincount(present, minlength=len(x)) / len(present)
    return make_pair(Case(x, (), np.full(len(x), 1 / len(x)), sample), 1.0, "none", classes=classes).problem


@pytest.mark.parametrize("kind", ["top", "bottom", "thresholds", "hinges"])
def test_cells_that_a_feature_tells_from_all_presences_lose_their_mass(kind):
    """Appendix G takes them away before it starts. Without that the solver never moved, and called it an optimum."""
    problem = told_apart(kind)
    newton = solve_newton(problem)
    solution = solve_summet(problem)
    assert solution.status == newton.status == "separable"
    assert "use a penalty" in solution.message
    assert solution.objective == pytest.approx(newton.objective, abs=1e-5)
    assert solution.gap <= 1e-6
    assert np.all(np.isfinite(solution.weights))
    if kind != "top":  # for PLUMMET a feature that every presence has is like any other
        parallel = solve_plummet(problem, max_iterations=2000)
        assert parallel.status == "separable"
        assert parallel.objective == pytest.approx(newton.objective, abs=0.01)
