"""Evaluate conditions on the columns of a table: ``year >= 1970 and basisOfRecord != 'FOSSIL_SPECIMEN'``.

A condition compares a column with a number, with text in quotation marks or with another column. Other conditions are a
list of values (``in ('a', 'b')``), a pattern (``like 'Rio*'``), and missing values (``is missing``, ``is not
missing``). Conditions are joined by ``and``, ``or``, ``not`` and brackets. A column name that is not a plain word has
backquotes: ```locality name` == 'x'``. Nothing else is accepted, and nothing is executed.

A row with a missing value satisfies neither a comparison nor its negation: ``not (depth > 10)`` is false if the depth
is missing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, NoReturn

import numpy as np

from sdm.data.records.columns import named_column
from sdm.data.records.frames import pd
from sdm.data.records.textfile import loose_numbers
from sdm.errors import OptionError, UnknownColumnError

_LONGEST, _DEEPEST = 4000, 60
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |'(?P<text>(?:[^']|'')*)'|"(?P<quoted>[^"]*)"|`(?P<column>[^`]+)`
    |(?P<sign><=|>=|==|!=|<>|=|<|>|\(|\)|,)|(?P<word>[^\W\d][\w.:]*))""",
    re.VERBOSE,
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "=": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TRUTH = {"true": 1.0, "false": 0.0}  # in text files; columns of them are read as True and False
_WORDS = frozenset({"and", "or", "not", "in", "is", "like", "missing"})


