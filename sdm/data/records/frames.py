"""pandas, loaded when it is first used: a command that reads no table, such as one that maps a model, does not wait for
it. Modules that work with tables import `pd` from here, and put off their annotations (`from __future__`)."""

from importlib import import_module
from typing import TYPE_CHECKING


class _Pandas:
    """Imports pandas when one of its names is used."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module("pandas"), name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Pandas()

__all__ = ["pd"]
