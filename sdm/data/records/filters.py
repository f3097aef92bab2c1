"""Filters of records by coordinate uncertainty, date, basis, issues and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sdm.data.records.columns import UNCERTAINTY, first_of, named_column
from sdm.data.records.expression import Condition
from sdm.data.records.frames import pd
from sdm.data.records.textfile import column_key, loose_numbers
from sdm.errors import UnknownColumnError, UnknownNameError, name_list

DEGREE_METRES = 111_320.0  # per degree of latitude
# GBIF's own list of geospatial issues.
GEOSPATIAL = ("ZERO_COORDINATE", "COORDINATE_INVALID", "COORDINATE_OUT_OF_RANGE", "COUNTRY_COORDINATE_MISMATCH")
GEOSPATIAL_WORD = "geospatial"
NEVER = ("FOSSIL_SPECIMEN", "LIVING_SPECIMEN")  # basis of record without information on where a species lives now
_YEAR = re.compile(r"\s*(\d{4})?\s*(?:(-|–|\.\.|:)\s*(\d{4})?)?\s*")
_LENGTH = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(m|km)\s*", re.IGNORECASE)


class Drop(NamedTuple):
    """Rows to drop: ``12 rows {reason} dropped ({count} {more})``."""

    reason: str
    which: np.ndarray
    requested: bool = True  # by the user; then a note is written even if no row is dropped
    more: str = ""  # text after the number of `unknown` rows
    unknown: np.ndarray | None = None


@dataclass(frozen=True)
class RecordFilters:
    """Filters by the columns of a file; by default only fossils and captive specimens are dropped."""

    max_uncertainty: float | None = None  # metres; records of unknown uncertainty are kept
    years: tuple[int | None, int | None] | None = None  # first and last; records without a year are dropped
    basis: tuple[str, ...] = ()  # kinds of record (basisOfRecord) to keep
    exclude_issues: tuple[str, ...] = ()  # names of GBIF issues; "geospatial" for a set of them
    where: str | None = None  # a condition on any columns
    uncertainty_column: str | None = None
    keep_absences: bool = False  # records with occurrenceStatus=ABSENT, for models with absences

    @cached_property
    def condition(self) -> Condition | None:
        """The parsed condition on columns."""
        return None if self.where is None else Condition.parse(self.where)

    def columns(self, header: list[str], source: str) -> list[str]:
        """Return the names of columns that the filters need; raise OptionError if the condition names a missing one."""
        needed = self.condition.columns_of(header, source) if self.condition else []
        needed += ["issue", "issues", "hasGeospatialIssues"] if self.exclude_issues else []
        return [*needed, "year", "eventDate"] if self.years else needed

    def drops(self, table: pd.DataFrame, source: str) -> Iterator[Drop]:
        """Yield the rows of a table to leave out, by filter."""
        header = [str(name) for name in table.columns]
        status = None if self.keep_absences else first_of(header, ("occurrencestatus",))
        if status is not None:
            yield Drop(f"with {status}=ABSENT", _one_of(table[status], ("ABSENT",)), requested=False)
        yield from self._basis(table, header, source)
        if self.max_uncertainty is not None:
            yield from self._uncertain(table, header, source, self.max_uncertainty)
        if self.years is not None:
            yield from self._years(table, header, source, *self.years)
        if self.exclude_issues:
            yield from self._issues(table, header, source)
        if self.condition is not None:
            holds, unknown = self.condition.holds(table, source)
            more = "of them have missing values"
            yield Drop(f'not satisfying "{self.condition.text}"', ~holds, more=more, unknown=unknown)

    def _basis(self, table: pd.DataFrame, header: list[str], source: str) -> Iterator[Drop]:
        name = first_of(header, ("basisofrecord",))
        if not self.basis:
            if name is not None:
                for word in NEVER:
                    yield Drop(f"with {name}={word}", _one_of(table[name], (word,)), requested=False)
            return
        if name is None:
            raise UnknownColumnError(_no_column(source, "basisOfRecord", "--basis", header))
        matching = _one_of(table[name], self.basis)
        if not matching.any():
            values = name_list([str(value) for value in pd.unique(table[name].dropna())])
            raise UnknownNameError(
                f"no row of '{source}' has {name} {' or '.join(self.basis)}, only {values or 'blanks'}"
            )
        yield Drop(f"with another {name} than {' or '.join(self.basis)}", ~matching)

    def _uncertain(self, table: pd.DataFrame, header: list[str], source: str, most: float) -> Iterator[Drop]:
        metres = uncertainty_metres(table, self.uncertainty_column, source)
        if metres is None:
            columns = "coordinateUncertaintyInMeters or coordinatePrecision"
            raise UnknownColumnError(_no_column(source, columns, "--max-uncertainty", header))
        more = "of unknown uncertainty are kept"
        with np.errstate(invalid="ignore"):
            yield Drop(f"less certain than {length_text(most)}", metres > most, more=more, unknown=np.isnan(metres))

    def _years(
        self, table: pd.DataFrame, header: list[str], source: str, first: int | None, last: int | None
    ) -> Iterator[Drop]:
        year = _year_of(table, header)
        if year is None:
            raise UnknownColumnError(_no_column(source, "year or eventDate", "--years", header))
        yield Drop("without a year", np.isnan(year), requested=False)
        with np.errstate(invalid="ignore"):
            out = (year < (-np.inf if first is None else first)) | (year > (np.inf if last is None else last))
        yield Drop(f"not from {'' if first is None else first}–{'' if last is None else last}", out)

    def _issues(self, table: pd.DataFrame, header: list[str], source: str) -> Iterator[Drop]:
        name, flag = first_of(header, ("issue", "issues")), first_of(header, ("hasgeospatialissues",))
        words = [word.strip().upper() for word in self.exclude_issues]
        broad = GEOSPATIAL_WORD.upper() in words
        if name is None and not (broad and flag):
            raise UnknownColumnError(_no_column(source, "issue", "--exclude-issues", header))
        if broad and flag is not None:
            yield Drop(f"with {flag}=true", _one_of(table[flag], ("TRUE", "1")))
        if name is None:
            return
        issues = [word for word in words if word != GEOSPATIAL_WORD.upper()] + list(GEOSPATIAL if broad else ())
        code, texts = pd.factorize(table[name])
        parts = [set(re.split(r"[;,|\s]+", str(text).upper())) for text in texts]
        for word in dict.fromkeys(issues):
            has = np.array([*(word in part for part in parts), False], dtype=bool)[code]
            yield Drop(f"with the issue {word}", has)


def uncertainty_metres(table: pd.DataFrame, column: str | None, source: str) -> np.ndarray | None:
    """Return the coordinate uncertainty of each record in metres, NaN if unknown; None without a column of it.

    It is in the named column, or in a column such as ``coordinateUncertaintyInMeters``. If that is empty, it is
    computed from ``coordinatePrecision`` in degrees. Values of zero and below are unknown.
    """
    header = [str(name) for name in table.columns]
    name = first_of(header, UNCERTAINTY) if column is None else named_column(column, header, source)
    precision = first_of(header, ("coordinateprecision",)) if column is None else None
    if name is None and precision is None:
        return None
    metres = np.full(len(table), np.nan) if name is None else _above_zero(table[name])
    if precision is not None:
        degrees = _above_zero(table[precision])
        with np.errstate(invalid="ignore"):
            metres = np.where(np.isnan(metres) & (degrees <= 1), degrees * DEGREE_METRES, metres)
    return metres


def read_years(text: str) -> tuple[int | None, int | None]:
    """Return the first and the last year of a text such as ``1970-2010``, ``1970-``, ``-2010`` or ``1985``."""
    match = _YEAR.fullmatch(str(text))
    if match is None or not (match[1] or match[3]):
        raise ValueError(f"years such as 1970-2010, 1970-, -2010 or 1985, not '{text}'")
    first, last = (None if part is None else int(part) for part in (match[1], match[3]))
    if match[2] is None:
        last = first
    if first is not None and last is not None and first > last:
        raise ValueError(f"years from the first to the last, not '{text}'")
    return first, last


def read_length(text: str) -> float:
    """Return a length in metres from a text such as ``5km`` or ``250 m``."""
    match = _LENGTH.fullmatch(str(text))
    if match is None or not 0 < float(match[1]) < 1e9:
        raise ValueError(f"a length with its unit, such as 5km or 250m, not '{text}'")
    return float(match[1]) * (1000.0 if match[2].lower() == "km" else 1.0)


def length_text(metres: float) -> str:
    """Return a length as text."""
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"


def _above_zero(column: pd.Series) -> np.ndarray:
    number = loose_numbers(column)
    return np.where(np.isfinite(number) & (number > 0), number, np.nan)


def _one_of(column: pd.Series, words: Sequence[str]) -> np.ndarray:
    """Return a mask of rows with one of these words, ignoring case, spaces and underscores."""
    keys = {column_key(word) for word in words}
    code, texts = pd.factorize(column)
    return np.array([*(column_key(str(text)) in keys for text in texts), False], dtype=bool)[code]


def _year_of(table: pd.DataFrame, header: list[str]) -> np.ndarray | None:
    """Return the year of each record: from a column of years, or if that is empty, from the start of its date."""
    name, date = first_of(header, ("year",)), first_of(header, ("eventdate", "date", "observationdate", "observedon"))
    if name is None and date is None:
        return None
    year = np.full(len(table), np.nan) if name is None else _above_zero(table[name])
    if date is not None and np.isnan(year).any():
        unknown = np.isnan(year)
        code, texts = pd.factorize(table[date][unknown])
        matches = [re.search(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)", str(text)) for text in texts]
        year[unknown] = np.array([*(float(match[1]) if match else np.nan for match in matches), np.nan])[code]
    return year


def _no_column(source: str, column: str, option: str, header: list[str]) -> str:
    return f"file '{source}' has no column {column}, which {option} needs: it has {name_list(header)}"
