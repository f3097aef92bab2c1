"""Samples of survey sites: variables and labels of every visit, divided for testing by site."""

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
    """Training data of a model of survey sites, one row per visit."""

    title: str  # title in messages and results
    names: tuple[str, ...]  # the V variables, in the order of the columns
    categorical: tuple[str, ...]  # variables with codes of categories
    values: Array  # (n, V), without missing values
    target: Any  # labels: an (n,) array or an (n, ·) data frame
    x: Array  # in the CRS of the layers; NaN in a table without coordinates
    y: Array
    group: Index  # site number of each row: visits to one site stay together
    folds: np.ndarray | None = None  # labels of folds, if a column is named

    def __len__(self) -> int:
        return len(self.values)

    def points(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Return the kinds of points with their x and y: sites only."""
        return [("site", self.x, self.y)]

    def take(self, rows: np.ndarray, background: np.ndarray | None = None) -> Self:
        """Return some rows, by index (repeated ones count again) or by booleans; sites have no background."""
        return take_rows(self, rows, ("values", "target", "x", "y", "group", "folds"))

    def environment(self) -> tuple[str, np.ndarray]:
        """Return the noun and the values of the environment, for correlations of variables."""
        return "sites", self.values

    def pick(self, names: Sequence[str]) -> Self:
        """Return the sample with some of its variables, in its order."""
        columns = [v for v, name in enumerate(self.names) if name in names]
        return replace(
            self,
            names=tuple(self.names[v] for v in columns),
            categorical=tuple(name for name in self.categorical if name in names),
            values=np.ascontiguousarray(self.values[:, columns]),
        )

    @property
    def label(self) -> Index | None:
        """The class number of each row, for stratified folds; None without stratification."""
        return None

    def check_part(self, train: Index, test: Index, option: str, fold: str = "") -> None:
        """Raise FoldsError if the training sites are insufficient, or the test sites have no labels.

        `option` divides the sites, as the user typed it; `fold` is the held-out fold.
        """


@dataclass(frozen=True)
class CommunitySample(SiteSample):
    """Sites of several species: `target` has one column per species, 1, 0 or missing."""

    def check_part(self, train: Index, test: Index, option: str, fold: str = "") -> None:
        """Raise if no species can be trained, or all test labels are missing; arguments as in `SiteSample`."""
        labels = self.target.to_numpy(dtype=np.float64)
        whose, training = f"fold {fold}" if fold else "the test", labels[train]
        if not ((training == 1).any(axis=0) & (training == 0).any(axis=0)).any():
            raise FoldsError(f"{whose}: no species has presences and absences for training: change or remove {option}")
        if np.isnan(labels[test]).all():
            raise FoldsError(f"{whose}: every label is missing at its test sites: change or remove {option}")


@dataclass(frozen=True)
class ClassSample(SiteSample):
    """Sites with a class each, or with proportions of classes: the counterpart of `SampleTable` for class models.

    `target` is an array `(n,)` of labels, or a data frame `(n, C)` of proportions with the classes as columns. For
    stratification, a site belongs to its most frequent class.
    """

    @cached_property
    def label(self) -> Index:
        """The class number of each row, in the order of `class_names`."""
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
        """The share of each class at every site, `(C, n)`: zeros and ones, or proportions that sum to one."""
        if hasattr(self.target, "columns"):
            proportions = self.target.to_numpy(dtype=np.float64).T
            return np.asarray(proportions / proportions.sum(axis=0))
        return np.eye(len(self.class_names))[self.label].T.copy()

    def check_part(self, train: Index, test: Index, option: str, fold: str = "") -> None:
        """Raise if the training sites of a class are insufficient; arguments as in `SiteSample`."""
        check_training(self.shares, train, self.class_names, option, fold)
