"""The choice of λ and β: which setting held-out losses speak for, and what they have to show before trees come in."""

import numpy as np
import pytest

from sdm import StructMaxent
from sdm.maxent.penalty_search import FINITE_ONLY, HeldOutLosses


def naive_mean(repeats, share):
    """The weighted mean of the records' mean losses, and its standard error, one record at a time."""
    means, weights = [], []
    for i, weight in enumerate(share):
        known = [row[i] for row in repeats if not np.isnan(row[i])]
        if known:
            means.append(sum(known) / len(known))
            weights.append(weight)
    total, n = sum(weights), len(means)
    mean = sum(w * x for w, x in zip(weights, means)) / total
    square = sum((w / total) ** 2 * (x - mean) ** 2 for w, x in zip(weights, means))
    return mean, (square * n / (n - 1)) ** 0.5


def test_losses_are_means_over_records_and_repeats():
    rng = np.random.default_rng(5)
    sample = np.zeros(30)
    sample[rng.choice(30, 12, replace=False)] = rng.random(12)
    losses = HeldOutLosses(sample)
    share = sample[sample > 0]
    for key in ((0.1, 0.2), FINITE_ONLY):
        rows = rng.normal(size=(3, 12))
        rows[1:][rng.random((2, 12)) < 0.4] = np.nan
        rows[:, 4] = np.nan  # never held out
        losses.of[key] = list(rows)
    for setting in losses.settings():
        mean, error = naive_mean(losses.of[setting.lam, setting.beta], share)
        assert setting.loss == pytest.approx(mean, rel=1e-12)
        assert setting.error == pytest.approx(error, rel=1e-12)
        assert len(setting.losses) == 11


def test_a_setting_that_took_no_part_to_the_end_is_not_the_best():
    losses = HeldOutLosses(np.full(4, 0.25))
    losses.of = {
        (0.1, 0.0): [np.full(4, -9.0)],
        FINITE_ONLY: [np.zeros(4), np.ones(4)],
        (0.2, 0.0): [np.ones(4), np.ones(4)],
    }
    assert losses.best() == FINITE_ONLY


def test_clearly_worse_settings_are_left_out_of_the_next_repeat():
    losses = HeldOutLosses(np.full(4, 0.25))
    base = np.array([0.0, 5.0, 10.0, 15.0])  # records differ by far more than settings
    losses.of = {
        (0.1, 0.0): [base],
        (0.2, 0.0): [base + np.array([0.9, 1.0, 1.1, 1.0])],
        (0.3, 0.0): [base + np.array([-2.0, 2.5, 0.1, 0.0])],
    }
    assert losses.may_win((0.1, 0.0), (0.1, 0.0))
    assert not losses.may_win((0.2, 0.0), (0.1, 0.0))
    assert losses.may_win((0.3, 0.0), (0.1, 0.0))


@pytest.mark.parametrize("gate", [False, True])
def test_the_choice_follows_the_rule(gate):
    """The lowest loss if λ = ∞ is more than its standard error above it, else λ = ∞."""
    rng = np.random.default_rng(11)
    x = rng.random((900, 3))
    suitable = np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, 0.05) if gate else np.exp(-3 * x[:, 0])
    rows = np.vstack([x[rng.choice(900, 90, p=suitable / suitable.sum())], x])
    model = StructMaxent("l,q,trees:3", folds=3).fit(rows, np.repeat([1, 0], [90, 900]))
    none = next(s for s in model.search_ if np.isinf(s.lam))
    most = min(model.search_, key=lambda s: s.loss)
    assert none.losses != most.losses or none is most
    if gate:
        assert (model.lam_, model.beta_) == (most.lam, most.beta)
        assert most.loss + most.error < none.loss
    else:
        assert np.isinf(model.lam_)
        assert none.loss <= most.loss + most.error
        assert "dropped" in model.notes_[-1]
