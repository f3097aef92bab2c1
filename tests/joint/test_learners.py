"""Learners: primal and dual meet, optimality holds, Theorem 3, Corollaries 6 and 7 of the paper, checked by number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import brute
from joint.brute import MISSING, features_of, problem

from sdm.errors import OptionError
from sdm.joint.discriminant import Discriminant, LabelledSites, of_labels
from sdm.joint.graph import edgeless
from sdm.joint.learners.crf import _mixed_entropy, duality_gap, fit_crf
from sdm.joint.learners.learned_weights import Dual
from sdm.joint.learners.margin import MarginProblem, fit_m3n, solve_margin
from sdm.joint.learners.priors import divergence, posterior_variance, shrunk_eta
from sdm.joint.learners.registry import Learner
from sdm.joint.learners.shrinking import Limits, fit_laplace
from sdm.joint.likelihood import LogLoss
from sdm.maxent.solvers.lbfgs import minimise, pseudo_gradient


def log_loss(d, sites, w):
    total = 0.0
    for x, own, state in zip(sites.x, sites.labels, sites.states):
        values = np.array([w @ features_of(d, x, y) for y in brute.labelings(state)])
        total += np.log(np.exp(values).sum()) - w @ features_of(d, x, own)
    return total


@pytest.mark.parametrize("missing", MISSING)
def test_the_discriminant_is_its_definition(missing):
    """Scores, tables and moments are three faces of one function; learning needs all of them to agree."""
    d, sites = problem(1, missing)
    w = np.random.default_rng(2).normal(size=d.size)
    expected = sum(features_of(d, x, y) for x, y in zip(sites.x, sites.labels))
    np.testing.assert_allclose(d.moments(sites.x, *of_labels(d.forest, sites.labels), sites.states), expected)
    for i in range(3):
        score = brute.score(d.forest, d.unary(w, sites.x)[i], d.table(w), sites.labels[i])
        assert score == pytest.approx(w @ features_of(d, sites.x[i], sites.labels[i]))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("c", [0.05, 1.0])
def test_primal_and_dual_meet(missing, c):
    """The gap is what a user is told of the fit: both values are recomputed here over all labelings."""
    d, sites = problem(3, missing)
    variance = np.random.default_rng(4).uniform(0.5, 3.0, d.size)
    result = solve_margin(d, sites, c, variance, tolerance=1e-5, max_steps=500)
    labels = np.count_nonzero(sites.labels >= 0)
    primal = 0.5 * result.weights @ (result.weights / variance) + c * brute.hinge_of(d, sites)(result.weights)
    assert result.status == "converged"
    assert result.primal == pytest.approx(primal, rel=1e-9)
    assert 0 <= result.primal - result.objective < 1e-4 * c * labels
    assert result.gap == pytest.approx((result.primal - result.objective) / (c * labels))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("c", [10.0, 100.0, 1000.0])
def test_a_large_penalty_converges_by_default(missing, c):
    """The certificate is recomputed over all labelings, from either side."""
    d, sites = problem(8, missing, n=40)
    variance = np.ones(d.size)
    labels = np.count_nonzero(sites.labels >= 0)
    result = Learner("m3n", c).fit(d, sites, np.zeros(d.size, dtype=bool))
    assert result.status == "converged"
    assert result.gap <= 1e-3 * labels / sites.n
    primal = 0.5 * result.weights @ result.weights + c * brute.hinge_of(d, sites)(result.weights)
    assert result.objective == pytest.approx(primal, rel=1e-9)
    tight = solve_margin(d, sites, c, variance, tolerance=1e-5)
    assert tight.status == "converged"
    assert tight.objective <= primal <= tight.primal + result.gap * c * sites.n, "the true distance is within the gap"
    dual = tight.dual
    expected = tight.eta / c
    truth = sum(features_of(d, x, y) for x, y in zip(sites.x, sites.labels))
    np.testing.assert_allclose(truth - d.moments(sites.x, dual.nodes, dual.edges, sites.states), expected, atol=1e-9)
    for e, (s, t) in enumerate(d.forest.edges):
        both = (sites.labels[:, s] >= 0) & (sites.labels[:, t] >= 0)
        a, b, ab = dual.nodes[both, s], dual.nodes[both, t], dual.edges[both, e]
        assert np.all(np.minimum.reduce([ab, a - ab, b - ab, 1 - a - b + ab]) > -1e-9)
    np.testing.assert_allclose(result.weights, tight.weights, atol=0.05 * np.abs(tight.weights).max() + 0.3)


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("c", [0.1, 10.0, 1000.0])
def test_more_weights_than_a_matrix_holds_reach_the_same_optimum(monkeypatch, missing, c):
    d, sites = problem(3, missing)
    expected = solve_margin(d, sites, c, np.ones(d.size), tolerance=1e-4)
    monkeypatch.setattr("sdm.joint.learners.smoothing.LARGEST", 0)
    result = solve_margin(d, sites, c, np.ones(d.size), tolerance=1e-4)
    assert result.status == "converged"
    assert result.steps < 100
    assert result.primal == pytest.approx(expected.primal, abs=2e-4 * c * sites.labels.size)


@given(st.integers(0, 1000), st.sampled_from(MISSING), st.sampled_from([0.02, 0.5, 5.0]))
def test_marginals_stay_possible_and_the_dual_grows(seed, kind, c):
    """Steps outside the marginal polytope would make the dual's value, and so the certificate, a lie."""
    d, sites = problem(seed, kind, n=8)
    variance = np.ones(d.size)
    values = []
    dual = Dual.at_labels(d, sites)
    for _ in range(4):
        result = solve_margin(d, sites, c, variance, start=dual, tolerance=0.0, max_steps=1)
        dual = result.dual
        values.append(result.objective)
        assert result.gap >= -1e-12
        known = sites.labels >= 0
        for e, (s, t) in enumerate(d.forest.edges):
            both = known[:, s] & known[:, t]
            a, b, ab = dual.nodes[both, s], dual.nodes[both, t], dual.edges[both, e]
            assert np.all(np.minimum.reduce([ab, a - ab, b - ab, 1 - a - b + ab]) > -1e-9)
        assert np.all((dual.nodes[known] > -1e-9) & (dual.nodes[known] < 1 + 1e-9))
    assert np.all(np.diff(values) >= -1e-9)


