"""Which variables are used: chosen by name or pattern, for layers and for columns of tables; and columns that are none.

A column that only numbers the rows of a table is no variable: it has a name such as `siteid`, `fid` or `id`, or none,
or it counts 1, 2, 3, …; its values are whole numbers, and no two rows (or places) share one.
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
_UNNAMED = re.compile(r"|[Cc]olumn_?\d+|[Uu]nnamed.*|\.{3}\d+|X")  # the last two are written by R
CLASSES = 32  # different whole numbers that may be classes
FEWEST = 5  # rows below which nothing is said of numbers that are all different


@dataclass(frozen=True)
class NamedVariables:
    """Variables to use, and variables to leave out: names or patterns."""

    variables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def of(self, known: Sequence[str], what: str, source: str = "") -> list[str]:
        """Return the names that are chosen, as `select_variables` does."""
        return select_variables(known, self.variables, self.exclude, what, source)


def select_variables(
    known: Sequence[str], variables: Collection[str], exclude: Collection[str], what: str, source: str = ""
) -> list[str]:
    """Return the names that are chosen: those of `variables`, in that order (all if it is empty), without `exclude`.

    Both are names or patterns such as `bio*`; one that matches nothing is refused, with the names that are near. `what`
    is what messages call a variable, such as ``layer``, and `source` the file that has them.
    """
    chosen = list(known)
    if variables:
        meant = [matching(word, known, "variables", what, source) for word in variables]
        chosen = list(dict.fromkeys(name for names in meant for name in names))
    left = {name for word in exclude for name in matching(word, known, "exclude", what, source)}
    chosen = [name for name in chosen if name not in left]
    if left and not chosen:
        raise UnknownVariableError(
            f"layers.exclude={','.join(exclude)} leaves no {what} of {name_list(known)}: exclude fewer"
        )
    return chosen


def matching(word: str, known: Sequence[str], option: str, what: str, source: str = "") -> list[str]:
    """Return the names that a name or pattern means; raise if there is none."""
    found = [name for name in known if name == word] or [name for name in known if fnmatchcase(name, word)]
    if found:
        return found
    near = difflib.get_close_matches(word, known, n=3)
    low = {name.lower(): name for name in known}
    near = near or difflib.get_close_matches(word.lower(), low, n=3, cutoff=0.7)
    hint = " or ".join(f"'{low.get(name, name)}'" for name in near)
    did = f"did you mean {hint}? The" if hint else "the"
    where = f" of '{source}'" if source else ""
    raise UnknownVariableError(
        f"layers.{option}: '{word}' matches no {what}{where}: {did} {what}s are {name_list(sorted(known))}"
    )


def numbers_rows(name: str, values: Any, places: int | None = None) -> bool:
    """Tell whether a column only numbers the rows. `places` is how many different places the rows are of: a place may
    have several rows, and all of them its number."""
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
    """Return a line for every column of a data frame that holds few different whole numbers, and may hold classes."""
    out = []
    for name in table.columns:
        if name in categorical or table[name].dtype.kind not in "iuf":
            continue
        values = table[name].to_numpy(dtype=np.float64)
        numbers = np.unique(values[np.isfinite(values)])
        if 3 <= numbers.size <= min(CLASSES, len(values) // 10) and np.all(numbers == np.round(numbers)):
            out.append(hint("column", str(name), numbers))
    return out


def hint(what: str, name: str, numbers: Sequence[float] | np.ndarray) -> str:
    """Return the line that says that a variable may hold classes."""
    held = f"{len(numbers)} different whole numbers ({numbers[0]:g} to {numbers[-1]:g})"
    return f"{what} '{name}' holds {held}: if they are classes, use --categorical {name}"


def not_a_variable(name: str) -> str:
    """Return the line that says that a column is left out."""
    return f"column '{name}' only numbers the rows and was dropped: use --variables to keep it"


def said_variables(names: Sequence[str], categorical: Collection[str] = ()) -> str:
    """Return the line that says which variables a run uses."""
    words = [f"{name} (categorical)" if name in categorical else name for name in names]
    return f"{len(names)} variable{'' if len(names) == 1 else 's'}: {', '.join(words)}"
