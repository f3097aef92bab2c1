"""Divide records into training and validation: random folds and replicates, labelled folds, or any method by name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sdm.assess.splits.folds import Fold, Split, at_least, by_group, enough
from sdm.assess.splits.spatial import blocks, buffered_leave_one_out, checkerboard, environmental_clusters, equal_blocks
from sdm.data.place import is_place
from sdm.errors import FoldsError, OptionError
from sdm.types import Index

if TYPE_CHECKING:  # for annotations only
    from sdm.data.table import SampleTable

METHODS = (
    "random", "leave-one-out", "block", "equal-blocks", "checkerboard", "buffer", "environment", "own",
    "bootstrap", "subsample",
)  # fmt: skip


def random_folds(m: int, k: int, seed: int = 1, *, noun: str = "presences") -> Split:
    """Divide `m` presences at random into `k` folds of nearly equal size."""
    enough(m, k, noun)
    group = np.random.default_rng(seed).permutation(np.arange(m) % k)
    return by_group("random", group, None, "full", noun=noun)


def leave_one_out(m: int, *, noun: str = "presences") -> Split:
    """Hold out one presence at a time (ENMeval's jackknife)."""
    enough(m, m, noun)
    return by_group("leave-one-out", np.arange(m), None, "full", noun=noun)


def bootstrap(m: int, replicates: int, seed: int = 1, *, strata: Index | None = None, noun: str = "presences") -> Split:
    """Train on `m` presences drawn with replacement (within `strata`, if any); hold out the presences that were not
    drawn."""
    enough(m, 2, noun)
    parts = [np.arange(m)] if strata is None else [np.flatnonzero(strata == k) for k in np.unique(strata)]
    rng = np.random.default_rng(seed)
    folds: list[Fold] = []
    while len(folds) < at_least(1, "replicates", replicates):
        train = np.sort(np.concatenate([part[rng.integers(0, part.size, part.size)] for part in parts]))
        test = np.setdiff1d(np.arange(m), train)
        if test.size and np.unique(train).size > 1:
            folds.append(Fold(str(len(folds) + 1), train, test))
    return Split("bootstrap", tuple(folds), None, None, "full")


def subsample(m: int, replicates: int, percent: float = 25.0, seed: int = 1, *, noun: str = "presences") -> Split:
    """Hold out a random share of the presences in each replicate: at least one presence, and at least two to train
    on."""
    enough(m, 2, noun)
    if not 0 < percent < 100:
        raise OptionError(f"percent={percent!r}: expected a share between 0 and 100, such as 25")
    rng = np.random.default_rng(seed)
    count = min(max(1, round(m * percent / 100)), m - 2) if m > 2 else 1
    orders = [rng.permutation(m) for _ in range(at_least(1, "replicates", replicates))]
    folds = [Fold(str(k + 1), np.sort(order[count:]), np.sort(order[:count])) for k, order in enumerate(orders)]
    return Split("subsample", tuple(folds), None, None, "full")


def labelled_folds(
    labels: ArrayLike, background_labels: ArrayLike | None = None, background: str = "full", *, noun: str = "presences"
) -> Split:
    """Divide presences by the user's labels, one per presence; folds are named after the labels, in sorted order."""
    values = np.asarray(labels)
    names, group = np.unique(values, return_inverse=True)
    if names.size < 2:
        raise FoldsError(f"the column of folds has {names.size} distinct values, expected at least 2")
    others = None
    if background_labels is not None:
        around = np.asarray(background_labels)
        place = {name: k for k, name in enumerate(names.tolist())}
        if unknown := [value for value in np.unique(around).tolist() if value not in place]:
            raise FoldsError(f"background points are in fold {unknown[0]!r}, which contains no presence")
        others = np.array([place[value] for value in around.tolist()], dtype=np.int64)
    return by_group("own", group, others, background, [str(name) for name in names.tolist()], noun)


BY_COUNT: dict[str, Callable[..., Split]] = {
    "random": random_folds, "leave-one-out": leave_one_out, "bootstrap": bootstrap, "subsample": subsample,
}  # fmt: skip
IN_SPACE: dict[str, Callable[..., Split]] = {
    "block": blocks, "equal-blocks": equal_blocks, "checkerboard": checkerboard, "buffer": buffered_leave_one_out,
}  # fmt: skip


def split_table(table: "SampleTable", method: str = "random", **options: Any) -> Split:
    """Divide the records of a table by any of `METHODS`; `options` are arguments of the method's function.

    `random(k, seed)`, `leave-one-out()`, `block(size, k, seed, geographic)`, `equal-blocks(orientation)`,
    `checkerboard(origin, cell, aggregation)`, `buffer(radius, geographic)`, `environment(k, seed)`, `own(labels,
    background_labels)`, `bootstrap(replicates, seed, strata)`, `subsample(replicates, percent, seed)`.

    Methods that also divide the background accept `background`, `full` or `partition`. All accept `noun`, the name of
    the records in messages.
    """
    xy = np.column_stack([table.presence_x, table.presence_y])
    around = np.column_stack([table.background_x, table.background_y])
    if method in BY_COUNT:
        return BY_COUNT[method](table.n_presences, **options)
    if method in IN_SPACE:
        return IN_SPACE[method](xy, around, **options)
    if method == "environment":
        columns = [v for v, name in enumerate(table.names) if name not in table.categorical and not is_place(name)]
        return environmental_clusters(table.presence[:, columns], table.background[:, columns], **options)
    if method == "own":
        return labelled_folds(**options)
    raise OptionError(f"split={method!r}: expected one of {', '.join(METHODS)}")
