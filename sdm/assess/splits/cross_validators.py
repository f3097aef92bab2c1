"""Spatial and environmental cross-validation folds for any scikit-learn estimator.

Each class uses the function with its name in `sdm.assess.splits.spatial`, as `sdm fit` does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sdm.assess.splits.coordinates import numeric_columns, read_coordinates
from sdm.assess.splits.folds import Fold, Split
from sdm.assess.splits.spatial import blocks, buffered_leave_one_out, checkerboard, environmental_clusters
from sdm.data.encode import as_table
from sdm.errors import ConflictError, FoldsError
from sdm.estimators.params import one_label_per_row
from sdm.types import Array, Index, Numbers, TableLike


class Splitter:
    """A division of the rows of a table, with the methods of scikit-learn's cross-validators.

    If `y` has two values, rows with the larger one are presences and the folds have similar numbers of them. The other
    rows are background (or absences). Without `y`, or with other values, all rows are treated equally.
    """

    background = "partition"

    def split(self, X: TableLike, y: Any = None, groups: Any = None) -> Iterator[tuple[Index, Index]]:
        """Yield for each fold the positions of the training rows and of the test rows.

        Parameters
        ----------
        X : (n, V) array or data frame
        y : (n,) array, optional
            1 for presences and 0 for background or absences; or any other labels.
        groups : ignored
            Present for compatibility with scikit-learn.

        Yields
        ------
        train, test : arrays of int
        """
        presence, others = self._rows(X, y)
        for fold in self._divide(X, presence, others).folds:
            yield _joined(fold, presence, others)

    def get_n_splits(self, X: TableLike | None = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds, which may depend on the data."""
        if hasattr(self, "n_splits"):
            return int(self.n_splits)
        if X is None:
            raise FoldsError(f"the number of folds of {type(self).__name__} depends on the data: give X (and y)")
        return len(self._divide(X, *self._rows(X, y)).folds)

    def _rows(self, X: TableLike, y: Any) -> tuple[Index, Index | None]:
        """Return the rows of presences and of background; all rows and None without two classes."""
        n = _height(X)
        if y is not None:
            labels = np.asarray(y)
            classes = np.unique(one_label_per_row(labels, n)) if labels.ndim == 1 else np.empty(0)
            if classes.size == 2:
                present = labels == classes[1]
                return np.flatnonzero(present), np.flatnonzero(~present)
        if self.background == "full":
            raise ConflictError("background='full' needs presences and background: y must have two values")
        return np.arange(n), None

    def _divide(self, X: TableLike, presence: Index, others: Index | None) -> Split:
        raise NotImplementedError

    def _words(self, others: Index | None) -> Numbers:
        """Return the arguments that all methods share."""
        if others is None:
            return {"background": "full", "noun": "rows"}
        return {"background": self.background, "noun": "presences"}

    def __repr__(self) -> str:
        arguments = (f"{name}={value!r}" for name, value in vars(self).items() if np.ndim(value) < 2)
        return f"{type(self).__name__}({', '.join(arguments)})"


class SpatialSplitter(Splitter):
    """A division of rows by their coordinates."""

    coordinates: Any
    geographic: bool | None = None

    def _places(self, X: TableLike, presence: Index, others: Index | None) -> tuple[Array, Array, bool]:
        """Return the coordinates of presences and of background (all rows without background), and whether they are
        degrees."""
        xy, degrees = read_coordinates(self.coordinates, X, _height(X))
        around = xy if others is None else xy[others]
        return xy[presence], around, degrees if self.geographic is None else bool(self.geographic)


@dataclass(eq=False, repr=False)
class SpatialBlocks(SpatialSplitter):
    """Folds of square blocks: rows of one block are held out together (Valavi et al. 2019).

    Parameters
    ----------
    size : float
        Side of a block: in km if coordinates are degrees, else in the units of the coordinates (often metres).
    n_splits : int
        Number of folds.
    coordinates : (n, 2) array, data frame, geopandas points, or two column names of X, optional
        Coordinates of the rows, x (longitude) first. A data frame or points are matched with X by index, so they also
        work in nested cross-validation. By default X is a GeoDataFrame of points.
    geographic : bool, optional
        True if coordinates are degrees. The default depends on their CRS or names (``longitude``, ``lat``), else False.
    background : {"partition", "full"}
        "partition" holds out background rows with their block. "full" uses all of them for both training and testing
        (as ENMeval does), and needs presences and background.
    seed : int
        Seed for ties between blocks with equal numbers of presences.

    Raises
    ------
    OptionError
        If `size` or `n_splits` is out of range, or a named column is missing.
    DataError
        If coordinates have the wrong shape, or there are too few blocks or presences for the folds.

    See Also
    --------
    Checkerboard, Buffered, EnvironmentBlocks

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import SpatialBlocks
    >>> rng = np.random.default_rng(1)
    >>> xy = rng.uniform(0, 100, size=(200, 2))  # km
    >>> y = np.repeat([1, 0], [50, 150])
    >>> folds = SpatialBlocks(20, n_splits=4, coordinates=xy)
    >>> [int(y[test].sum()) for train, test in folds.split(xy, y)]  # held-out presences
    [12, 13, 12, 13]
    """

    size: float
    n_splits: int = 5
    _: KW_ONLY
    coordinates: Any = None
    geographic: bool | None = None
    background: str = "partition"
    seed: int = 1

    def _divide(self, X: TableLike, presence: Index, others: Index | None) -> Split:
        xy, around, geographic = self._places(X, presence, others)
        words = self._words(others)
        return blocks(xy, around, float(self.size), int(self.n_splits), seed=self.seed, geographic=geographic, **words)


