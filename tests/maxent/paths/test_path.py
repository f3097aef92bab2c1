"""The path over multipliers: what it serves between its fits is as near the optimum as it says."""

import naive
import numpy as np
import pandas as pd
import pytest
from strategies import small_case

from sdm import Maxent
from sdm.errors import DataError, OptionError
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet
from sdm.features.finite.single import CategoryFamily
from sdm.maxent.entropy import Entropy
from sdm.maxent.paths.homotopy import track_path
from sdm.maxent.paths.multiplier import CertifiedPath, follow_path, pair_gap
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton


def case_path(alpha: float, epsilon: float, smallest: float = 0.05, seed: int = 4):
    case = small_case(seed)
    features = case.features("lqht", 4)
    beta = 0.05 * (1 + np.arange(features.size) % 3)
    entropy = Entropy(alpha)
    path = follow_path(features, case.sample, entropy, beta, epsilon=epsilon, smallest=smallest)
    return case, features, beta, entropy, path


@pytest.mark.parametrize("alpha, count", [(1.0, 1000), (1.5, 150), (2.0, 150)])
def test_between_fits_the_gap_never_exceeds_epsilon(alpha, count):
    """At random multipliers: the objective of what is served, from dense columns in extended precision, against an
    optimum that is solved for at that very multiplier."""
    epsilon = 1e-3
    case, features, beta, entropy, path = case_path(alpha, epsilon)
    columns = naive.matrix(case.dense("lqht", 4))
    rng = np.random.default_rng(1)
    low, high = path.knots[-1].multiplier, path.knots[0].multiplier
    mu = features.expectations(features.domain.measure(case.sample))
    worst = 0.0
    for t in np.exp(rng.uniform(np.log(low), np.log(high), count)):
        knot, gap = path.at(t)
        served = naive.Dense(columns, case.q0, case.sample, alpha, "l1", t * beta).objective(knot.weights)
        problem = Problem(features, case.sample, entropy, L1(t * beta), mu)
        optimum = solve_newton(problem, start=knot.weights, tolerance=1e-9)
        true = served - optimum.objective
        assert knot.objective_at(t) == pytest.approx(served, abs=1e-11)
        assert true <= gap + 1e-9
        assert gap <= epsilon
        worst = max(worst, true)
    assert path.certified
    assert worst > 0.05 * epsilon  # steps as long as the proof allows, not a fine grid


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_the_bound_between_fits_is_that_of_a_feasible_distribution(alpha):
    """The chord is proved by the mixture of the neighbours' distributions: within every penalty, with that entropy."""
    case, features, beta, entropy, path = case_path(alpha, 1e-2)
    columns = naive.matrix(case.dense("lqht", 4))
    mean = columns.T @ case.sample
    rng = np.random.default_rng(2)

    def feasible(knot):
        """A fit's distribution with as much of the sample as brings it within the penalties."""
        problem = Problem(features, case.sample, entropy, L1(knot.multiplier * beta))
        state = problem.state(knot.weights)
        share = problem.penalty.mixing(-state.eps)
        return (1 - share) * state.p + share * case.sample

    for _ in range(40):
        k = int(rng.integers(1, len(path.knots)))
        a, b = path.knots[k - 1], path.knots[k]
        share = rng.random()
        t = share * a.multiplier + (1 - share) * b.multiplier
        p = share * feasible(a) + (1 - share) * feasible(b)
        assert np.all(np.abs(columns.T @ p - mean) <= t * beta * (1 + 1e-9) + 1e-12)
        served, gap = path.at(t)
        proved = served.objective_at(t) + float(naive.omega(p, case.q0, alpha))
        assert proved <= 1e-2 + 1e-9
        assert proved >= -1e-12
        assert gap <= pair_gap(a, b)[0] + 1e-12


def strata_problem(seed: int, strata: int = 12):
    """Cells in strata, some without a record, under an uneven base measure; and the same as atoms."""
    rng = np.random.default_rng(seed)
    n = 300
    place = np.concatenate([np.arange(strata), rng.integers(0, strata, n - strata)])
    q0 = rng.random(n) + 0.2
    q0 /= q0.sum()
    taste = np.exp(rng.normal(size=strata))
    taste[:2] = 0.0
    cells = rng.choice(n, 80, p=q0 * taste[place] / (q0 * taste[place]).sum())
    sample = np.bincount(cells, minlength=n) / 80
    domain = Domain(place[:, None].astype(float), ["stratum"], ["stratum"], q0)
    m = np.bincount(place).astype(float)
    u, q = np.bincount(place, weights=q0) / m, np.bincount(place, weights=sample) / m
    return FeatureSet(domain, [CategoryFamily(domain)]), sample, u, q, m, place