def test_without_edges_m3n_is_one_svm_a_species():
    """An independent implementation must find the same weights."""
    svm = pytest.importorskip("sklearn.svm")
    d, sites = problem(5, n=40)
    d = Discriminant(edgeless(4), 3)
    result = fit_m3n(d, sites, 0.3, np.ones(d.size), tolerance=1e-8, max_steps=500)
    for s in range(4):
        y = 2.0 * sites.labels[:, s] - 1
        w = result.weights[3 * s : 3 * s + 3]
        value = 0.5 * w @ w + 0.3 * np.maximum(0, 1 - y * (sites.x @ w)).sum()
        fitted = svm.LinearSVC(loss="hinge", C=0.3, fit_intercept=False, tol=1e-10, max_iter=1_000_000)
        best = fitted.fit(sites.x, y).coef_[0]
        least = 0.5 * best @ best + 0.3 * np.maximum(0, 1 - y * (sites.x @ best)).sum()
        assert value == pytest.approx(least, rel=1e-6)
        np.testing.assert_allclose(w, best, atol=1e-3)


def test_theorem_3_the_gaussian_posterior_has_mean_eta():
    """P(w) ∝ N(w; 0, I) exp(Σ α ΔF): its mean, taken by numerical integration, is the M³N's weight vector."""
    d, sites = problem(6, n=15, size=2, features=2)
    result = fit_m3n(d, sites, 0.2, np.ones(d.size), tolerance=1e-8, max_steps=500)
    np.testing.assert_allclose(result.weights, result.eta, atol=1e-3)
    grid = np.linspace(-12, 12, 20_001)
    for k in range(d.size):
        density = np.exp(-0.5 * grid**2 + result.eta[k] * grid)
        density /= density.sum()
        assert density @ grid == pytest.approx(result.weights[k], abs=1e-5)
        assert density @ grid**2 - (density @ grid) ** 2 == pytest.approx(result.variance[k], abs=1e-8)


