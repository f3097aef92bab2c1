"""Quadratic features: squares of the raw variables."""

from sdm.features.domain import Array
from sdm.features.single import Single
from sdm.features.terms import QUADRATIC


class Quadratic(Single):
    """One feature a continuous variable: its square, scaled to [0, 1] (not the square of the scaled variable)."""

    letter = "q"
    kind = QUADRATIC

    @staticmethod
    def transform(x: Array) -> Array:
        """Return the square of the raw value."""
        return x * x
