"""Predictions where variables are outside their training ranges."""

from collections.abc import Callable, Sequence

import numpy as np

from sdm.errors import IncompleteModelError, OptionError, expect_one_of
from sdm.models.interface import FittedModel
from sdm.models.presence import ValueModel
from sdm.novelty.reference import TrainingRange
from sdm.types import AnyArray, Array

# clamp: variables are limited to their training ranges. free: they are not. none: no prediction outside. fade: the
# clamped prediction minus its difference from the free one (Java Maxent's fade by clamping). lower: the smaller of both
# (Java Maxent's minimum clamping).
EXTRAPOLATIONS = ("clamp", "free", "none", "fade", "lower")
BOTH = ("fade", "lower")  # methods that need the clamped and the free prediction


def check_extrapolation(word: str, methods: Sequence[str] = EXTRAPOLATIONS) -> None:
    """Raise for a word that is not in `methods`."""
    expect_one_of("extrapolation", word, methods)


def required_range(model: FittedModel | ValueModel) -> TrainingRange:
    """Return the training range of a model; raise if its file does not contain it."""
    if model.training_range is None:
        raise OptionError(
            "the model lacks its training range: fit it again, or use another --extrapolation",
            code=IncompleteModelError.code,
        )
    return model.training_range


def extrapolated(
    model: FittedModel | ValueModel,
    values: Array,
    free: Callable[[], Array],
    columns: Sequence[AnyArray],
    extrapolation: str,
) -> Array:
    """Return predictions (last axis: points) with the extrapolation method applied outside the training ranges.

    `values` are unclamped predictions for ``free``, else clamped ones. `free` computes the unclamped predictions.
    """
    if extrapolation == "none":
        return np.where(required_range(model).outside(columns), np.nan, values)
    if extrapolation == "fade":
        return np.maximum(values - np.abs(values - free()), 0.0)
    if extrapolation == "lower":
        return np.minimum(values, free())
    return values