@given(st.floats(0.5, 200.0), st.floats(-0.95, 0.95))
def test_corollary_7_by_integration(lam, share):
    """Mean and variance of (√λ/2) e^{−√λ|w|} tilted by e^{ηw}, against closed forms; and Corollary 6's KL."""
    eta = share * np.sqrt(lam)
    rate_up, rate_down = np.sqrt(lam) - eta, np.sqrt(lam) + eta
    w = np.concatenate([np.linspace(-60 / rate_down, 0, 20_001), np.linspace(0, 60 / rate_up, 20_001)[1:]])
    log_p = -np.sqrt(lam) * np.abs(w) + eta * w
    p = np.exp(log_p)
    z = np.trapezoid(p, w)
    p /= z
    mean = np.trapezoid(p * w, w)
    kl = np.trapezoid(p * (eta * w - np.log(np.sqrt(lam) / 2 * z)), w)
    assert 2 * eta / (lam - eta**2) == pytest.approx(mean, rel=1e-4, abs=1e-6)
    variance = np.trapezoid(p * w * w, w) - mean**2
    assert posterior_variance(np.array(eta), lam) == pytest.approx(variance, rel=1e-4)
    assert shrunk_eta(np.array(2 * eta / (lam - eta**2)), lam) == pytest.approx(eta, rel=1e-9, abs=1e-12)
    assert divergence(np.array([mean]), np.array([lam])) == pytest.approx(kl, rel=1e-3, abs=1e-5)


def test_exact_laplace_is_optimal_and_obeys_corollary_7():
    """Its objective (Corollary 6) is no higher than a long search finds, and ⟨w⟩ = 2η/(λ − η²) of the M³N's own η."""
    from scipy.optimize import minimize

    d, sites = problem(7, n=12, size=3)
    c, lam = 0.5, 6.0
    result = fit_laplace(d, sites, c, lam, np.ones(d.size), method="exact", limits=Limits(5e-5))
    labels = np.count_nonzero(sites.labels >= 0)
    assert result.status == "converged"

    hinge = brute.hinge_of(d, sites)

    def value(w):
        return divergence(w, np.full(d.size, lam)) + c * hinge(w)

    assert result.objective == pytest.approx(value(result.weights), rel=1e-9)
    other = minimize(value, result.weights, method="Powell", options={"maxiter": 1, "xtol": 1e-4}).fun
    assert result.objective - other <= result.gap * c * labels + 1e-9
    np.testing.assert_allclose(result.weights, 2 * result.eta / (lam - result.eta**2), atol=1e-9)
    np.testing.assert_allclose(result.variance, posterior_variance(result.eta, lam))
    # the η of the last M³N, an independent number, tends to the same
    last = result.dual.eta(d, sites, c)
    np.testing.assert_allclose(last, result.eta, atol=0.05)


def test_algorithm_1_step_by_step():
    """Σ¹ = I, then √(⟨w²⟩/λ) twice: the paper's three rounds, written out."""
    d, sites = problem(8, n=20)
    c, lam = 0.3, 9.0
    result = fit_laplace(d, sites, c, lam, np.ones(d.size), rounds=3, limits=Limits(1e-5))
    variance = np.ones(d.size)
    for turn in range(3):
        w = solve_margin(d, sites, c, variance, tolerance=1e-5, max_steps=500).weights
        if turn < 2:
            variance = np.sqrt((variance + w**2) / lam)
    np.testing.assert_allclose(result.weights, w, atol=2e-2)
    np.testing.assert_allclose(result.variance, variance, atol=1e-2)


def test_a_larger_lambda_shrinks_more():
    d, sites = problem(9, n=30)
    size = [np.abs(fit_laplace(d, sites, 0.5, lam, np.ones(d.size), rounds=5).weights).sum() for lam in (1, 9, 64, 268)]
    assert np.all(np.diff(size) < 0)


def test_an_unknown_method_is_refused():
    d, sites = problem(9, n=5)
    with pytest.raises(OptionError, match="expected one of variational, exact"):
        fit_laplace(d, sites, 1.0, 1.0, np.ones(d.size), method="mcmc")


@pytest.mark.parametrize("missing", MISSING)
def test_the_log_loss_and_its_gradient(missing):
    d, sites = problem(10, missing, n=10)
    loss = LogLoss(d, sites)
    w = 0.5 * np.random.default_rng(0).normal(size=d.size)
    value, gradient = loss(w)
    assert value == pytest.approx(log_loss(d, sites, w), rel=1e-10)
    for k in range(d.size):
        step = np.zeros(d.size)
        step[k] = 1e-5
        slope = (log_loss(d, sites, w + step) - log_loss(d, sites, w - step)) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("l1, l2", [(0.0, 1.0), (1.0, 0.0), (0.5, 0.1), (8.0, 0.0)])
