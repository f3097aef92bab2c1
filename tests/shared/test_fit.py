"""The fit of a group: against slow proximal steps, against the engine, and its proof against the truth."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L2, make_penalty
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton
from sdm.shared.choice import without_block
from sdm.shared.factors import Factors, evaluate_factors, factor_gradient
from sdm.shared.fitting import fit_shared, lower_bound
from sdm.shared.problem import Records, SharedProblem
from sdm.shared.specific import SpecificParts


def make(seed: int, sites: int = 60, features: int = 5, species: int = 4, records: int = 40, odd: str = ""):
    """A problem, and the counts of records at its sites."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(sites, features))
    if odd == "copies":
        x = np.hstack([x, x[:, :2], x[:, :1] - x[:, 1:2]])
    q = rng.random(sites) + 0.1
    q /= q.sum()
    phi = x - q @ x
    phi /= np.sqrt(q @ phi**2)
    counts = np.zeros((sites, species))
    for s in range(species):
        chance = np.exp(phi @ rng.normal(scale=0.7, size=phi.shape[1]))
        n = 1 if odd == "one record" and s == 0 else max(1, records // (s + 1))
        np.add.at(counts[:, s], rng.choice(sites, n, p=chance / chance.sum()), 1.0)
    if odd == "identical":
        counts[:] = counts[:, :1]
    if odd == "apart":
        counts[:] = 0.0
        for s in range(species):
            counts[s * 3 : s * 3 + 3, s] = 2.0
    return shared_problem(phi, q, counts), phi, q, counts


def shared_problem(phi, q, counts) -> SharedProblem:
    site, species = np.nonzero(counts)
    total = counts.sum(axis=0)
    records = Records(site, species, counts[site, species] / total[species], total / total.sum())
    return SharedProblem(phi, q, records)


ODD = ("", "copies", "one record", "identical", "apart")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_the_optimum_is_that_of_slow_proximal_steps(odd: str, share: float) -> None:
    problem, phi, q, counts = make(3, sites=30, features=3, species=3, odd=odd)
    mu = share * problem.largest
    fit = fit_shared(problem, mu, tolerance=1e-9)
    least = naive.shared_proximal(phi, q, counts, mu)
    assert fit.objective == pytest.approx(least, abs=1e-8)
    assert fit.gap <= 1e-8
    assert naive.shared_objective(phi, q, counts, fit.weights, None, mu, None) <= fit.objective + 1e-12


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("share", "beta"), [(0.3, 0.2), (0.3, 0.6), (0.1, 0.4), (2.0, 0.1)])
def test_with_own_parts_the_optimum_is_that_of_slow_proximal_steps(odd: str, share: float, beta: float) -> None:
    problem, phi, q, counts = make(4, sites=30, features=3, species=3, odd=odd)
    mu, specific = share * problem.largest, beta * (1.0 + np.arange(problem.features * 3).reshape(-1, 3) / 10)
    fit = fit_shared(problem, mu, specific_beta=specific, tolerance=1e-9)
    least = naive.shared_proximal(phi, q, counts, mu, specific)
    assert fit.objective == pytest.approx(least, abs=1e-8)
    assert fit.gap <= 1e-8
    if share > 1.0:
        assert fit.factors.rank == 0
        assert np.any(fit.specific)
    if beta > 0.3:
        assert fit.factors.rank > 0
    again = naive.shared_objective(phi, q, counts, fit.factors.product, fit.specific, mu, specific)
    assert again == pytest.approx(fit.objective, abs=1e-9)


