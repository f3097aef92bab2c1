"""Entropies: distributions that sum to one whatever the scores, and a conjugate whose gradient they are."""

from decimal import Decimal, localcontext

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from strategies import ALPHAS, seeds

from sdm.errors import OptionError
from sdm.maxent.entropy import Entropy, find_tau

orders = st.sampled_from([1.0, 1.01, 1.2, 1.5, 1.9, 1.999, 2.0])
spreads = st.sampled_from([0.0, 1e-8, 0.1, 1.0, 10.0, 1e3])


def scores(seed, spread, offset=0.0, n=30):
    rng = np.random.default_rng(seed)
    theta = offset + spread * rng.normal(size=n)
    q0 = rng.random(n) ** 3 + 1e-6
    return theta, q0 / q0.sum()


@given(orders, spreads, seeds, st.sampled_from([0.0, -1e4, 1e4]))
def test_probabilities_sum_to_one_and_equal_the_slow_ones(alpha, spread, seed, offset):
    """An unnormalised distribution would make every output scale wrong by that factor."""
    theta, q0 = scores(seed, spread, offset)
    gibbs = Entropy(alpha).gibbs(theta, q0)
    p = q0 * gibbs.ratio
    expected, conjugate = naive.gibbs(theta, q0, alpha)
    # τ has a relative rounding error, which 1/(α−1) and the offset magnify
    slack = 1e-12 * (1 + abs(offset) + spread)
    assert p.sum() == pytest.approx(1.0, abs=10 * slack)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p, expected, atol=10 * slack)
    assert gibbs.conjugate == pytest.approx(conjugate, rel=1e-14, abs=1e-14 + 1e-15 * (abs(offset) + spread))