def test_a_crf_meets_its_optimality_condition(missing, l1, l2):
    d, sites = problem(11, missing)
    result = fit_crf(d, sites, np.full(d.size, l1), np.full(d.size, l2), tolerance=1e-9)
    _, gradient = LogLoss(d, sites)(result.weights)
    residual = pseudo_gradient(result.weights, gradient + l2 * result.weights, np.full(d.size, l1))
    assert result.status == "converged"
    assert result.gap <= 1e-9
    assert np.abs(residual).max() < 1e-2
    if l1 == 8.0:
        assert np.mean(result.weights == 0) > 0.2


@given(st.integers(0, 1000), st.sampled_from(MISSING), st.sampled_from([(0.0, 1.0), (2.0, 0.0), (0.5, 0.1)]))
def test_the_crfs_gap_bounds_what_is_missing(seed, kind, penalties):
    """At any weights, the bound must be at least the distance to the optimum."""
    d, sites = problem(seed, kind, n=10)
    l1, l2 = (np.full(d.size, penalty_weight) for penalty_weight in penalties)
    best = fit_crf(d, sites, l1, l2, tolerance=1e-8)
    loss = LogLoss(d, sites)
    for scale in (0.0, 0.3, 2.0):
        w = best.weights + scale * np.random.default_rng(seed).normal(size=d.size)
        value = loss(w)[0] + l1 @ np.abs(w) + 0.5 * l2 @ w**2
        assert duality_gap(loss.details(w), l1, l2) >= value - best.objective - 1e-9


def check_crf_gap(seed):
    """The gap is not below the distance to the optimum over all labelings, at drawn scales and tolerances."""
    rng = np.random.default_rng(seed)
    shape = {"missing": float(rng.choice([0.0, 0.25]))}
    d, sites = problem(seed, **shape, n=int(rng.integers(3, 7)), size=int(rng.integers(2, 4)), features=2)
    sites = LabelledSites(sites.x * 10.0 ** rng.choice([-3, 0, 0, 3]), sites.labels)
    penalty, tolerance = np.full(d.size, 10.0 ** rng.integers(-4, 3)), 10.0 ** rng.integers(-12, -1)
    differences = [
        np.array([features_of(d, x, y) - features_of(d, x, own) for y in brute.labelings(state)])
        for x, own, state in zip(sites.x, sites.labels, sites.states)
    ]
    subset = rng.random(d.size) < 0.5
    for l1, l2 in ((0 * penalty, penalty), (penalty, 0 * penalty), (penalty * subset, np.where(subset, 0, 1e-4))):

        def value(w, l1=l1, l2=l2):
            w = np.asarray(w, dtype=np.longdouble)
            top = [np.max(f @ w) for f in differences]
            losses = sum(t + np.log(np.sum(np.exp(f @ w - t))) for t, f in zip(top, differences))
            return losses + l1 @ np.abs(w) + l2 @ w**2 / 2

        def slope(z, l1=l1, l2=l2):
            w = z[: d.size] - z[d.size :]
            gradient, curve = l2 * w, np.diag(l2)
            for f in differences:
                f = np.asarray(f, dtype=float)
                p = np.exp(f @ w - np.max(f @ w))
                p /= p.sum()
                centred = f - p @ f
                gradient, curve = gradient + p @ f, curve + centred.T @ (p[:, None] * centred)
            return np.concatenate([gradient + l1, l1 - gradient]), np.kron([[1.0, -1.0], [-1.0, 1.0]], curve)

        result = fit_crf(d, sites, l1, l2, tolerance=tolerance)
        points = brute.interior_points(slope, np.eye(2 * d.size), np.zeros(2 * d.size), 2 * d.size)
        least = min([value(z[: d.size] - z[d.size :]) for z in points])
        distance = float((value(result.weights) - least) / np.count_nonzero(sites.labels >= 0))
        assert result.gap >= max(distance, 0.0)
        assert l1.any() or result.gap <= tolerance


def test_the_gap_of_a_crf_bounds_the_distance_to_the_optimum():
    for seed in (3, 50, 70):
        check_crf_gap(seed)


