"""The best change of one weight under the papers' lower bounds: explicit steps against a search on a grid."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sdm.maxent.penalty import make_penalty
from sdm.maxent.solvers.coordinate import PARALLEL, SELECTIVE, best_changes

SMOOTHING, RATIO = 0.3, 0.7
PENALTIES = ("none", "l1", "smoothed_l1", "l2sq", "elastic")
bounds = st.sampled_from([SELECTIVE, PARALLEL])


def promise(delta, bound, q, mu, lam, name, beta):
    """Equations (24) and (40) of generalized-maxent.txt."""
    loss = np.log(1 + np.expm1(delta) * q) if bound == SELECTIVE else q * np.expm1(delta)
    penalties = [
        naive.penalty_value(np.array([z]), name, np.array([beta]), SMOOTHING, RATIO, np.float64)
        for z in (lam + delta, lam)
    ]
    return delta * mu - loss - penalties[0] + penalties[1]


def changes(bound, q, mu, lam, name, beta):
    penalty = make_penalty(name, beta, smoothing=SMOOTHING, ratio=RATIO)
    delta, gain = np.empty_like(q), np.empty_like(q)
    best_changes(bound, q, mu, lam, penalty.code, penalty.beta, penalty.ridge, penalty.smoothing, delta, gain)
    return delta, gain


@given(bounds, st.sampled_from(PENALTIES), seeds)
def test_no_change_on_a_grid_promises_more(bound, name, seed):
    rng = np.random.default_rng(seed)
    q, mu = rng.uniform(0.02, 0.98, 2)
    lam = rng.choice([0.0, 1.0]) * rng.normal()
    beta = rng.choice([0.01, 0.1, 0.5])
    (delta,), (gain,) = changes(bound, *(np.array([v]) for v in (q, mu, lam)), name, np.array([beta]))
    assert gain == pytest.approx(promise(delta, bound, q, mu, lam, name, beta), abs=1e-12)
    grid = np.concatenate([np.linspace(-8, 8, 161), delta + np.linspace(-0.01, 0.01, 21), [-lam, 0.0]])
    best = max(promise(d, bound, q, mu, lam, name, beta) for d in grid)
    assert gain >= best - 1e-9


@given(bounds, seeds)
def test_the_explicit_l1_step_is_that_of_the_papers_figures(bound, seed):
    """Fig. 3 (SUMMET) and Fig. 5 (PLUMMET), written out."""
    rng = np.random.default_rng(seed)
    q, mu = rng.uniform(0.05, 0.95, 2)
    lam, beta = rng.choice([0.0, 1.0]) * rng.normal(), rng.uniform(0.01, 0.3)
    (delta,), _ = changes(bound, *(np.array([v]) for v in (q, mu, lam)), "l1", np.array([beta]))

    def move(target):
        if target <= 0 or (bound == SELECTIVE and target >= 1):
            return np.nan
        odds = target * (1 - q) / ((1 - target) * q) if bound == SELECTIVE else target / q
        return np.log(odds)

    up, down = move(mu - beta), move(mu + beta)
    expected = up if lam + up >= 0 else down if lam + down <= 0 else -lam
    assert delta == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bound", [SELECTIVE, PARALLEL])
@pytest.mark.parametrize("name", PENALTIES)
def test_features_that_are_zero_everywhere_the_model_looks_stay_put(bound, name):
    """The logarithm of q would be minus infinity."""
    delta, gain = changes(bound, np.array([0.0]), np.array([0.3]), np.array([0.0]), name, np.array([0.1]))
    assert delta[0] == gain[0] == 0.0


@pytest.mark.parametrize("bound", [SELECTIVE, PARALLEL])
@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("name", PENALTIES)
def test_a_feature_that_no_presence_or_every_presence_has(bound, mu, name):
    delta, gain = changes(bound, np.array([0.4]), np.array([mu]), np.array([0.2]), name, np.array([0.1]))
    assert np.isfinite(delta[0])
    assert np.isfinite(gain[0])
    assert gain[0] >= 0.0
