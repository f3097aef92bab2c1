"""Divide survey sites for testing, with all visits to one site on the same side.

Every division uses the site number of every visit (`group`, from `site_groups`), and keeps the visits of a site
together.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import FoldsError
from sdm.types import Array, Index

# Names of columns, without case, spaces and punctuation; the first one in a file is used.
SITE = (
    *("site", "siteid", "sitename", "plot", "plotid", "plotname", "station", "stationid", "sample", "sampleid", "id"),
    *("transect", "transectid", "quadrat", "locality", "row", "rowid", "rowname", "column1"),
)
LEAST = 2
"""Minimum number of training records of a class."""


def site_groups(*keys: ArrayLike) -> NDArray[np.int64]:
    """Number the sites of visits in their order.

    Visits with a common key, directly or through others, are of one site. A key is names (n,) or coordinates (n, k);
    missing names or coordinates match nothing.
    """
    columns = [_codes(np.asarray(key)) for key in keys]
    group = np.arange(columns[0].size)
    while True:
        before = group
        for code in columns:
            least = np.full(code.max(initial=0) + 1, group.size)
            np.minimum.at(least, code, group)
            group = np.minimum(group, least[code])
        if np.array_equal(group, before):
            return np.unique(group, return_inverse=True)[1].ravel()


def _codes(key: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return equal numbers for equal rows; rows without a value get unique numbers."""
    has_value = key != "" if key.dtype.kind in "OUS" else np.isfinite(key.astype(np.float64))
    has_value = has_value if has_value.ndim == 1 else has_value.all(axis=1)
    out = np.arange(has_value.size)
    if has_value.any():
        out[has_value] = np.unique(key[has_value], axis=0 if key.ndim > 1 else None, return_inverse=True)[1].ravel()
        out[~has_value] += int(out[has_value].max()) + 1
    return out


def number_sites(label: Index, group: Index | None = None) -> tuple[Index, Index]:
    """Return the site of every visit, numbered in order, and the class of each site: the rarest of its visits."""
    if group is None:
        return np.arange(label.size), label
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    member = rank[member]
    count = np.bincount(label)
    common = np.argsort(-count[label], kind="stable")  # later classes overwrite earlier ones
    site_class = np.empty(first.size, dtype=np.int64)
    site_class[member[common]] = label[common]
    return member, site_class


def fold_numbers(
    label: Sequence[int] | Index, folds: int, rng: np.random.Generator, group: Index | None = None
) -> Index:
    """Divide sites at random into folds, stratified by class; visits of one group stay together.

    Classes are divided in order of appearance, so that folds do not depend on their names.
    """
    member, label = number_sites(np.asarray(label), group)
    out = np.empty(label.size, dtype=np.int64)
    start = 0
    for c in dict.fromkeys(label.tolist()):
        sites = rng.permutation(np.flatnonzero(label == c))
        out[sites] = (np.arange(sites.size) + start) % folds
        start += sites.size
    return out[member]


def training_rows(
    label: Index, percent: float, rng: np.random.Generator, group: Index | None = None
) -> NDArray[np.bool_]:
    """Return a mask of training visits: in every class a share of the sites is held out, but two remain."""
    member, site_class = number_sites(label, group)
    train = np.ones(site_class.size, dtype=bool)
    for c in np.unique(site_class):
        sites = rng.permutation(np.flatnonzero(site_class == c))
        train[sites[: max(0, min(round(sites.size * percent / 100), sites.size - LEAST))]] = False
    if percent and train.all():
        raise FoldsError(
            f"{percent:g} % of {site_class.size:,} sites leaves no site for testing: use a larger --test-percent, or "
            "--folds"
        )
    return train[member]


def check_folds(folds: int, group: Index) -> None:
    """Raise if there are more folds than sites."""
    sites = np.unique(group).size
    if folds > sites:
        visits = more = ""
        if sites < group.size:
            visits = f" ({group.size:,} visits, and visits to the same site stay together)"
            more = ", or use another --site-column"
        raise FoldsError(f"there are {sites:,} sites{visits} for {folds:,} folds: use --folds {sites} at most{more}")


def check_training(
    targets: Array, train: NDArray[np.bool_] | Index, classes: Sequence[str], option: str, fold: str = ""
) -> None:
    """Raise if the training sites of a class are insufficient: fewer than two records, or no proportion above zero.

    `targets` are labels as zeros and ones, or proportions, (C, n); `option` is the option that divides the sites.
    """
    labels = bool(np.all((targets == 0) | (targets == 1)))
    least = LEAST if labels else 1
    for name, present in zip(classes, targets > 0):
        count, rest = int(present.sum()), int(present[train].sum())
        if rest < least:
            rather = f", or drop the class with --least {count + 1}" if labels and len(classes) > 2 else ""
            where = f"fold {fold}: " if fold else ""
            raise FoldsError(
                f"{where}{rest} of {count:,} records of class '{name}' remain for training, expected at least {least}: "
                f"remove {option}{rather}"
            )
