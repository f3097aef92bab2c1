"""AUC, its deviation and log loss, against scikit-learn and against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from sdm.assess.measures import auc, auc_deviation, log_loss

# Few distinct values, so that ties are common.
scores = st.integers(1, 40).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 8).map(float)))


@given(scores, scores)
def test_auc_is_that_of_scikit_learn(presence, background) -> None:
    labels = np.repeat([1, 0], [presence.size, background.size])
    assert auc(presence, background) == pytest.approx(roc_auc_score(labels, np.concatenate([presence, background])))


@given(scores, scores)
def test_auc_does_not_depend_on_the_scale(presence, background) -> None:
    assert auc(np.exp(presence), np.exp(background)) == pytest.approx(auc(presence, background))
    assert auc(background, presence) == pytest.approx(1 - auc(presence, background))


@given(scores.filter(lambda v: v.size > 1), scores.filter(lambda v: v.size > 1))
def test_deviation_is_delongs_by_its_definition(presence, background) -> None:
    """V10 and V01 of DeLong, DeLong and Clarke-Pearson (1988), pair by pair."""
    wins = (presence[:, None] > background) + 0.5 * (presence[:, None] == background)
    m, n = wins.shape
    theta = wins.mean()
    s10 = np.sum((wins.mean(axis=1) - theta) ** 2) / (m - 1)
    s01 = np.sum((wins.mean(axis=0) - theta) ** 2) / (n - 1)
    assert auc_deviation(presence, background) == pytest.approx(np.sqrt(s10 / m + s01 / n), abs=1e-12)


def test_one_presence_has_no_deviation() -> None:
    assert np.isnan(auc_deviation(np.array([1.0]), np.array([0.0, 2.0])))


def test_log_loss() -> None:
    assert log_loss(np.array([0.1, 0.4])) == pytest.approx(-(np.log(0.1) + np.log(0.4)) / 2)
    assert log_loss(np.array([0.1, 0.0])) == np.inf
