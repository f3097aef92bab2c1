"""Measures with absences, against scikit-learn and against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_curve

from sdm.assess.presence_absence import brier, calibration, correlation, prg_auc
from sdm.errors import OptionError

shares = st.integers(1, 40).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 16).map(lambda k: k / 16)))


def joined(presence, absence) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat([1, 0], [presence.size, absence.size]), np.concatenate([presence, absence])


@given(shares, shares)
def test_brier_is_that_of_scikit_learn(presence, absence) -> None:
    assert brier(presence, absence) == pytest.approx(brier_score_loss(*joined(presence, absence)))


@given(shares, shares)
def test_correlation_by_its_definition(presence, absence) -> None:
    y, x = joined(presence, absence)
    if np.ptp(x) == 0:
        assert np.isnan(correlation(presence, absence))
    else:
        share = np.sqrt(presence.size * absence.size) / y.size
        expected = (presence.mean() - absence.mean()) / x.std() * share
        assert correlation(presence, absence) == pytest.approx(expected)


@pytest.mark.parametrize("by, strategy", [("value", "uniform"), ("count", "quantile")])
def test_calibration_is_that_of_scikit_learn(by: str, strategy: str) -> None:
    rng = np.random.default_rng(3)
    presence, absence = rng.beta(3, 2, 70), rng.beta(2, 3, 150)
    found = calibration(presence, absence, bins=8, by=by)
    observed, predicted = calibration_curve(*joined(presence, absence), n_bins=8, strategy=strategy)
    assert found.observed == pytest.approx(observed)
    assert found.predicted == pytest.approx(predicted)
    assert found.count.sum() == 220


@given(shares, shares)
def test_calibration_counts_every_prediction_once(presence, absence) -> None:
    for by in ("value", "count"):
        found = calibration(presence, absence, by=by)
        assert found.count.sum() == presence.size + absence.size
        assert found.count @ found.observed == pytest.approx(presence.size)
        assert found.count @ found.predicted == pytest.approx(presence.sum() + absence.sum())
    with pytest.raises(OptionError, match="by='size'"):
        calibration(presence, absence, by="size")


def gains_by_count(presence, absence) -> float:
    """The area below precision gain against recall gain, its curve drawn at a hundred thousand fractional counts."""
    y, x = joined(presence, absence)
    false, true, _ = roc_curve(y, x, drop_intermediate=False)
    m, share = presence.size, presence.size / y.size
    t = np.linspace(share * m, m, 100_001)
    f = np.interp(t, true * m, false * absence.size)
    gain = {"precision": t / (t + f), "recall": t / m}
    gain = {k: (v - share) / ((1 - share) * v) for k, v in gain.items()}
    return float(np.sum(np.diff(gain["recall"]) * 0.5 * (gain["precision"][1:] + gain["precision"][:-1])))


@pytest.mark.parametrize("seed", range(6))
def test_precision_recall_gain_by_its_definition(seed: int) -> None:
    """Flach and Kull (2015): both gains are harmonic, so the curve between thresholds is straight."""
    rng = np.random.default_rng(seed)
    presence, absence = rng.normal(0.4 * seed - 0.4, 1, 30), rng.normal(0, 1, 90)
    assert prg_auc(presence, absence) == pytest.approx(gains_by_count(presence, absence), abs=1e-5)


def test_precision_recall_gain_of_extremes() -> None:
    high, low = np.linspace(2, 3, 20), np.linspace(0, 1, 50)
    assert prg_auc(high, low) == pytest.approx(1.0)
    assert prg_auc(np.ones(5), np.ones(20)) == pytest.approx(0.0), "everything present is the baseline"
    assert prg_auc(low, high) < 0


def test_precision_recall_gain_by_hand() -> None:
    """Two presences at 3 and 1, two absences at 2 and 0: π = ½ and odds 1.

    Recall gain 0 is at one true positive: (TP, FP) = (1, 0), gains (0, 1); then (1, 1): (0, 0); then (2, 1): recall
    gain 1, precision gain ½; then (2, 2): (1, 0). The area is ¼.
    """
    assert prg_auc(np.array([3.0, 1.0]), np.array([2.0, 0.0])) == pytest.approx(0.25)
