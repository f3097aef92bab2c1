"""Detect untagged nodata: numbers such as −9999 or 255 that mean "no data" but are not declared in the files.

A number is tested if it is the minimum or maximum of its variable, and programs use it as a code:

* *sure* codes: negative numbers of three or more nines only (−999, −99.9, −9999), the minimum whole numbers
  of 16 and 32 bits (−32768, −32767, −2147483648), the maximum of 32 bits, and numbers beyond ±1e19 (3.4e38);
* *possible* codes, which may also be valid values: 255, 65535, 32767, −128, −99, and 999, 9999, …

A sure code is untagged nodata if at least two cells have it, and it is separate from the other values: by a tenth of
their range or more, or below zero while all others are not; or if a hundredth of all cells have it.

A possible code must be further from the other values than their range, and be in many cells (one in 200, and five) or
at the border of the raster (one cell in 20 there). So 255 is detected among percentages, but not among classes up to
254, nor in a mask of 0 and 255. Zero and −1 are never codes: they are ordinary numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sdm.data.nodata import NodataCodes
from sdm.data.records.frames import pd
from sdm.errors import UntaggedNodata

SURE = frozenset({-32768.0, -32767.0, -2147483648.0, -2147483647.0, 2147483647.0, 2147483648.0, 4294967295.0,
                  4294967296.0})  # fmt: skip
POSSIBLE = frozenset({255.0, 65535.0, 32767.0, -128.0, -99.0})
HUGE = 1e19  # above any environmental variable
APART = 0.1  # minimum distance of a sure code, as a share of the range of the other values
PLENTY = 0.01  # a sure code in this share of the cells needs no distance
MANY, FEWEST = 0.005, 5  # share and number of cells of a possible code
EDGE = 0.05  # or share of the cells at the border
ENDS = 4  # maximum number of codes tested in one variable


def is_sure_code(value: float) -> bool:
    """Whether a number is only used as a nodata code."""
    return abs(value) >= HUGE or value in SURE or (value <= -99 and _nines(value) >= 3)


def may_be_code(value: float) -> bool:
    """Whether a number may be a nodata code."""
    return value in POSSIBLE or is_sure_code(value) or (value >= 999 and _nines(value) >= 3)


def _nines(value: float) -> int:
    """Return the number of nines of a number; 0 if it has another digit. Single precision has seven digits."""
    for digits in (7, 12):
        text = f"{abs(value):.{digits}g}".replace(".", "")
        if set(text) == {"9"}:
            return len(text)
    return 0


@dataclass(frozen=True)
class Extremes:
    """The extremes of a variable, as stored: cell counts of possible codes, and the range of all other values.

    The range is from +inf to −inf without values. Parts of a raster can be added.
    """

    cells: int
    codes: Mapping[float, int] = field(default_factory=dict)
    low: float = np.inf
    high: float = -np.inf
    border: Mapping[float, int] = field(default_factory=dict)  # cells of codes at the border, as far as read
    border_cells: int = 0

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        scaling: tuple[float, float] = (1.0, 0.0),
        ends: tuple[float, float] | None = None,
        cells: int | None = None,
    ) -> Extremes:
        """Return the extremes of values, ignoring NaN.

        They are the stored numbers times the first number of `scaling` plus the second. `ends` are the minimum and
        maximum, and `cells` the number of values, if already computed.
        """
        low, high = _ends(values) if ends is None else ends
        cells = int(np.count_nonzero(values == values)) if cells is None else cells
        codes: dict[float, int] = {}
        while low <= high and len(codes) < ENDS:
            codes_at_ends = [end for end in {low, high} if may_be_code(_stored(end, scaling))]
            if not codes_at_ends:
                break
            for end in codes_at_ends:
                mask = values == end
                codes[_stored(end, scaling)] = int(np.count_nonzero(mask))
                values = values[~mask]
            low, high = _ends(values)
        if low <= high:
            low, high = sorted((_stored(low, scaling), _stored(high, scaling)))
        return cls(cells, codes, low, high)

    def __add__(self, other: Extremes) -> Extremes:
        codes, border = (
            {value: a.get(value, 0) + b.get(value, 0) for value in {**a, **b}}
            for a, b in ((self.codes, other.codes), (self.border, other.border))
        )
        low, high = min(self.low, other.low), max(self.high, other.high)
        size = self.border_cells + other.border_cells
        return Extremes(self.cells + other.cells, codes, low, high, border, size)

    def untagged(self, named: Collection[float] = ()) -> float | None:
        """Return a code that is untagged nodata: a sure one first, then the most frequent.

        Values with names in the file (`named`) are classes.
        """
        codes = [value for value, cells in self.codes.items() if value not in named and self._is_untagged(value, cells)]
        return max(codes, key=lambda value: (is_sure_code(value), self.codes[value]), default=None)

    def _is_untagged(self, value: float, cells: int) -> bool:
        if self.low <= value <= self.high:
            return False
        width, gap = self.high - self.low, max(self.low - value, value - self.high)
        if is_sure_code(value):
            below = value < 0 <= self.low
            return cells >= 2 and (gap >= APART * width or below or cells >= PLENTY * self.cells)
        many = cells >= max(FEWEST, MANY * self.cells)
        edge = self.border.get(value, 0) >= max(FEWEST, EDGE * self.border_cells)
        return 0 < width < gap and (many or edge)


def _stored(value: float, scaling: tuple[float, float]) -> float:
    """Return the stored number of a value."""
    scale, offset = scaling
    return float(value) if (scale, offset) == (1.0, 0.0) else round((value - offset) / scale, 3)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the minimum and maximum of values, ignoring NaN; +inf and −inf without values."""
    return float(np.fmin.reduce(values, axis=None, initial=np.inf)), float(
        np.fmax.reduce(values, axis=None, initial=-np.inf)
    )


