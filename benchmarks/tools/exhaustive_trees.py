"""The best tree with three internal nodes, by trying all of them: slow and obvious, to compare a search with."""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def small_case(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a few cells with four variables (ties, the third categorical), and a signed measure that sums to zero."""
    n = int(rng.integers(6, 40))
    columns = (rng.integers(0, 6, n), np.round(rng.normal(size=n), 1), rng.integers(0, 4, n), rng.random(n))
    sample = rng.multinomial(5, np.full(n, 1 / n)) / 5
    return np.column_stack(columns).astype(float), rng.dirichlet(np.ones(n)) - sample


def _every_split(x: Array, categorical: set[int]) -> Iterator[NDArray[np.bool_]]:
    """Yield the cells that go right, for every way to divide all cells by one variable."""
    for v in range(x.shape[1]):
        values = np.unique(x[:, v])
        if v in categorical:
            for k in range(1, len(values)):
                for chosen in itertools.combinations(values, k):
                    yield np.isin(x[:, v], chosen)
        else:
            for low, high in itertools.pairwise(values):
                yield x[:, v] >= 0.5 * (low + high)


def best_violation(x: Array, g: Array, categorical: set[int]) -> float:
    """Return the largest `|Σ g_i t(x_i)|` of a tree with at most three internal nodes (`g` sums to zero)."""
    rights = np.array(list(_every_split(x, categorical)), dtype=np.float64)

    def none(parts: Array) -> Array:
        return np.asarray(np.abs(parts @ g))

    def one(parts: Array) -> Array:
        right = (parts * g) @ rights.T
        total = (parts @ g)[:, None]
        return np.asarray((np.abs(right) + np.abs(total - right)).max(axis=1))

    def two(parts: Array) -> Array:
        best = one(parts)
        for right in rights:
            a, b = parts * right, parts * (1 - right)
            best = np.maximum(best, np.maximum(one(a) + none(b), none(a) + one(b)))
        return best

    if not len(rights):
        return 0.0
    a, b = rights, 1 - rights
    return 0.5 * float(np.max([one(a) + one(b), two(a) + none(b), none(a) + two(b)]))
