"""The conditional problem: its certificate, and its optimum against slow fits and scikit-learn."""

import numpy as np
import pytest
from conditional import plain
from hypothesis import given
from hypothesis import strategies as st
from optimality import distance
from sklearn.linear_model import LogisticRegression

from sdm.conditional.intercepts import ConstantFamily
from sdm.conditional.problem import ClassProblem
from sdm.estimators.classes import ConditionalMaxent
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet, build_features
from sdm.maxent.columns import ColumnPool
from sdm.maxent.entropy import ClassEntropy
from sdm.maxent.penalty import make_penalty
from sdm.maxent.solvers.newton import newton_step, solve_newton

PENALTIES = ("l1", "l2sq", "elastic", "smoothed_l1")


def one_hot(label):
    return np.eye(label.max() + 1)[label].T.copy()


@given(plain.sites(), st.sampled_from([1.0, 1.3, 1.5, 2.0]), st.sampled_from(PENALTIES), st.booleans())
def test_the_optimum_is_certified_and_meets_its_condition(case, alpha, penalty, proportions):
    x, label, shares = case
    targets = shares.T.copy() if proportions else one_hot(label)
    problem = plain.make_problem(x, targets, alpha, penalty, 0.02)
    solution = solve_newton(problem, tolerance=1e-7)
    assert solution.gap <= 1e-5
    state = problem.state(solution.weights)
    assert state.objective == pytest.approx(solution.objective, abs=1e-12)
    assert distance(problem.penalty, state.lam, state.eps).max() < 1e-2 * np.sqrt(max(solution.gap, 1e-9) / 1e-9)


@given(plain.sites(), st.sampled_from([1.0, 1.5, 2.0]), st.sampled_from(PENALTIES), st.integers(0, 1000))
def test_the_gap_bounds_what_is_missing_from_any_weights(case, alpha, penalty, seed):
    x, label, _ = case
    problem = plain.make_problem(x, one_hot(label), alpha, penalty, 0.03)
    best = solve_newton(problem, tolerance=1e-9).objective
    state = problem.state(np.random.default_rng(seed).normal(size=problem.mu.size))
    gap = problem.gap(state)
    assert gap >= state.objective - best - 1e-7
    assert gap >= 0


@given(plain.sites(), st.sampled_from([1.0, 1.5, 2.0]))
def test_the_objective_is_that_of_the_definition(case, alpha):
    x, _, shares = case
    problem = plain.make_problem(x, shares.T.copy(), alpha, "l1", 0.02)
    w = np.random.default_rng(1).normal(size=(shares.shape[1], problem.features.size))
    beta = problem.penalty.beta.reshape(w.shape)
    expected = plain.objective(w, plain.dense(problem), shares, alpha, l1=beta)
    assert problem.state(w.ravel()).objective == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("penalty", ["l1", "l2sq", "elastic"])
