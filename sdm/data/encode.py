"""Encode tables as numbers: arrays, data frames or columns by name, with classes as numbers or as text.

Tables without names have one row per point and one column per variable, as in scikit-learn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdm.errors import (
    BadValueError,
    ColumnError,
    DataError,
    MismatchError,
    NumberTypeError,
    UnknownColumnError,
    name_list,
)
from sdm.types import AnyArray, Array


@dataclass(frozen=True)
class Encoder:
    """Conversion of the columns of a table to numbers."""

    names: tuple[str, ...]
    categorical: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]  # for categorical columns of text: their sorted classes, coded by position

    @classmethod
    def learn(cls, table: Any, categorical: str | int | Sequence[str | int] = ()) -> "Encoder":
        """Learn names and classes from a table as for `encode`; columns of arrays are named x0, x1, …"""
        table = as_table(table)
        names = column_names(table)
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise DataError(f"columns must have different names, got {', '.join(twice)} more than once")
        listed = [categorical] if isinstance(categorical, (str, int)) else categorical
        chosen = tuple(_name_of(column, names) for column in listed)
        labels = {}
        for name in chosen:
            values = _column(table, names.index(name))
            if not _numeric(values):
                labels[name] = tuple(sorted({str(value) for value in values if not _missing(value)}))
        return cls(tuple(names), chosen, labels)

    def encode(self, table: Any) -> Array:
        """Return the table as an `(n, V)` array; unknown text classes become −1, missing ones NaN.

        Rows (a 2-D array or nested lists) have exactly these columns. If all are numbers, they are unchanged, with
        codes of text classes, as are `NamedNumbers`. A data frame, or a mapping of names to columns, may have more
        columns, in any order.
        """
        if isinstance(table, NamedNumbers) and set(self.names) <= set(table.columns):
            if table.columns == self.names:
                return np.asarray(table.values, dtype=np.float64)
            return np.asarray(table.values[:, [table.columns.index(name) for name in self.names]], dtype=np.float64)
        table = as_table(table)
        columns = column_names(table)
        framed = not isinstance(table, np.ndarray)
        if framed:
            missing = [name for name in self.names if name not in columns]
            if missing:
                raise ColumnError(
                    f"the table has no column {name_list(map(repr, missing))}; it has {', '.join(columns)}"
                )
        elif len(columns) != len(self.names):
            raise MismatchError(
                f"the table has {len(columns)} columns, expected {len(self.names)} ({', '.join(self.names)}): "
                "give one row per point and one column per variable"
            )
        elif table.dtype.kind in "biuf":
            return np.asarray(table, dtype=np.float64)
        parts = [_column(table, columns.index(name) if framed else v) for v, name in enumerate(self.names)]
        return np.column_stack(
            [
                self._codes(values, name) if name in self.labels else _numbers(values, name)
                for values, name in zip(parts, self.names)
            ]
        )

    def _codes(self, values: AnyArray, name: str) -> Array:
        position = {label: code for code, label in enumerate(self.labels[name])}
        return np.array([np.nan if _missing(x) else position.get(str(x), -1) for x in values], dtype=np.float64)


@dataclass(frozen=True)
class NamedNumbers:
    """Rows of numbers `(n, V)` with column names, which need no encoding."""

    values: Array
    columns: tuple[str, ...]


def as_table(table: Any) -> Any:
    """Return a data frame or a mapping of equally long columns unchanged, and other tables as a 2-D array of rows."""
    if hasattr(table, "columns"):
        return table
    if hasattr(table, "tocsr"):
        raise MismatchError("X is a sparse matrix, expected a dense table: give X.toarray()")
    if isinstance(table, Mapping):
        shapes = {str(name): np.shape(column) for name, column in table.items()}
        if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
            got = ", ".join(f"'{name}' {shape}" for name, shape in shapes.items())
            raise MismatchError(f"the columns have the shapes {got}: expected one value per point in each of them")
        return table
    try:
        rows = np.asarray(table)
        if rows.dtype.kind == "U":  # numbers and missing values in it would become text
            rows = np.asarray(table, dtype=object)
    except ValueError:  # rows of different lengths
        raise MismatchError("the rows of X have different lengths: give each point one value per variable") from None
    if rows.ndim != 2:
        raise MismatchError(
            f"X has {rows.ndim} dimensions, expected a table of two. Reshape your data: one row per point and one "
            "column per variable"
        )
    if rows.dtype.kind == "c":
        raise BadValueError("Complex data not supported: X has complex numbers, expected real ones")
    return rows


def column_names(table: Any) -> list[str]:
    """Return the names of the columns; for an array x0, x1, …"""
    if isinstance(table, np.ndarray):
        return [f"x{v}" for v in range(table.shape[1])]
    return [str(name) for name in (table if isinstance(table, Mapping) else table.columns)]


def _column(table: Any, v: int) -> AnyArray:
    if isinstance(table, np.ndarray):
        return table[:, v]
    if isinstance(table, NamedNumbers):
        return table.values[:, v]
    return np.asarray(list(table.values())[v] if isinstance(table, Mapping) else table.iloc[:, v])


def _name_of(column: str | int, names: list[str]) -> str:
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(names):
        return names[column]
    if column in names:
        return str(column)
    raise UnknownColumnError(f"categorical={column!r}: no such column; the columns are {', '.join(names)}")


def _numeric(values: AnyArray) -> bool:
    if values.dtype.kind in "biuf":
        return True
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _missing(value: object) -> bool:
    # pandas' NA first: comparisons with it return NA.
    return value is None or str(value) in ("<NA>", "NaT") or bool(value != value)


def _numbers(values: AnyArray, name: str) -> Array:
    """Return a column as floats, missing values as NaN; raise at a value that is not a number."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([_number(value, row, name) for row, value in enumerate(values)])


def _number(value: Any, row: int, name: str) -> float:
    try:
        return np.nan if _missing(value) else float(value)
    except ValueError:
        raise BadValueError(_no_number(value, row, name)) from None
    except TypeError:  # neither a number nor a text
        raise NumberTypeError(f"{_no_number(value, row, name)} (argument must be a string or a number)") from None


def _no_number(value: object, row: int, name: str) -> str:
    return (
        f"column '{name}' has {value!r} in row {row + 1}, expected a number; "
        f"if the column holds classes, name it in categorical=['{name}']"
    )
