"""Convert labelled rows to a domain and a sample on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdm.data.encode import Encoder
from sdm.errors import BackgroundError, BadValueError, LabelError, MismatchError, UnseenCategoryError
from sdm.estimators.model_parts import training_reference
from sdm.features.domain import Domain
from sdm.novelty.reference import Reference
from sdm.types import Array

ADD = ("all", "distinct", "none")
_TRACE = 1e-9  # relative base measure of a cell that is not part of the background


@dataclass(frozen=True)
class TrainingData:
    """The data of a fit: encoder, domain, sample on the domain, effective sample size and number of presences.

    The first `n_background` cells of the domain are the background.
    """

    encoder: Encoder
    domain: Domain
    sample: Array
    size: float
    presences: int
    n_background: int

    @cached_property
    def reference(self) -> Reference | None:
        """Return the training environment, which every fitted model stores."""
        return training_reference(self.domain, [self.sample])


def build_domain(
    x: Array,
    present: NDArray[np.bool_],
    names: Sequence[str],
    categorical: Sequence[str],
    weight: Array | None,
    add: str,
    base: Array | None = None,
) -> tuple[Domain, Array, float]:
    """Return the domain (background and presences), the empirical distribution on it, and the effective sample size.

    `weight` is the weight of a presence in the sample, and the base measure of a background row. Added presences get
    the mean base measure, unless `base` has the base measure of every row. `add` is "all" (every presence is added to
    the background, as in Java Maxent), "distinct" (only presences with new values, as in maxnet), or "none".
    """
    for name, values in (("sample_weight", weight), ("base_weight", base)):
        if values is not None and values.shape != present.shape:
            raise MismatchError(f"{name} has shape {values.shape}, expected one weight for each of {present.size} rows")
    shares = _shares(weight, present)
    cells, presences = x[~present], x[present]
    if not cells.shape[0]:
        raise LabelError("y has no background: expected rows labelled 0 besides the presences")
    if add == "none":
        presences = _within(presences, cells, names, categorical)
    if add == "all":
        new = np.arange(presences.shape[0])
        place = cells.shape[0] + new
    else:
        place, new = _distinct(cells, presences)
    q0 = None
    if base is not None:
        q0 = np.concatenate([base[~present], base[present][new]])
    elif weight is not None:
        q0 = np.concatenate([weight[~present], np.full(len(new), weight[~present].mean())])
    extra = len(new) if add == "none" else 0
    if extra:
        q0 = np.ones(len(cells) + extra) if q0 is None else q0
        q0[len(cells) :] *= _TRACE
    rows = np.vstack([cells, presences[new]]) if len(new) else cells
    domain = Domain(rows, names, categorical, q0, extra=extra)
    sample = np.zeros(domain.n)
    np.add.at(sample, place, shares)
    return domain, sample, effective_size(shares)


def _within(presences: Array, cells: Array, names: Sequence[str], categorical: Sequence[str]) -> Array:
    """Return the presences with continuous variables limited to the range of the background; refuse new categories."""
    inside = np.clip(presences, cells.min(axis=0), cells.max(axis=0))
    for v, name in enumerate(names):
        if name in categorical:
            if unknown := sorted(set(presences[:, v]) - set(cells[:, v])):
                raise UnseenCategoryError(
                    f"presences have the category {unknown[0]:g} of '{name}', which is missing in the background: use "
                    "--add-presences distinct, or more background points"
                )
            inside[:, v] = presences[:, v]
    return inside


def without_empty(
    x: Array, present: NDArray[np.bool_], weight: Array | None, base: Array | None
) -> tuple[Array, NDArray[np.bool_], Array | None, Array | None]:
    """Return the rows without background points of weight zero, if weights are base measures."""
    if weight is None or base is not None or weight.shape != present.shape or not np.any(weight == 0):
        return x, present, weight, base
    keep = present | (weight != 0)
    if not np.any(keep & ~present):
        raise BackgroundError("all background points have weight zero, one class alone is left: add weights")
    return x[keep], present[keep], weight[keep], base


def effective_size(shares: Array) -> float:
    """Return the effective number of shares, `1/Σ w²` (Kish 1965): exactly `n` for `n` equal ones.

    Values within rounding of a whole number are rounded, because feature classes begin at 10, 15 or 80 presences.
    """
    size = float(1.0 / np.sum(shares**2))
    return float(round(size)) if abs(size - round(size)) <= 1e-9 * size else size


def _shares(weight: Array | None, present: NDArray[np.bool_]) -> Array:
    """Return the presences' weights, scaled to sum to one."""
    count = int(present.sum())
    if weight is None:
        return np.full(count, 1.0 / count)
    weights = weight[present]
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total) or np.any(weights < 0) or total <= 0:
        raise BadValueError("the weights of presences must be at least 0, with a positive and finite sum")
    return np.asarray(weights / total)


def _distinct(cells: Array, presences: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cell of each presence, and the positions of distinct presences that are not among the cells."""
    shared = np.ones(len(cells), dtype=bool)
    for v in range(cells.shape[1]):
        shared[shared] = np.isin(cells[shared, v], presences[:, v])
    near = np.flatnonzero(shared)
    rows = np.vstack([cells[near], presences])
    _, first, row = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    earliest = first[row.ravel()[near.size :]]  # first identical row, among the cells or the presences
    new = np.unique(earliest[earliest >= near.size])
    place = np.concatenate([near, np.empty(len(presences), dtype=np.int64)])
    place[new] = len(cells) + np.arange(new.size)
    return place[earliest], new - near.size