@pytest.mark.parametrize("proportions", [False, True])
def test_a_slow_fit_finds_the_same(alpha, penalty, proportions):
    """Proximal gradient descent on dense features with sparsemax by sorting: nothing in common but the objective."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2))
    label = np.argmax(x @ rng.normal(size=(2, 3)) + rng.gumbel(size=(30, 3)), axis=1)
    targets = rng.dirichlet(np.full(3, 0.5), size=30).T.copy() if proportions else one_hot(label)
    problem = plain.make_problem(x, targets, alpha, penalty, 0.02)
    beta = problem.penalty.beta.reshape(3, -1)
    l1 = beta if penalty != "l2sq" else 0.0
    l2 = beta if penalty != "l1" else 0.0
    columns = plain.dense(problem)
    w = plain.descend(columns, targets.T, alpha, l1, l2, rounds=800)
    slow = plain.objective(w, columns, targets.T, alpha, l1, l2)
    fast = solve_newton(problem, tolerance=1e-8)
    assert fast.status == "converged"
    assert slow == pytest.approx(fast.objective, abs=1e-6)
    assert slow >= fast.objective - fast.gap - 1e-12


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("penalty", ["l2", "none"])
@pytest.mark.parametrize("dense", [True, False])
def test_a_slow_fit_finds_the_same_in_a_ball_and_without_penalty(monkeypatch, alpha, penalty, dense):
    if not dense:
        monkeypatch.setattr("sdm.conditional.problem.DENSE_WEIGHTS", 0)
    rng = np.random.default_rng(6)
    x = rng.normal(size=(40, 2))
    targets = rng.dirichlet(np.full(3, 0.8), size=40).T.copy()  # no weights tell proportions apart
    problem = plain.make_problem(x, targets, alpha, penalty, 0.02, classes="l", same=True)
    columns = plain.dense(problem)
    ball = 0.02 if penalty == "l2" else 0.0
    w = plain.descend(columns, targets.T, alpha, ball=ball, rounds=4000)
    slow = plain.objective(w, columns, targets.T, alpha) + ball * np.linalg.norm(w)
    fast = solve_newton(problem, tolerance=1e-8)
    assert fast.status == "converged"
    assert slow == pytest.approx(fast.objective, abs=1e-6)
    assert slow >= fast.objective - fast.gap - 1e-12
    eps = problem.state(fast.weights).eps
    assert np.max(distance(problem.penalty, fast.weights, eps)) < 1e-4


def test_without_penalty_labels_that_can_be_told_apart_are_reported():
    x = np.linspace(0, 1, 40)[:, None]
    problem = plain.make_problem(x, one_hot((x[:, 0] > 0.4).astype(int)), 1.0, "none", 1.0)
    solution = solve_newton(problem)
    assert solution.status == "separable"
    assert solution.objective < 0.05, "it goes on until next to nothing is left to gain"
    assert "use a penalty" in solution.message


def test_a_ball_that_holds_the_targets_needs_no_weights():
    x = np.random.default_rng(8).normal(size=(50, 2))
    problem = plain.make_problem(x, np.full((3, 50), 1 / 3), 1.0, "l2", 0.1)
    solution = solve_newton(problem)
    assert solution.status == "converged"
    assert not np.any(solution.weights)


def fixed(n=300, variables=3, classes=4, seed=2, intercept=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, variables))
    label = np.argmax(1.5 * x @ rng.normal(size=(variables, classes)) + rng.gumbel(size=(n, classes)), axis=1)
    domain = Domain(x, [f"v{v}" for v in range(variables)])
    built = build_features(domain, "lq", sample=domain.q0)
    families = built.families if intercept is None else (ConstantFamily(domain), *built.families)
    return label, FeatureSet(domain, families)


@pytest.mark.parametrize("penalty", ["l1", "l2sq"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [False, True])
def test_scikit_learn_finds_the_same_optimum(penalty, classes, intercept):
    """Multinomial logistic regression to 1e-5 in the objective; its intercept is free, ours costs next to nothing."""
    label, features = fixed(classes=classes, intercept=True if intercept else None)
    n, penalty_weight = label.size, 0.003
    beta = np.full((classes, features.size), penalty_weight)
    if intercept:
        beta[:, 0] = 1e-9
    targets = one_hot(label)
    problem = ClassProblem(features, targets, ClassEntropy(1.0), make_penalty(penalty, beta.ravel()))
    ours = solve_newton(problem, tolerance=1e-7)
    assert ours.status == "converged"
    columns = np.array([features.column(j) for j in range(features.size)]).T[:, int(intercept) :]
    if classes == 2:  # scikit-learn's binary model has one weight a feature, the difference of ours
        strength = 1.0 / (n * penalty_weight) if penalty == "l1" else 2.0 / (n * penalty_weight)
    else:
        strength = 1.0 / (n * penalty_weight)
    ratio = 1.0 if penalty == "l1" else 0.0
    theirs = LogisticRegression(
        l1_ratio=ratio, C=strength, solver="saga", fit_intercept=intercept, tol=1e-9, max_iter=20_000
    ).fit(columns, label)
    w, b = theirs.coef_, theirs.intercept_
    if classes == 2:
        w, b = np.vstack([-0.5 * w, 0.5 * w]), np.array([-0.5 * b[0], 0.5 * b[0]])
    weights = np.hstack([b[:, None], w]) if intercept else w
    assert problem.state(weights.ravel()).objective == pytest.approx(ours.objective, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 4])
def test_scikit_learn_finds_the_same_optimum_without_penalty(classes):
    label, features = fixed(n=600, classes=classes, intercept=True)
    problem = ClassProblem(
        features, one_hot(label), ClassEntropy(1.0), make_penalty("none", np.ones(classes * features.size))
    )
    ours = solve_newton(problem, tolerance=1e-8)
    assert ours.status == "converged"
    assert ours.gap <= 1e-8
    columns = np.array([features.column(j) for j in range(1, features.size)]).T
    theirs = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000).fit(columns, label)
    loss = -np.mean(theirs.predict_log_proba(columns)[np.arange(label.size), label])
    assert ours.objective == pytest.approx(loss, abs=1e-7)


def test_two_classes_are_the_binary_case():
    """Penalties are on the difference of two classes' weights: β|v| under l1, β v²/4 under l2²."""
    label, features = fixed(classes=2)
    y = label.astype(float)
    x = np.array([features.column(j) for j in range(features.size)]).T
    for penalty, l1, l2 in (("l1", 0.01, 0.0), ("l2sq", 0.0, 0.005), ("elastic", 0.01, 0.005)):
        problem = ClassProblem(
            features, one_hot(label), ClassEntropy(1.0), make_penalty(penalty, np.full(2 * features.size, 0.01))
        )
        ours = solve_newton(problem, tolerance=1e-9)
        first, second = ours.weights.reshape(2, -1)
        v = second - first
        margin = x @ v
        binary = np.mean(np.log1p(np.exp(margin)) - y * margin) + l1 * np.abs(v).sum() + 0.5 * l2 * np.sum(v**2)
        assert ours.objective == pytest.approx(binary, abs=1e-9)
        gradient = x.T @ (1 / (1 + np.exp(-margin)) - y) / y.size + l2 * v
        excess = np.where(v == 0, np.maximum(np.abs(gradient) - l1, 0.0), np.abs(gradient + l1 * np.sign(v)))
        assert excess.max() < 1e-5


