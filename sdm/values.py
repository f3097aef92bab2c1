"""The decorator of classes of values: `dataclasses.dataclass`, but quick.

That of the standard library writes and compiles up to six functions for every class whenever the program starts, which
takes a tenth of a second for those of a run. Here all classes share theirs, but for `__init__`, which is written when
the first object is made; most classes of a run never see one. Types are checked, and objects behave, as with the
standard library.
"""

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_FIELDS = "__dataclass_fields__"  # where the standard library keeps what it knows of a class


def _dataclass(cls: type | None = None, /, *, frozen: bool = False, kw_only: bool = False) -> Any:
    """Make a class of values; objects of a `frozen` one cannot be changed."""

    def decorated(cls: type) -> type:
        given = dict(vars(cls))
        cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard library looks for the signature
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        methods: dict[str, Any] = {"__repr__": _repr, "__eq__": _equal}
        if "__init__" not in given:
            methods |= {"__init__": _first_init(cls, frozen), "__signature__": _Signature(cls, frozen)}
        if frozen:
            methods |= {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
        if given.get("__hash__") is None and ("__eq__" in given or "__hash__" not in given):
            methods["__hash__"] = _hash if frozen else None
            given.pop("__hash__", None)
        for name, method in methods.items():
            if name not in given:
                setattr(cls, name, method)
        return cls

    return decorated if cls is None else decorated(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass

__all__ = ["dataclass"]


def _first_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """Return an `__init__` that writes the true one, lets it take its place, and calls it."""

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        init = _written_init(cls, frozen)
        if vars(cls)["__init__"] is __init__:
            cls.__init__ = init
        init(self, *values, **named)

    return __init__


@cache
def _written_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """Return the `__init__` that the standard library writes for a class with the same fields."""
    fields = vars(cls)[_FIELDS]
    body = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__, **fields}
    body["__annotations__"] = {name: field.type for name, field in fields.items()}
    if hasattr(cls, "__post_init__"):
        body["__post_init__"] = cls.__post_init__
    made: Any = dataclasses.dataclass(repr=False, eq=False, frozen=frozen)(type(cls.__name__, (), body))
    init: Callable[..., None] = made.__init__
    return init


class _Signature:
    """What `help` and editors show: the names and types that objects of a class are made of."""

    def __init__(self, owner: Any, frozen: bool) -> None:
        self._owner, self._frozen = owner, frozen

    def __get__(self, item: Any, cls: Any) -> inspect.Signature:
        if item is not None or cls.__init__ is not self._owner.__init__:
            raise AttributeError("__signature__")
        init = inspect.signature(_written_init(self._owner, self._frozen))
        return init.replace(parameters=list(init.parameters.values())[1:])


@cache
def _values(cls: Any, hashed: bool) -> Callable[[Any], Any]:
    """Return what takes from an object of a class the values that it is compared by."""
    fields = dataclasses.fields(cls)
    names = [field.name for field in fields if (field.compare if not hashed or field.hash is None else field.hash)]
    if len(names) == 1:
        return lambda item: (getattr(item, names[0]),)
    return attrgetter(*names) if names else lambda item: ()


def _equal(self: Any, other: Any) -> Any:
    kind: Any = self.__class__
    if other.__class__ is not kind:
        return NotImplemented
    values = _values(kind, False)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(_values(self.__class__, True)(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _frozen_name(item: Any, name: str) -> bool:
    """Whether a name of an object must not change: any of a class of values, the fields in classes made from it."""
    return _FIELDS in vars(type(item)) or name in getattr(type(item), _FIELDS)


def _refuse_set(self: Any, name: str, value: Any) -> None:
    if _frozen_name(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_delete(self: Any, name: str) -> None:
    if _frozen_name(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)
