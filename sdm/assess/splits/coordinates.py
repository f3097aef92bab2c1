"""Read coordinates of table rows from columns, arrays, data frames or points."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdm.data.encode import as_table, column_names
from sdm.errors import ColumnError, MismatchError, MissingInputError, UnknownColumnError
from sdm.types import Array

_DEGREES = ({"longitude", "decimallongitude", "lon", "lng", "long"}, {"latitude", "decimallatitude", "lat"})


def read_coordinates(coordinates: Any, X: Any, rows: int) -> tuple[Array, bool]:
    """Return the coordinates `(rows, 2)` of the rows of a table, and whether they are in degrees.

    Parameters
    ----------
    coordinates : (n, 2) array, data frame, geopandas points, two column names of X, or None
        A data frame or points are matched with the rows of X by index if both have one. So they also fit a subset of X.
        None uses the points of X, a GeoDataFrame.
    X : data frame or array
    rows : int
        Number of rows of X.
    """
    if coordinates is None:
        if not hasattr(X, "geometry"):
            raise MissingInputError(
                "coordinates are missing, and X is not a GeoDataFrame: give an array of x and y, or the names of two "
                "columns, as in coordinates=('longitude', 'latitude')"
            )
        coordinates = X.geometry
    if _is_names(coordinates):
        return _of_columns(coordinates, X), _degrees(coordinates)
    matched = _matched(coordinates, X)
    if hasattr(matched, "geometry"):
        points = matched.geometry
        xy = np.column_stack([points.x, points.y])
        geographic = bool(points.crs is not None and points.crs.is_geographic)
    else:
        geographic = hasattr(matched, "columns") and _degrees(list(matched.columns))
        xy = np.asarray(matched, dtype=np.float64)
    if xy.shape != (rows, 2):
        raise MismatchError(
            f"coordinates have shape {xy.shape}, expected x and y for each of the {rows:,} rows of X. For nested "
            "cross-validation name two columns of X, or give coordinates with an index"
        )
    return xy, geographic


def _is_names(coordinates: Any) -> bool:
    listed = isinstance(coordinates, (list, tuple)) and len(coordinates) == 2
    return listed and all(isinstance(name, str) for name in coordinates)


def _of_columns(names: Sequence[str], X: Any) -> Array:
    """Return two columns of a data frame."""
    columns = column_names(X) if hasattr(X, "columns") else []
    if missing := [name for name in names if name not in columns]:
        raise UnknownColumnError(
            f"coordinates={tuple(names)!r}: X has no column '{missing[0]}', only {', '.join(columns)}"
        )
    return np.column_stack([np.asarray(X[name], dtype=np.float64) for name in names])


def _matched(coordinates: Any, X: Any) -> Any:
    """Return the coordinates of the rows of X, by their index where both have one."""
    if not hasattr(coordinates, "index") or not hasattr(X, "index") or isinstance(coordinates, (list, tuple)):
        return coordinates
    if not coordinates.index.is_unique or not X.index.isin(coordinates.index).all():
        raise MismatchError("the index of the coordinates differs from the index of X: give both the same index")
    return coordinates.loc[X.index]


def _degrees(names: Sequence[Any]) -> bool:
    """Return whether the names of x and y stand for longitude and latitude."""
    return len(names) == 2 and all(str(name).lower() in synonyms for name, synonyms in zip(names, _DEGREES))


def numeric_columns(X: Any, variables: Sequence[str | int] | None) -> Array:
    """Return the named columns of a table, or all numeric ones, as an array."""
    table = as_table(X)
    names, of_rows = column_names(table), isinstance(table, np.ndarray)
    columns = list(table.T) if of_rows else [np.asarray(table[name]) for name in names]
    if variables is not None:
        columns = [columns[_position(v, names)] for v in variables]
    elif not of_rows:
        columns = [column for column in columns if column.dtype.kind in "biuf"]
    if not columns:
        raise ColumnError(f"X has no column of numbers for environments; its columns are {', '.join(names)}")
    return np.column_stack([column.astype(np.float64) for column in columns])


def _position(variable: str | int, names: list[str]) -> int:
    if isinstance(variable, (int, np.integer)) and 0 <= variable < len(names):
        return int(variable)
    if variable in names:
        return names.index(str(variable))
    raise UnknownColumnError(f"variables: X has no column {variable!r}; it has {', '.join(names)}")
