"""Predictions where variables are outside their training ranges."""

from collections.abc import Callable, Sequence

import numpy as np

from sdm.errors import IncompleteModelError, OptionError, expect_one_of
from sdm.models.interface import FittedModel
from sdm.models.presence import ValueModel
from sdm.novelty.reference import TrainingRange
from sdm.types import AnyArray, Array

# Variables are held at the limits of their ranges; or are not; or nothing is predicted there; or the clamped prediction
# is less by its difference from the free one (Java Maxent's fade by clamping); or the lower one of both is taken (its
# minimum clamping).
EXTRAPOLATIONS = ("clamp", "free", "none", "fade", "lower")
BOTH = ("fade", "lower")  # those that need the clamped and the free prediction


def check_extrapolation(word: str, known: Sequence[str] = EXTRAPOLATIONS) -> None:
    """Raise for a word that is not in `known`."""
    expect_one_of("extrapolation", word, known)


def known_range(model: FittedModel | ValueModel) -> TrainingRange:
    """Return the training range of a model; raise if its file does not say."""
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
    """Return predictions (last axis: points) as they are to be where variables are outside their ranges: `values` are
    the predictions, free for ``free`` and else clamped, and `free` computes those without clamping."""
    if extrapolation == "none":
        return np.where(known_range(model).outside(columns), np.nan, values)
    if extrapolation == "fade":
        return np.maximum(values - np.abs(values - free()), 0.0)
    if extrapolation == "lower":
        return np.minimum(values, free())
    return values
