"""Figures for maps with zeros, against their definitions over the cells of the domain."""

import numpy as np
import pytest

from sdm import Maxent
from sdm.assess.measures.presence_only import fenchel_young_loss, measure_support, mixed_log_loss, share_outside
from sdm.maxent.entropy import Entropy


@pytest.fixture(scope="module", params=[1.0, 1.5, 2.0])
def fitted(request):
    rng = np.random.default_rng(2)
    background, presences = rng.normal(size=(400, 2)), rng.normal(1.0, 0.4, size=(40, 2))
    x, y = np.vstack([presences, background]), np.repeat([1, 0], [40, 400])
    return Maxent("lq", entropy=request.param).fit(x, y), x


def test_the_training_objective_is_the_fenchel_young_loss_and_the_penalty(fitted):
    model, x = fitted
    penalty = model.problem_.penalty.value(model.coef_)
    assert fenchel_young_loss(model.model_, x[:40]) + penalty == pytest.approx(model.solution_.objective, abs=1e-9)


def test_the_loss_of_any_records_is_the_bregman_distance(fitted):
    """`Ω*(θ) − θ·s + Ω(s)` is never negative, and zero where the scores are those of `s` itself."""
    model, x = fitted
    domain = model.problem_.domain
    entropy = Entropy(model.entropy)
    sample = np.zeros(domain.n)
    sample[400:] = 1 / 40
    assert fenchel_young_loss(model.model_, x[:40]) + entropy.value(sample, domain.q0) >= 0
    p = model.solution_.p
    scores = model.feature_set_.scores(model.coef_)
    own = model.model_.meta["conjugate"] - p @ scores + entropy.value(p, domain.q0)
    assert own == pytest.approx(0, abs=1e-9)


def test_zeros_and_mixtures():
    raw = np.array([0.0, 0.1, 0.3, 0.0])
    assert share_outside(raw) == 0.5
    expected = -np.mean(np.log(0.9 * raw + 0.1 / 20))
    assert mixed_log_loss(raw, 20, 0.1) == pytest.approx(expected)


def test_far_records_are_outside(fitted):
    model, _ = fitted
    numbers = measure_support(model.model_, np.array([[-4.0, -4.0], [1.0, 1.0]]), "test")
    assert numbers["outside_support_test"] == (0.0 if model.entropy == 1.0 else 0.5)
    assert np.isfinite(numbers["log_loss_mixed_test"])


def test_shannons_loss_is_the_log_loss(fitted):
    model, x = fitted
    if model.entropy == 1.0:
        raw = model.predict(x[:40], "raw")
        expected = -np.mean(np.log(raw)) - np.log(model.model_.n_domain)
        assert fenchel_young_loss(model.model_, x[:40]) == pytest.approx(expected)


def test_temperature_sharpens_and_sums_to_one(fitted):
    model, x = fitted
    n = model.model_.n_domain
    earlier = None
    for temperature in (2.0, 1.0, 0.5, 0.25):
        other = Maxent("lq", entropy=model.entropy, temperature=temperature).fit(x, np.repeat([1, 0], [40, 400]))
        raw = other.predict(np.vstack([x[40:], x[:40]]), "raw")
        assert raw.sum() == pytest.approx(1.0, abs=1e-9)
        assert raw.size == n
        zeros, top = np.count_nonzero(raw == 0), raw.max()
        if earlier is not None:
            assert zeros >= earlier[0]
            assert top > earlier[1]
        earlier = zeros, top
    assert (earlier[0] > 0) == (model.entropy > 1.0)
    np.testing.assert_array_equal(other.coef_, model.coef_)
