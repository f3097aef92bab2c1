"""pandas, loaded when it is first used: a command that reads no table, such as one that maps a model, does not wait for
it. Modules that work with tables import `pd` from here, and put off their annotations (`from __future__`)."""

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Later:
    """A module that is loaded with the first of its names that is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _module(self) -> ModuleType:
        return import_module(self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Later("pandas")

__all__ = ["pd"]
