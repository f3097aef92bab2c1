"""Collinear variables: correlations, variance inflation factors and clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdm.assess.measures.basic import ranks
from sdm.data.place import is_place
from sdm.errors import TooFewError
from sdm.types import Array

LEAST = 3  # smallest number of points for a correlation
SINGULAR = 1e-12  # eigenvalues of the correlation matrix below this, per variable, count as zero


@dataclass(frozen=True)
class Collinearity:
    """Correlations of the continuous, non-constant variables of a sample, without variables of place."""

    names: tuple[str, ...]  # continuous variables that vary
    pearson: Array  # (V, V)
    spearman: Array
    vif: Array  # (V,), infinite for a linear combination of the others
    n: int  # points
    constant: tuple[str, ...] = ()  # continuous variables with one value
    categorical: tuple[str, ...] = ()

    def merges(self) -> Array:
        """Return the hierarchical clustering of the variables: average linkage on 1 − |r|, as scipy's `linkage` returns
        it."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        if len(self.names) < 2:
            return np.empty((0, 4))
        return np.asarray(linkage(squareform(1.0 - np.abs(self.pearson), checks=False), "average"))

    def groups(self, limit: float) -> list[tuple[str, ...]]:
        """Return groups of variables that merge at a mean |r| above `limit`; single variables are omitted.

        They are the branches to the right of the dashed line of the figure.
        """
        from scipy.cluster.hierarchy import fcluster

        if len(self.names) < 2:
            return []
        members: dict[int, list[str]] = {}
        below = np.nextafter(1.0 - limit, -1.0)
        for name, group in zip(self.names, fcluster(self.merges(), below, "distance").tolist()):
            members.setdefault(group, []).append(name)
        return [tuple(group) for group in members.values() if len(group) > 1]


def measure_collinearity(values: Array, names: Sequence[str], categorical: Sequence[str] = ()) -> Collinearity:
    """Measure the correlations of variables over points: `values` is `(n, V)`, without missing values."""
    if len(values) < LEAST:
        raise TooFewError(f"{len(values)} points are too few to correlate variables: expected at least {LEAST}")
    classes = tuple(name for name in names if name in categorical)
    numeric = [v for v, name in enumerate(names) if name not in categorical and not is_place(name)]
    varies = [v for v in numeric if values[:, v].min() < values[:, v].max()]
    x = np.asarray(values, dtype=np.float64)[:, varies]
    pearson = correlation_matrix(x)
    ranked = np.column_stack([ranks(column) for column in x.T]) if varies else x
    constant = tuple(names[v] for v in numeric if v not in varies)
    varying = tuple(names[v] for v in varies)
    return Collinearity(
        varying, pearson, correlation_matrix(ranked), inflation_factors(pearson), len(x), constant, classes
    )


def correlation_matrix(x: Array) -> Array:
    """Return Pearson's correlations of columns that vary; exactly symmetric, with ones on the diagonal."""
    centred = x - x.mean(axis=0)
    largest = np.abs(centred).max(axis=0, initial=0.0) if len(x) else np.ones(x.shape[1])
    centred = centred / np.where(largest > 0, largest, 1.0)  # squares of very small or large numbers stay in range
    centred /= np.sqrt(np.sum(centred**2, axis=0))
    r = np.clip(centred.T @ centred, -1.0, 1.0)
    r = 0.5 * (r + r.T)
    np.fill_diagonal(r, 1.0)
    return np.asarray(r)


def inflation_factors(r: Array) -> Array:
    """Return the variance inflation factor 1 / (1 − R²) of every variable, with R² of its regression on the others.

    The factors are the diagonal of the inverse correlation matrix, `Σ_k u_jk² / λ_k` over its eigenvectors. A variable
    with a component in an eigenvector of eigenvalue zero is a linear combination of others; its factor is infinite.
    """
    if not len(r):
        return np.empty(0)
    eigenvalue, vector = np.linalg.eigh(r)
    zero = eigenvalue <= SINGULAR * len(r)
    part = vector**2
    factors = part[:, ~zero] @ (1.0 / eigenvalue[~zero])
    return np.where(part[:, zero].sum(axis=1) > 1e-8, np.inf, np.maximum(factors, 1.0))
