"""Tables in, numbers out: arrays or data frames, with classes as numbers or as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError, OptionError
from sdm.features.domain import Array


@dataclass(frozen=True)
class Encoder:
    """How the columns of a table become numbers.

    Attributes
    ----------
    names : tuple of str
    categorical : tuple of str
    labels : dict
        For each categorical column of text, its sorted classes; a class is coded by its position.
    """

    names: tuple[str, ...]
    categorical: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]

    @classmethod
    def learn(cls, table: Any, categorical: str | int | Sequence[str | int] = ()) -> "Encoder":
        """Learn names and classes from a table: a 2-D array (columns are named x0, x1, …) or a data frame."""
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
        """Return the table as an `(n, V)` array; text classes that were never seen become −1, missing ones NaN.

        A data frame may have its columns in any order, and more of them; an array must have exactly these columns.
        """
        given = column_names(table)
        framed = hasattr(table, "columns")
        if framed:
            missing = [name for name in self.names if name not in given]
            if missing:
                raise DataError(f"the table has no column {', '.join(map(repr, missing))}; it has {', '.join(given)}")
        elif len(given) != len(self.names):
            raise DataError(f"the table has {len(given)} columns, expected {len(self.names)}: {', '.join(self.names)}")
        out = np.empty((len(table), len(self.names)))
        for v, name in enumerate(self.names):
            values = _column(table, given.index(name) if framed else v)
            out[:, v] = self._codes(values, name) if name in self.labels else _numbers(values, name)
        return out

    def _codes(self, values: NDArray[Any], name: str) -> Array:
        position = {label: code for code, label in enumerate(self.labels[name])}
        return np.array([np.nan if _missing(x) else position.get(str(x), -1) for x in values], dtype=np.float64)


def column_names(table: Any) -> list[str]:
    """Return the columns' names."""
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    shape = np.shape(table)
    if len(shape) != 2:
        raise DataError(f"X has {len(shape)} dimensions, expected a table of two: rows and variables")
    return [f"x{v}" for v in range(shape[1])]


def _column(table: Any, v: int) -> NDArray[Any]:
    if hasattr(table, "columns"):
        return np.asarray(table.iloc[:, v])
    return np.asarray(table)[:, v]


def _name_of(column: str | int, names: list[str]) -> str:
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(names):
        return names[column]
    if column in names:
        return str(column)
    raise OptionError(f"categorical={column!r}: no such column; there are {', '.join(names)}")


def _numeric(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "biuf":
        return True
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _missing(value: Any) -> bool:
    # pandas' NA first: comparing with it gives no answer.
    return value is None or str(value) in ("<NA>", "NaT") or bool(value != value)


def _numbers(values: NDArray[Any], name: str) -> Array:
    """Return a column as floats, missing values as NaN, or say which value is no number."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([_number(value, row, name) for row, value in enumerate(values)])


def _number(value: Any, row: int, name: str) -> float:
    try:
        return np.nan if _missing(value) else float(value)
    except (TypeError, ValueError):
        raise DataError(
            f"column '{name}' has {value!r} in row {row + 1}, expected a number; "
            f"if the column holds classes, name it in categorical=['{name}']"
        ) from None
