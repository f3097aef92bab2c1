"""How much replicates disagree: mean, deviation and quantiles, cell by cell, one window of cells at a time.

Every window has all replicates' predictions at once, so quantiles are exact and memory is that of a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError
from sdm.models.extrapolation import extrapolated
from sdm.models.presence import ValueModel
from sdm.types import Array

INTERVAL = 0.9
STATISTICS = ("mean", "sd", "lower", "upper")


@dataclass(frozen=True)
class Spread:
    """Over replicates: their mean, standard deviation, and lower and upper quantile; NaN where one of them is."""

    mean: Array
    sd: Array
    lower: Array
    upper: Array


def summarise(predictions: Sequence[NDArray[np.floating]], interval: float = INTERVAL) -> Spread:
    """Summarise predictions of one window: two or more replicates' arrays of one shape, NaN where there is no value.

    `interval` is the share of replicates between the lower and the upper quantile, so 0.9 for 5 % and 95 %; 1 for the
    least and the largest. With few replicates quantiles are interpolated between them.
    """
    _check(len(predictions), interval)
    stack = np.asarray(predictions, dtype=np.float64)
    ordered = np.sort(stack, axis=0)  # NaN last, so one is in the last row if in any
    missing = np.isnan(ordered[-1])
    tail = 0.5 * (1.0 - interval)
    lower, upper = (_quantile(ordered, level) for level in (tail, 1.0 - tail))
    mean, sd = stack.mean(axis=0), stack.std(axis=0, ddof=1)
    return Spread(*(np.where(missing, np.nan, part) for part in (mean, sd, lower, upper)))


def predict_spread(
    models: Sequence[ValueModel],
    columns: Sequence[NDArray[np.floating]],
    scale: str = "cloglog",
    extrapolation: str = "clamp",
    interval: float = INTERVAL,
) -> Spread:
    """Predict one window with every replicate's model and summarise; `columns` as for their `predict_columns`."""
    _check(len(models), interval)
    return summarise([_predicted(model, columns, scale, extrapolation) for model in models], interval)


def _predicted(model: ValueModel, columns: Sequence[NDArray[np.floating]], scale: str, extrapolation: str) -> Array:
    """Return a replicate's predictions."""
    values = model.predict_columns(columns, scale, extrapolation != "free")
    return extrapolated(model, values, lambda: model.predict_columns(columns, scale, False), columns, extrapolation)


def _quantile(ordered: Array, level: float) -> Array:
    """Return a quantile along the first axis of sorted values, by linear interpolation."""
    place = level * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2)
    share = place - below
    out: Array = (1.0 - share) * ordered[below] + share * ordered[below + 1]
    return out


def _check(replicates: int, interval: float) -> None:
    if replicates < 2:
        raise OptionError(f"a spread needs at least 2 replicates, got {replicates}")
    if not 0.0 < interval <= 1.0:
        raise OptionError(f"interval={interval!r}: expected a share above 0 and up to 1, such as 0.9")