@dataclass(frozen=True)
class _Truth:
    """Masks of rows that satisfy a condition and its negation; neither if a value is missing."""

    yes: np.ndarray
    no: np.ndarray

    def __and__(self, other: _Truth) -> _Truth:
        return _Truth(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: _Truth) -> _Truth:
        return _Truth(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> _Truth:
        return _Truth(self.no, self.yes)


Value = str | float


@dataclass(frozen=True)
class Condition:
    """A parsed condition, with the columns that it names."""

    text: str
    columns: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition; raise OptionError with the position of a syntax error.

        Examples
        --------
        >>> Condition.parse("year >= 1970 and not (sex in ('male', 'unknown'))").columns
        ('year', 'sex')
        """
        if len(text) > _LONGEST:
            raise OptionError(f"a condition of {len(text):,} characters: expected at most {_LONGEST:,}")
        names: list[str] = []

        def empty(name: str) -> pd.Series:
            names.append(name)
            return pd.Series([None], dtype=object)

        _Evaluation(text, empty).result()
        return cls(text, tuple(dict.fromkeys(names)))

    def columns_of(self, header: list[str], source: str) -> list[str]:
        """Return the columns of a file in the condition; raise OptionError if one is missing."""
        return [_column_of(name, header, source) for name in self.columns]

    def holds(self, table: pd.DataFrame, source: str) -> tuple[np.ndarray, np.ndarray]:
        """Return masks of the rows that satisfy the condition, and of rows with missing values that leave it
        undecided."""
        header = [str(name) for name in table.columns]
        truth = _Evaluation(self.text, lambda name: table[_column_of(name, header, source)]).result()
        return truth.yes, ~(truth.yes | truth.no)


class _Evaluation:
    """Recursive-descent parser that evaluates each part on its columns; each method parses one kind of part."""

    def __init__(self, text: str, column: Callable[[str], pd.Series]) -> None:
        self.text, self.column = text, column
        self.tokens, self.position, self.depth = list(self._split()), 0, 0

    def _split(self) -> Iterator[tuple[str, str, int]]:
        start = 0
        while self.text[start:].strip():
            match = _TOKEN.match(self.text, start)
            if match is None:
                first = start + len(self.text[start:]) - len(self.text[start:].lstrip())
                self._refuse("expected a column, a number, or text in single quotation marks", first)
            kind = str(match.lastgroup)
            value = match.group(kind)
            if kind == "word" and value.lower() in _WORDS:
                kind, value = "sign", value.lower()
            value = value.replace("''", "'") if kind == "text" else value
            yield ("text" if kind == "quoted" else kind), value, match.start(kind)
            start = match.end()

    def _refuse(self, expected: str, start: int | None = None) -> NoReturn:
        if start is None:
            start = self._next()[2]
        place = f"at '{self.text[start : start + 20]}'" if start < len(self.text) else "at its end"
        example = "year >= 1970 and basisOfRecord == 'HUMAN_OBSERVATION'"
        raise OptionError(
            f'condition "{self.text[:200]}" cannot be read {place}: {expected}; write it as in "{example}"'
        )

    def _take(self, *signs: str) -> str | None:
        """Consume a sign if it is one of these, and return it."""
        kind, value, _ = self._next()
        taken = kind == "sign" and value in signs
        self.position += taken
        return value if taken else None

    def _next(self) -> tuple[str, str, int]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("", "", len(self.text))

    def result(self) -> _Truth:
        """Parse the complete condition."""
        truth = self._either()
        if self.position < len(self.tokens):
            self._refuse("expected 'and', 'or' or the end")
        return truth

    def _either(self) -> _Truth:
        truth = self._both()
        while self._take("or"):
            truth |= self._both()
        return truth

    def _both(self) -> _Truth:
        truth = self._one()
        while self._take("and"):
            truth &= self._one()
        return truth

    def _one(self) -> _Truth:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._refuse(f"expected at most {_DEEPEST} brackets inside each other")
        if self._take("not"):
            truth = ~self._one()
        elif self._take("("):
            truth = self._either()
            if not self._take(")"):
                self._refuse("expected a closing bracket")
        else:
            truth = self._comparison()
        self.depth -= 1
        return truth

    def _comparison(self) -> _Truth:
        left = self._side()
        if not isinstance(left, pd.Series) and self._take("is", "not", "in", "like"):
            self._refuse("expected a column before it")
        if self._take("is"):
            absent = not self._take("not")
            if not self._take("missing"):
                self._refuse("expected 'missing'")
            return _missing(left, absent)
        if self._take("not"):
            return ~self._containment(left)
        sign = self._take(*_COMPARE)
        if sign is None:
            return self._containment(left)
        right, compare = self._side(), _COMPARE[sign]
        if not isinstance(left, pd.Series) and not isinstance(right, pd.Series):
            self._refuse("expected a column on one side of the comparison")
        return _compared(left, right, compare)

    def _containment(self, left: pd.Series | Value) -> _Truth:
        """Parse the part after `in` or `like`."""
        word = self._take("in", "like")
        if word is None or not isinstance(left, pd.Series):
            self._refuse("expected a comparison such as ==, !=, <, >=, in, like or 'is missing'")
        if word == "in":
            return _any_of(left, self._values())
        pattern = re.compile(translate(str(self._literal(text_only=True))), re.IGNORECASE)
        return _like(left, pattern)

    def _values(self) -> list[Value]:
        if not self._take("("):
            self._refuse("expected values in brackets, as in ('a', 'b')")
        values = [self._literal()]
        while self._take(","):
            values.append(self._literal())
        if not self._take(")"):
            self._refuse("expected a comma or a closing bracket")
        return values

    def _literal(self, text_only: bool = False) -> Value:
        kind, value, _ = self._next()
        if kind == "text" or (kind == "number" and not text_only):
            self.position += 1
            return value if kind == "text" else float(value)
        self._refuse("expected text in single quotation marks" if text_only else "expected a number or 'text'")

    def _side(self) -> pd.Series | Value:
        kind, value, _ = self._next()
        if kind in ("word", "column"):
            self.position += 1
            return self.column(value)
        if kind not in ("number", "text"):
            self._refuse("expected a column, a number, or text in single quotation marks")
        return self._literal()


def _column_of(name: str, header: list[str], source: str) -> str:
    """Return a column that a condition names."""
    try:
        return named_column(name, header, source)
    except OptionError as error:
        raise UnknownColumnError(f"{error}; text needs single quotation marks: '{name}'") from error


def _compared(left: pd.Series | Value, right: pd.Series | Value, compare: Callable[[Any, Any], Any]) -> _Truth:
    """Compare two sides: as numbers if one is a number or a column of numbers, otherwise as text; true is 1, false
    0."""
    sides = [_as_truth(left, right), _as_truth(right, left)]
    if any(
        isinstance(side, float) or (isinstance(side, pd.Series) and pd.api.types.is_numeric_dtype(side))
        for side in sides
    ):
        one, two = (_as_numbers(side) for side in sides)
        present = ~(np.isnan(one) | np.isnan(two))
    else:
        one, two = (_as_words(side) for side in sides)
        present = np.not_equal(one, "") & np.not_equal(two, "")
    n = next(len(side) for side in sides if isinstance(side, pd.Series))
    yes, present = np.broadcast_to(compare(one, two), (n,)), np.broadcast_to(present, (n,))
    return _Truth(yes & present, ~yes & present)


def _as_truth(side: pd.Series | Value, other: pd.Series | Value) -> pd.Series | Value:
    """Return a side; 1 or 0 for the word true or false compared with a column of truth values."""
    if isinstance(side, str) and side.strip().lower() in _TRUTH and isinstance(other, pd.Series):
        kinds = {type(value) for value in pd.unique(other.dropna()).tolist()}
        return _TRUTH[side.strip().lower()] if kinds == {bool} else side
    return side


def _missing(column: pd.Series | Value, absent: bool) -> _Truth:
    missing = _as_words(column) == ""
    return _Truth(missing, ~missing) if absent else _Truth(~missing, missing)


def _any_of(column: pd.Series, values: list[Value]) -> _Truth:
    truths = [_compared(column, value, operator.eq) for value in values]
    yes = np.logical_or.reduce([truth.yes for truth in truths])
    present = np.asarray(_as_words(column) != "")
    return _Truth(yes & present, ~yes & present)


def _like(column: pd.Series, pattern: re.Pattern[str]) -> _Truth:
    words = _as_words(column)
    code, names = pd.factorize(words)
    yes = np.array([pattern.match(name) is not None for name in names], dtype=bool)[code]
    return _Truth(yes & (words != ""), ~yes & (words != ""))


def _as_numbers(side: pd.Series | Value) -> np.ndarray:
    """Return a side as numbers, NaN if it is not a number."""
    return loose_numbers(side if isinstance(side, pd.Series) else pd.Series([side]))


def _as_words(side: pd.Series | Value) -> np.ndarray:
    """Return a side as text, empty if missing; whole numbers have no decimal point.

    Rows of one text share it: an array with the width of the longest would not fit in memory.
    """
    if not isinstance(side, pd.Series):
        return np.array([f"{side:g}" if isinstance(side, float) else str(side)], dtype=object)
    code, names = pd.factorize(side)
    words = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip() for v in names.tolist()]
    return np.array([*words, ""], dtype=object)[code]
