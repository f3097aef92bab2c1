"""Column generation over growing families: its optimum, its certificate, its penalties, and what it is for."""

import numpy as np
import pytest

from sdm.assess.structure import family_shares, interactions
from sdm.errors import OptionError
from sdm.features.classes import parse_families
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet, build_features
from sdm.features.growing.monomial import MonomialOracle
from sdm.features.growing.oracles import ExactTreeOracle
from sdm.features.growing.tree import TreeOracle
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.penalty_weights import penalty_weights
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton, solve_structural
from sdm.maxent.solvers.structmaxent import solve_growing, solve_structmaxent1, solve_structmaxent2
from sdm.maxent.structural import FamilyPenalty, Growth, sample_complexity


def world(seed=0, n=400, m=40):
    """Cells with two useful variables, one useless and one categorical; presences where x0 > .5 and x1 < .5."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.random((n, 3)).round(2), rng.integers(0, 4, n)])
    suitable = np.where((x[:, 0] > 0.5) & (x[:, 1] < 0.5), 1.0, 0.02)
    present = rng.choice(n, m, p=suitable / suitable.sum())
    sample = np.bincount(present, minlength=n) / m
    return x, Domain(x, ["x0", "x1", "x2", "soil"], ["soil"]), sample


def begin(domain, sample, oracles, penalties, alpha=1.0, finite=None, beta=()):
    features = finite or FeatureSet(domain, [])
    return Growth(Problem(features, sample, Entropy(alpha), L1(np.array(beta, dtype=float))), oracles, penalties)


def grow(domain, sample, lam=0.05, beta=0.02, oracles=None, alpha=1.0, **options):
    oracles = oracles or [TreeOracle(domain, 3), MonomialOracle(domain, 2)]
    growth = begin(domain, sample, oracles, FamilyPenalty.from_bounds(lam, beta, oracles, 40), alpha)
    solution = solve_structural(growth, **options)
    return growth, solution, growth.problem.features


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_optimal_over_its_columns(alpha):
    _, domain, sample = world()
    growth, solution, features = grow(domain, sample, alpha=alpha, tolerance=1e-7)
    assert solution.status == "converged"
    fixed = solve_newton(Problem(features, sample, Entropy(alpha), L1(growth.beta)), tolerance=1e-9)
    assert solution.objective == pytest.approx(fixed.objective, abs=1e-6)


@pytest.mark.parametrize("version", [1, 2])
def test_the_papers_solvers_over_families_that_grow(version):
    """They go down in every round, reach the same optimum where oracles miss nothing, and need far more rounds."""
    _, domain, sample = world(1)
    oracles = [ExactTreeOracle(domain, 1), MonomialOracle(domain, 1)]
    penalties = FamilyPenalty.from_bounds(0.05, 0.05, oracles, 40)
    theirs = solve_growing(begin(domain, sample, oracles, penalties), version, max_iterations=5000)
    assert theirs.status == "converged"
    assert np.all(np.diff([item.objective for item in theirs.history]) <= 1e-12)
    ours = solve_structural(begin(domain, sample, oracles, penalties), tolerance=1e-7)
    assert theirs.objective == pytest.approx(ours.objective, abs=1.1e-4)
    assert theirs.iterations > 3 * ours.iterations


def test_all_solvers_agree_on_the_same_columns():
    _, domain, sample = world(1)
    growth, solution, features = grow(domain, sample, tolerance=1e-7)
    problem = Problem(features, sample, Entropy(1.0), L1(growth.beta))
    for solve in (solve_structmaxent1, solve_structmaxent2):
        other = solve(problem, tolerance=5e-7, max_iterations=50_000)
        assert other.objective == pytest.approx(solution.objective, abs=1e-6)
        assert other.iterations > 5 * solution.iterations


def check_certificate(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (30, 2)).astype(float)
    domain = Domain(x, ["a", "b"])
    sample = np.bincount(rng.choice(30, 8), minlength=30) / 8
    oracle = ExactTreeOracle(domain)
    growth, solution, _ = grow(domain, sample, 0.02, 0.02, [oracle], tolerance=1e-6)
    assert solution.status == "converged"
    # Every tree with two nodes there is, with its right penalty: none is violated by more than the gap allows.
    penalties = growth.family_penalty
    g = solution.p - sample
    for proposal in oracle.propose(g):
        assert proposal.violation <= penalties.of(oracle, proposal.shape.size) * (1 + 1e-5)


def test_exact_oracle_certifies_the_whole_class():
    for seed in range(4):
        check_certificate(seed)


def test_gap_is_not_below_the_truth_when_features_are_still_found():
    """A bound proved before a feature was known says nothing about the problem with it."""
    _, domain, sample = world(2)
    _, final, _ = grow(domain, sample, tolerance=1e-7, max_iterations=300)
    _, early, _ = grow(domain, sample, tolerance=1e-7, max_iterations=4)
    assert early.gap >= early.objective - final.objective - 1e-9


def test_lambda_zero_is_plain_l1():
    _, domain, _ = world(3)
    oracles = [TreeOracle(domain, 2)]
    penalties = FamilyPenalty.from_bounds(0.0, 0.07, oracles, 40)
    assert [penalties.of(oracles[0], k) for k in (1, 2)] == [0.07, 0.07]


def test_penalties_of_the_paper():
    _, domain, _ = world()
    trees, mono = TreeOracle(domain, 4), MonomialOracle(domain, 3)
    penalties = FamilyPenalty.from_bounds(0.5, 0.01, [trees, mono], 100)
    assert penalties.of(trees, 2) == pytest.approx(0.5 * np.sqrt(10 * np.log2(6) * np.log(101) / 100) + 0.01)
    assert penalties.of(mono, 3) == pytest.approx(0.5 * np.sqrt(6 * np.log(3) / 100) + 0.01)


@pytest.mark.parametrize("kind", [TreeOracle, MonomialOracle])
def test_a_constant_variable_adds_no_complexity(kind):
    """A layer that is the same everywhere changes no family of functions, so it must change no penalty."""
    x, domain, sample = world()
    wider = Domain(np.column_stack([x, np.full(len(x), 7.0)]), ["x0", "x1", "x2", "soil", "flat"], ["soil"])
    with_it, without = kind(wider, 3), kind(domain, 3)
    for size in (1, 2, 3):
        assert with_it.complexity(size, 40) == without.complexity(size, 40)
    np.testing.assert_allclose(*(sample_complexity(o, o.domain, sample, draws=3) for o in (with_it, without)))


@pytest.mark.thorough
def test_sample_complexity_is_seeded_and_grows_with_size():
    _, domain, sample = world()
    oracle = TreeOracle(domain, 4)
    first, again = (sample_complexity(oracle, domain, sample, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.all(np.diff(first) >= 0)
    bound = FamilyPenalty.from_bounds(1.0, 0.0, [oracle], 40).bounds[oracle.name]
    assert np.all(first < bound)


def test_ordinary_families_beside_trees_keep_their_own_penalty():
    _, domain, sample = world(5)
    finite = build_features(domain, "lq", sample=sample)
    beta = penalty_weights(finite, sample, 40)
    oracles = [TreeOracle(domain, 3)]
    penalties = FamilyPenalty.from_bounds(0.05, 0.02, oracles, 40)
    growth = begin(domain, sample, oracles, penalties, finite=finite, beta=beta)
    solution = solve_structural(growth, tolerance=1e-6)
    features = growth.problem.features
    assert solution.status == "converged"
    np.testing.assert_array_equal(growth.beta[: finite.size], beta)
    alone = solve_newton(Problem(finite, sample, Entropy(1.0), L1(beta)))
    assert solution.gain > alone.gain + 0.05
    shares = family_shares(Problem(features, sample, Entropy(1.0), L1(growth.beta)), solution.weights)
    assert any(share["family"].startswith("trees") and share["gain"] > 0 for share in shares)


def test_finds_the_rule_of_an_interaction():
    """Where either of two conditions holds but not both, thresholds of single variables see nothing at all."""
    rng = np.random.default_rng(6)
    x = np.column_stack([rng.random((3000, 3)).round(2), rng.integers(0, 4, 3000)])
    domain = Domain(x, ["x0", "x1", "x2", "soil"], ["soil"])
    either = (x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)
    suitable = np.where(either, 1.0, 0.02)
    sample = np.bincount(rng.choice(3000, 150, p=suitable / suitable.sum()), minlength=3000) / 150
    growth, solution, features = grow(domain, sample, 0.05, 0.02, [TreeOracle(domain, 3, roots=4)], tolerance=1e-4)
    problem = Problem(features, sample, Entropy(1.0), L1(growth.beta))
    first = interactions(problem, solution.weights)[0]
    assert (first["first"], first["second"]) == ("x0", "x1")
    thresholds = build_features(domain, "t", knots="all", sample=sample)
    penalties = penalty_weights(thresholds, sample, 150)
    plain = solve_newton(Problem(thresholds, sample, Entropy(1.0), L1(penalties)), tolerance=1e-5)
    result, missed = (s.p[either].sum() for s in (solution, plain))
    assert result > 0.8
    assert missed < 0.65
    best = features.families[-1].shapes[int(np.argmax(np.abs(solution.weights)))]
    assert {int(v) for v in best.var} == {0, 1}


def test_a_sample_like_the_base_measure_needs_nothing():
    _, domain, _ = world()
    _, solution, _ = grow(domain, np.full(domain.n, 1 / domain.n))
    assert solution.status == "converged"
    assert solution.n_nonzero == 0


def test_families_by_text():
    assert parse_families("l,q,h,trees:8,mono:4", 100) == ("lqh", {"trees": 8, "mono": 4})
    assert parse_families("trees:2", 100) == ("", {"trees": 2})
    for bad in ("trees", "trees:0", "trees:x", "lqh", "bushes:3,trees:2"):
        with pytest.raises(OptionError):
            parse_families(bad, 100)
