"""Linear features: the variables themselves."""

from sdm.features.domain import DomainVariable
from sdm.features.finite.single import SingleFamily
from sdm.features.terms import LINEAR
from sdm.types import Array


class LinearFamily(SingleFamily):
    """One feature per continuous variable: its value, scaled to [0, 1]."""

    letter = "l"
    kind = LINEAR

    @staticmethod
    def transform(variable: DomainVariable) -> tuple[float, float, Array]:
        """Take the value itself."""
        return variable.lo, variable.hi, variable.values - variable.lo
