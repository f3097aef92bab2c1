"""From labelled rows to a domain and a sample on it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError
from sdm.features.domain import Array, Domain

ADD = ("all", "distinct")


def build_domain(
    x: Array,
    present: NDArray[np.bool_],
    names: Sequence[str],
    categorical: Sequence[str],
    weight: Array | None,
    add: str,
) -> tuple[Domain, Array, float]:
    """Make the domain (background and presences), the empirical distribution on it, and the sample's size.

    Parameters
    ----------
    x : (n, V) array
    present : (n,) bool array
    names, categorical : sequences of str
    weight : (n,) array, optional
        Presences: weight in the sample. Background: base measure. Added presences get the background's mean weight.
    add : {"all", "distinct"}
        Append every presence to the background (as Java Maxent), or only distinct ones that it does not hold (maxnet).

    Returns
    -------
    domain : Domain
    sample : (n,) array
        `π̃` as a probability on the domain's cells.
    size : float
        How many equally weighted presences the sample is worth, `(Σw)²/Σw²`.
    """
    if weight is not None and weight.shape != present.shape:
        raise DataError(
            f"sample_weight has shape {weight.shape}, expected one weight for each of {present.size:,} rows"
        )
    shares = _shares(weight, present)
    cells, presences = x[~present], x[present]
    if not cells.shape[0]:
        raise DataError("y has no background: expected rows labelled 0 beside the presences")
    if add == "all":
        place, added = cells.shape[0] + np.arange(presences.shape[0]), presences
    else:
        place, added = _distinct(cells, presences)
    q0 = None
    if weight is not None:
        base = weight[~present]
        q0 = np.concatenate([base, np.full(len(added), base.mean())])
    domain = Domain(np.vstack([cells, added]) if len(added) else cells, names, categorical, q0)
    sample = np.zeros(domain.n)
    np.add.at(sample, place, shares)
    return domain, sample, float(1.0 / np.sum(shares**2))


def _shares(weight: Array | None, present: NDArray[np.bool_]) -> Array:
    """Return the presences' weights, scaled to sum to one."""
    count = int(present.sum())
    if weight is None:
        return np.full(count, 1.0 / count)
    own = weight[present]
    if not np.all(np.isfinite(own)) or np.any(own < 0) or own.sum() <= 0:
        raise DataError("the presences' weights must be non-negative numbers with a positive sum")
    return own / own.sum()


def _distinct(cells: Array, presences: Array) -> tuple[NDArray[np.int64], Array]:
    """Return for each presence its cell's position, and the distinct presences that are not among the cells."""
    shared = np.ones(len(cells), dtype=bool)
    for v in range(cells.shape[1]):
        shared[shared] = np.isin(cells[shared, v], presences[:, v])
    first: dict[tuple[float, ...], int] = {}
    for i in np.flatnonzero(shared):
        first.setdefault(tuple(cells[i]), int(i))
    place = np.empty(len(presences), dtype=np.int64)
    new: list[int] = []
    for k, row in enumerate(map(tuple, presences)):
        if row not in first:
            first[row] = len(cells) + len(new)
            new.append(k)
        place[k] = first[row]
    return place, presences[new]
