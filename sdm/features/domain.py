"""The domain: cells, their variables as ranks of distinct values, and measures over them.

Every feature of one variable is a function of its distinct values. So a cell is stored as the rank of its value in each
variable. A measure is summed once per variable into its *marginal*, the mass on each distinct value. All linear,
quadratic, hinge, threshold and category expectations follow from the marginals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sdm._jit import jit
from sdm.errors import BadValueError
from sdm.executors.ahead import in_parts, over_cells
from sdm.features.terms import centre_of
from sdm.types import Array

_BLOCK = 4096  # cells per block, whose variables fit into the first cache


@dataclass(frozen=True)
class DomainVariable:
    """One environmental variable over the domain."""

    name: str
    categorical: bool
    values: Array  # distinct values in ascending order (codes, for a categorical variable)

    @property
    def lo(self) -> float:
        """Return the smallest value over the domain."""
        return float(self.values[0])

    @property
    def hi(self) -> float:
        """Return the largest value over the domain."""
        return float(self.values[-1])

    @property
    def centre(self) -> float:
        """Return the origin of the variable in products."""
        return centre_of(self.lo, self.hi)


class Domain:
    """Cells `x_1..x_n`, (n, V) without missing values, with a base measure `q0`.

    `q0` is positive and scaled to sum to one; the default is uniform. The last `extra` cells have a negligible base
    measure: they are presences that are not part of the background of `n_base` cells.
    """

    def __init__(
        self,
        x: Array,
        names: Sequence[str],
        categorical: Sequence[str] = (),
        q0: Array | None = None,
        extra: int = 0,
    ) -> None:
        self.n: int = x.shape[0]
        self.n_base = self.n - extra
        _refuse_missing(x, names)
        columns = np.ascontiguousarray(x.T)
        ranked = list(over_cells(lambda column: np.unique(column, return_inverse=True), columns, self.n))
        self.codes = np.array([codes for _, codes in ranked], dtype=np.int32)
        variables = [
            DomainVariable(name, name in categorical, values.astype(np.float64))
            for name, (values, _) in zip(names, ranked)
        ]
        self.variables = tuple(variables)
        self.values = np.concatenate([variable.values for variable in variables])
        self.start = np.concatenate([[0], np.cumsum([variable.values.size for variable in variables])]).astype(np.int64)
        self.continuous = np.array([v for v, a in enumerate(variables) if not a.categorical], dtype=np.int64)
        self.centre = np.array([variables[v].centre for v in self.continuous])
        self.centred: Array = (columns[self.continuous] - self.centre[:, np.newaxis]).T.astype(float, copy=False)
        self.q0 = np.full(self.n, 1.0 / self.n) if q0 is None else _normalised(q0)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def measure(self, mass: Array) -> "Measure":
        """Return a measure with a mass on every cell (probabilities, or signed weights)."""
        return Measure(self, mass)

    def lookup(self, table: Array) -> Array:
        """Return the sum over the variables of `table` at each cell's distinct value, for all univariate features at
        once."""
        theta, start = np.zeros(self.n), self.start
        used = np.array([np.any(table[a:b]) for a, b in pairwise(start.tolist())])
        in_parts(lambda cells: _lookup(self.codes, start, table, used, theta, cells.start, cells.stop), self.n, self.n)
        return theta

    def spread(self, v: int, table: Array) -> Array:
        """Return the value of `table` at every cell, by its distinct value of variable `v`."""
        out = np.empty(self.n)
        _spread(self.codes[v], table, out)
        return out


class Measure:
    """A mass on each cell, with marginals and second moments computed once, on first use."""

    def __init__(self, domain: Domain, mass: Array) -> None:
        self.domain = domain
        self.mass = mass

    @cached_property
    def total(self) -> float:
        """Return the total mass."""
        return float(self.mass.sum())

    @cached_property
    def marginals(self) -> Array:
        """Return the mass on each distinct value of each variable, in one flat array with the layout of
        `domain.start`."""
        codes, start, out = self.domain.codes, self.domain.start, np.zeros(self.domain.values.size)
        in_parts(lambda rows: _marginals(codes[rows], start[rows], self.mass, out), len(codes), self.domain.n)
        return out

    @cached_property
    def gram(self) -> Array:
        """Return `Uᵀ diag(mass) U` of the centred continuous variables."""
        return weighted_gram(self.domain.centred, self.mass)

    @cached_property
    def sums(self) -> Array:
        """Return `Uᵀ mass` of the centred continuous variables."""
        return self.mass @ self.domain.centred


def weighted_gram(x: Array, mass: Array) -> Array:
    """Return `xᵀ diag(mass) x`, in blocks whose weighted copy fits into the cache."""
    out = np.zeros((x.shape[1], x.shape[1]))

    def products(blocks: slice) -> list[Array]:
        parts = []
        for first in range(blocks.start * _BLOCK, min(blocks.stop * _BLOCK, len(x)), _BLOCK):
            part = x[first : first + _BLOCK]
            parts.append(np.dot(part.T * mass[first : first + _BLOCK], part))  # unlike `@`, releases the GIL
        return parts

    for group in in_parts(products, -(-len(x) // _BLOCK), len(x)):
        for product in group:
            out += product
    return out


def _refuse_missing(x: Array, names: Sequence[str]) -> None:
    """Refuse NaN and infinities; the message lists each column and their number."""
    if np.isfinite(x).all():
        return
    bad = [(name, int(np.count_nonzero(~np.isfinite(x[:, v])))) for v, name in enumerate(names)]
    bad = [(name, count) for name, count in bad if count]
    if bad:
        listed = ", ".join(f"'{name}' has {count:,}" for name, count in bad)
        raise BadValueError(f"missing or infinite values: {listed} of {x.shape[0]:,} rows; drop or impute them")


def _normalised(q0: Array) -> Array:
    """Return a base measure scaled to sum to one; refuse values that are not positive."""
    q0 = np.asarray(q0, dtype=np.float64)
    if not np.all(np.isfinite(q0)) or np.any(q0 <= 0):
        bad = int(np.count_nonzero(~(q0 > 0) | ~np.isfinite(q0)))
        raise BadValueError(f"{bad:,} weights of the base measure are not positive numbers: remove these cells")
    return np.asarray(q0 / q0.sum())


@jit
def _marginals(codes, start, mass, out):  # type: ignore[no-untyped-def]
    """out[start[v] + codes[v, i]] += mass[i] for every variable v and cell i."""
    for v in range(codes.shape[0]):
        base = start[v]
        for i in range(codes.shape[1]):
            out[base + codes[v, i]] += mass[i]


@jit
def _spread(codes, table, out):  # type: ignore[no-untyped-def]
    """out[i] = table[codes[i]]."""
    for i in range(codes.size):
        out[i] = table[codes[i]]


@jit
def _lookup(codes, start, table, used, theta, first, last):  # type: ignore[no-untyped-def]
    """theta[i] += Σ_v table[start[v] + codes[v, i]] over used variables, for cells from `first` to before `last`.

    Blocks of cells fit into the first cache.
    """
    for a in range(first, last, _BLOCK):
        b = min(a + _BLOCK, last)
        for v in range(codes.shape[0]):
            if used[v]:
                base = start[v]
                for i in range(a, b):
                    theta[i] += table[base + codes[v, i]]
