"""Parts inside newton: the small quadratic with an l1 penalty, the Hessian of a few columns, the line search."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import make_pair, seeds, small_case

from sdm.maxent.columns import ColumnPool
from sdm.maxent.solvers import subproblem
from sdm.maxent.solvers.search import SolverRun, line_search
from sdm.maxent.solvers.subproblem import solve_l1_quadratic


def violation(h, c, beta, z):
    """Distance of −(Hz + c) from β ∂|z|."""
    r = h @ z + c
    return np.where(z == 0, np.maximum(np.abs(r) - beta, 0), np.abs(r + beta * np.sign(z))).max()


@given(seeds, st.integers(1, 12), st.booleans(), st.sampled_from([0.01, 0.3, 3.0]))
def test_the_quadratic_is_solved(seed, size, singular, penalty_weight):
    """Also where copies of a feature make it singular."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(2 * size, size))
    if singular and size > 1:
        a[:, -1] = a[:, 0]
    h, c = a.T @ a / size, a.T @ rng.normal(size=2 * size)  # c in the range of H: a minimum exists
    beta = penalty_weight * (0.5 + rng.random(size))
    start = rng.normal(size=size) * (rng.random(size) < 0.5)
    z, solved = solve_l1_quadratic(h, c, beta, start)
    assert solved
    assert violation(h, c, beta, z) <= 1e-7 * (1 + np.abs(c).max())
    np.testing.assert_array_equal(solve_l1_quadratic(h, c, beta, start)[0], z)


