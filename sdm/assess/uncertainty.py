"""Variation between replicates: mean, standard deviation and quantiles of every cell, one window at a time.

Every window has the predictions of all replicates, so quantiles are exact, and memory is proportional to a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError
from sdm.models.extrapolation import extrapolated
from sdm.models.presence import ValueModel
from sdm.types import Array

LEVELS = (0.05, 0.95)  # levels of the lower and the upper quantile
STATISTICS = ("mean", "sd", "lower", "upper")


@dataclass(frozen=True)
class Spread:
    """Mean, standard deviation, lower and upper quantile over replicates; NaN where a replicate has no value."""

    mean: Array
    sd: Array
    lower: Array
    upper: Array


def summarise(predictions: Sequence[NDArray[np.floating]]) -> Spread:
    """Summarise predictions of one window: arrays of one shape from at least two replicates, NaN for missing values.

    With few replicates, quantiles are interpolated between them.
    """
    if len(predictions) < 2:
        raise OptionError(f"a spread needs at least 2 replicates, got {len(predictions)}")
    stack = np.asarray(predictions, dtype=np.float64)
    ordered = np.sort(stack, axis=0)  # NaN sorts last, so the last row shows whether there is one
    missing = np.isnan(ordered[-1])
    lower, upper = (_quantile(ordered, level) for level in LEVELS)
    mean, sd = stack.mean(axis=0), stack.std(axis=0, ddof=1)
    return Spread(*(np.where(missing, np.nan, part) for part in (mean, sd, lower, upper)))


def predict_spread(
    models: Sequence[ValueModel],
    columns: Sequence[NDArray[np.floating]],
    scale: str = "cloglog",
    extrapolation: str = "clamp",
) -> Spread:
    """Predict one window with every replicate's model and summarise; `columns` as for `predict_columns`."""
    return summarise([_predicted(model, columns, scale, extrapolation) for model in models])


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