def check_strata(seed):
    features, sample, u, q, m, place = strata_problem(seed)
    exact = track_path(u, q, m)
    path = follow_path(features, sample, Entropy(1.0), m, epsilon=1e-6, smallest=1.0 / (1.5 * exact.nu[-1]))
    assert path.knots[0].multiplier == pytest.approx(1.0 / exact.nu[0], rel=1e-9)
    rng = np.random.default_rng(seed)
    low, high = path.knots[-1].multiplier, path.knots[0].multiplier
    for t in np.concatenate([rng.uniform(low, high, 20), path.multipliers[:10]]):
        knot, gap = path.at(t)
        p = exact.p(1.0 / t)
        divergence = float(m @ (p * np.log(np.maximum(p, 1e-300) / u)))
        assert gap <= 1e-6
        assert -gap - 1e-9 <= -divergence - knot.objective_at(t) <= 1e-9
        problem = Problem(features, sample, Entropy(1.0), L1(t * m))
        mine = np.bincount(place, weights=problem.state(knot.weights).p)
        assert 0.5 * np.abs(mine - m * p).sum() <= np.sqrt(gap / 2) + 1e-9  # Pinsker


def test_with_strata_alone_it_is_the_homotopy():
    """A class's expectation is m_j p_j, so the tolerance 1/ν of p_j is the penalty m_j/ν: the multiplier is 1/ν."""
    for seed in range(5):
        check_strata(seed)


def test_the_path_starts_where_the_empty_model_stops_being_the_best():
    _, features, beta, entropy, path = case_path(1.0, 1e-3)
    case = small_case(4)
    first = path.knots[0]
    assert first.n_nonzero == 0
    assert path.at(10 * first.multiplier) == (first, 0.0)
    above, below = (
        solve_newton(Problem(features, case.sample, entropy, L1(t * first.multiplier * beta)), tolerance=1e-12)
        for t in (1.0 + 1e-9, 0.98)
    )
    assert above.n_nonzero == 0
    assert below.n_nonzero > 0


def test_the_path_is_in_order_and_ends_where_it_should():
    *_, path = case_path(1.0, 1e-3, smallest=0.07)
    assert np.all(np.diff(path.multipliers) < 0)
    assert path.knots[-1].multiplier == 0.07
    assert path.coefficients().shape == (len(path.knots), path.knots[0].weights.size)
    gains = [knot.gain for knot in path.knots]
    assert np.all(np.diff(gains) >= -1e-3)  # less penalty, more gain
    assert path.at(0.07)[0] is path.knots[-1]
    assert path.gap == max(pair_gap(a, b)[0] for a, b in zip(path.knots[:-1], path.knots[1:]))


def test_a_looser_gap_needs_fewer_fits():
    assert len(case_path(1.0, 1e-2)[-1].knots) < len(case_path(1.0, 1e-4)[-1].knots)


def test_a_fit_that_does_not_converge_is_told():
    """With one round a fit, the path is not certified, and says so: it neither fails nor claims."""
    case = small_case(4)
    features = case.features("lqht", 4)
    beta = np.full(features.size, 0.05)
    text: list[float] = []
    path = follow_path(
        features,
        case.sample,
        Entropy(1.0),
        beta,
        epsilon=1e-6,
        max_iterations=1,
        progress=lambda _, multiplier: text.append(multiplier),
    )
    assert not path.certified
    assert path.gap > 1e-6
    assert text == path.multipliers[1:].tolist()


def test_a_path_that_ends_above_its_start_is_the_empty_model():
    *_, path = case_path(1.0, 1e-3, smallest=1e6)
    assert isinstance(path, CertifiedPath)
    assert len(path.knots) == 1
    assert path.certified


def test_bradypus(bradypus: tuple[pd.DataFrame, np.ndarray]):
    """The path serves the multipliers that people fit one by one."""
    table, labels = bradypus
    model = Maxent("lqh", categorical=["ecoreg"]).fit(table, labels)
    problem = model.problem_
    path = follow_path(problem.features, problem.sample, problem.entropy, problem.penalty.beta, smallest=0.3)
    assert path.certified
    for multiplier in (4.0, 1.0, 0.5):
        fit = Maxent("lqh", categorical=["ecoreg"], multiplier=multiplier).fit(table, labels).solution_
        knot, gap = path.at(multiplier)
        assert -1e-6 <= knot.objective_at(multiplier) - fit.objective <= gap + 1e-6


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"epsilon": np.nan}, {"smallest": 0.0}, {"smallest": -1.0}])
def test_options_that_make_no_sense_are_refused(bad):
    case = small_case(4)
    features = case.features("l", 4)
    with pytest.raises(OptionError, match="expected a positive"):
        follow_path(features, case.sample, Entropy(1.0), np.ones(features.size), **bad)


def test_below_the_end_nothing_is_served():
    *_, path = case_path(1.0, 1e-2, smallest=0.2)
    with pytest.raises(OptionError, match=r"at least 0\.2, the end of the path"):
        path.at(0.1)


def test_a_sample_like_the_background_has_no_path():
    case = small_case(4)
    features = case.features("l", 4)
    with pytest.raises(DataError, match="no path"):
        follow_path(features, features.domain.q0, Entropy(1.0), np.ones(features.size))