@pytest.mark.thorough
def test_the_gap_of_a_crf_bounds_the_distance_to_the_optimum_of_many_problems():
    for seed in range(200):
        check_crf_gap(seed)


def test_a_search_goes_on_where_the_square_of_a_gradient_is_zero():
    """A species that one feature separates has gradients below 1e-160, and a division by zero ended the fit."""
    at, iterations = minimise(
        lambda w: (float(np.exp(-w[0])), -np.exp(-w)), np.zeros(1), np.zeros(1), lambda step: False, 2000
    )
    assert iterations == 2000
    assert at.w[0] > 300


def test_a_crf_without_edges_is_logistic_regression():
    linear = pytest.importorskip("sklearn.linear_model")
    _, sites = problem(12, n=60)
    d = Discriminant(edgeless(4), 3)
    result = fit_crf(d, sites, np.zeros(d.size), np.full(d.size, 0.5), tolerance=1e-12)
    for s in range(4):
        other = linear.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
        expected = other.fit(sites.x, sites.labels[:, s]).coef_[0]
        np.testing.assert_allclose(result.weights[3 * s : 3 * s + 3], expected, atol=1e-4)


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("c", [1e-4, 1.0, 1e5])
def test_newton_and_quasi_newton_find_the_same_weights_at_any_strength(monkeypatch, missing, c):
    """Newton's steps are what makes weak regularisation affordable: a handful, where the others need hundreds."""
    d, sites = problem(15, missing, n=40)
    penalties = np.zeros(d.size), np.full(d.size, 1 / c)
    newton = fit_crf(d, sites, *penalties, tolerance=1e-9)
    assert newton.status == "converged"
    assert newton.iterations < 40
    _, gradient = LogLoss(d, sites)(newton.weights)
    np.testing.assert_allclose(gradient, -newton.weights / c, atol=1e-3)
    monkeypatch.setattr("sdm.joint.learners.crf.LARGEST", 0)
    plain = fit_crf(d, sites, *penalties, tolerance=1e-9, max_iterations=20_000)
    assert plain.objective == pytest.approx(newton.objective, abs=1e-6)
    np.testing.assert_allclose(plain.weights, newton.weights, atol=1e-2 if c > 1 else 6e-4)


def test_more_weights_than_a_matrix_holds_have_no_standard_errors(monkeypatch):
    d, sites = problem(16)
    learner, bias = Learner("crf-l2"), np.zeros(d.size, dtype=bool)
    result = learner.fit(d, sites, bias)
    assert np.all(learner.spread(d, sites, bias, result) > 0)
    monkeypatch.setattr("sdm.joint.learners.crf.LARGEST_ONCE", d.size - 1)
    assert learner.spread(d, sites, bias, result) is None


def test_a_crf_needs_a_penalty():
    d, sites = problem(13, n=5)
    with pytest.raises(OptionError, match="needs a positive penalty"):
        fit_crf(d, sites, np.zeros(d.size), np.zeros(d.size))


def test_a_dual_point_of_another_prior_is_a_valid_start():
    d, sites = problem(14)
    first = solve_margin(d, sites, 0.5, np.ones(d.size), tolerance=1e-6, max_steps=500)
    again = MarginProblem(d, sites, 0.5, np.full(d.size, 2.0), 1e-3).certify(first.dual, 0)
    assert again.gap >= 0
    cold = solve_margin(d, sites, 0.5, np.full(d.size, 2.0), tolerance=1e-6, max_steps=500)
    warm = solve_margin(d, sites, 0.5, np.full(d.size, 2.0), start=first.dual, tolerance=1e-6, max_steps=500)
    assert warm.primal == pytest.approx(cold.primal, rel=1e-4)


@given(st.integers(0, 50), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_the_entropy_of_a_mixture_with_the_true_labelling(seed: int, t: float) -> None:
    """From the entropies of the distributions alone, against a sum over all labellings of every site."""
    p = np.random.default_rng(seed).dirichlet(np.ones(8), size=5)
    true = p[:, 0]
    mixed = (1 - t) * p + t * (np.arange(8) == 0)
    expected = -np.sum(mixed * np.log(np.maximum(mixed, 1e-300)))
    assert _mixed_entropy(-np.log(true), float(-np.sum(p * np.log(p))), t) == pytest.approx(expected, abs=1e-9)
