"""The rows of a file on their way in: those that take part, and why the others do not.

Whoever reads a table takes its columns of numbers from here. A cell that is no number makes its row unreadable; such
rows are left out, counted and listed, and a file with too many of them is refused (`RowRules.most_bad`). The user's
filters, and what is never a record of a wild living species, leave rows out in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from sdm.data.records.columns import first_of, row_count
from sdm.data.records.filters import RecordFilters
from sdm.data.records.frames import pd
from sdm.data.records.textfile import TextTable, to_numbers
from sdm.errors import BadRowsError, name_list

IDENTIFIERS = ("gbifid", "occurrenceid")
UNREADABLE, FILTERED = "unreadable", "filtered"
MOVED = "moved to the nearest cell with data"
TOLD = (MOVED,)  # what is told of a row that is kept
LEFT_OUT = ("row", "id", "species", "x", "y", "kind", "reason")  # columns of the table of rows that are left out
_SHOWN = 3  # unreadable rows in a message


@dataclass(frozen=True)
class RowRules:
    """Which rows of a file take part."""

    filters: RecordFilters = field(default_factory=RecordFilters)
    most_bad: float = 5.0  # percent of the rows that may be unreadable, rounded up to whole rows


class FileRows:
    """The rows of one table, and what is left out of them."""

    def __init__(self, frame: pd.DataFrame, row: np.ndarray, source: str, rules: RowRules | None = None) -> None:
        self.frame, self.row, self.source = frame, row, source
        self.rules = rules or RowRules()
        self.keep = np.ones(len(frame), dtype=bool)
        self.notes: list[str] = []
        self._bad: dict[int, str] = {}  # unreadable rows, by their place in the table
        self._lost: dict[int, str] = {}  # unreadable rows that are not in the table, by their number in the file
        self._left: list[tuple[np.ndarray, str, Any]] = []  # rows, kind, and one reason or a reason each

    @classmethod
    def read(
        cls,
        text: TextTable,
        as_text: set[str | None],
        only: list[str] | None = None,
        rules: RowRules | None = None,
        as_numbers: Collection[str] = (),
    ) -> FileRows:
        """Read a text table; the rest is as for `TextTable.read`."""
        rows = cls(*text.read(as_text, only, strict=False, as_numbers=as_numbers), text.path.name, rules)
        fault = f"more fields than the {len(text.header)} of the header"
        rows._lost = dict.fromkeys(text.too_long, fault)
        return rows

    def numbers(self, column: str | pd.Series) -> np.ndarray:
        """Return a column as float64, NaN where it is empty or no number; rows of the latter are unreadable."""
        values = self.frame[column] if isinstance(column, str) else column
        number, bad = to_numbers(values)
        for at in bad.tolist():
            self._bad.setdefault(at, f"column '{values.name}': '{str(values.iloc[at])[:60]}' is not a number")
        return number

    def joined(self, other: FileRows) -> FileRows:
        """Take over what is unreadable in the same rows of another table."""
        for at, why in other._bad.items():
            self._bad.setdefault(at, f"'{other.source}', {why}")
        return self

    def leave_out(self, drop: np.ndarray, reason: str, more: str = "", *, say_none: bool = False) -> None:
        """Leave rows out, and say how many."""
        drop = drop & self.keep
        count = int(np.count_nonzero(drop))
        if count or say_none:
            self.notes.append(f"{row_count(count)} {reason} dropped" + (f" ({more})" if more else ""))
        if count:
            self._left.append((np.flatnonzero(drop), FILTERED, reason))
            self.keep &= ~drop

    def sift(self) -> np.ndarray:
        """Leave out what cannot be read and what the filters refuse; return which rows are kept."""
        self._leave_out_unreadable()
        for drop in self.rules.filters.drops(self.frame, self.source):
            unknown = 0 if drop.unknown is None else int(np.count_nonzero(drop.unknown & self.keep))
            more = f"{unknown:,} {drop.more}" if unknown else ""
            self.leave_out(drop.which, drop.reason, more, say_none=drop.asked)
        return self.keep

    def tell_gone(self, species: np.ndarray, noun: str | None) -> None:
        """Say which species, or classes, have no row left."""
        if self.keep.all() or not self.keep.any():
            return
        code, names = pd.factorize(species)
        left = np.bincount(code[self.keep], minlength=len(names))
        if gone := [str(name) for name, count in zip(names, left) if name and not count]:
            what = noun if noun == "species" or len(gone) == 1 else "classes"
            self.notes.append(f"{len(gone):,} {what} without any remaining row: {name_list(gone)}")

    def _leave_out_unreadable(self) -> None:
        at = np.array(sorted(self._bad), dtype=np.int64)
        bad = dict(sorted((self._lost | {int(self.row[k]): self._bad[k] for k in at.tolist()}).items()))
        if not bad:
            return
        shown = "; ".join(f"row {row}, {why}" for row, why in list(bad.items())[:_SHOWN])
        shown += f"; and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
        n, most = len(self.frame) + len(self._lost), self.rules.most_bad
        if len(bad) > ceil(n * most / 100):
            share = min(100, ceil(100 * len(bad) / n))
            raise BadRowsError(
                f"file '{self.source}': {len(bad):,} of {n:,} rows cannot be read ({shown}), expected at most {most:g} "
                f"%: correct them, or allow more with --max-bad-rows {share}"
            )
        self.notes.append(f"{row_count(len(bad))} that cannot be read dropped: {shown}")
        self._left.append((at, UNREADABLE, [self._bad[k] for k in at.tolist()]))
        self.keep[at] = False

    def left_out(self, species: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
        """Return one line for each row that is left out: its number, identifier, species, coordinates, and why."""
        ident = identifiers(self.frame, len(self.frame))
        lost = (list(self._lost), "", "", np.nan, np.nan, UNREADABLE, list(self._lost.values()))
        parts = [pd.DataFrame(dict(zip(LEFT_OUT, lost)))] if self._lost else []
        for at, kind, reason in self._left:
            columns = (self.row[at], ident[at], species[at], x[at], y[at], kind, reason)
            parts.append(pd.DataFrame(dict(zip(LEFT_OUT, columns))))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(LEFT_OUT))


def identifiers(table: pd.DataFrame, rows: int) -> np.ndarray:
    """Return what GBIF or the collection calls each row; empty where nothing does."""
    name = first_of([str(column) for column in table.columns], IDENTIFIERS)
    return np.full(rows, "", dtype=object) if name is None else table[name].to_numpy()


def with_left_out(fate: pd.DataFrame, left_out: pd.DataFrame) -> pd.DataFrame:
    """Put the rows that were left out on reading to the others with their fate, in the order of the file."""
    if not len(left_out):
        return fate
    other = {name: "" for name in fate.columns if name not in left_out.columns}
    left = left_out.assign(**other | {"fate": "left out"})[list(fate.columns)]
    words = {name: fate[name].cat.categories for name in fate.select_dtypes("category").columns}
    kinds = {
        name: pd.CategoricalDtype(own.union(pd.Index(left[name].unique()), sort=False)) for name, own in words.items()
    }
    both = pd.concat([fate.astype(kinds), left.astype(kinds)])
    return both.sort_values("row", kind="stable", ignore_index=True)


def with_fate(lines: pd.DataFrame, code: np.ndarray, reasons: Sequence[str]) -> pd.DataFrame:
    """Put to the lines of rows their fate: `code` says which of the reasons each has, of which the first, and
    those that are only to be told, leave the row in. Text is stored as categories, for there may be millions of rows.
    """
    kept = np.array([not reason or reason in TOLD for reason in reasons])
    fate = pd.Categorical.from_codes(np.where(kept[code], 0, 1), pd.Index(["kept", "left out"]))
    place, names = pd.factorize(pd.Series(reasons, dtype=object))
    return lines.assign(fate=fate, reason=pd.Categorical.from_codes(place[code], pd.Index(names)))
