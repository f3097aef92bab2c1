"""Intercepts cost nothing: the best are found for any weights, certified, and the same as scikit-learn's."""

import numpy as np
import pytest
from conditional import plain
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from sdm.conditional.intercepts import FREE_PENALTY, ConstantFamily, best_intercepts
from sdm.conditional.problem import ClassProblem
from sdm.estimators.classes import ConditionalMaxent
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet, build_features
from sdm.maxent.entropy import ClassEntropy
from sdm.maxent.penalty import make_penalty
from sdm.maxent.solvers.newton import solve_newton


def uncentred(classes, n=150):
    """Values far from zero, and classes of unequal frequency."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, 2))
    scores = 1.2 * x @ rng.normal(size=(2, classes)) + rng.gumbel(size=(n, classes)) + np.arange(classes)
    return x + np.array([30.0, -5.0]), np.argmax(scores, axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", ["l1", "l2sq"])
@pytest.mark.parametrize("penalty_weight", [1e-5, 3e-4, 1e-2])
def test_probabilities_are_those_of_scikit_learn(classes, penalty, penalty_weight):
    """Under weak and strong regularisation; its intercepts have no penalty."""
    x, label = uncentred(classes)
    ours = ConditionalMaxent("l", penalty, beta=penalty_weight, tolerance=1e-12).fit(x, label)
    assert ours.solution_.status == "converged"
    columns = np.array([ours.feature_set_.column(j) for j in range(1, ours.feature_set_.size)]).T
    strength = (2.0 if classes == 2 and penalty == "l2sq" else 1.0) / (label.size * penalty_weight)
    options = {"l1_ratio": 1.0, "solver": "saga"} if penalty == "l1" else {"solver": "lbfgs"}
    theirs = LogisticRegression(C=strength, tol=1e-12, max_iter=100_000, **options).fit(columns, label)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(columns), atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(x).mean(axis=0), np.bincount(label) / label.size, atol=1e-12)


@pytest.mark.parametrize("penalty", ["l1", "smoothed_l1", "l2", "l2sq", "elastic"])
@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_where_the_features_have_their_zero_is_of_no_consequence(penalty, alpha):
    """Variables turned round have features 1 − f."""
    x, label = uncentred(3)
    there, back = (
        ConditionalMaxent("l", penalty, entropy=alpha, beta=3e-3, tolerance=1e-9).fit(sign * x, label)
        for sign in (1, -1)
    )
    assert there.solution_.status == back.solution_.status == "converged"
    np.testing.assert_allclose(there.predict_proba(x), back.predict_proba(-x), atol=2e-4)
    assert there.solution_.objective == pytest.approx(back.solution_.objective, abs=2e-9)


def with_constant(x, targets, alpha, penalty, penalty_weight, free=FREE_PENALTY):
    """The engine's problem with a constant, and its features as columns."""
    domain = Domain(x, [f"v{v}" for v in range(x.shape[1])])
    built = build_features(domain, "lq", sample=domain.q0)
    features = FeatureSet(domain, [ConstantFamily(domain), *built.families])
    beta = np.full((len(targets), features.size), penalty_weight)
    beta[:, 0] = free
    problem = ClassProblem(features, targets, ClassEntropy(alpha), make_penalty(penalty, beta.ravel()))
    return problem, np.array([features.column(j) for j in range(features.size)]).T


@given(plain.sites(), st.sampled_from([1.0, 1.5, 2.0]), st.sampled_from(["l1", "l2sq", "elastic", "l2", "smoothed_l1"]))
def test_the_certificate_holds_at_any_weights_and_the_totals_match(case, alpha, penalty):
    x, _, shares = case
    targets = shares.T.copy()
    problem, _ = with_constant(x, targets, alpha, penalty, 0.02)
    solution = solve_newton(problem, tolerance=1e-8)
    assert solution.gap <= 1e-6
    rng = np.random.default_rng(1)
    for scale in (0.1, 1.0, 10.0):
        state = problem.state(scale * rng.normal(size=problem.mu.size))
        np.testing.assert_allclose(state.p @ problem.q0, targets @ problem.q0, atol=1e-11)
        assert problem.gap(state) >= state.objective - solution.objective - 1e-12
        assert problem.gap(state) < np.inf
    assert solution.objective - solution.gap <= problem.state(np.zeros(problem.mu.size)).objective


@pytest.mark.parametrize("alpha", [1.0, 2.0])
@pytest.mark.parametrize("penalty", ["l1", "l2sq"])
def test_a_slow_fit_with_a_free_constant_finds_the_same(alpha, penalty):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2))
    targets = rng.dirichlet([0.2, 0.5, 2.0], size=30).T.copy()
    problem, columns = with_constant(x, targets, alpha, penalty, 0.01)
    penalty_weight = np.full((3, columns.shape[1]), 0.01)
    penalty_weight[:, 0] = 0.0
    l1, l2 = (penalty_weight, 0.0) if penalty == "l1" else (0.0, penalty_weight)
    slow = plain.objective(
        plain.descend(columns, targets.T, alpha, l1, l2, rounds=4000), columns, targets.T, alpha, l1, l2
    )
    fast = solve_newton(problem, tolerance=1e-10)
    assert fast.status == "converged"
    assert fast.objective == pytest.approx(slow, abs=1e-6)
    assert slow >= fast.objective - fast.gap - 1e-12


def test_what_stands_for_the_penalty_of_a_constant_is_not_counted():
    x, label = uncentred(3)
    targets = np.eye(3)[label].T.copy()
    cheap, dear = (with_constant(x, targets, 1.0, "l1", 0.01, free)[0] for free in (FREE_PENALTY, 0.5))
    weights = np.random.default_rng(2).normal(size=cheap.mu.size)
    assert cheap.state(weights).objective == dear.state(weights).objective


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.7, 2.0])
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 1e3])
def test_totals_match_for_scores_of_any_size_and_rare_classes(alpha, size):
    """Also where a class has no probability anywhere before its intercept moves."""
    rng = np.random.default_rng(6)
    theta = size * rng.normal(size=(4, 400)) - 5.0 * size * np.arange(4)[:, None]
    q = rng.dirichlet(np.ones(400))
    totals = np.array([0.5, 0.4997, 2e-4, 1e-4])
    b, p, conjugate = best_intercepts(theta, q, totals, ClassEntropy(alpha))
    np.testing.assert_allclose(p @ q, totals, atol=1e-12)
    again, after = ClassEntropy(alpha).distributions(theta + b[:, None])
    np.testing.assert_array_equal(p, again)
    np.testing.assert_array_equal(conjugate, after)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [10.0, 700.0, 735.0, 740.0, 744.0, 1e4])
@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_two_classes_where_every_site_is_certain(alpha, far):
    """There is no curvature left that a step could be divided by, or hardly any."""
    rng = np.random.default_rng(0)
    apart = rng.choice([-far, far], 40) + rng.normal(size=40)
    theta, q, totals = np.array([apart, -apart]) / 2, np.full(40, 1 / 40), np.array([0.3, 0.7])
    _, p, _ = best_intercepts(theta, q, totals, ClassEntropy(alpha))
    np.testing.assert_allclose(p @ q, totals, atol=1e-12)
