"""Untagged nodata: numbers such as −9999 or 255 that mean "no data", though nothing in the files says so.

The rule. A number is looked at if it is the lowest or the highest of its variable, and if it is one that programs use
as a code:

* *sure* codes: negative numbers of three or more nines and nothing else (−999, −99.9, −9999), the lowest whole numbers
  of 16 and 32 bits (−32768, −32767, −2147483648), the highest of 32 bits, and whatever is beyond ±1e19 (3.4e38);
* *possible* codes, which may also be true values: 255, 65535, 32767, −128, −99, and 999, 9999, …

A sure code counts as untagged nodata if two cells or more have it, and it lies apart from the other values: by a tenth
of their range or more, or below zero where none of them is; or if a hundredth of all cells have it.

A possible code must be further away from the other values than these are from each other, and be in many cells (one in
200, and five) or at the border of the raster (one cell in 20 there). So 255 is noticed among percentages, and not among
classes up to 254, nor in a mask of 0 and 255. Zero and −1 are never taken for a code: they are ordinary numbers.
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
HUGE = 1e19  # no variable of an environment is so large
APART = 0.1  # of the range of the other values: how far a sure code is from them
PLENTY = 0.01  # of the cells: a sure code in this share of them needs no distance
MANY, FEWEST = 0.005, 5  # share and number of cells of a possible code
EDGE = 0.05  # or its share of the cells at the border
ENDS = 4  # codes that are looked for in one variable


def is_sure_code(value: float) -> bool:
    """Tell whether a number is used as a code of "no data" and nothing else."""
    return abs(value) >= HUGE or value in SURE or (value <= -99 and _nines(value) >= 3)


def may_be_code(value: float) -> bool:
    """Tell whether a number may be a code of "no data"."""
    return value in POSSIBLE or is_sure_code(value) or (value >= 999 and _nines(value) >= 3)


def _nines(value: float) -> int:
    """Return how many nines a number is made of; 0 if it has another digit. Single precision has seven digits."""
    for digits in (7, 12):
        text = f"{abs(value):.{digits}g}".replace(".", "")
        if set(text) == {"9"}:
            return len(text)
    return 0


@dataclass(frozen=True)
class Extremes:
    """The ends of a variable, in numbers as they are stored: how many cells have each number that may be a code, and
    the range of all other values (from +inf to −inf if there is none). Parts of a raster add up."""

    cells: int
    codes: Mapping[float, int] = field(default_factory=dict)
    low: float = np.inf
    high: float = -np.inf
    border: Mapping[float, int] = field(default_factory=dict)  # cells of codes at the border, as far as they were read
    border_cells: int = 0

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        scaling: tuple[float, float] = (1.0, 0.0),
        ends: tuple[float, float] | None = None,
        cells: int | None = None,
    ) -> Extremes:
        """Look at values, of which NaN are left out. They are what is stored, times the first number of `scaling` plus
        the second. `ends` are the lowest and the highest, and `cells` how many there are, where that is known."""
        low, high = _ends(values) if ends is None else ends
        cells = int(np.count_nonzero(values == values)) if cells is None else cells
        codes: dict[float, int] = {}
        while low <= high and len(codes) < ENDS:
            found = [end for end in {low, high} if may_be_code(_stored(end, scaling))]
            if not found:
                break
            for end in found:
                at = values == end
                codes[_stored(end, scaling)] = int(np.count_nonzero(at))
                values = values[~at]
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

    def untagged(self, known: Collection[float] = ()) -> float | None:
        """Return a code that the rule of this module takes for untagged nodata: a sure one first, that of most cells.
        Values that the file has names for (`known`) are classes."""
        found = [value for value, cells in self.codes.items() if value not in known and self._is_untagged(value, cells)]
        return max(found, key=lambda value: (is_sure_code(value), self.codes[value]), default=None)

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
    """Return the stored number that a value came from."""
    scale, offset = scaling
    return float(value) if (scale, offset) == (1.0, 0.0) else round((value - offset) / scale, 3)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest of values; +inf and −inf if there is none. NaN are stepped over."""
    return float(np.fmin.reduce(values, axis=None, initial=np.inf)), float(
        np.fmax.reduce(values, axis=None, initial=-np.inf)
    )


@dataclass(frozen=True)
class Untagged:
    """A code that no file knows of: the variable, the number, how many cells have it, and the other values."""

    variable: str
    code: float
    cells: int
    total: int
    low: float
    high: float
    dtype: str

    @classmethod
    def found_in(
        cls, variable: str, ends: Extremes, dtype: str = "float64", known: Collection[float] = ()
    ) -> Untagged | None:
        """Return the code in a variable whose numbers are stored as `dtype`; None if there is none."""
        code = ends.untagged(known)
        return code if code is None else cls(variable, code, ends.codes[code], ends.cells, ends.low, ends.high, dtype)

    @property
    def text(self) -> str:
        """The number, as the user types it."""
        short = f"{self.code:.10g}"
        if float(short) == self.code:
            return short
        return str(np.float32(self.code)) if self.dtype == "float32" else repr(float(self.code))