def test_weighted_sites_count_as_often_as_they_weigh():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2))
    label = rng.integers(0, 3, 40)
    times = rng.integers(1, 4, 40)
    weighted = plain.make_problem(x, one_hot(label), 1.0, "l1", 0.01, classes="l", weight=times.astype(float))
    repeated = plain.make_problem(np.repeat(x, times, axis=0), one_hot(np.repeat(label, times)), 1.0, "l1", 0.01, "l")
    assert solve_newton(weighted).objective == pytest.approx(solve_newton(repeated).objective, abs=1e-6)


def test_many_smooth_weights_go_by_conjugate_gradients(monkeypatch):
    """Above the size of a direct solve the same optimum is found by products alone."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(80, 2))
    label = rng.integers(0, 3, 80)
    problem = plain.make_problem(x, one_hot(label), 1.5, "l2sq", 0.01)
    direct = solve_newton(problem, tolerance=1e-9)
    monkeypatch.setattr("sdm.conditional.problem.DENSE_WEIGHTS", 0)
    products = solve_newton(problem, tolerance=1e-9)
    assert products.status == direct.status == "converged"
    assert products.objective == pytest.approx(direct.objective, abs=1e-9)


def test_without_penalty_labels_told_apart_at_once_are_still_told_apart():
    """The first step may be along a direction in which the loss falls for ever: the model must have taken it."""
    rng = np.random.default_rng(3)
    x = np.vstack([rng.normal(size=(40, 2)) + shift for shift in ((0, 0), (20, 0), (0, 20))])
    label = np.repeat([0, 1, 2], 40)
    model = ConditionalMaxent("lqh", regularization="none").fit(x, label)
    assert model.solution_.status == "separable"
    assert np.array_equal(model.predict(x), label)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_the_hessian_is_that_of_the_definition(classes, alpha):
    rng = np.random.default_rng(6)
    x, label = rng.normal(size=(40, 2)), np.arange(40) % classes
    problem = plain.make_problem(x, one_hot(label), alpha, "l1", 0.02)
    state = problem.state(0.3 * rng.normal(size=problem.mu.size))
    w, columns, size = problem.curvature(state), plain.dense(problem), problem.features.size
    members = np.sort(rng.permutation(problem.mu.size)[: problem.mu.size - 2])  # not the same features of every class
    expected = np.zeros((members.size, members.size))
    for i in range(40):
        own = np.diag(w[:, i]) - np.outer(w[:, i], w[:, i]) / w[:, i].sum()
        expected += np.kron(own, np.outer(columns[i], columns[i]))[np.ix_(members, members)] / 40
    result = problem.hessian(ColumnPool(problem.features, capacity=size), members, w)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("penalty", ["l1", "elastic"])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-11])
def test_two_mirrored_classes_have_the_optimum_of_both(penalty, tolerance, monkeypatch):
    """Half of the weights are solved for: the objective is that of solving for all of them."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(60, 3))
    label = (x[:, 0] + rng.logistic(size=60) > 0).astype(int)
    problem = plain.make_problem(x, one_hot(label), 1.0, penalty, 0.01, "lqp", same=True)
    half = solve_newton(problem, tolerance=tolerance)
    size = problem.features.size
    np.testing.assert_array_equal(half.weights[:size], -half.weights[size:])
    state = problem.state(half.weights)
    assert problem.mirrored(state)
    step = newton_step(problem, state, ColumnPool(problem.features, capacity=size), np.arange(3))
    np.testing.assert_array_equal(step[:size], -step[size:])
    monkeypatch.setattr(ClassProblem, "mirrored", lambda *_: False)
    full = solve_newton(problem, tolerance=tolerance)
    assert half.gap <= tolerance
    assert half.objective == pytest.approx(full.objective, abs=2 * tolerance)
