"""The features of growing families that the searches found.

An *oracle* represents such a family: `propose(g)` returns its most violated features under `g = p − π̃`, one for each
size. Added features become columns of one `GrownFamily`, in the order of discovery, which then behaves like any other
family.
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.terms import Terms
from sdm.types import AnyArray, Array


class Shape(Protocol):
    """The definition of a feature, without data."""

    @property
    def size(self) -> int:
        """Return its complexity `k`: it belongs to `H_k`."""

    @property
    def var(self) -> NDArray[np.int32]:
        """Return its variables."""

    def key(self) -> tuple[Any, ...]:
        """Return an identifier among features of its kind."""


@dataclass(frozen=True)
class Proposal:
    """A feature that an oracle proposes, with its violation `|p[f] − π̃[f]|`."""

    shape: Shape
    violation: float


class Oracle(Protocol):
    """A growing family."""

    name: str
    largest: int

    def propose(self, g: Array) -> list[Proposal]:
        """Return the best feature of each size under `g`."""

    def propose_quickly(self, g: Array) -> list[Proposal]:
        """Return the results of the cheaper part of the search."""

    def propose_further(self, g: Array) -> list[Proposal]:
        """Return the results of the other part of the search."""

    def column(self, shape: Any) -> AnyArray:
        """Return a feature at every cell."""

    def complexity(self, size: int, m: float) -> float:
        """Return the bound on the Rademacher complexity of `H_size` with `m` presences (Cortes et al. 2015, eq. 15)."""

    def log_count(self, size: int, points: float) -> float:
        """Return a bound on the logarithm of the number of different columns of `H_size` at `points` points."""


class GrownFamily(Family):
    """The features found so far, with their definitions `shapes` and their oracles `sources`."""

    letter = "s"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.shapes: list[Shape] = []
        self.sources: list[Oracle] = []
        self._columns: list[AnyArray] = []  # columns of zeros and ones are bytes
        self._keys: set[Any] = set()

    def contains(self, oracle: Oracle, shape: Shape) -> bool:
        """Return whether a feature was added before."""
        return (oracle.name, shape.key()) in self._keys

    def add(self, oracle: Oracle, shape: Shape, column: AnyArray | None = None) -> None:
        """Add a feature, and compute its column unless it is given."""
        self._keys.add((oracle.name, shape.key()))
        self.shapes.append(shape)
        self.sources.append(oracle)
        self._columns.append(oracle.column(shape) if column is None else column)

    @property
    def var(self) -> NDArray[np.int64]:  # type: ignore[override]
        """Return the first variable of each feature."""
        return np.array([shape.var[0] for shape in self.shapes], dtype=np.int64)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return len(self.shapes)

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sum every column, and its square."""
        squares = [np.square(column) @ measure.mass for column in self._columns]
        return self.expectations(measure), np.array(squares)

    def expectations(self, measure: Measure, first: int = 0) -> Array:
        """Sum the columns from `first` on."""
        return np.array([column @ measure.mass for column in self._columns[first:]])

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        return np.asarray(self._columns[j], dtype=np.float64)

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted columns in use."""
        for column, weight in zip(self._columns, weights):
            if weight:
                theta += weight * column

    def terms(self) -> Terms:
        """Refuse: grown features are shapes, not terms."""
        raise DataError("features that were grown are kept as shapes, not as terms")

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer features."""
        out = type(self)(self.domain)
        for j in np.flatnonzero(keep):
            out.add(self.sources[j], self.shapes[j], self._columns[j])
        return out
