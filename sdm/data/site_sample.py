"""Samples of survey sites: the variables at every visit and what was found there, divided for testing by site."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sdm.data.records.frames import take_rows
from sdm.data.site_folds import check_training
from sdm.errors import FoldsError
from sdm.types import Array, Index


@dataclass(frozen=True)
class SiteSample:
    """What a model of survey sites is fitted to, one row per visit."""

    title: str  # what messages and results call it
    names: tuple[str, ...]  # the V variables, in the order of the columns
    categorical: tuple[str, ...]  # those of them whose values are codes of categories
    values: Array  # (n, V), without missing values
    target: Any  # what was found: an (n,) array or an (n, ·) data frame
    x: Array  # in the CRS of the layers; NaN where a table came without
    y: Array
    group: Index  # the number of each row's site: visits to one site stay together where sites are divided
    folds: np.ndarray | None = None  # labels, if a column of them was named

    def __len__(self) -> int:
        return len(self.values)

    def points(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Return the kinds of points with their x and y: sites only."""
        return [("site", self.x, self.y)]

    def take(self, rows: np.ndarray, background: np.ndarray | None = None) -> Self:
        """Return some of the rows, by index (repeated ones count again) or by booleans; sites have no background."""
        return take_rows(self, rows, ("values", "target", "x", "y", "group", "folds"))

    def environment(self) -> tuple[str, np.ndarray]:
        """Return what stands for the environment, over which variables are correlated: its name, and the variables."""
        return "sites", self.values

    def pick(self, names: Sequence[str]) -> Self:
        """Return the sample with some of its variables, in its own order."""
        at = [v for v, name in enumerate(self.names) if name in names]
        return replace(
            self,
            names=tuple(self.names[v] for v in at),
            categorical=tuple(name for name in self.categorical if name in names),
            values=np.ascontiguousarray(self.values[:, at]),
        )

    @property
    def label(self) -> Index | None:
        """A number for each row's class, of which every part gets its share; None if sites are drawn alike."""
        return None

    def check_part(self, train: Index, test: Index, option: str, fold: str = "") -> None:
        """Refuse a division whose training sites cannot be learned from, or whose test sites show nothing. `option` is
        what divides the sites, as the user typed it; `fold` holds the test sites out."""


@dataclass(frozen=True)
class CommunitySample(SiteSample):
    """Sites of several species: `target` has one column per species, 1, 0 or missing."""

    def check_part(self, train: Index, test: Index, option: str, fold: str = "") -> None:
        """Refuse parts where no species can be learned, or no label is known; arguments as for `SiteSample`."""
        labels = self.target.to_numpy(dtype=np.float64)
        whose, known = f"fold {fold}" if fold else "the test", labels[train]
        if not ((known == 1).any(axis=0) & (known == 0).any(axis=0)).any():
            raise FoldsError(f"{whose}: no species has presences and absences for training: change or remove {option}")
        if np.isnan(labels[test]).all():
            raise FoldsError(f"{whose}: every label is missing at its test sites: change or remove {option}")


@dataclass(frozen=True)
class ClassSample(SiteSample):
    """Sites with a class each, or with proportions of classes: the counterpart of `SampleTable` for class models.
    `target` is an array `(n,)` of labels, or a data frame `(n, C)` of proportions whose columns name the classes. A
    site counts for the class that has most of it."""

    @cached_property
    def label(self) -> Index:
        """The number of each row's class, in the order of `class_names`."""
        if hasattr(self.target, "columns"):
            return np.asarray(np.argmax(self.target.to_numpy(dtype=np.float64), axis=1))
        return np.unique(self.target, return_inverse=True)[1].ravel()

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as text: sorted labels, or the columns of proportions."""
        if hasattr(self.target, "columns"):
            return tuple(str(name) for name in self.target.columns)
        return tuple(str(name).removesuffix(".0") for name in np.unique(self.target).tolist())

    @property
    def shares(self) -> Array:
        """How much of every site is of each class, `(C, n)`: zeros and ones, or proportions that sum to one."""
        if hasattr(self.target, "columns"):
            given = self.target.to_numpy(dtype=np.float64).T
            return np.asarray(given / given.sum(axis=0))
        return np.eye(len(self.class_names))[self.label].T.copy()

    def check_part(self, train: Index, test: Index, option: str, fold: str = "") -> None:
        """Refuse training sites that a class cannot be learned from; arguments as for `SiteSample`."""
        check_training(self.shares, train, self.class_names, option, fold)
