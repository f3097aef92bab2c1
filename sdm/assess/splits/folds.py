"""Folds of presences, with or without a division of the background.

The validation background is explicit. With `full`, every fold trains on and is measured against the full background.
With `partition`, the background is divided like the presences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np

from sdm.errors import ConflictError, FoldsError, OptionError, expect_one_of
from sdm.types import Array, Index

if TYPE_CHECKING:  # for annotations only
    from sdm.assess.variables.variogram import Autocorrelation

BACKGROUNDS = ("full", "partition")


class Divisible(Protocol):
    """A table of presences and background, or a sample of sites, that can be divided into folds."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables."""

    def take(self, rows: Index, background: Index | None = None, /) -> Self:
        """Return a subset of the presences or sites, and of the background if there is one (None: all of it)."""

    def pick(self, names: Sequence[str], /) -> Self:
        """Return the table with a subset of the variables."""


Table = TypeVar("Table", bound=Divisible)


@dataclass(frozen=True)
class Fold:
    """One division of the records, by positions."""

    name: str
    train: Index  # training presences (or sites); a bootstrap repeats some of them
    test: Index
    background_train: Index | None = None  # None: all background points
    background_test: Index | None = None
    variables: tuple[str, ...] | None = None  # variables chosen on the training part of the fold; None: all

    def training(self, table: Table) -> Table:
        """Return the part of a table to fit on."""
        return self._chosen(table.take(self.train, self.background_train))

    def testing(self, table: Table) -> Table:
        """Return the part of a table to measure on."""
        return self._chosen(table.take(self.test, self.background_test))

    def _chosen(self, part: Table) -> Table:
        return part if self.variables is None else part.pick(self.variables)


@dataclass(frozen=True)
class Split:
    """Folds of one table, and the data for a map of them."""

    method: str
    folds: tuple[Fold, ...]
    group: Index | None  # (m,): the fold (from 0) that holds out each presence; None if not exactly one does
    background_group: Index | None  # (n,): the same for divided background points; −1: never held out
    background: str  # validation background: "full" or "partition"; "" for survey sites
    blocks: "Autocorrelation | None" = None  # the measured autocorrelation, if it sets the size of blocks
    outlines: tuple[Array, ...] = ()  # lines between blocks, each (points, 2), in the coordinates of the records


def same_folds(one: Split, other: Split) -> bool:
    """Return whether two divisions hold out the same records, in the same order."""
    parts = [[(f.train, f.test, f.background_train, f.background_test) for f in split.folds] for split in (one, other)]
    return len(parts[0]) == len(parts[1]) and all(
        a is b or (a is not None and b is not None and np.array_equal(a, b))
        for first, second in zip(*parts)
        for a, b in zip(first, second)
    )


def by_group(
    method: str,
    group: Index,
    others: Index | None,
    background: str,
    names: Sequence[str] | None = None,
    noun: str = "presences",
) -> Split:
    """Hold out each group of presences (`noun` in messages) in turn, with its background where the background is
    divided."""
    check_background(background)
    if background == "partition" and others is None:
        raise ConflictError(f"background=partition: {method} folds do not divide the background, so use full")
    folds = []
    for k in range(int(group.max()) + 1):
        name = names[k] if names is not None else str(k + 1)
        test = group == k
        if np.count_nonzero(~test) < 2 or not test.any():
            raise FoldsError(
                f"fold {name} contains {np.count_nonzero(test)} of {test.size} {noun}, expected at least 1 to hold out "
                "and 2 for training: use fewer folds"
            )
        parts: tuple[Index | None, Index | None] = (None, None)
        if background == "partition" and others is not None:
            parts = np.flatnonzero(others != k), np.flatnonzero(others == k)
            if not all(part.size for part in parts if part is not None):
                raise FoldsError(f"fold {name} contains none or all of the background points: use the full background")
        folds.append(Fold(name, np.flatnonzero(~test), np.flatnonzero(test), *parts))
    return Split(method, tuple(folds), group, others, background)


def enough(m: int, k: int, noun: str = "presences") -> None:
    """Refuse more folds than presences, and fewer than two folds."""
    at_least(2, "folds", k)
    if m < max(k, 3):
        raise FoldsError(f"{m} {noun} are too few for {k} folds: expected at least {max(k, 3)}")


def at_least(least: int, name: str, value: int) -> int:
    """Return a whole number from `least` on, or refuse it."""
    if isinstance(value, bool) or value != int(value) or value < least:
        raise OptionError(f"{name}={value!r}: expected a whole number from {least} on")
    return int(value)


def check_background(background: str) -> None:
    """Refuse an unknown validation background."""
    expect_one_of("background", background, BACKGROUNDS)


def located(xy: Array, background_xy: Array, noun: str = "presences") -> None:
    """Refuse points without coordinates."""
    for name, part in ((noun, xy), ("background points", background_xy)):
        if missing := int(np.count_nonzero(~np.isfinite(part).all(axis=1))):
            raise FoldsError(f"{missing:,} of {len(part):,} {name} have no coordinates: use random folds")
