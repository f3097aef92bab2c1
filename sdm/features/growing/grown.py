"""Features of growing families, as far as they have been found.

An *oracle* stands for such a family: `propose(g)` returns its most violated features under `g = p − π̃`, one for each
size. What is taken in becomes a column of the one `GrownFamily` family, in the order of discovery, and then answers
like any other.
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

BITS = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)  # the eight bits of each byte


class Shape(Protocol):
    """The definition of a feature, apart from any data."""

    @property
    def size(self) -> int:
        """Its complexity `k`: it belongs to `H_k`."""

    @property
    def var(self) -> NDArray[np.int32]:
        """The variables that it uses."""

    def key(self) -> tuple[Any, ...]:
        """Identify it among features of its kind."""


@dataclass(frozen=True)
class Proposal:
    """A feature that an oracle would add, with its violation `|p[f] − π̃[f]|`."""

    shape: Shape
    violation: float


class Oracle(Protocol):
    """A growing family."""

    name: str
    largest: int

    def propose(self, g: Array) -> list[Proposal]:
        """Return the best feature of each size under `g`."""

    def propose_quickly(self, g: Array) -> list[Proposal]:
        """Return what the cheaper part of the search finds."""

    def propose_further(self, g: Array) -> list[Proposal]:
        """Return what the rest of the search finds."""

    def column(self, shape: Any) -> AnyArray:
        """Return a feature at every cell."""

    def complexity(self, size: int, m: float) -> float:
        """Return the bound on the Rademacher complexity of `H_size` with `m` presences (Cortes et al. 2015, eq. 15)."""

    def log_count(self, size: int, points: float) -> float:
        """Return a bound on the logarithm of the number of different columns of `H_size` on some points."""


class PackedColumns:
    """A growing list of 0/1 columns over `n` cells, eight to a byte: their expectations are one histogram over 256
    values, and their scores one look-up, so that eight trees cost what one would, and an eighth of the memory."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.size = 0
        self._bytes: list[NDArray[np.uint8]] = []

    def add(self, column: NDArray[np.uint8]) -> None:
        """Append a column."""
        byte, bit = divmod(self.size, 8)
        if bit == 0:
            self._bytes.append(np.zeros(self.n, dtype=np.uint8))
        self._bytes[byte] |= column << np.uint8(bit)
        self.size += 1

    def column(self, j: int) -> NDArray[np.uint8]:
        """Return column `j`."""
        byte, bit = divmod(j, 8)
        return (self._bytes[byte] >> np.uint8(bit)) & np.uint8(1)

    def sums(self, mass: Array, first: int = 0) -> Array:
        """Return the mass on the ones of each column, from the `first` on."""
        out = np.empty(8 * len(self._bytes))
        for k in range(first // 8, len(self._bytes)):
            out[8 * k : 8 * k + 8] = np.bincount(self._bytes[k], mass, 256) @ BITS
        return out[first : self.size]

    def add_scores(self, weights: Array, theta: Array) -> None:
        """Add the weighted columns."""
        padded = np.zeros(8 * len(self._bytes))
        padded[: self.size] = weights
        for codes, eight in zip(self._bytes, padded.reshape(-1, 8)):
            if np.any(eight):
                theta += (BITS @ eight)[codes]

    def subset(self, keep: NDArray[np.int64]) -> "PackedColumns":
        """Return the columns with the given numbers."""
        out = PackedColumns(self.n)
        for j in keep:
            out.add(self.column(int(j)))
        return out


class GrownFamily(Family):
    """The features found so far: `shapes` define them, `sources` are the oracles that found them."""

    letter = "s"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.shapes: list[Shape] = []
        self.sources: list[Oracle] = []
        self._packed = PackedColumns(domain.n)
        self._plain: list[Array] = []
        # Where each feature's column is: the first number counts zeros and ones, the second any others.
        self._place: list[tuple[int, int]] = []
        self._keys: list[Any] = []
        self._known: set[Any] = set()

    def knows(self, oracle: Oracle, shape: Shape) -> bool:
        """Tell whether a feature is here already."""
        return (oracle.name, shape.key()) in self._known

    def add(self, oracle: Oracle, shape: Shape) -> None:
        """Take a feature in."""
        self._keys.append((oracle.name, shape.key()))
        self._known.add(self._keys[-1])
        self.shapes.append(shape)
        self.sources.append(oracle)
        column = oracle.column(shape)
        self._place.append((self._packed.size, len(self._plain)))
        if column.dtype == np.uint8:
            self._packed.add(column)
        else:
            self._plain.append(column)

    @property
    def var(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The first variable of each feature."""
        return np.array([shape.var[0] for shape in self.shapes], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many features there are so far."""
        return len(self.shapes)

    def _binary(self, first: int = 0) -> NDArray[np.bool_]:
        """Tell which features, from the `first` on, are zeros and ones."""
        ends = [*self._place[first:], (self._packed.size, len(self._plain))]
        return np.diff([packed for packed, _ in ends]) > 0

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Sum every column, and its square."""
        means = self.expectations(measure)
        squares = means.copy()  # of zeros and ones
        squares[~self._binary()] = [np.square(column) @ measure.mass for column in self._plain]
        return means, squares

    def expectations(self, measure: Measure, first: int = 0) -> Array:
        """Sum the columns, from the `first` on."""
        if first == self.size:
            return np.empty(0)
        packed, plain = self._place[first]
        out, binary = np.empty(self.size - first), self._binary(first)
        out[binary] = self._packed.sums(measure.mass, packed)
        out[~binary] = [column @ measure.mass for column in self._plain[plain:]]
        return out

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        packed, plain = self._place[j]
        return self._packed.column(packed).astype(np.float64) if self._binary(j)[0] else self._plain[plain]

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weighted columns in use."""
        binary = self._binary()
        self._packed.add_scores(weights[binary], theta)
        for column, weight in zip(self._plain, weights[~binary]):
            if weight:
                theta += weight * column

    def terms(self) -> Terms:
        """Refuse: these features have shapes of their own."""
        raise DataError("features that were grown are kept as shapes, not as terms")

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer of the features found."""
        out = type(self)(self.domain)
        binary = self._binary()
        out._packed = self._packed.subset(np.flatnonzero(keep[binary]))
        out._plain = [self._plain[k] for k in np.flatnonzero(keep[~binary])]
        counts = np.cumsum([[0, 0], *zip(binary[keep], ~binary[keep])], axis=0)
        out._place = [(int(a), int(b)) for a, b in counts[:-1]]
        for j in np.flatnonzero(keep):
            out.shapes.append(self.shapes[j])
            out.sources.append(self.sources[j])
            out._keys.append(self._keys[j])
        out._known = set(out._keys)
        return out
