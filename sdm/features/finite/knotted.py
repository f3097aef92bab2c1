"""Families with one feature per knot: any number of knots per variable at the cost of one sorted pass."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Domain
from sdm.features.family import Family
from sdm.types import Array


class KnottedFamily(Family):
    """Features of one variable and one knot, laid out variable by variable, knots ascending (none for a variable
    without)."""

    def __init__(self, domain: Domain, knots: Sequence[Array]) -> None:
        self.domain = domain
        sizes = [len(k) for k in knots]
        self.knots = np.concatenate([*knots, np.empty(0)]).astype(np.float64)
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.var = np.repeat(np.arange(len(sizes)), sizes)

    def spans(self) -> list[tuple[slice, slice]]:
        """Return where the knots, and where the distinct values, of every variable with knots are."""
        each = [[slice(a, b) for a, b in pairwise(start.tolist())] for start in (self.start, self.domain.start)]
        return [(knots, values) for knots, values in zip(*each) if knots.stop > knots.start]

    @property
    def groups(self) -> NDArray[np.int64]:
        """Features with neighbouring knots are near copies: group them by variable."""
        return self.var

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        v = int(self.var[j])
        where = slice(int(self.domain.start[v]), int(self.domain.start[v + 1]))
        return self.domain.spread(v, self.profile(j, self.domain.values[where]))

    def profile(self, j: int, x: Array) -> Array:
        """Return feature `j` as a function of the raw values `x` of its variable."""
        raise NotImplementedError

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family with fewer knots."""
        kept = [self.knots[a:b][keep[a:b]] for a, b in zip(self.start[:-1], self.start[1:])]
        return self.rebuild(kept)

    def rebuild(self, knots: Sequence[Array]) -> Self:
        """Return this family with other knots."""
        return type(self)(self.domain, knots)
