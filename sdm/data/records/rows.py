"""The rows of a file: used rows, and the reasons for dropping the others.

Columns of numbers are read here. A cell that is not a number makes its row unreadable. Such rows are dropped, counted
and listed, and a file with too many of them is refused (`RowRules.most_bad`). Filters of the user, and records that are
not of wild living organisms, leave rows out in the same way.
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
NOTED = (MOVED,)  # notes about rows that are kept
LEFT_OUT = ("row", "id", "species", "x", "y", "kind", "reason")  # columns of the table of dropped rows
_SHOWN = 3  # unreadable rows in a message


@dataclass(frozen=True)
class RowRules:
    """Rules for the rows of a file."""

    filters: RecordFilters = field(default_factory=RecordFilters)
    most_bad: float = 5.0  # percentage of rows that may be unreadable, rounded up to complete rows


class FileRows:
    """The rows of one table, and the dropped ones."""

    def __init__(self, frame: pd.DataFrame, row: np.ndarray, source: str, rules: RowRules | None = None) -> None:
        self.frame, self.row, self.source = frame, row, source
        self.rules = rules or RowRules()
        self.keep = np.ones(len(frame), dtype=bool)
        self.notes: list[str] = []
        self._bad: dict[int, str] = {}  # faults of unreadable rows by their index in the table
        self._lost: dict[int, str] = {}  # faults of rows that are not in the table, by row number in the file
        self._left: list[tuple[np.ndarray, str, Any]] = []  # rows, kind, and one reason or a reason per row

    @classmethod
    def read(
        cls,
        text: TextTable,
        as_text: set[str | None],
        only: list[str] | None = None,
        rules: RowRules | None = None,
        as_numbers: Collection[str] = (),
    ) -> FileRows:
        """Read a text table with the arguments of `TextTable.read`."""
        rows = cls(*text.read(as_text, only, strict=False, as_numbers=as_numbers), text.path.name, rules)
        fault = f"more fields than the {len(text.header)} of the header"
        rows._lost = dict.fromkeys(text.too_long, fault)
        return rows

    def numbers(self, column: str | pd.Series) -> np.ndarray:
        """Return a column as float64, NaN if empty or not a number; rows of the latter are unreadable."""
        values = self.frame[column] if isinstance(column, str) else column
        number, bad = to_numbers(values)
        for k in bad.tolist():
            self._bad.setdefault(k, f"column '{values.name}': '{str(values.iloc[k])[:60]}' is not a number")
        return number

    def joined(self, other: FileRows) -> FileRows:
        """Add the faults in the same rows of another table."""
        for k, why in other._bad.items():
            self._bad.setdefault(k, f"'{other.source}', {why}")
        return self

    def leave_out(self, drop: np.ndarray, reason: str, more: str = "", *, say_none: bool = False) -> None:
        """Leave rows out, and note their number."""
        drop = drop & self.keep
        count = int(np.count_nonzero(drop))
        if count or say_none:
            self.notes.append(f"{row_count(count)} {reason} dropped" + (f" ({more})" if more else ""))
        if count:
            self._left.append((np.flatnonzero(drop), FILTERED, reason))
            self.keep &= ~drop

    def sift(self) -> np.ndarray:
        """Leave out unreadable rows and rows dropped by filters; return a mask of the other rows."""
        self._leave_out_unreadable()
        for drop in self.rules.filters.drops(self.frame, self.source):
            unknown = 0 if drop.unknown is None else int(np.count_nonzero(drop.unknown & self.keep))
            more = f"{unknown:,} {drop.more}" if unknown else ""
            self.leave_out(drop.which, drop.reason, more, say_none=drop.requested)
        return self.keep

    def note_lost(self, species: np.ndarray, noun: str | None) -> None:
        """Note species, or classes, without remaining rows."""
        if self.keep.all() or not self.keep.any():
            return
        code, names = pd.factorize(species)
        remaining = np.bincount(code[self.keep], minlength=len(names))
        if lost := [str(name) for name, count in zip(names, remaining) if name and not count]:
            nouns = noun if noun == "species" or len(lost) == 1 else "classes"
            self.notes.append(f"{len(lost):,} {nouns} without any remaining row: {name_list(lost)}")

    def _leave_out_unreadable(self) -> None:
        index = np.array(sorted(self._bad), dtype=np.int64)
        bad = dict(sorted((self._lost | {int(self.row[k]): self._bad[k] for k in index.tolist()}).items()))
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
        self._left.append((index, UNREADABLE, [self._bad[k] for k in index.tolist()]))
        self.keep[index] = False

    def left_out(self, species: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
        """Return one line per dropped row: its number, identifier, species, coordinates, and the reason."""
        ident = identifiers(self.frame, len(self.frame))
        lost = (list(self._lost), "", "", np.nan, np.nan, UNREADABLE, list(self._lost.values()))
        parts = [pd.DataFrame(dict(zip(LEFT_OUT, lost)))] if self._lost else []
        for index, kind, reason in self._left:
            columns = (self.row[index], ident[index], species[index], x[index], y[index], kind, reason)
            parts.append(pd.DataFrame(dict(zip(LEFT_OUT, columns))))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(LEFT_OUT))


def identifiers(table: pd.DataFrame, rows: int) -> np.ndarray:
    """Return the identifier of each row by GBIF or the collection; empty without one."""
    name = first_of([str(column) for column in table.columns], IDENTIFIERS)
    return np.full(rows, "", dtype=object) if name is None else table[name].to_numpy()


def with_left_out(fate: pd.DataFrame, left_out: pd.DataFrame) -> pd.DataFrame:
    """Add the dropped rows to a record log, in the order of the file."""
    if not len(left_out):
        return fate
    other = {name: "" for name in fate.columns if name not in left_out.columns}
    dropped = left_out.assign(**other | {"fate": "dropped"})[list(fate.columns)]
    kinds = {}
    for name in fate.select_dtypes("category").columns:
        kinds[name] = pd.CategoricalDtype(fate[name].cat.categories.union(pd.Index(dropped[name].unique()), sort=False))
    both = pd.concat([fate.astype(kinds), dropped.astype(kinds)])
    return both.sort_values("row", kind="stable", ignore_index=True)


def with_fate(lines: pd.DataFrame, code: np.ndarray, reasons: Sequence[str]) -> pd.DataFrame:
    """Add the outcome of rows: `code` is the index of their reason.

    The first reason, and notes (`NOTED`), keep the row. Text is stored as categories, since there may be millions of
    rows.
    """
    is_kept = np.array([not reason or reason in NOTED for reason in reasons])
    fate = pd.Categorical.from_codes(np.where(is_kept[code], 0, 1), pd.Index(["kept", "dropped"]))
    place, names = pd.factorize(pd.Series(reasons, dtype=object))
    return lines.assign(fate=fate, reason=pd.Categorical.from_codes(place[code], pd.Index(names)))