def refuse_untagged(found: Sequence[Untagged], *, of: str, places: str, sampled: bool = False) -> None:
    """Raise DataError if there are codes that no file knows of. `of` is what a variable is, such as ``layer``; `places`
    are its cells or rows; `sampled` says that only a part of them was looked at."""
    if not found:
        return
    first = max(found, key=lambda one: one.cells / one.total)
    share = first.cells / first.total
    percent = f"{100 * share:.2g} %" if share < 0.995 else "nearly all" if first.cells < first.total else "all"
    looked = " in a sample" if sampled else ""
    among = f"its other values are {first.low:g} to {first.high:g}" if first.low <= first.high else "it has no other"
    same = [one.variable for one in found if one is not first and one.text == first.text]
    rest = [f"'{one.variable}' ({one.text})" for one in found if one.text != first.text]
    more = f"; so has '{same[0]}'" if len(same) == 1 else f"; so have {len(same)} others" if same else ""
    more += f"; also {', '.join(rest[:5])}{', …' if len(rest) > 5 else ''}" if rest else ""
    sure = {one.text for one in found if is_sure_code(one.code)}
    named = [one.text if one.text in sure else f"{one.variable}={one.text}" for one in found]
    typed = ",".join(dict.fromkeys(named))
    raise UntaggedNodata(
        f"{of} '{first.variable}' has the value {first.text} in {percent} of its {places} ({first.cells:,} of "
        f"{first.total:,}{looked}), {among}, and the file does not declare it as nodata{more}: use --nodata {typed} to "
        "treat it as missing, or --nodata none if it is valid"
    )


def refuse_values(values: np.ndarray, stack: Any, places: str) -> None:
    """Raise DataError if values (n, V) of a stack's layers at points hold codes that no file knows of. Rows that are
    alike count once, unless several layers have a code there. `places` is what the points are."""
    layers = [(k, layer) for k, layer in enumerate(stack.layers) if not layer.trusted and not layer.resample]
    ends = [Extremes.of(values[:, k], layer.scaling) for k, layer in layers]
    if any(one.codes for one in ends):
        stored = [np.isin(values[:, k], _values_of(one, layer.scaling)) for (k, layer), one in zip(layers, ends)]
        values = values[_counts(pd.DataFrame(values), stored)]
    found = [
        Untagged.found_in(layer.name, Extremes.of(values[:, k], layer.scaling), layer.dtype, dict(layer.classes))
        for k, layer in layers
    ]
    refuse_untagged([one for one in found if one is not None], of="layer", places=places, sampled=True)


def _values_of(ends: Extremes, scaling: tuple[float, float] = (1.0, 0.0)) -> list[float]:
    """Return the values of a variable that are sure codes."""
    return [code * scaling[0] + scaling[1] for code in ends.codes if is_sure_code(code)]


def _counts(table: pd.DataFrame, held: Sequence[np.ndarray]) -> np.ndarray:
    """Return which rows count: of those that are alike the first; and all that have sure codes in two variables (or in
    the only one), as rows of the sea do, which are alike wherever they lie. `held` says where each variable has one."""
    return np.asarray(~table.duplicated().to_numpy() | (np.sum(held, axis=0) >= min(2, len(held))))


def blank_codes(table: Any, codes: NodataCodes) -> tuple[Any, list[str]]:
    """Return a data frame in which values that mean "no data" are missing, and a line per column that had some."""
    changed, notes = {}, []
    for name in table.columns:
        own = codes.of(str(name))
        if not own or table[name].dtype.kind not in "iuf":
            continue
        values = table[name].to_numpy(dtype=np.float64)
        blank = np.isin(values, own)
        if count := int(np.count_nonzero(blank)):
            changed[name] = np.where(blank, np.nan, values)
            listed = ", ".join(f"{code:g}" for code in own)
            notes.append(f"column '{name}': {count:,} values of {listed} are missing values (--nodata)")
    return (table.assign(**changed) if changed else table), notes


def refuse_codes(table: Any, codes: NodataCodes, source: str) -> None:
    """Raise DataError if columns of a data frame hold codes that nobody named. Rows that are alike count once (visits
    to one site have one value each time), unless several variables have a code there."""
    numeric = [name for name in table.columns if table[name].dtype.kind in "iuf" and not codes.trusts(str(name))]
    ends = {name: Extremes.of(table[name].to_numpy(dtype=np.float64)) for name in numeric}
    if not any(Untagged.found_in(str(name), one) for name, one in ends.items()):
        return
    held = [np.isin(table[name].to_numpy(dtype=np.float64), _values_of(one)) for name, one in ends.items()]
    distinct = table[_counts(table, held)]
    found = []
    for name in numeric:
        one = Untagged.found_in(str(name), Extremes.of(distinct[name].to_numpy(dtype=np.float64)))
        if one is not None:  # judged by rows that differ, counted in all
            found.append(replace(one, cells=ends[name].codes[one.code], total=ends[name].cells))
    refuse_untagged(found, of=f"file '{source}': column", places="rows")
