"""Scenarios: sets of layers of other times and places, found by a name pattern or listed in a table.

In a pattern, a name in braces is a field: ``future/{gcm}_{ssp}_{period}/`` finds one scenario per folder, with three
fields from its name, and ``wc2.1_10m_bioc_{gcm}_{ssp}_{period}.tif`` one per file. The field ``{variable}`` identifies
the layers of one scenario if a folder contains the files of several:
``CHELSA_{variable}_{period}_{gcm}_{ssp}_V.2.1.tif``.
"""

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sdm.data.records.textfile import TextTable, column_key
from sdm.errors import (
    BadValueError,
    ColumnError,
    MissingFileError,
    MissingInputError,
    ScenarioError,
    ScenarioFilesError,
)

VARIABLE = "variable"  # field of the layers of one scenario
TABLES = (".csv", ".tsv", ".txt")
MOST_PLACES = 100_000  # largest number of matches of a pattern, at each level of folders
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
_PLACES = ("layers", "folder", "file", "path")  # columns of a table with the location of the layers
_TITLES = ("scenario", "name", "title")


@dataclass(frozen=True)
class Scenario:
    """A set of layers for a projection, with its fields."""

    title: str
    places: tuple[str, ...]  # a folder, a file, or files
    fields: Mapping[str, str] = field(default_factory=dict)  # such as gcm, ssp and period


def find_scenarios(sources: Sequence[str] | Mapping[str, str]) -> list[Scenario]:
    """Return the scenarios of patterns, tables, folders and files, or of a mapping from titles to these, sorted by
    title.

    Raises
    ------
    DataError
        If nothing is there, or two readings of a name are possible.
    OptionError
        If a pattern cannot be understood, or two scenarios have one title.
    """
    pairs = list(sources.items()) if isinstance(sources, Mapping) else [("", place) for place in sources]
    pairs = [("" if title == Path(place).name else title, place) for title, place in pairs]  # not named by the user
    scenarios: list[Scenario] = []
    for title, place in pairs:
        if has_fields(place):
            part = _by_pattern(place)
        elif Path(place).suffix.lower() in TABLES:
            part = _by_table(Path(place))
        else:
            part = [Scenario(title or Path(place).name, (place,))]
        if title:
            part = [replace(one, title=f"{title}_{one.title}" if len(part) > 1 else title) for one in part]
        scenarios += part
    titles = [one.title for one in scenarios]
    if twice := [title for title in titles if titles.count(title) > 1]:
        raise ScenarioError(f"two scenarios have the name '{twice[0]}': name them, as in name=folder")
    if not scenarios:
        raise MissingInputError("no scenarios: add a pattern such as 'future/{gcm}_{ssp}/', a table, or folders")
    return sorted(scenarios, key=lambda one: one.title)


def field_names(scenarios: Sequence[Scenario]) -> list[str]:
    """Return the fields of the scenarios, in order of their first appearance."""
    return list(dict.fromkeys(name for one in scenarios for name in one.fields))


def matches(pattern: str) -> list[tuple[str, dict[str, str]]]:
    """Return the files and folders that match a pattern, sorted, each with the fields in its name."""
    names = _FIELD.findall(pattern)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ScenarioError(f"pattern '{pattern}' has the field {{{twice[0]}}} twice: rename one of them")
    if "}{" in pattern:
        raise ScenarioError(f"pattern '{pattern}' has two fields without a separator: put text between them")
    places = [(place, _read_fields(pattern, place)) for place in sorted(_matching(pattern))]
    if not places:
        raise ScenarioFilesError(f"no file or folder matches '{pattern}': check the pattern and its fields in braces")
    return places


def has_fields(text: str) -> bool:
    """Whether a text is a pattern with fields in braces."""
    return _FIELD.search(text) is not None


def _by_pattern(pattern: str) -> list[Scenario]:
    """Return the scenarios whose folder or file names match a pattern."""
    names = _FIELD.findall(pattern)
    fields = [name for name in names if name != VARIABLE]
    groups: dict[tuple[str, ...], list[str]] = {}
    for place, values in matches(pattern):
        groups.setdefault(tuple(values[name] for name in fields), []).append(place)
    if not fields:
        raise ScenarioError(f"pattern '{pattern}' has no field but {{{VARIABLE}}}: add one that differs")
    out = []
    for key, files in groups.items():
        if len(files) > 1 and VARIABLE not in names:
            raise ScenarioFilesError(f"'{files[0]}' and '{files[1]}' are the same scenario in '{pattern}': add a field")
        out.append(Scenario("_".join(key), tuple(files), dict(zip(fields, key))))
    return out


