"""The interface of a feature family: an oracle over all of its features, without their matrix."""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Domain, Measure
from sdm.features.terms import Terms
from sdm.types import Array


class Family(ABC):
    """A set of features scaled to [0, 1] over a domain."""

    letter: str  # letter of the class: l q p h t c
    domain: Domain
    var: NDArray[np.int64]  # the variable of each feature (the first of the two, for products)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return int(self.var.size)

    @abstractmethod
    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Return `mass[f_j]` and `mass[f_j²]` for every feature, in one pass."""

    @abstractmethod
    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""

    @abstractmethod
    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add `Σ_j weights_j f_j`: univariate features to `table`, over distinct values; others to `theta`, over
        cells."""

    @abstractmethod
    def terms(self) -> Terms:
        """Return the definition of every feature, with weight zero."""

    @abstractmethod
    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with only the features marked in `keep`."""

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return group numbers of near duplicates, each with one representative; most features are their own group."""
        return np.arange(self.size)

    def expectations(self, measure: Measure) -> Array:
        """Return `mass[f_j]` for every feature."""
        return self.moments(measure)[0]
