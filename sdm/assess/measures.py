"""Measures of how well predictions tell presences from background."""

import numpy as np

from sdm.features.domain import Array


def auc(presence: Array, background: Array) -> float:
    """Return the probability that a presence scores above a background point, ties counting one half."""
    return float(np.mean(_mid_rank(np.sort(background), presence)) / background.size)


def auc_deviation(presence: Array, background: Array) -> float:
    """Return DeLong's standard deviation of the AUC; NaN for a single presence."""
    if presence.size < 2 or background.size < 2:
        return float("nan")
    ordered_background, ordered_presence = np.sort(background), np.sort(presence)
    rank_p = _mid_rank(ordered_background, presence) / background.size
    rank_b = 1.0 - _mid_rank(ordered_presence, background) / presence.size
    return float(np.sqrt(np.var(rank_p, ddof=1) / presence.size + np.var(rank_b, ddof=1) / background.size))


def _mid_rank(ordered: Array, values: Array) -> Array:
    """Return how many of `ordered` are below each value, ties counting one half."""
    both = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return both.astype(np.float64) / 2


def log_loss(raw: Array) -> float:
    """Return the mean negative log of the raw values at presences, in nats; infinite if one of them is zero."""
    with np.errstate(divide="ignore"):
        return float(-np.mean(np.log(raw)))