def _matching(pattern: str) -> list[str]:
    """Return the candidates of a pattern: a field matches everything but a slash."""
    parts = _FIELD.split(pattern.rstrip("/"))
    anything = "".join("*" if k % 2 else glob.escape(part) for k, part in enumerate(parts))
    parts = anything.split("/")
    for end in range(1, len(parts) + 1):  # level by level: links could lead to the folders of the whole machine
        places = glob.glob("/".join(parts[:end]))
        if len(places) > MOST_PLACES:
            raise ScenarioFilesError(
                f"pattern '{pattern}' matches more than {MOST_PLACES:,} files and folders: make it more specific, or "
                "give a table of scenarios"
            )
    return [place for place in places if not Path(place).name.startswith(".")]


def _read_fields(pattern: str, place: str) -> dict[str, str]:
    """Return the values of the fields in a path; raise if they are ambiguous."""
    parts = _FIELD.split(pattern.rstrip("/"))
    readings = []
    for lazy in ("?", ""):
        text = "".join(f"(?P<{part}>[^/]+{lazy})" if k % 2 else re.escape(part) for k, part in enumerate(parts))
        match = re.fullmatch(text, place)
        readings.append({} if match is None else match.groupdict())
    if readings[0] != readings[1]:
        name = next(key for key in readings[0] if readings[0][key] != readings[1].get(key))
        both = f"'{readings[0][name]}' or '{readings[1].get(name)}'"
        raise ScenarioFilesError(
            f"'{place}' matches '{pattern}' in two ways: {{{name}}} may be {both}; make the pattern more specific, or "
            "give a table of scenarios"
        )
    return readings[0]


def _by_table(path: Path) -> list[Scenario]:
    """Return the scenarios in a table: a column with their layers, and other columns as fields. Paths are relative to
    the table."""
    if not path.is_file():
        raise MissingFileError(f"file '{path}' does not exist: expected a table of scenarios")
    text = TextTable(path)
    frame, row = text.read(as_text=set(text.header))
    keys = {column_key(name): name for name in reversed(text.header)}
    where = next((keys[key] for key in _PLACES if key in keys), None)
    if where is None:
        raise ColumnError(f"table '{path.name}' has no column {' or '.join(_PLACES)}, only {', '.join(text.header)}")
    called = next((keys[key] for key in _TITLES if key in keys), None)
    fields = [name for name in text.header if name not in (where, called)]
    out = []
    for number, line in zip(row, frame.astype(object).where(frame.notna(), "").to_dict("records")):
        place, values = str(line[where]).strip(), {name: str(line[name]).strip() for name in fields}
        if not place:
            raise BadValueError(f"table '{path.name}', row {number}: column '{where}' is empty")
        path_text = place if "://" in place or place.startswith("/") else str(path.parent / place)
        title = str(line[called]).strip() if called else "_".join(value for value in values.values() if value)
        out.append(Scenario(title or Path(place).name, (path_text,), values))
    return out


PERIODS = ("period", "year", "years", "time", "date", "decade", "epoch")  # fields of time


def period_order(scenarios: Sequence[Scenario]) -> list[tuple[str, str | None]]:
    """Return the titles of scenarios in order of their periods, each with the title of the previous period (same other
    fields), or None."""
    name = next((field for field in field_names(scenarios) if column_key(field) in PERIODS), None)
    if name is None:
        return [(one.title, None) for one in scenarios]
    groups: dict[tuple[tuple[str, str], ...], list[Scenario]] = {}
    for one in scenarios:
        rest = tuple(sorted((key, value) for key, value in one.fields.items() if key != name))
        groups.setdefault(rest, []).append(one)
    out: list[tuple[str, str | None]] = []
    for group in groups.values():
        ordered = sorted(group, key=lambda one: _natural(one.fields.get(name, "")))
        out += [(one.title, ordered[k - 1].title if k else None) for k, one in enumerate(ordered)]
    return out


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers in a text by size."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", text)]