def ill_scaled(seed, size, scale, kind):
    """Return a quadratic of `kind`: features at scales from 1/scale to scale, copies, penalties over 12 decades."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3 * size, size))
    half = size // 2
    if "copies" in kind:
        a[:, size - half :] = a[:, :half] + (1e-9 if "near" in kind else 0.0) * rng.normal(size=(3 * size, half))
    a *= 10.0 ** rng.uniform(-np.log10(scale), np.log10(scale), size) if "scales" in kind else scale
    h, c = a.T @ a / size, a.T @ rng.normal(size=3 * size) / size
    beta = 10.0 ** rng.uniform(-12, 0, size) if "decades" in kind else 0.01 * (0.5 + rng.random(size))
    return h, c, beta, rng.normal(size=size) * (rng.random(size) < 0.5)


KINDS = [
    "scales",
    "decades",
    "scales decades",
    "copies",
    "copies decades",
    "near copies",
    "near copies decades",
    "near copies scales decades",
]


def check_promise(seed, size, scale, kind):
    """The violation, in extended precision, is within the tolerance or the rounding of the sums in it."""
    h, c, beta, start = ill_scaled(seed, size, scale, kind)
    z, solved = solve_l1_quadratic(h, c, beta, start)
    h, z = h.astype(np.longdouble), z.astype(np.longdouble)
    slope = h @ z + c
    beyond = np.where(z == 0, np.maximum(np.abs(slope) - beta, 0), np.abs(slope + beta * np.sign(z)))
    rounding = 1e-15 * np.sqrt(size) * (np.abs(c) + np.abs(h) @ np.abs(z))
    assert solved
    assert np.all(beyond <= np.maximum(1e-10 * beta.max(), rounding))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_ill_scaled_systems_are_solved_to_the_promised_violation(kind, scale):
    """Most systems with copies were given up after 200 turns: differences of values were lost in rounding."""
    for seed in range(3):
        check_promise(seed, int(np.random.default_rng(seed).integers(1, 40)), scale, kind)


@pytest.mark.thorough
@given(seeds, st.integers(1, 80), st.floats(0, 6), st.sampled_from(KINDS))
@settings(max_examples=3000, deadline=None)
def test_every_ill_scaled_system_is_solved(seed, size, decades, kind):
    check_promise(seed, size, 10.0**decades, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_solution_is_as_good_as_that_of_every_combination_of_signs(kind):
    """Solve each support with each combination of signs; the least feasible value is the minimum."""
    h, c, beta, start = ill_scaled(5, 4, 10.0, kind)
    z, _ = solve_l1_quadratic(h, c, beta, start)

    def value(z):
        return 0.5 * z @ h @ z + c @ z + beta @ np.abs(z)

    least = 0.0
    for signs in itertools.product([-1.0, 0.0, 1.0], repeat=4):
        signs = np.array(signs)
        used = np.flatnonzero(signs)
        trial = np.zeros(4)
        trial[used] = np.linalg.lstsq(h[np.ix_(used, used)], -(c + beta * signs)[used], rcond=None)[0]
        if np.all(trial * signs >= 0.0):
            least = min(least, value(trial))
    assert value(z) <= least + 1e-12 * np.abs(c).max()


def test_turns_that_run_out_are_reported(monkeypatch):
    monkeypatch.setattr(subproblem, "TURNS", 0)
    z, solved = solve_l1_quadratic(np.eye(2), np.array([1.0, -3.0]), np.ones(2), np.zeros(2))
    assert not solved
    assert z.tolist() == [0.0, 0.0]
    assert solve_l1_quadratic(np.eye(2), np.array([1.0, -1.0]), np.ones(2), np.zeros(2))[1]


@pytest.mark.parametrize("leaving", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("size", [61, 160])
def test_many_weights_leave_a_large_support(size, leaving):
    """Few of them, or more than one factorisation serves; the curvature is nearly flat in some directions."""
    rng = np.random.default_rng(size)
    a = rng.normal(size=(2 * size, size)) @ np.diag(np.geomspace(1, 1e-4, size)) @ rng.normal(size=(size, size))
    h = a.T @ a / size + 1e-6 * np.eye(size)
    best = rng.normal(size=size)
    beta = 10.0 ** rng.uniform(-4, -2, size=size) * h.max()
    c = -h @ best - beta * np.sign(best)  # the optimum is `best`, but for those whose slope is then pulled inside
    away = rng.random(size) < leaving
    c[away] += (1.0 + 0.5 * rng.random(away.sum())) * beta[away] * np.sign(best[away])
    z, _ = solve_l1_quadratic(h, c, beta, rng.normal(size=size))
    assert violation(h, c, beta, z) <= 1e-9 * beta.max() + 1e-14 * (np.abs(h) @ np.abs(z)).max()
    assert np.any(z == 0) or leaving == 0.0
    if leaving == 0.0:
        np.testing.assert_allclose(z, best, rtol=1e-5, atol=1e-7)


def test_a_penalty_below_rounding_is_not_waited_for(monkeypatch):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(300, 100)) @ np.diag(np.geomspace(1, 1e-3, 100))
    solves = []
    settle = subproblem._settle
    monkeypatch.setattr(subproblem, "_settle", lambda *given: solves.append(1) or settle(*given))
    h, c, beta = a.T @ a, a.T @ rng.normal(size=300), np.full(100, 1e-14)
    z, _ = solve_l1_quadratic(h, c, beta, np.zeros(100))
    assert violation(h, c, beta, z) <= 1e-14 * (np.abs(c) + np.abs(h) @ np.abs(z)).max()
    assert len(solves) <= 20


def test_an_optimum_stays():
    rng = np.random.default_rng(4)
    a = rng.normal(size=(50, 20))
    h, c, beta = a.T @ a, 10 * rng.normal(size=20), np.full(20, 5.0)
    z, _ = solve_l1_quadratic(h, c, beta, np.zeros(20))
    np.testing.assert_array_equal(solve_l1_quadratic(h, c, beta, z)[0], z)


def test_the_start_is_left_alone():
    start = np.array([1.0, -1.0])
    solve_l1_quadratic(np.eye(2), np.ones(2), np.ones(2), start)
    assert start.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("numbers", [1, 28, 256, 40_000])
def test_hessian_of_some_columns(numbers):
    case = small_case(41, n=100)
    features = case.features("lqph", 4)
    members = np.array([0, 3, 5, features.size - 1])
    w = np.random.default_rng(0).random(100)
    columns = naive.matrix(case.dense("lqph", 4))[:, members]
    expected = columns.T @ (np.diag(w) - np.outer(w, w) / w.sum()) @ columns
    actual = ColumnPool(features).hessian(members, w, numbers)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4 * expected.max())
    assert np.linalg.eigvalsh(actual).min() > 0


def test_a_rough_hessian_is_near_the_exact_one():
    case = small_case(42, n=5000, presences=50)
    features = case.features("lq")
    members = np.arange(features.size)
    w = case.q0
    exact = ColumnPool(features).hessian(members, w)
    np.testing.assert_allclose(ColumnPool(features, 5).hessian(members, w), exact, rtol=0.3, atol=4e-3)


def test_a_rough_hessian_where_no_chosen_cell_has_weight():
    """All of the density can lie between the cells that are looked at: then all are."""
    case = small_case(43, n=100)
    features = case.features("lq")
    w = np.zeros(100)
    w[[1, 3, 5]] = 1.0
    members = np.arange(features.size)
    exact = ColumnPool(features).hessian(members, w)
    np.testing.assert_array_equal(ColumnPool(features, 2).hessian(members, w), exact)


def test_a_pool_that_was_interrupted_computes_again_what_it_had_not(monkeypatch):
    """A fit that was stopped by Ctrl-C leaves no column that was never computed to the next one."""
    case = small_case(44, n=100)
    features = case.features("lq")
    members, w = np.arange(features.size), case.q0
    pool, column = ColumnPool(features), type(features).column

    def interrupted(self, j):
        if j == 2:
            raise KeyboardInterrupt
        return column(self, j)

    monkeypatch.setattr(type(features), "column", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.hessian(members, w)
    monkeypatch.setattr(type(features), "column", column)
    np.testing.assert_array_equal(pool.hessian(members, w), ColumnPool(features).hessian(members, w))


def test_a_pool_goes_on_when_features_are_renumbered():
    case = small_case(44, n=100)
    features = case.features("lqph", 4)
    keep = np.arange(features.size) % 3 > 0
    pool = ColumnPool(features)
    pool.columns(np.arange(features.size))
    fewer = features.subset(keep)
    pool.renumber(fewer, keep)
    members = np.arange(fewer.size)
    for held_out, fresh in zip(pool.columns(members), ColumnPool(fewer).columns(members)):
        np.testing.assert_array_equal(held_out, fresh)


def test_the_line_search_goes_down_or_gives_up():
    problem = make_pair(small_case(44), 1.0, "l1", scale=0.01).problem
    state = problem.state(np.zeros(problem.features.size))
    down = -state.eps
    assert line_search(problem, state, down).objective < state.objective
    assert line_search(problem, state, 1e9 * down).objective < state.objective
    up = line_search(problem, state, -down)
    assert up is None or up.objective <= state.objective + 1e-14


def test_a_run_knows_when_it_is_stuck():
    problem = make_pair(small_case(44), 1.0, "l1", scale=0.01).problem
    state = problem.state(np.zeros(problem.features.size))
    run = SolverRun(problem, 1e-6)
    assert run.gap == np.inf
    for _ in range(8):
        run.record(state, 1.0, 0)
        assert not run.stuck()
    run.record(state, 1.0, 0)
    assert run.stuck()
    run.record(state, 0.5, 0)
    assert not run.stuck()
    assert run.gap == pytest.approx(0.5)


def test_a_weight_that_is_not_a_number_is_not_optimal():
    """A comparison with it is never true: it must not pass for small."""
    start = np.array([0.5, np.nan])
    with np.errstate(invalid="ignore"):
        _, optimal = solve_l1_quadratic(np.eye(2), np.array([-1.0, np.nan]), np.full(2, 0.1), start)
    assert not optimal
