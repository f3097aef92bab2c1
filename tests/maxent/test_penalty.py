"""Penalties against their definitions: value, potential by direct maximisation, gradient, distance, mixing."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimality import distance
from scipy.optimize import minimize_scalar
from strategies import seeds

from sdm.errors import OptionError
from sdm.maxent.penalty import PENALTIES, make_penalty

BETA = np.array([0.2, 0.5, 1.3])
CORRELATION = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
SHAPE = {"smoothing": 0.3, "ratio": 0.7, "power": 1.3, "correlation": CORRELATION}
names = st.sampled_from(PENALTIES)


def make(name):
    return make_penalty(name, BETA, **SHAPE)


def weights(seed, size=1.0):
    rng = np.random.default_rng(seed)
    return size * rng.normal(size=3) * (rng.random(3) < 0.7)


@given(names, seeds, st.sampled_from([1e-3, 1.0, 1e3]))
def test_value(name, seed, size):
    lam = weights(seed, size)
    assert make(name).value(lam) == pytest.approx(naive.penalty_value(lam, name, BETA, **SHAPE), rel=1e-12, abs=1e-15)


@given(names, seeds)
def test_gradient_by_finite_differences(name, seed):
    rng = np.random.default_rng(seed)
    lam = rng.choice([-1, 1], 3) * (0.1 + rng.random(3))
    penalty, h = make(name), 1e-6
    numeric = [(penalty.value(lam + h * e) - penalty.value(lam - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(penalty.gradient(lam), numeric, atol=1e-7)


@pytest.mark.parametrize("name", ["l1", "smoothed_l1", "l2sq", "elastic"])
@pytest.mark.parametrize("u", [-0.19, -0.05, 0.0, 0.1, 0.199])
def test_potential_of_one_feature_is_the_conjugate_of_its_value(name, u):
    """U(u) = sup_λ uλ − U*(λ), by direct maximisation inside the box of the first feature."""

    def negative(lam):
        return naive.penalty_value(np.array([lam]), name, BETA[:1], 0.3, 0.7) - u * lam

    result = minimize_scalar(negative, bounds=(-50, 50), method="bounded", options={"xatol": 1e-12})
    best = max(-result.fun, -negative(0.0))
    assert make(name).potential(np.array([u, 0.0, 0.0])) == pytest.approx(best, abs=1e-8)


@given(names, seeds, seeds)
def test_fenchel_young(name, seed, other):
    """U(u) + U*(λ) ≥ u·λ: each gap stands on this inequality."""
    lam, u = weights(seed, 2.0), weights(other, 0.5)
    penalty = make(name)
    assert penalty.potential(u) + penalty.value(lam) >= float(u @ lam) - 1e-12


@given(st.sampled_from([n for n in PENALTIES if n != "none"]), seeds)
def test_fenchel_young_is_tight_at_the_gradient(name, seed):
    rng = np.random.default_rng(seed)
    lam = rng.choice([-1, 1], 3) * (0.1 + rng.random(3))
    penalty = make(name)
    u = penalty.gradient(lam)
    assert penalty.potential(u) + penalty.value(lam) == pytest.approx(float(u @ lam), abs=1e-9)
    assert distance(penalty, lam, -u) == pytest.approx(np.zeros(3), abs=1e-15)


@given(names, seeds, st.sampled_from([0.01, 0.3, 1.0, 10.0]))
def test_mixing_leads_into_the_domain_and_no_further(name, seed, size):
    """Too little and the certificate is void; too much and it is loose."""
    u = weights(seed, size)
    penalty = make(name)
    t = penalty.mixing(u)
    assert 0.0 <= t <= 1.0
    assert np.isfinite(penalty.potential((1 - t) * u))
    if t > 1e-6:
        assert penalty.potential((1 - t + 1e-6) * u) == np.inf


@pytest.mark.parametrize("name", ["l1", "smoothed_l1", "l2"])
def test_outside_its_domain_a_potential_is_infinite(name):
    assert make(name).potential(np.array([0.0, 0.0, 2.0])) == np.inf


def test_distance_at_zero_weight():
    """Inside the box (or the ball) zero is optimal; outside, what sticks out counts."""
    lam, inside, outside = np.zeros(3), np.array([0.1, -0.2, 0.3]), np.array([0.3, 0.0, -1.4])
    for name in ("l1", "elastic"):
        assert distance(make(name), lam, inside).tolist() == [0.0, 0.0, 0.0]
        assert distance(make(name), lam, outside) == pytest.approx([0.1, 0.0, 0.1])
    assert not distance(make("l2"), lam, inside).any()
    assert distance(make("l2"), lam, outside)[2] > 0
    assert not distance(make("l2"), lam, lam).any()
    assert distance(make("none"), lam, outside).tolist() == [0.3, 0.0, 1.4]


@given(names, seeds)
def test_curvature_by_finite_differences(name, seed):
    """Of smooth penalties, where no weight is zero; as a product with a vector and with a matrix, and its diagonal."""
    penalty, h = make(name), 1e-6
    if penalty.sparse or name == "lp":
        return
    rng = np.random.default_rng(seed)
    lam = rng.choice([-1, 1], 3) * (0.1 + rng.random(3))
    product, diagonal = penalty.curvature(lam)
    numeric = [(penalty.gradient(lam + h * e) - penalty.gradient(lam - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(product(np.eye(3)) if name != "none" else np.zeros((3, 3)), numeric, atol=1e-6)
    np.testing.assert_allclose(diagonal, np.diag(numeric), atol=1e-6)
    np.testing.assert_allclose(product(lam), np.array(numeric) @ lam, atol=1e-6)


@pytest.mark.parametrize("beta", [[0.0], [-1.0], [np.nan], [np.inf]])
def test_a_penalty_must_be_positive(beta):
    with pytest.raises(OptionError, match="positive"):
        make_penalty("l1", np.array(beta))


@pytest.mark.parametrize("options", [{"smoothing": 0.0}, {"smoothing": -1.0}, {"smoothing": np.nan}])
def test_bad_smoothing(options):
    with pytest.raises(OptionError, match="smoothing="):
        make_penalty("smoothed_l1", BETA, **options)


@pytest.mark.parametrize("ratio", [0.0, -1.0, np.nan])
def test_bad_ratio(ratio):
    with pytest.raises(OptionError, match="ratio="):
        make_penalty("elastic", BETA, ratio=ratio)


def test_an_unknown_penalty():
    with pytest.raises(OptionError, match="regularization='L1'"):
        make_penalty("L1", BETA)
