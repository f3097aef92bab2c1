"""Kinds of options: what may be written for each, and what it means."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from sdm.features.classes import parse_classes
from sdm.features.families import parse_families


def _several(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _list(value: Any) -> Any:
    """Let one word or number stand for a list of it."""
    parts = [value] if isinstance(value, (str, int, float)) and not isinstance(value, bool) else value
    return [str(part) if isinstance(part, (int, float)) else part for part in parts] if _several(parts) else parts


def _words(value: Any) -> Any:
    """Let one word, or several with commas between, stand for a list."""
    parts = _list(value)
    return [w.strip() for part in parts for w in str(part).split(",") if w.strip()] if _several(parts) else value


def read_places(value: Any) -> Any:
    """Let `name=folder`, or a folder called by its own name, stand for an entry of a dictionary."""
    parts = [value] if isinstance(value, str) else value
    if not _several(parts):
        return value
    pairs = [part.split("=", 1) if "=" in part else (Path(part).name, part) for part in map(str, parts)]
    names = [name.strip() for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"different names, got '{twice[0]}' twice; write name=folder")
    return dict(zip(names, (place for _, place in pairs)))


def _classes(value: Any) -> Any:
    """Check feature classes, given as text or as a list of names."""
    value = ",".join(map(str, value)) if _several(value) else value
    if isinstance(value, str):
        parse_classes(value, 1)
    return value


def _families(value: Any) -> Any:
    """Check families, given as text or as a list of names."""
    value = ",".join(map(str, value)) if _several(value) else value
    if isinstance(value, str):
        parse_families(value, 1)
    return value


def _folds(value: int) -> int:
    if value == 1:
        raise ValueError("0 (no cross-validation) or at least 2 folds")
    return value


Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_NAMED: dict[str, Any] = {"anyOf": [*_TEXTS["anyOf"], {"type": "object", "additionalProperties": _TEXT}]}

_NUMBERS: dict[str, Any] = {"anyOf": [_TEXT, {"type": "array", "items": {"type": "number", "minimum": 0}}]}

Words = Annotated[list[str], BeforeValidator(_words), WithJsonSchema(_TEXTS)]
Files = Annotated[list[str], BeforeValidator(_list), WithJsonSchema(_TEXTS)]
Places = Annotated[dict[str, str], BeforeValidator(read_places), WithJsonSchema(_NAMED)]
Classes = Annotated[str, BeforeValidator(_classes), WithJsonSchema(_TEXTS)]
Families = Annotated[str, BeforeValidator(_families), WithJsonSchema(_TEXTS)]
Numbers = Annotated[list[NotNegative], BeforeValidator(_words), WithJsonSchema(_NUMBERS), Field(min_length=1)]
Crs = Annotated[str, BeforeValidator(lambda value: f"EPSG:{value}" if str(value).isdigit() else value)]
Folds = Annotated[int, Field(ge=0), AfterValidator(_folds)]
Count = Annotated[int, Field(ge=1)]