@given(
    seed=st.integers(0, 10_000),
    odd=st.sampled_from(ODD),
    share=st.floats(1e-3, 0.9),
    species=st.integers(1, 5),
    rank=st.integers(0, 4),
    size=st.floats(0.01, 3.0),
)
def test_the_gap_is_never_below_the_true_distance(seed, odd, share, species, rank, size) -> None:
    problem, phi, q, counts = make(seed, sites=30, features=3, species=species, records=12, odd=odd)
    mu = share * problem.largest
    best = fit_shared(problem, mu, tolerance=1e-10, max_steps=1000).objective
    rng = np.random.default_rng(seed)
    factors = Factors(
        size * rng.normal(size=(problem.features, rank)), size * rng.normal(size=(rank, species))
    ).balanced()
    state = evaluate_factors(problem, factors)
    gradient = problem.gradient(state.mass)
    assert lower_bound(problem, state, mu, gradient) <= best + 1e-9, "what no weights can be below"
    assert naive.shared_objective(phi, q, counts, factors.product, None, mu, None) >= best - 1e-9


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("seed", [1, 2])
def test_with_own_parts_the_bound_is_below_the_optimum_too(odd: str, seed: int) -> None:
    problem, *_ = make(seed, sites=30, features=3, species=3, records=12, odd=odd)
    mu = 0.2 * problem.largest
    beta = np.full((problem.features, 3), 0.2)
    best = fit_shared(problem, mu, specific_beta=beta, tolerance=1e-9).objective
    rng = np.random.default_rng(seed)
    for size in (0.01, 0.3, 3.0):
        factors = Factors(size * rng.normal(size=(problem.features, 2)), size * rng.normal(size=(2, 3))).balanced()
        state = evaluate_factors(problem, factors)
        assert lower_bound(problem, state, mu, problem.gradient(state.mass), beta) <= best + 1e-9


@pytest.mark.parametrize("share", [2.0, 0.1])
@pytest.mark.parametrize("beta", [1e-2, 1e-6, 1e-9])
@pytest.mark.parametrize("noise", [None, 0.0, 1e-9])
def test_tiny_penalties_of_own_parts_converge_with_copies_too(noise, beta, share) -> None:
    """The optimality condition was met to 1e-10 whatever the penalty, so that small ones left a gap of 0.4."""
    _, phi, q, counts = make(3, records=40, species=3)
    if noise is not None:
        phi = np.hstack([phi, phi[:, :3] + noise * np.random.default_rng(1).normal(size=(len(q), 3))])
    problem = shared_problem(phi, q, counts)
    fit = fit_shared(
        problem, share * problem.largest, specific_beta=np.full((problem.features, 3), beta), tolerance=1e-8
    )
    assert (fit.status, fit.gap <= 1e-8) == ("converged", True)
    gradient = problem.gradient(fit.state.mass) / problem.records.weight
    assert np.abs(gradient).max() <= beta * (1.0 + 1e-6) + 1e-14  # the optimality condition


def test_penalties_of_own_parts_over_twelve_decades() -> None:
    problem, *_ = make(3, species=3)
    beta = 10.0 ** np.random.default_rng(5).uniform(-12, 0, (problem.features, 3))
    fit = fit_shared(problem, 2.0 * problem.largest, specific_beta=beta, tolerance=1e-8)
    assert fit.gap <= 1e-4  # the gradient is known to 1e-16, which is 1e-4 of the smallest penalty
    assert (fit.status == "converged") == (fit.gap <= 1e-8)


def test_every_round_proves_a_gap_that_holds() -> None:
    problem, *_ = make(11, sites=200, features=12, species=6)
    mu = 0.05 * problem.largest
    best = fit_shared(problem, mu, tolerance=1e-11).objective
    fit = fit_shared(problem, mu, tolerance=1e-8)
    assert fit.status == "converged"
    for one in fit.history:
        assert one["gap"] >= one["objective"] - best - 1e-10


@pytest.mark.parametrize("penalty", [None, 0.05])
def test_the_gradient_of_the_factors_is_that_of_differences(penalty) -> None:
    """With specific parts too: they are at their best, so that their change adds nothing to the slope."""
    problem, *_ = make(5)
    rng = np.random.default_rng(1)
    factors = Factors(0.3 * rng.normal(size=(problem.features, 3)), 0.3 * rng.normal(size=(3, 4)))
    beta = None if penalty is None else np.full(factors.shape, penalty)
    if beta is not None:
        beta[0] = np.inf
    specific = None if beta is None else SpecificParts(problem, beta).none()
    state = evaluate_factors(problem, factors, specific)
    assert specific is None or np.any(state.weights != factors.product)
    gradient = factor_gradient(problem, state, 0.1)

    def value(at: Factors) -> float:
        return evaluate_factors(problem, at, specific).objective(0.1)

    for j in range(0, gradient.size, 5):
        step = np.zeros(gradient.size)
        step[j] = 1.0
        slope = (
            value(factors.with_flat(factors.flat + 1e-6 * step)) - value(factors.with_flat(factors.flat - 1e-6 * step))
        ) / 2e-6
        assert gradient[j] == pytest.approx(slope, abs=1e-7)


