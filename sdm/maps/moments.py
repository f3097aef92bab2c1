"""Number of cells, range, mean and deviation of a map, added up while its windows are written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit_finite, jit_sum
from sdm.errors import DataError


@dataclass(frozen=True)
class RasterSummary:
    """Number of cells, range, mean and deviation of a written map."""

    path: Path
    cells: int
    minimum: float
    maximum: float
    mean: float
    deviation: float

    @property
    def numbers(self) -> dict[str, float]:
        """The same numbers, under the names that results have."""
        return {"cells": self.cells, "min": self.minimum, "max": self.maximum, "mean": self.mean}

    @property
    def text(self) -> str:
        """The same in words."""
        return f"{self.cells:,} cells, {self.minimum:.4g} to {self.maximum:.4g}"


class Moments:
    """Count, sums and range of the values of a band after some windows; `nodata` is no value."""

    def __init__(self, nodata: float) -> None:
        self.nodata, self.sums = nodata, np.zeros(3)
        self.low, self.high = np.inf, -np.inf

    def add(self, band: NDArray[Any]) -> None:
        """Count the values of one more window."""
        count, total, squares, low, high = _add_up(np.ascontiguousarray(band).ravel(), band.dtype.type(self.nodata))
        self.sums += np.array([count, total, squares])
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))

    def summary(self, path: Path, empty: bool = False) -> RasterSummary:
        """Return the summary of the band at a path; without any value it is an error, unless it may be `empty`."""
        count, total, squares = self.sums
        if not count and empty:
            return RasterSummary(path, 0, np.nan, np.nan, np.nan, np.nan)
        if not count:
            raise DataError(f"{path.name} would have no cell: no cell of the layers has a value in every layer")
        mean = total / count
        deviation = float(np.sqrt(max(squares / count - mean**2, 0.0)))
        # The last digits depend on the windows, and these on the maps that are made together.
        rounded = [float(f"{value:.9g}") for value in (mean, deviation)]
        return RasterSummary(path, int(count), self.low, self.high, *rounded)


def _add_up(band: NDArray[Any], nodata: Any) -> tuple[int, float, float, Any, Any]:
    """Return number, sum, sum of squares, least and greatest of the values that are not `nodata`."""
    return (*_sums(band, nodata), *_ends(band, nodata))


@jit_sum
def _sums(band, nodata):  # type: ignore[no-untyped-def]
    """Return number, sum and sum of squares of the values that are not `nodata`; without a branch, so that several
    cells are done at once."""
    count, total, squares = 0, 0.0, 0.0
    for i in range(band.size):
        there = band[i] != nodata
        value = np.float64(band[i]) if there else 0.0
        count += there
        total += value
        squares += value * value
    return count, total, squares


@jit_finite
def _ends_with(band, nodata, first):  # type: ignore[no-untyped-def]
    """Return the least and the greatest value that is not `nodata`, of which `first` is one."""
    low, high = first, first
    for i in range(band.size):
        value = band[i] if band[i] != nodata else first
        low, high = min(low, value), max(high, value)
    return low, high


@jit_finite
def _ends(band, nodata):  # type: ignore[no-untyped-def]
    """Return the least and the greatest value that is not `nodata`, infinite where there is none."""
    begin = 0
    while begin < band.size and band[begin] == nodata:
        begin += 1
    if begin == band.size:
        return np.inf, -np.inf
    low, high = _ends_with(band[begin:], nodata, band[begin])
    return np.float64(low), np.float64(high)
