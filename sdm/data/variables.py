"""Select variables by name or pattern, from layers and columns of tables, and recognize columns that are not variables.

A column of row numbers is not a variable: it has a name such as `siteid`, `fid` or `id`, or none, or it counts 1, 2,
3, …; its values are whole numbers, all different between rows (or places).
"""

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from sdm.errors import UnknownVariableError, name_list

_ID = re.compile(r"(^|[\W_])(id|fid|gid|oid|uid|key|idx|index|row)$|[a-z]I[Dd]$", re.ASCII)
_NUMBERED = frozenset({
    *("id", "fid", "gid", "oid", "uid", "pid", "ogcfid", "objectid", "featureid", "globalid", "siteid", "plotid"),
    *("pointid", "recordid", "recid", "sampleid", "stationid", "locationid", "cellid", "pixelid", "gridid", "surveyid"),
    *("visitid", "eventid", "occid", "occurrenceid", "gbifid", "index", "idx", "key", "rowid", "rownames", "rowname"),
    *("rownum", "row", "column1"),
})  # fmt: skip
_UNNAMED = re.compile(r"|[Cc]olumn_?\d+|[Uu]nnamed.*|\.{3}\d+|X")  # R writes the last two
CLASSES = 32  # maximum number of different whole numbers that may be classes
FEWEST = 5  # minimum number of rows for recognizing row numbers


@dataclass(frozen=True)
class NamedVariables:
    """Variables to use, and variables to exclude: names or patterns."""

    variables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def of(self, names: Sequence[str], noun: str, source: str = "") -> list[str]:
        """Return the selected names, by `select_variables`."""
        return select_variables(names, self.variables, self.exclude, noun, source)


def select_variables(
    names: Sequence[str], variables: Collection[str], exclude: Collection[str], noun: str, source: str = ""
) -> list[str]:
    """Return the selected names: those matching `variables`, in that order (all if it is empty), without `exclude`.

    Both are names or patterns such as `bio*`; one without a match is refused, with the nearest names. `noun` describes
    a variable in messages, such as ``layer``, and `source` is its file.
    """
    chosen = list(names)
    if variables:
        meant = [matching(word, names, "variables", noun, source) for word in variables]
        chosen = list(dict.fromkeys(name for group in meant for name in group))
    excluded = {name for word in exclude for name in matching(word, names, "exclude", noun, source)}
    chosen = [name for name in chosen if name not in excluded]
    if excluded and not chosen:
        raise UnknownVariableError(
            f"layers.exclude={','.join(exclude)} leaves no {noun} of {name_list(names)}: exclude fewer"
        )
    return chosen


def matching(word: str, names: Sequence[str], option: str, noun: str, source: str = "") -> list[str]:
    """Return the names that match a name or pattern; raise if there are none."""
    matches = [name for name in names if name == word] or [name for name in names if fnmatchcase(name, word)]
    if matches:
        return matches
    near = difflib.get_close_matches(word, names, n=3)
    low = {name.lower(): name for name in names}
    near = near or difflib.get_close_matches(word.lower(), low, n=3, cutoff=0.7)
    hint = " or ".join(f"'{low.get(name, name)}'" for name in near)
    did = f"did you mean {hint}? The" if hint else "the"
    where = f" of '{source}'" if source else ""
    raise UnknownVariableError(
        f"layers.{option}: '{word}' matches no {noun}{where}: {did} {noun}s are {name_list(sorted(names))}"
    )


def numbers_rows(name: str, values: Any, places: int | None = None) -> bool:
    """Whether a column contains only row numbers.

    `places` is the number of different places of the rows: all rows of a place may have its number.
    """
    column = np.asarray(values)
    if column.dtype.kind not in "iuf" or len(column) < FEWEST or not np.all(np.isfinite(column)):
        return False
    if np.any(column != np.round(column)):
        return False
    distinct = np.unique(column).size
    alone = distinct == len(column) or (places is not None and places >= FEWEST and distinct >= places)
    if not alone:
        return False
    key = re.sub(r"[\W_]", "", name).lower()
    counted = distinct == len(column) and bool(np.all(np.diff(column) == 1)) and column[0] in (0, 1)
    return key in _NUMBERED or bool(_ID.search(name.strip())) or bool(_UNNAMED.fullmatch(name.strip())) or counted


def hint_columns(table: Any, categorical: Collection[str]) -> list[str]:
    """Return a line for every column of a data frame with few different whole numbers, which may be classes."""
    out = []
    for name in table.columns:
        if name in categorical or table[name].dtype.kind not in "iuf":
            continue
        values = table[name].to_numpy(dtype=np.float64)
        numbers = np.unique(values[np.isfinite(values)])
        if 3 <= numbers.size <= min(CLASSES, len(values) // 10) and np.all(numbers == np.round(numbers)):
            out.append(hint("column", str(name), numbers))
    return out


def hint(noun: str, name: str, numbers: Sequence[float] | np.ndarray) -> str:
    """Return the line about a variable that may contain classes."""
    held = f"{len(numbers)} different whole numbers ({numbers[0]:g} to {numbers[-1]:g})"
    return f"{noun} '{name}' holds {held}: if they are classes, use --categorical {name}"


def not_a_variable(name: str) -> str:
    """Return the line about a dropped column of row numbers."""
    return f"column '{name}' only numbers the rows and was dropped: use --variables to keep it"


def variables_line(names: Sequence[str], categorical: Collection[str] = ()) -> str:
    """Return the line with the variables of a run."""
    words = [f"{name} (categorical)" if name in categorical else name for name in names]
    return f"{len(names)} variable{'' if len(names) == 1 else 's'}: {', '.join(words)}"