@dataclass(frozen=True)
class Untagged:
    """An undeclared code: the variable, the number, its number of cells, and the range of the other values."""

    variable: str
    code: float
    cells: int
    total: int
    low: float
    high: float
    dtype: str

    @classmethod
    def of(
        cls, variable: str, ends: Extremes, dtype: str = "float64", named: Collection[float] = ()
    ) -> Untagged | None:
        """Return the code in a variable with numbers stored as `dtype`; None without one."""
        code = ends.untagged(named)
        return code if code is None else cls(variable, code, ends.codes[code], ends.cells, ends.low, ends.high, dtype)

    @property
    def text(self) -> str:
        """The number as the user types it."""
        short = f"{self.code:.10g}"
        if float(short) == self.code:
            return short
        return str(np.float32(self.code)) if self.dtype == "float32" else repr(float(self.code))


def refuse_untagged(codes: Sequence[Untagged], *, of: str, places: str, sampled: bool = False) -> None:
    """Raise UntaggedNodata if there are undeclared codes.

    `of` describes a variable, such as ``layer``; `places` describes its cells or rows; with `sampled`, they are a
    sample.
    """
    if not codes:
        return
    first = max(codes, key=lambda one: one.cells / one.total)
    share = first.cells / first.total
    percent = f"{100 * share:.2g} %" if share < 0.995 else "nearly all" if first.cells < first.total else "all"
    looked = " in a sample" if sampled else ""
    among = f"its other values are {first.low:g} to {first.high:g}" if first.low <= first.high else "it has no other"
    same = [one.variable for one in codes if one is not first and one.text == first.text]
    rest = [f"'{one.variable}' ({one.text})" for one in codes if one.text != first.text]
    more = f"; so has '{same[0]}'" if len(same) == 1 else f"; so have {len(same)} others" if same else ""
    more += f"; also {', '.join(rest[:5])}{', …' if len(rest) > 5 else ''}" if rest else ""
    sure = {one.text for one in codes if is_sure_code(one.code)}
    named = [one.text if one.text in sure else f"{one.variable}={one.text}" for one in codes]
    typed = ",".join(dict.fromkeys(named))
    raise UntaggedNodata(
        f"{of} '{first.variable}' has the value {first.text} in {percent} of its {places} ({first.cells:,} of "
        f"{first.total:,}{looked}), {among}, and the file does not declare it as nodata{more}: use --nodata {typed} to "
        "treat it as missing, or --nodata none if it is valid"
    )


