"""Measures of how well predictions discriminate presences from background.

Unless stated otherwise, a function takes predictions on any scale that keeps their order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdm.errors import FoldsError
from sdm.types import AnyArray, Array, Row

# ------------------------------------------------------------------------------------------------------- AUC


def auc(presence: Array, background: Array) -> float:
    """Return the probability that a presence scores above a background point; ties count one half."""
    return auc_among(presence, np.sort(background))


def auc_among(presence: Array, ordered: Array) -> float:
    """Return the AUC for sorted predictions at the background."""
    return float(np.mean(_mid_rank(ordered, presence)) / ordered.size)


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


# ------------------------------------------------------------------------------------------------- likelihood


def log_loss(raw: Array) -> float:
    """Return the mean negative log of the raw values at presences, in nats; infinite if one of them is zero."""
    with np.errstate(divide="ignore"):
        return float(-np.mean(np.log(raw)))


def gain(raw: Array, n: int) -> float:
    """Return the gain `ln n − log loss`: for test presences the test gain. Raw values sum to one over `n` cells."""
    return float(np.log(n)) - log_loss(raw)


def relative_gain(presence: Array, background: Array, weights: Array | None = None, floor: float = 0.0) -> float:
    """Return the mean log of the presences' density over its mean at the background, in nats.

    This is the test gain with the density scaled to one over the given background, which may be the background of a
    fold. Presences that were added to the training domain are not used. `weights` are the weights of the background. A
    share `floor` of the base measure keeps the gain finite where an entropy above 1 gives a density of zero.
    """
    ratio = presence / np.average(background, weights=weights)
    with np.errstate(divide="ignore"):
        return float(np.mean(np.log((1.0 - floor) * ratio + floor)))


@dataclass(frozen=True)
class Aicc:
    """Akaike's criterion for small samples; if it is undefined, `value` is NaN and `reason` has the cause."""

    value: float
    reason: str = ""


def density_aicc(raw: Array, background: Array, coefficients: int) -> Aicc:
    """Return `2k − 2 ln L + 2k(k+1)/(m−k−1)` (Warren and Seifert 2011), of raw values at `m` presences and background.

    `L` is the product of the presences' densities, scaled to sum to one over the background; `k` counts features with
    a weight.
    """
    return likelihood_aicc(raw / background.sum(), coefficients)


def likelihood_aicc(likelihood: Array, coefficients: int, noun: str = "presences", value: str = "density") -> Aicc:
    """Return AICc from the likelihood of every observation; `noun` and `value` name observations and likelihood in
    messages."""
    m, k = likelihood.size, int(coefficients)
    if k >= m - 1:
        return Aicc(
            float("nan"), f"{k} coefficients for {m} {noun}: AICc needs at least two {noun} more than coefficients"
        )
    if none := int(np.count_nonzero(likelihood <= 0)):
        return Aicc(float("nan"), f"{none} of {m} {noun} have a {value} of zero, so the likelihood is zero")
    return Aicc(2 * k - 2 * float(np.sum(np.log(likelihood))) + 2 * k * (k + 1) / (m - k - 1))


def aicc_weights(values: Sequence[float]) -> tuple[Array, Array]:
    """Return `delta.AICc` and `w.AIC` of several models; both are NaN where AICc is."""
    out = np.asarray(values, dtype=np.float64)
    if np.all(np.isnan(out)):
        return out.copy(), out.copy()
    delta = out - np.nanmin(out)
    weight = np.exp(-0.5 * delta)
    return delta, weight / np.nansum(weight)


# --------------------------------------------------------------------------------------------- with a threshold


def omission_rate(presence: Array, threshold: float) -> float:
    """Return the share of presences below a threshold."""
    return float(np.mean(presence < threshold))


