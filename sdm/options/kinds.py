"""Types of options, with their validators and JSON Schemas."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from sdm.data.nodata import NodataCodes
from sdm.data.rasters.names import read_renames
from sdm.errors import OptionError
from sdm.features.classes import has_growing, parse_classes, parse_families, parse_features
from sdm.storage.addresses import is_remote, place_stem

_WIDTH = re.compile(r"(\d+(?:\.\d+)?) ?(mm|cm|in)")


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _list(value: Any) -> Any:
    """Return a list for one word or number."""
    parts = [value] if isinstance(value, (str, int, float)) and not isinstance(value, bool) else value
    return [str(part) if isinstance(part, (int, float)) else part for part in parts] if _is_list(parts) else parts


def _words(value: Any) -> Any:
    """Return a list for one word, or for words with commas."""
    parts = _list(value)
    return [w.strip() for part in parts for w in str(part).split(",") if w.strip()] if _is_list(parts) else value


def read_formats(text: str) -> list[str]:
    """Return the formats of figures from words with commas."""
    formats = [word.strip() for word in text.split(",") if word.strip()]
    if not formats or not {*formats} <= {*FORMATS}:
        raise OptionError(f"--figures={text}: expected {', '.join(FORMATS)}, or several of them with commas")
    return formats


def read_places(value: Any) -> Any:
    """Return a dictionary from `name=folder`, or from folders, which are called by their names."""
    parts = [value] if isinstance(value, str) else value
    if not _is_list(parts):
        return value
    pairs = [_named_place(part) for part in map(str, parts)]
    names = [name.strip() for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"different names, got '{twice[0]}' twice; write name=folder")
    return dict(zip(names, (place for _, place in pairs)))


def _named_place(text: str) -> tuple[str, str]:
    """Return name and place from `name=folder`, or from a place alone. An address may contain '='."""
    name, sign, place = text.partition("=")
    if sign and not is_remote(name):
        return name, place
    return (place_stem(text) if is_remote(text) else Path(text).name), text


def _classes(value: Any) -> Any:
    """Check feature classes, which may include random features or growing families; a text or a list of names."""
    value = ",".join(map(str, value)) if _is_list(value) else value
    if isinstance(value, str):
        parse_families(value, 1) if has_growing(value) else parse_features(value, 1)
    return value


def _families(value: Any) -> Any:
    value = ",".join(map(str, value)) if _is_list(value) else value
    if isinstance(value, str):
        parse_families(value, 1)
    return value


def _class_sets(value: Any) -> Any:
    """Check sets of feature classes, such as l, lq, lqh. A set may have its own multiplier, such as t:1."""
    sets = _words(value)
    for word in sets if _is_list(sets) else ():
        classes, colon, multiplier = word.partition(":")
        parse_classes(classes, 1)
        if colon and not _positive(multiplier):
            raise ValueError(f"classes with a positive multiplier after the colon, such as lq:0.1, not '{word}'")
    return sets


def _positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def _nodata(value: Any) -> Any:
    """Check nodata values; numbers remain texts."""
    words = _words(value)
    if _is_list(words):
        NodataCodes.read(words)
    return words


def read_width(text: str) -> float:
    """Return the width of a figure in millimetres, from a text such as 85mm, 8.5cm or 3.35in."""
    match = _WIDTH.fullmatch(text.strip().lower())
    width = float(match[1]) * {"mm": 1.0, "cm": 10.0, "in": 25.4}[match[2]] if match else 0.0
    if not 40 <= width <= 1000:
        raise ValueError("a width from 40mm to 1000mm, such as 85mm (one column), 180mm (two) or 7in")
    return width


def _width(value: str) -> str:
    read_width(value)
    return value


def _bounds(value: Any) -> Any:
    """Return a list for numbers with commas."""
    return value.split(",") if isinstance(value, str) and "," in value else value


def _window(value: list[float]) -> list[float]:
    if len(value) != 4 or not (value[0] < value[2] and value[1] < value[3]):
        raise ValueError("four numbers, xmin,ymin,xmax,ymax, of which the last two are larger than the first two")
    return value


def _folds(value: int) -> int:
    if value == 1:
        raise ValueError("0 (no cross-validation) or at least 2 folds")
    return value


def _checked(reader: str) -> Any:
    """Return a validator of a text with a function of the filters of records; the text is unchanged."""

    def check(value: Any) -> Any:
        from sdm.data.records import filters  # it imports pandas, which options do not need

        if value is not None:
            getattr(filters, reader)(str(value))
        return value if value is None else str(value)

    return BeforeValidator(check)


# Above any sensible value; products of such numbers do not overflow.
_MOST = 1e12
Positive = Annotated[float, Field(gt=0, le=_MOST)]
NotNegative = Annotated[float, Field(ge=0, le=_MOST)]
Share = Annotated[float, Field(gt=0, lt=1)]
BetaRule = Literal[
    "auto", "maxent", "maxnet", "deviation", "corollary5", "corollary6", "corollary7", "theorem8", "corollary9",
    "theorem11", "theorem13", "theorem15",
]  # fmt: skip
PenaltyName = Literal["l1", "none", "smoothed_l1", "l2", "l2sq", "elastic", "mahalanobis", "lp"]
Order = Annotated[float, Field(ge=1, le=2)]  # of an entropy
Power = Annotated[float, Field(gt=1, lt=2)]  # of a norm
Part = Annotated[float, Field(gt=0, le=1)]  # a share that may be all

Schema = dict[str, Any]
"""A part of the JSON Schema of run files."""
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_NAMED: Schema = {"anyOf": [*_TEXTS["anyOf"], {"type": "object", "additionalProperties": _TEXT}]}

_NUMBERS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": {"type": "number", "minimum": 0}}]}

Words = Annotated[list[str], BeforeValidator(_words), WithJsonSchema(_TEXTS)]
Files = Annotated[list[str], BeforeValidator(_list), WithJsonSchema(_TEXTS)]
Places = Annotated[dict[str, str], BeforeValidator(read_places), WithJsonSchema(_NAMED)]
Renames = Annotated[dict[str, str], BeforeValidator(read_renames), WithJsonSchema(_NAMED)]
Classes = Annotated[str, BeforeValidator(_classes), WithJsonSchema(_TEXTS)]
Families = Annotated[str, BeforeValidator(_families), WithJsonSchema(_TEXTS)]
Numbers = Annotated[list[NotNegative], BeforeValidator(_words), WithJsonSchema(_NUMBERS), Field(min_length=1)]
_CODE: Schema = {"type": ["string", "number"]}
_CODES: Schema = {"anyOf": [_CODE, {"type": "array", "items": _CODE}]}
Nodata = Annotated[list[str], BeforeValidator(_nodata), WithJsonSchema(_CODES)]
_COUNTS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": {"type": "integer", "minimum": 1}}]}

NumberList = Annotated[list[NotNegative], BeforeValidator(_words), WithJsonSchema(_NUMBERS)]
PositiveList = Annotated[list[Positive], BeforeValidator(_words), WithJsonSchema(_NUMBERS), Field(min_length=1)]
Orders = Annotated[list[Order], BeforeValidator(_words), WithJsonSchema(_NUMBERS)]
CountList = Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(_words), WithJsonSchema(_COUNTS)]
ClassSets = Annotated[list[str], BeforeValidator(_class_sets), WithJsonSchema(_TEXTS), Field(min_length=1)]
Penalties = Annotated[list[PenaltyName], BeforeValidator(_words), WithJsonSchema(_TEXTS)]
_WINDOW: Schema = {"anyOf": [_TEXT, {"type": "array", "items": {"type": "number"}}]}
Bounds = Annotated[list[float], BeforeValidator(_bounds), AfterValidator(_window), WithJsonSchema(_WINDOW)]
Suspicious = Annotated[
    list[Literal["all", "zero", "impossible", "swapped", "equal", "whole", "repeated", "sea"]],
    BeforeValidator(_words),
    WithJsonSchema(_TEXTS),
]
Stacks = Annotated[list[Literal["sum", "threshold"]], BeforeValidator(_words), WithJsonSchema(_TEXTS)]
FORMATS = ("png", "pdf", "svg")
Formats = Annotated[list[Literal["png", "pdf", "svg"]], BeforeValidator(_words), WithJsonSchema(_TEXTS)]
Width = Annotated[str, AfterValidator(_width), WithJsonSchema(_TEXT)]
Crs = Annotated[str, BeforeValidator(lambda value: f"EPSG:{value}" if str(value).isdigit() else value)]
Length = Annotated[str, _checked("read_length"), WithJsonSchema(_TEXT)]
Years = Annotated[str, _checked("read_years"), WithJsonSchema({"anyOf": [_TEXT, {"type": "integer"}]})]
Folds = Annotated[int, Field(ge=0), AfterValidator(_folds)]
Count = Annotated[int, Field(ge=1)]


def option(
    default: Any, text: str, *aliases: str, formerly: str | None = None, was: float | str | None = None, **limits: Any
) -> Any:
    """Declare an option: default, description, other spellings; its name and default in old files."""
    extra: Schema = {"aliases": list(aliases), "formerly": [formerly] if formerly else [], "was": was}
    return Field(default, description=text, json_schema_extra=extra, **limits)


class Section(BaseModel):
    """A group of options. A misspelt name is an error."""

    model_config = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False, defer_build=True)
