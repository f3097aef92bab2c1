"""What a duality gap implies for the map, and the sentence that says what it covers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import cases, make_pair, seeds, small_case

from sdm.maxent.certificate import certified_found, cloglog_bounds
from sdm.maxent.penalty import PENALTIES
from sdm.maxent.solvers.newton import solve_newton

ROUNDING = 1e-13  # of a gap


def cloglog(p, q0):
    """Compute the cloglog values of all cells of a domain from their definition."""
    there = p > 0
    entropy = -np.sum(p[there] * np.log(p[there] / q0[there] / p.size))
    return 1 - np.exp(-p / q0 / p.size * np.exp(entropy))


def differences(q0, p, other):
    """Return the largest and the mean difference between the cloglog values of two distributions."""
    away = np.abs(cloglog(p, q0) - cloglog(other, q0))
    return np.array([away.max(), q0 @ away])


@given(
    cases(max_cells=15, max_variables=2),
    st.sampled_from(PENALTIES),
    st.sampled_from([0.05, 0.5]),
    seeds,
    st.sampled_from([0.0, 0.01, 0.1, 1.0]),
)
def test_no_map_is_farther_from_the_optimum_than_the_bounds_say(case, penalty, scale, seed, size):
    """At any weights, near the optimum and far from it: a map that differs by more would make the claim false."""
    assume(np.abs(case.x).max() < 1e5 and case.dense("lq", 3))
    problem = make_pair(case, 1.0, penalty, scale=scale).problem
    best = solve_newton(problem, tolerance=1e-12)
    assume(best.gap < 1e-10)
    rng = np.random.default_rng(seed)
    state = problem.state(best.weights + size * rng.normal(size=best.weights.size))
    bounds = cloglog_bounds(state.p, problem.q0, problem.gap(state) + ROUNDING)
    apart = cloglog_bounds(best.p, problem.q0, best.gap + ROUNDING)  # the solution from the optimum
    assert np.all(differences(problem.q0, state.p, best.p) <= np.add(bounds, apart))


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_fit_that_is_cut_short_is_as_near_as_its_bounds_say(rounds):
    problem = make_pair(small_case(3, n=400, presences=40), 1.0, "l1", scale=0.02).problem
    best = solve_newton(problem, tolerance=1e-13)
    short = solve_newton(problem, max_iterations=rounds, tolerance=1e-13)
    assert best.gap < 1e-12
    result = differences(problem.q0, short.p, best.p)
    assert np.all(result <= np.add(cloglog_bounds(short.p, problem.q0, short.gap), 1e-4))
    assert result[0] > 1e-6


def test_the_bounds_are_attained_up_to_a_factor():
    """A distribution at exactly this divergence, all of it in one cell, is nearly as far away as the bound allows."""
    p, gap = np.full(1000, 1e-3), 1e-5
    shares = 1e-3 + np.linspace(0, 1e-3, 10_000)
    divergence = shares * np.log(shares / 1e-3) + (1 - shares) * np.log((1 - shares) / 0.999)
    other = np.full(1000, (1 - shares[divergence <= gap][-1]) / 999)
    other[0] = shares[divergence <= gap][-1]
    away = np.abs(cloglog(other, p) - cloglog(p, p)).max()
    largest, _ = cloglog_bounds(p, p, gap)
    assert away <= largest <= 1.2 * away


def test_the_default_tolerance_gives_a_useful_bound():
    """10,000 cells, and a fit whose gap is the tolerance: two digits of each cell, three on average."""
    theta = np.random.default_rng(1).normal(size=10_000)
    p, q0 = np.exp(theta) / np.exp(theta).sum(), np.full(10_000, 1e-4)
    largest, mean = cloglog_bounds(p, q0, 1e-6)
    assert largest < 0.06
    assert mean < 0.003
    assert cloglog_bounds(p, q0, 0.0) == (0.0, 0.0)


def test_without_a_density_somewhere_nothing_is_bounded():
    assert cloglog_bounds(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 1e-9) == (1.0, 1.0)


def test_features_that_were_searched_for_are_an_estimate_unless_the_search_is_exhaustive():
    assert certified_found(1e-5, 20, ["exacttrees:2"])["covers"] == "model"
    searched = certified_found(1e-5, 20, ["trees:8", "mono:4"])
    assert searched["covers"] == "features found"
    assert "only an estimate for all of trees:8 and mono:4" in searched["text"]