def refuse_values(values: np.ndarray, stack: Any, places: str) -> None:
    """Raise UntaggedNodata if values (n, V) of a stack's layers at points contain undeclared codes.

    Identical rows count once, unless several layers have a code there. `places` describes the points.
    """
    layers = [(k, layer) for k, layer in enumerate(stack.layers) if not layer.trusted and not layer.resample]
    ends = [Extremes.of(values[:, k], layer.scaling) for k, layer in layers]
    if any(one.codes for one in ends):
        stored = [np.isin(values[:, k], _values_of(one, layer.scaling)) for (k, layer), one in zip(layers, ends)]
        values = values[_counts(pd.DataFrame(values), stored)]
    detected = [
        Untagged.of(layer.name, Extremes.of(values[:, k], layer.scaling), layer.dtype, dict(layer.classes))
        for k, layer in layers
    ]
    refuse_untagged([one for one in detected if one is not None], of="layer", places=places, sampled=True)


def _values_of(ends: Extremes, scaling: tuple[float, float] = (1.0, 0.0)) -> list[float]:
    """Return the values of a variable that are sure codes."""
    return [code * scaling[0] + scaling[1] for code in ends.codes if is_sure_code(code)]


def _counts(table: pd.DataFrame, held: Sequence[np.ndarray]) -> np.ndarray:
    """Return a mask of rows that count.

    Of identical rows, the first counts; rows with sure codes in two variables (or in the only one) all count, since
    rows of the sea are identical everywhere. `held` are masks of the codes of each variable.
    """
    return np.asarray(~table.duplicated().to_numpy() | (np.sum(held, axis=0) >= min(2, len(held))))


def blank_codes(table: Any, codes: NodataCodes) -> tuple[Any, list[str]]:
    """Return a data frame with nodata codes as missing values, and a line per column with any."""
    changed, notes = {}, []
    for name in table.columns:
        column_codes = codes.of(str(name))
        if not column_codes or table[name].dtype.kind not in "iuf":
            continue
        values = table[name].to_numpy(dtype=np.float64)
        blank = np.isin(values, column_codes)
        if count := int(np.count_nonzero(blank)):
            changed[name] = np.where(blank, np.nan, values)
            listed = ", ".join(f"{code:g}" for code in column_codes)
            notes.append(f"column '{name}': {count:,} values of {listed} are missing values (--nodata)")
    return (table.assign(**changed) if changed else table), notes


def refuse_codes(table: Any, codes: NodataCodes, source: str) -> None:
    """Raise UntaggedNodata if columns of a data frame contain undeclared codes.

    Identical rows count once (visits to one site repeat its values), unless several variables have a code there.
    """
    numeric = [name for name in table.columns if table[name].dtype.kind in "iuf" and not codes.trusts(str(name))]
    ends = {name: Extremes.of(table[name].to_numpy(dtype=np.float64)) for name in numeric}
    if not any(Untagged.of(str(name), one) for name, one in ends.items()):
        return
    held = [np.isin(table[name].to_numpy(dtype=np.float64), _values_of(one)) for name, one in ends.items()]
    distinct = table[_counts(table, held)]
    detected = []
    for name in numeric:
        one = Untagged.of(str(name), Extremes.of(distinct[name].to_numpy(dtype=np.float64)))
        if one is not None:  # detected in distinct rows, counted in all
            detected.append(replace(one, cells=ends[name].codes[one.code], total=ends[name].cells))
    refuse_untagged(detected, of=f"file '{source}': column", places="rows")
