"""The sample that a class model is fitted to: the variables at survey sites, and the sites' classes or proportions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sdm.data.site_folds import check_training
from sdm.data.site_sample import SiteSample
from sdm.types import Array, Index


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