def tenth_percentile(train: Array) -> float:
    """Return the 10 percentile training presence: a tenth of the presences, rounded down, are below it."""
    return float(np.partition(train, train.size // 10)[train.size // 10])


def tss(presence: Array, absence: Array, threshold: float) -> float:
    """Return the true skill statistic, sensitivity + specificity − 1; a value at the threshold counts as present."""
    return float(np.mean(presence >= threshold) + np.mean(absence < threshold) - 1.0)


def max_tss(presence: Array, absence: Array) -> tuple[float, float]:
    """Return the largest true skill statistic of any threshold, and the lowest threshold that has it."""
    # The best threshold is a prediction at a presence: up to the next one, raising it excludes more absences and no
    # presence.
    levels, counts = np.unique(presence, return_counts=True)
    predicted = presence.size - (np.cumsum(counts) - counts)
    excluded = np.searchsorted(np.sort(absence), levels, side="left")
    both = predicted * absence.size + excluded * presence.size  # whole numbers, so that equal statistics are equal
    best = int(np.argmax(both))
    return float(both[best] / (presence.size * absence.size) - 1.0), float(levels[best])


# ----------------------------------------------------------------------------------------------- partial ROC


def partial_roc_ratio(presence: Array, background: Array, omitted: float = 0.05) -> float:
    """Return the partial area under the ROC curve, relative to a random prediction (Peterson et al. 2008).

    The curve is sensitivity against the predicted share of the background, at the distinct predictions of both. Only
    points that omit at most the share `omitted` of the presences count. The model's area (trapezoids between those
    points) is divided by the area below the diagonal over the same range. ntbox and kuenm do the same, but bin
    predictions and drop points that omit exactly that share.

    The ratio is 1 for a random prediction and at most 2. It is biased upwards in small samples, because the curve is
    cut at a presence. It is NaN if all background points are on one side of the cut.
    """
    ordered = np.sort(presence)
    most = int(np.floor(omitted * presence.size + 1e-9))
    below = np.sort(background if most >= presence.size else background[background <= ordered[most]])
    levels = np.unique(np.concatenate([ordered[: most + 1], below]))[::-1]
    x = 1.0 - np.searchsorted(below, levels, side="left") / background.size
    y = 1.0 - np.searchsorted(ordered, levels, side="left") / presence.size
    random = 0.5 * (x[-1] ** 2 - x[0] ** 2)
    if random == 0.0:
        return float("nan")
    return float(np.sum(np.diff(x) * 0.5 * (y[1:] + y[:-1])) / random)


# ---------------------------------------------------------------------------------------------------- Boyce


@dataclass(frozen=True)
class Boyce:
    """The continuous Boyce index and its curve: the middle and the ratio of each window."""

    index: float
    middle: Array
    ratio: Array


def boyce(
    presence: Array, background: Array, *, weights: Array | None = None, width: float | None = None, windows: int = 101
) -> Boyce:
    """Return the continuous Boyce index (Hirzel et al. 2006) with a moving window.

    Windows of a tenth of the background's range (or `width`) move in equal steps from the lowest to the highest
    prediction, both ends included. The ratio of a window is its share of the presences over its share of the
    background; empty windows have none. Neighbours with the same ratio (to ten digits) are merged. The index
    is Spearman's correlation of the ratio with the window's position. It is 1 if the density of presences rises with
    the prediction, 0 at random, negative if it falls, and NaN if the ratio is constant. `weights` are the weights of
    the background.

    The rules are the same as in ecospat 3.2, with one exception. ecospat shifts its last window by one unit, which
    leaves it empty on a scale from 0 to 1; here it counts. The index depends on the scale of the predictions: use the
    mapped scale (cloglog).
    """
    low, high = float(min(presence.min(), background.min())), float(max(presence.max(), background.max()))
    wide = 0.1 * float(np.ptp(background)) if width is None else float(width)
    lower = np.linspace(low, max(high - wide, low), windows)
    upper = lower + wide
    upper[-1] = high
    p, e = _within(presence, lower, upper), _within(background, lower, upper, weights)
    used = (p > 0) | (e > 0)
    with np.errstate(divide="ignore"):
        ratio = np.round(p[used] / e[used], 10)
    middle = 0.5 * (lower + upper)[used]
    last = np.append(ratio[1:] != ratio[:-1], True)
    return Boyce(spearman(ratio[last], middle[last]), middle, ratio)


def _within(values: Array, lower: Array, upper: Array, weights: Array | None = None) -> Array:
    """Return the share of the values (or of their weights) in each closed window."""
    order = np.argsort(values)
    below = np.append(0.0, np.arange(1.0, values.size + 1) if weights is None else np.cumsum(weights[order]))
    first, last = np.searchsorted(values[order], lower), np.searchsorted(values[order], upper, side="right")
    return np.asarray((below[last] - below[first]) / below[-1])


def spearman(a: Array, b: Array) -> float:
    """Return Spearman's rank correlation; NaN if one side does not vary."""
    if a.size < 2:
        return float("nan")
    x, y = ranks(a), ranks(b)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def ranks(values: Array) -> Array:
    """Return the rank of every value from 1 on, ties sharing their mean rank."""
    distinct, place = np.unique(values, return_inverse=True)
    after = np.cumsum(np.bincount(place, minlength=distinct.size)).astype(np.float64)
    before: Array = np.concatenate([[0.0], after[:-1]])
    mean: Array = (0.5 * (before + after + 1.0))[place]
    return mean


def evenly(rows: Array, most: int) -> Array:
    """Return at most `most` rows, evenly spaced."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]


def column_rows(columns: Mapping[str, AnyArray]) -> list[Row]:
    """Return columns as one dictionary per row."""
    return [dict(zip(columns, row)) for row in zip(*(column.tolist() for column in columns.values()))]


def by_label(values: Array, labels: AnyArray) -> list[tuple[Array, Array] | None]:
    """Return the values of every row with label 1 and with label 0; None where one of the two is missing."""
    parts = [(row[label == 1], row[label == 0]) for row, label in zip(values, labels)]
    return [(ones, zeros) if ones.size and zeros.size else None for ones, zeros in parts]


def check_counts(presence: Array, background: Array) -> None:
    """Refuse to measure without presences or without background points."""
    if not presence.size or not background.size:
        raise FoldsError(
            f"{presence.size:,} presences and {background.size:,} background points to measure on: expected some of "
            "each, so use folds with both"
        )


def binomial_tail(hits: int, n: int, p: float) -> float:
    """Return the probability of `hits` or more successes in `n` trials of probability `p` (exact, one-sided)."""
    from scipy.special import bdtrc

    return 1.0 if hits <= 0 else float(bdtrc(hits - 1, n, p))