@given(orders, st.sampled_from([0.1, 1.0, 10.0]), seeds)
def test_the_distribution_is_the_gradient_of_the_conjugate(alpha, spread, seed):
    theta, q0 = scores(seed, spread, n=8)
    entropy = Entropy(alpha)
    p = q0 * entropy.gibbs(theta, q0).ratio
    h = 1e-5
    for i in range(theta.size):
        step = h * np.eye(theta.size)[i]
        up, down = entropy.gibbs(theta + step, q0).conjugate, entropy.gibbs(theta - step, q0).conjugate
        assert (up - down) / (2 * h) == pytest.approx(p[i], abs=1e-5)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_conjugate_is_the_largest_score_less_entropy(alpha):
    """By a general-purpose optimiser over the simplex, which knows nothing of τ."""
    theta, q0 = scores(3, 1.0, n=6)
    result = minimize(
        lambda p: naive.omega(np.maximum(p, 0), q0, alpha) - theta @ p,
        q0,
        method="SLSQP",
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    gibbs = Entropy(alpha).gibbs(theta, q0)
    assert gibbs.conjugate == pytest.approx(-result.fun, abs=1e-7)
    np.testing.assert_allclose(q0 * gibbs.ratio, result.x, atol=1e-3)


@given(st.sampled_from([1.2, 1.5, 1.9, 2.0]), seeds)
def test_zeros_are_exact_above_one(alpha, seed):
    """The range edge that a map shows is where the density is zero, not merely small."""
    theta, q0 = scores(seed, 1e3)
    ratio = Entropy(alpha).gibbs(theta, q0).ratio
    assert np.count_nonzero(ratio == 0.0) > 0
    expected, _ = naive.gibbs(theta, q0, alpha)
    np.testing.assert_array_equal(ratio > 1e-6, expected / q0 > 1e-6)


def test_shannon_is_never_zero():
    theta, q0 = scores(1, 50.0)
    assert np.all(Entropy(1.0).gibbs(theta, q0).ratio > 0)


@pytest.mark.parametrize("alpha", [1.0, 1.01, 1.5, 1.999, 2.0])
@pytest.mark.parametrize("guess", [np.nan, -np.inf, np.inf, 0.0, -1e9, 1e9, 0.3])
def test_a_bad_guess_of_the_normaliser_does_no_harm(alpha, guess):
    """Solvers pass the normaliser of nearby scores, which need not be near."""
    theta, q0 = scores(5, 2.0)
    entropy = Entropy(alpha)
    assert entropy.gibbs(theta, q0, guess).tau == pytest.approx(entropy.gibbs(theta, q0).tau, abs=1e-11)


@pytest.mark.parametrize("alpha", [1.05, 1.2, 1.5, 1.8, 2.0])
def test_the_normaliser_is_that_of_bisection(alpha):
    """Scores from all but equal to so far apart that a few cells have all density."""
    rng = np.random.default_rng(9)
    for spread in np.exp(np.linspace(-4, 6, 12)):
        theta, q0 = spread * rng.normal(size=5000), rng.random(5000) + 0.01
        q0 /= q0.sum()
        low, high = -10 * spread - 10, theta.max()
        for _ in range(200):
            middle = 0.5 * (low + high)
            mass = q0 @ np.maximum(1 + (alpha - 1) * (theta - middle), 0) ** (1 / (alpha - 1))
            low, high = (middle, high) if mass > 1 else (low, middle)
        assert Entropy(alpha).gibbs(theta, q0).tau == pytest.approx(low, abs=1e-12 * (1 + spread))


def test_the_normaliser_is_found_in_few_passes_whatever_the_rounding():
    """A step too small to move τ must end the search: it went on to its limit, a hundred times slower."""
    rng = np.random.default_rng(1)
    for alpha in (1.05, 1.2, 1.5, 1.8, 2.0):
        for spread in np.exp(rng.uniform(-4, 4, 60)):
            theta, q0 = spread * rng.normal(size=2000), rng.random(2000) + 0.1
            _, passes = find_tau(theta, q0 / q0.sum(), alpha, theta.max())
            assert passes <= 20


@given(st.sampled_from([0.0, 1e-6, 0.3, 3.0, 300.0]), st.booleans(), seeds)
def test_sparsemax_of_ties_and_single_cells_sums_to_one(spread, tied, seed):
    """Ties at the edge of the support, all scores equal, one cell alone."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    theta = spread * (rng.integers(-2, 3, n).astype(float) if tied else rng.normal(size=n)) - 7.0
    q0 = rng.random(n) ** 3 + 1e-6
    q0 /= q0.sum()
    tau, _ = find_tau(theta, q0, 2.0)
    assert tau == pytest.approx(find_tau(theta, q0, 2.0, float(theta.max()))[0], abs=1e-12 * (1 + spread))
    assert q0 @ np.maximum(1 + theta - tau, 0) == pytest.approx(1.0, abs=1e-11 * (1 + spread))


def test_sparsemax_solves_the_linear_equation_on_its_support():
    rng = np.random.default_rng(1)
    theta, q0 = 20.0 * rng.normal(size=200_000), rng.random(200_000) + 0.1
    q0 /= q0.sum()
    tau, _ = find_tau(theta, q0, 2.0)
    inside = theta > tau - 1.0
    exact = (q0[inside] @ theta[inside] - 1.0) / q0[inside].sum() + 1.0
    assert tau == pytest.approx(exact, rel=1e-14)
    assert np.array_equal(inside, theta > exact - 1.0)


@given(spreads, seeds)
def test_orders_near_one_are_near_shannon(spread, seed):
    theta, q0 = scores(seed, min(spread, 1.0))
    shannon, near = Entropy(1.0).gibbs(theta, q0), Entropy(1.0 + 1e-6).gibbs(theta, q0)
    np.testing.assert_allclose(near.ratio, shannon.ratio, rtol=1e-4)
    assert near.conjugate == pytest.approx(shannon.conjugate, abs=1e-4)


NEARLY = [base + sign * 10.0**-k for base, sign in ((1, 1), (2, -1)) for k in (3, 7, 9, 12, 15)]


def exact(theta, tau, q0, alpha):
    """Return the total probability, `Ω(p)` and `Ω*(θ)` of a normaliser by their definitions, with 60 digits."""
    with localcontext() as digits:
        digits.prec = 60
        total = value = Decimal(0)
        order, tau = Decimal(alpha), Decimal(tau)
        conjugate = tau - 1 / order
        for score, weight in zip(map(Decimal, theta.tolist()), map(Decimal, q0.tolist())):
            base = 1 + (order - 1) * (score - tau)
            if base > 0:
                r = base ** (1 / (order - 1))
                phi = (r**order - r) / (order * (order - 1))
                total += weight * r
                value += weight * phi
                conjugate += weight * (r * (score - tau + 1 / order) - phi)
        return float(total), float(value), float(conjugate)


@pytest.mark.parametrize("alpha", NEARLY)
def test_orders_next_to_one_and_two_lose_no_digits(alpha):
    """Differences divided by α − 1 lost digits: probabilities did not sum to one, and a gap of 2e-8 was 0."""
    for spread in (0.0, 1e-8, 1.0, 10.0):
        theta, q0 = scores(7, spread, n=20)
        entropy = Entropy(alpha)
        gibbs = entropy.gibbs(theta, q0)
        total, value, conjugate = exact(theta, gibbs.tau, q0, alpha)
        assert total == pytest.approx(1.0, abs=1e-14)
        p = q0 * gibbs.ratio
        assert p.sum() == pytest.approx(1.0, abs=1e-14)
        assert entropy.value(p, q0) == pytest.approx(value, rel=1e-13, abs=1e-15)
        assert gibbs.conjugate == pytest.approx(conjugate, rel=1e-14, abs=1e-15)


@given(orders, seeds)
def test_value(alpha, seed):
    rng = np.random.default_rng(seed)
    p, q0 = rng.random(20) * (rng.random(20) < 0.7), rng.random(20) + 0.1
    p, q0 = (p + (p.sum() == 0)) / (p + (p.sum() == 0)).sum(), q0 / q0.sum()
    assert Entropy(alpha).value(p, q0) == pytest.approx(naive.omega(p, q0, alpha), rel=1e-9, abs=1e-12)
    assert Entropy(alpha).value(q0, q0) == pytest.approx(0.0, abs=1e-12)


@given(orders, st.sampled_from([0.1, 1.0, 5.0]), seeds)
def test_ratio_under_a_known_normaliser_is_that_of_the_fit(alpha, spread, seed):
    """Prediction applies the normaliser of the fit to other cells."""
    theta, q0 = scores(seed, spread)
    gibbs = Entropy(alpha).gibbs(theta, q0)
    np.testing.assert_allclose(Entropy(alpha).ratio(theta, gibbs.tau), gibbs.ratio, rtol=1e-12, atol=1e-300)


@given(orders, seeds)
def test_curvature_is_the_hessian_of_the_conjugate(alpha, seed):
    theta, q0 = scores(seed, 0.3, n=6)
    entropy = Entropy(alpha)
    w = entropy.curvature(entropy.gibbs(theta, q0).ratio, q0)
    hessian = np.diag(w) - np.outer(w, w) / w.sum()
    h = 1e-6
    for i in range(theta.size):
        step = h * np.eye(theta.size)[i]
        up, down = (q0 * entropy.gibbs(theta + s, q0).ratio for s in (step, -step))
        np.testing.assert_allclose((up - down) / (2 * h), hessian[i], atol=1e-6)


def test_curvature_is_zero_where_the_density_is():
    for alpha in (1.2, 1.5, 2.0):
        assert Entropy(alpha).curvature(np.array([0.0, 1.0]), np.array([0.5, 0.5])).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("bad", [0.99, 2.01, -1, np.nan, "shannon", None, [1.0]])
def test_other_orders_are_refused(bad):
    with pytest.raises(OptionError, match="entropy=") as caught:
        Entropy(bad)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("good", [1, 2, np.float32(1.5), np.int64(2), np.float64(1.25)])
def test_any_kind_of_number_will_do(good):
    """A grid search passes numpy's numbers."""
    assert Entropy(good).alpha == float(good)
