"""The certificate: at *any* weights the gap is at least the true distance to the optimum, and never negative."""

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import cases, combinations, make_pair, seeds, small_case

from sdm.maxent.solvers.newton import solve_newton
from sdm.maxent.solvers.newton_cg import corrected_gap, free_gap
from sdm.maxent.solvers.search import SolverRun

ROUNDING = 1e-9

problems = (cases(max_cells=15, max_variables=2), st.sampled_from(combinations), st.sampled_from([0.01, 0.1, 0.5]))


def near_zero(case):
    """Far from zero, scaled squares carry rounding of their own, which is not what is tested here."""
    return np.abs(case.x).max() < 1e5


def best_known(pair):
    """The least objective that anything found: an upper bound on the minimum, but for rounding, which is added."""
    result = solve_newton(pair.problem, tolerance=1e-12)
    return min(result.objective + naive.ROUNDING * np.abs(result.weights).sum(), pair.dense.optimum())


@given(*problems, seeds, st.sampled_from([0.0, 0.1, 1.0, 10.0]))
def test_the_gap_bounds_the_distance_at_arbitrary_weights(case, combination, penalty_weight, seed, size):
    """This is the proof that every fit prints. If it can be less than the truth, it proves nothing."""
    assume(near_zero(case) and case.dense("lq", 3))
    pair = make_pair(case, *combination, scale=penalty_weight)
    rng = np.random.default_rng(seed)
    lam = size * rng.normal(size=pair.problem.features.size) * (rng.random(pair.problem.features.size) < 0.6)
    state = pair.problem.state(lam)
    gap = pair.problem.gap(state)
    distance = state.objective - best_known(pair)
    assert gap >= -ROUNDING * (1 + abs(state.objective))
    assert gap >= distance - ROUNDING * (1 + abs(state.objective))


@given(*problems, st.integers(1, 12))
def test_a_solution_cut_short_tells_the_truth(case, combination, penalty_weight, iterations):
    """Reaching the iteration limit is allowed; claiming to be nearer than one is would not be."""
    assume(near_zero(case) and case.dense("lq", 3))
    pair = make_pair(case, *combination, scale=penalty_weight)
    solution = solve_newton(pair.problem, max_iterations=iterations, tolerance=1e-12)
    assert solution.iterations <= iterations
    assert solution.gap >= 0.0
    assert np.isfinite(solution.gap)
    assert solution.gap >= solution.objective - best_known(pair) - ROUNDING
    assert solution.objective == pytest.approx(pair.problem.state(solution.weights).objective, abs=1e-12)


@given(*problems, seeds)
def test_the_bounds_of_a_run_combine(case, combination, penalty_weight, seed):
    """The best state of a run is certified by the best bound of any round, not only by its own."""
    assume(near_zero(case) and case.dense("lq", 3))
    pair = make_pair(case, *combination, scale=penalty_weight)
    rng = np.random.default_rng(seed)
    run, gaps, objectives = SolverRun(pair.problem, 1e-12), [], []
    best = best_known(pair)
    for _ in range(5):
        state = pair.problem.state(0.5 * rng.normal(size=pair.problem.features.size))
        gap = pair.problem.gap(state)
        run.record(state, gap, 0)
        gaps.append(gap)
        objectives.append(state.objective)
        solution = run.finish("max_iterations")
        assert solution.objective == min(objectives)
        expected = min(objectives) - max(o - g for o, g in zip(objectives, gaps))
        assert solution.gap == pytest.approx(max(expected, 0.0), abs=1e-12)
        assert solution.gap >= solution.objective - best - ROUNDING


@given(cases(max_cells=15, max_variables=2), st.sampled_from([1.0, 1.5, 2.0]), seeds, st.sampled_from([0.0, 0.3, 3.0]))
def test_the_free_gap_bounds_the_distance_where_there_is_no_penalty(case, alpha, seed, size):
    """Without a penalty expectations must match exactly, which only a corrected distribution does."""
    assume(near_zero(case) and case.dense("lq", 3))
    pair = make_pair(case, alpha, "none")
    lam = size * np.random.default_rng(seed).normal(size=pair.problem.features.size)
    state = pair.problem.state(lam)
    gap = free_gap(pair.problem, state)
    assert gap >= state.objective - best_known(pair) - 1e-7 * (1 + abs(state.objective))


@pytest.mark.parametrize("alpha", [1.0, 1.2, 1.5, 2.0])
def test_near_the_optimum_the_free_gap_is_small(alpha):
    """The sample alone would certify nothing better than its own entropy, some nats."""
    problem = make_pair(small_case(4), alpha, "none").problem
    solution = solve_newton(problem, tolerance=1e-9)
    state = problem.state(solution.weights)
    assert solution.status == "converged"
    assert solution.gap <= 1e-9
    assert free_gap(problem, state) <= 1e-7
    assert problem.gap(state) > 0.1
    aside = problem.state(solution.weights + 1e-3)
    assert aside.objective - state.objective <= free_gap(problem, aside) <= 1e-4
    assert corrected_gap(problem, state, np.zeros_like(solution.weights)) >= -1e-12


@pytest.mark.parametrize("alpha, penalty", [c for c in combinations if c[1] != "none"])
def test_the_gap_closes_at_the_optimum(alpha, penalty):
    """A bound that stays open would let no fit end."""
    problem = make_pair(small_case(4), alpha, penalty).problem
    solution = solve_newton(problem, tolerance=1e-10)
    assert solution.status == "converged"
    assert solution.gap <= 1e-10
    assert -1e-12 <= problem.gap(problem.state(solution.weights)) <= 1e-7


def test_pinsker_the_gap_bounds_how_far_the_map_is_off():
    """Pinsker's inequality: total variation from the exact distribution is at most √(gap/2)."""
    problem = make_pair(small_case(6), 1.0, "l1", scale=0.02).problem
    exact = solve_newton(problem, tolerance=1e-13)
    for iterations in range(1, 6):
        rough = solve_newton(problem, max_iterations=iterations)
        assert 0.5 * np.abs(rough.p - exact.p).sum() <= np.sqrt(rough.gap / 2) + 1e-6