def engine(phi, q, counts, penalty):
    """One species fitted by the engine, to features that are variables: its value is that of scaled features."""
    domain = Domain(phi, [f"x{j}" for j in range(phi.shape[1])], (), q)
    sample = counts[:, 0] / counts.sum()
    features = build_features(domain, "l", sample=sample)
    span = np.array([a.hi - a.lo for a in domain.variables])  # the engine's features are scaled to [0, 1]
    return solve_newton(Problem(features, sample, Entropy(1.0), penalty(span)), tolerance=1e-11)


def test_one_species_is_the_l2_penalty_of_the_engine() -> None:
    """The nuclear norm of one column is its l2 norm; features here have one range, so that scaling is one number."""
    rng = np.random.default_rng(2)
    sites = 80
    phi = np.column_stack([rng.permutation(np.linspace(-1.7, 1.7, sites)) for _ in range(3)])
    q, counts = np.full(sites, 1 / sites), np.zeros((sites, 1))
    np.add.at(counts[:, 0], np.argsort(phi[:, 0])[-30:], 1.0)
    mu = 0.2
    fit = fit_shared(shared_problem(phi, q, counts), mu, tolerance=1e-10)
    solution = engine(phi, q, counts, lambda span: make_penalty("l2", mu / span))
    assert isinstance(make_penalty("l2", np.ones(3)), L2)
    assert fit.objective == pytest.approx(solution.objective, abs=1e-8)


def test_no_axis_enters_above_the_largest_strength() -> None:
    problem, *_ = make(7)
    assert fit_shared(problem, 1.001 * problem.largest).factors.rank == 0
    fit = fit_shared(problem, 0.99 * problem.largest, tolerance=1e-10)
    assert fit.factors.rank >= 1


def test_a_path_gives_what_single_fits_give() -> None:
    problem, *_ = make(8, sites=150, features=10, species=6)
    start = None
    for share in (0.5, 0.2, 0.05):
        mu = share * problem.largest
        warm, cold = fit_shared(problem, mu, start, tolerance=1e-9), fit_shared(problem, mu, tolerance=1e-9)
        assert warm.objective == pytest.approx(cold.objective, abs=1e-8)
        assert warm.factors.rank == cold.factors.rank
        start = warm.factors


def test_threads_give_the_same_bytes() -> None:
    problem, phi, q, _ = make(9, sites=5000, features=8, species=5, records=300)
    alone = fit_shared(problem, 0.1 * problem.largest)
    several = SharedProblem(phi, q, problem.records, threads=3)
    both = fit_shared(several, 0.1 * problem.largest)
    assert alone.weights.tobytes() == both.weights.tobytes()


def test_scales_that_differ_by_much() -> None:
    """Weak penalties and a site that has almost no mass: the value and its gap stay finite, and the gap closes."""
    problem, phi, q, counts = make(10, sites=40, features=4, species=3)
    q = q.copy()
    q[:5] *= 1e-9
    problem = shared_problem(phi, q / q.sum(), counts)
    fit = fit_shared(problem, 1e-4 * problem.largest, tolerance=1e-6)
    assert np.isfinite(fit.objective)
    assert fit.gap <= 1e-6


def test_without_a_block_the_problem_is_that_of_the_sites_that_are_left() -> None:
    problem, phi, q, counts = make(5)
    held_out = np.arange(len(q)) % 3 == 0
    part, left = without_block(problem, held_out, counts.sum(axis=0))
    expected = shared_problem(phi[~held_out], q[~held_out] / q[~held_out].sum(), counts[~held_out])
    np.testing.assert_allclose(left, counts[~held_out].sum(axis=0))
    np.testing.assert_allclose(part.q, expected.q)
    np.testing.assert_allclose(part.means, expected.means, atol=1e-15)
    np.testing.assert_allclose(part.records.weight, expected.records.weight)
