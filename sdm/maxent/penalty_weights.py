"""The regularisation weight β of every feature, from the standard error of its mean in the sample."""

from collections.abc import Collection, Mapping

import numpy as np

from sdm.errors import ConflictError, OptionError
from sdm.features.domain import Measure
from sdm.features.feature_set import FeatureSet
from sdm.maxent.confidence import PENALTY_OF, theory_weights
from sdm.types import Array

# Java Maxent's tables: number of presences, β. Interpolated linearly, flat beyond the ends (Phillips & Dudík 2008).
_LINEAR_ONLY = ((10, 30, 100), (1.0, 0.2, 0.05))
_LINEAR_QUADRATIC = ((0, 10, 17, 30, 100), (1.3, 0.8, 0.5, 0.25, 0.05))
_WITH_PRODUCT = ((0, 10, 17, 30, 100), (2.6, 1.6, 0.9, 0.55, 0.05))
_THRESHOLD = ((0, 100), (2.0, 1.0))
_HINGE = ((0,), (0.5,))
_CATEGORY = ((0, 10, 17), (0.65, 0.5, 0.25))
_FLOOR = 0.001

RULES = ("maxent", "maxnet", "deviation", "corollary7", *PENALTY_OF)
TABULATED = ("maxent", "maxnet")
"""The rules with tables, whose values can be replaced."""

TABLE_LETTERS = {"beta_lqp": "lqp", "beta_hinge": "h", "beta_threshold": "t", "beta_categorical": "c"}
"""Parameters that replace a value of the tables, and the letters of their feature classes."""
TABLE_LIMITS = dict.fromkeys(TABLE_LETTERS, (-1e-300, np.inf, "a number of at least 0, or nothing for Maxent's table"))
"""Limits of these parameters."""


def table_replacements(parameters: object) -> dict[str, float]:
    """Return the values that replace entries of the tables, by class letter, from an object with such parameters."""
    return {
        letter: float(value)
        for name, letters in TABLE_LETTERS.items()
        for letter in letters
        if (value := getattr(parameters, name)) is not None
    }


def penalty_weights(
    features: FeatureSet,
    sample: Array,
    size: float,
    *,
    rule: str | float = "maxent",
    multiplier: float = 1.0,
    delta: float = 0.05,
    values: Mapping[str, float] | None = None,
    norm: float = 10.0,
) -> Array:
    """Return `β_j` for every feature, times `multiplier`; `size` is the effective number of presences `m` (Kish's).

    - `maxent` and `maxnet`: the sample-size tables, as either program applies them.
    - `deviation`: `σ̃_j/√m`, so the multiplier is the β₀ of Dudík, Phillips & Schapire (2007, §8).
    - `corollary5` and so on: these results at confidence `1 − delta`, some for weights of a norm up to `norm`
      (`confidence`).
    - A number: the same β for every feature.

    Tables and deviation give at least 0.001, as in Java Maxent. Otherwise a feature that is constant at the presences
    would have no penalty, and its weight could be unbounded. Random features have no table in other programs; they get
    the larger value of hinges and products. `values` replaces values of the tables, by class letter.
    """
    check_multiplier(multiplier)
    if values and rule not in TABULATED:
        raise ConflictError(f"beta={rule!r}: numbers per feature class need {' or '.join(TABULATED)}")
    if isinstance(rule, (int, float)) and not isinstance(rule, bool):
        return np.full(features.size, float(rule) * multiplier)
    if rule not in RULES:
        raise OptionError(f"beta={rule!r}: expected one of {', '.join(RULES)}, a number, or one β per feature")
    measure = features.domain.measure(sample)
    unbias = size / (size - 1) if size > 1 else 1.0
    deviation = np.sqrt(features.variances(measure) * unbias)
    if rule == "deviation":
        return np.asarray(multiplier * np.maximum(deviation / np.sqrt(size), _FLOOR))
    if rule == "corollary7" or rule in PENALTY_OF:
        return multiplier * theory_weights(str(rule), features, deviation, size, delta, norm)
    return multiplier * _tabulated(features, measure, deviation, size, rule, values or {})


def check_multiplier(multiplier: float) -> None:
    """Raise for an invalid multiplier."""
    if not (np.isfinite(multiplier) and multiplier > 0):
        raise OptionError(f"multiplier={multiplier!r}: expected a positive number (or regularization='none')")


def table_numbers(letters: Collection[str], m: float) -> dict[str, float]:
    """Return the table values of the feature classes by letter, for a model with the classes `letters` and `m`
    presences."""
    smooth = _WITH_PRODUCT if "p" in letters else _LINEAR_QUADRATIC if "q" in letters else _LINEAR_ONLY
    tables = {"l": smooth, "q": smooth, "p": smooth, "h": _HINGE, "t": _THRESHOLD, "c": _CATEGORY}
    return {letter: float(np.interp(m, *table)) for letter, table in tables.items()}


def _tabulated(
    features: FeatureSet, measure: Measure, deviation: Array, m: float, rule: str, values: Mapping[str, float]
) -> Array:
    """Return `table · s_j / √m` with the exceptions of each program."""
    sizes = np.diff(features.offsets)
    letters = [family.letter for family in features.families]
    heights = table_numbers(letters, m)
    # Random features are not in either program. They are hinges along combinations of variables, which products also
    # have.
    heights["r"] = max(heights["h"], float(np.interp(m, *_WITH_PRODUCT)))
    heights |= values
    table = np.repeat([heights[letter] for letter in letters], sizes)
    spread = np.minimum(deviation, 0.5) if rule == "maxent" else deviation
    hinges, thresholds = (np.repeat([letter in chosen for letter in letters], sizes) for chosen in ("hr", "t"))
    spread = np.where(hinges, np.maximum(spread, 1.0 / np.sqrt(m)), spread)
    beta = np.maximum(table * spread / np.sqrt(m), _FLOOR)
    if rule == "maxnet":
        mean = features.expectations(measure)
        constant = thresholds & ((mean < 1e-12) | (mean > 1 - 1e-12))
        beta[constant] = 1.0
    return np.asarray(beta)
