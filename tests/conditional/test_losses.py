"""Losses over classes: what every probability, gap and penalty of `sdm classify` rests on."""

import numpy as np
import pytest
from conditional import plain
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdm.maxent.entropy import ClassEntropy

ALPHAS = (1.0, 1.1, 1.5, 1.9, 2.0)
scores = arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 5)), elements=st.floats(-30, 30))


@given(scores, st.sampled_from(ALPHAS))
def test_distributions_are_those_of_bisection_and_sorting(theta, alpha):
    p, _ = ClassEntropy(alpha).distributions(theta)
    for i in range(theta.shape[1]):
        np.testing.assert_allclose(p[:, i], plain.distribution(theta[:, i], alpha), atol=1e-9)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-9)


@given(scores, st.sampled_from([1e-7, 1e-10, 1e-14]))
def test_orders_next_to_one_are_next_to_shannon(theta, above):
    near, shannon = (ClassEntropy(alpha).distributions(theta) for alpha in (1.0 + above, 1.0))
    for actual, expected in zip(near, shannon):
        np.testing.assert_allclose(actual, expected, atol=1e3 * above + 1e-12)


@given(scores, st.sampled_from(ALPHAS), st.integers(0, 2**32 - 1))
def test_losses_are_those_of_the_definition_and_never_negative(theta, alpha, seed):
    y = np.random.default_rng(seed).dirichlet(np.ones(theta.shape[0]), size=theta.shape[1])
    losses = ClassEntropy(alpha).losses(theta, y.T.copy())
    expected = [plain.loss(theta[:, i], y[i], alpha) for i in range(theta.shape[1])]
    np.testing.assert_allclose(losses, expected, atol=1e-8)
    assert np.all(losses >= -1e-10)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_loss_is_zero_where_the_target_is_predicted(alpha):
    theta = np.array([[0.3, -1.0], [0.1, 0.2], [0.0, 0.4]])
    entropy = ClassEntropy(alpha)
    p, _ = entropy.distributions(theta)
    np.testing.assert_allclose(entropy.losses(theta, p), 0.0, atol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 1.8])
def test_bends_are_the_curvature(alpha):
    """Newton's method steps by this: a wrong one would make every fit crawl."""
    entropy, theta, h = ClassEntropy(alpha), np.array([[0.5], [0.2], [-0.1]]), 1e-5
    p, _ = entropy.distributions(theta)
    w = entropy.bends(p)[:, 0]
    hessian = np.diag(w) - np.outer(w, w) / w.sum()
    for c in range(3):
        step = np.zeros((3, 1))
        step[c] = h
        slope = (entropy.distributions(theta + step)[0] - entropy.distributions(theta - step)[0])[:, 0] / (2 * h)
        np.testing.assert_allclose(slope, hessian[c], atol=1e-6)


def test_known_values():
    theta = np.array([[1.0], [0.0], [-1.0]])
    np.testing.assert_allclose(ClassEntropy(2).distributions(theta)[0][:, 0], [1.0, 0.0, 0.0], atol=1e-15)
    half = np.array([[0.5], [0.0], [-2.0]])
    np.testing.assert_allclose(ClassEntropy(2).distributions(half)[0][:, 0], [0.75, 0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(ClassEntropy(1).distributions(np.zeros((4, 1)))[1], np.log(4))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_missing_score_is_a_missing_distribution_and_no_others(alpha):
    p, conjugate = ClassEntropy(alpha).distributions(np.array([[np.nan, 0.0], [1.0, 1.0]]))
    assert np.isnan(p[:, 0]).all()
    assert np.isnan(conjugate[0])
    assert np.isfinite(p[:, 1]).all()