@dataclass(eq=False, repr=False)
class Checkerboard(SpatialSplitter):
    """Two folds, the white and the black squares of a chessboard; or four, of two boards (Kass et al. 2021).

    Parameters
    ----------
    cell : float or (float, float)
        Side of a cell of the map (or width and height), in the units of the coordinates.
    aggregation : int or (int, int)
        Number of cells along each side of a square. With two numbers, the squares of a second board are larger by the
        second factor, which makes four folds.
    origin : (float, float), optional
        A corner of a white square, such as the upper left corner of the layers. The default is the least x and greatest
        y.
    coordinates, background
        As for `SpatialBlocks`.

    Raises
    ------
    OptionError
        If `aggregation` is out of range, or a named column is missing.
    DataError
        If coordinates have the wrong shape, or all presences are on squares of one colour.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import Checkerboard
    >>> xy = np.array([[0.5, 9.5], [1.5, 9.5], [0.5, 8.5], [1.5, 8.5], [2.5, 9.5], [3.5, 8.5]])
    >>> folds = Checkerboard(1.0, aggregation=1, origin=(0, 10), coordinates=xy)
    >>> [test.tolist() for train, test in folds.split(xy)]
    [[0, 3, 4, 5], [1, 2]]
    """

    cell: float | tuple[float, float]
    aggregation: int | Sequence[int] = 2
    _: KW_ONLY
    origin: tuple[float, float] | None = None
    coordinates: Any = None
    background: str = "partition"

    def _divide(self, X: TableLike, presence: Index, others: Index | None) -> Split:
        xy, around, _ = self._places(X, presence, others)
        every = np.vstack([xy, around])
        origin = self.origin or (float(every[:, 0].min()), float(every[:, 1].max()))
        words = self._words(others)
        return checkerboard(xy, around, origin=origin, cell=self.cell, aggregation=self.aggregation, **words)


@dataclass(eq=False, repr=False)
class Buffered(SpatialSplitter):
    """Leave-one-out folds that train on rows farther away than a radius (Valavi et al. 2019).

    There is one fold per presence, or per row if `y` does not have two values.

    Parameters
    ----------
    radius : float
        In km if coordinates are degrees, else in the units of the coordinates.
    coordinates, geographic
        As for `SpatialBlocks`.
    background : {"partition", "full"}
        "partition" tests on background within the radius and trains on the rest. "full" uses all background for both.

    Raises
    ------
    OptionError
        If `radius` is negative, or a named column is missing.
    DataError
        If coordinates have the wrong shape, or fewer than two presences are farther away than the radius.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import Buffered
    >>> xy = np.column_stack([np.arange(6.0), np.zeros(6)])
    >>> train, test = next(Buffered(1.5, coordinates=xy).split(xy))
    >>> train.tolist(), test.tolist()
    ([2, 3, 4, 5], [0])
    """

    radius: float
    _: KW_ONLY
    coordinates: Any = None
    geographic: bool | None = None
    background: str = "partition"

    def _divide(self, X: TableLike, presence: Index, others: Index | None) -> Split:
        xy, around, geographic = self._places(X, presence, others)
        return buffered_leave_one_out(xy, around, float(self.radius), geographic=geographic, **self._words(others))


@dataclass(eq=False, repr=False)
class EnvironmentBlocks(Splitter):
    """Folds of rows with similar environment, by k-means of the standardised variables (Valavi et al. 2019).

    Parameters
    ----------
    n_splits : int
        Number of folds.
    variables : sequence of str or int, optional
        Columns of X to use; by default all numeric columns. Exclude codes of categories.
    background
        As for `SpatialBlocks`; background rows belong to the nearest cluster.
    seed : int
        Seed of the initial centres of k-means.

    Raises
    ------
    OptionError
        If `variables` names a column that X does not have, or `n_splits` is out of range.
    DataError
        If no column varies, or a fold has too few presences.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import EnvironmentBlocks
    >>> heat = np.array([[1.0], [9.0], [1.2], [9.1], [5.0], [5.1]])
    >>> sorted(test.tolist() for train, test in EnvironmentBlocks(3).split(heat))
    [[0, 2], [1, 3], [4, 5]]
    """

    n_splits: int = 5
    _: KW_ONLY
    variables: Sequence[str | int] | None = None
    background: str = "partition"
    seed: int = 1

    def _divide(self, X: TableLike, presence: Index, others: Index | None) -> Split:
        values = numeric_columns(X, self.variables)
        around = values if others is None else values[others]
        words = self._words(others)
        return environmental_clusters(values[presence], around, int(self.n_splits), seed=self.seed, **words)


def _height(X: TableLike) -> int:
    """Return the number of rows of a table."""
    table = as_table(X)
    return len(table) if hasattr(table, "columns") or isinstance(table, np.ndarray) else len(next(iter(table.values())))


def _joined(fold: Fold, presence: Index, others: Index | None) -> tuple[Index, Index]:
    """Return the training and test rows of a table, from positions among presences and among background."""
    if others is None:
        return presence[fold.train], presence[fold.test]
    parts = (fold.train, fold.background_train), (fold.test, fold.background_test)
    train, test = (np.sort(np.concatenate([presence[p], others if b is None else others[b]])) for p, b in parts)
    return train, test
