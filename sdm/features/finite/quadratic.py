"""Quadratic features: squares of the raw variables."""

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError
from sdm.features.centred import less_product, product_range
from sdm.features.domain import Domain, DomainVariable
from sdm.features.finite.single import SingleFamily
from sdm.features.terms import QUADRATIC
from sdm.types import Array

LARGEST = 1e150
"""Products of larger values, and differences of products, may be no numbers any more."""


def check_products(domain: Domain, var: NDArray[np.int64], letter: str) -> None:
    """Raise for variables whose values cannot be multiplied with one another."""
    for variable in (domain.variables[v] for v in var):
        if (most := max(abs(variable.lo), abs(variable.hi))) > LARGEST:
            raise OptionError(
                f"features '{letter}' multiply values, and those of variable '{variable.name}', up to {most:.3g}, are "
                f"too large for that: give it in another unit, or leave out '{letter}'"
            )


class QuadraticFamily(SingleFamily):
    """One feature per continuous variable: its square, scaled to [0, 1] (not the square of the scaled variable)."""

    letter = "q"
    kind = QUADRATIC

    def __init__(self, domain: Domain, var: NDArray[np.int64] | None = None) -> None:
        check_products(domain, domain.continuous if var is None else var, self.letter)
        super().__init__(domain, var)

    @staticmethod
    def transform(variable: DomainVariable) -> tuple[float, float, Array]:
        """Take the square of the raw value."""
        c = variable.centre
        varies = (variable.values - c) * (variable.values + c)
        lo, hi = product_range(float(varies.min()), float(varies.max()), c, c)
        return lo, hi, varies - less_product(lo, c, c)
