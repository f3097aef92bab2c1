"""Linear features: the variables themselves."""

from sdm.features.domain import Array
from sdm.features.single import Single
from sdm.features.terms import LINEAR


class Linear(Single):
    """One feature a continuous variable: its value, scaled to [0, 1]."""

    letter = "l"
    kind = LINEAR

    @staticmethod
    def transform(x: Array) -> Array:
        """Return the value itself."""
        return x
