"""Import pandas at its first use: a command without tables, such as a map of a model, does not need it.

Modules with tables import `pd` from here, and postpone annotations (`from __future__`).
"""

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

TableT = TypeVar("TableT", bound="DataclassInstance")


class _Pandas:
    """Imports pandas when one of its names is used."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module("pandas"), name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Pandas()

__all__ = ["pd", "take_rows"]


def take_rows(table: TableT, which: Any, names: Iterable[str]) -> TableT:
    """Return some rows, by index or by booleans, of the columns in `names` of a dataclass; None stays."""
    taken: dict[str, Any] = {}
    for name in names:
        column = getattr(table, name)
        if hasattr(column, "iloc"):
            taken[name] = column.iloc[which].reset_index(drop=True)
        elif column is not None:
            taken[name] = column[which]
    return replace(table, **taken)
