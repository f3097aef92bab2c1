"""Linear features: the variables themselves."""

from sdm.features.domain import Variable
from sdm.features.finite.single import Single
from sdm.features.terms import LINEAR
from sdm.types import Array


class Linear(Single):
    """One feature a continuous variable: its value, scaled to [0, 1]."""

    letter = "l"
    kind = LINEAR

    @staticmethod
    def transform(variable: Variable) -> tuple[float, float, Array]:
        """Take the value itself."""
        return variable.lo, variable.hi, variable.values - variable.lo
