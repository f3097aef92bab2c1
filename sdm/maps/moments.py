"""Number of cells, range, mean and deviation of a map, added up while its windows are written."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdm.errors import DataError
from sdm.types import AnyArray


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

    def add(self, band: AnyArray) -> None:
        """Count the values of one more window."""
        values = band[band != band.dtype.type(self.nodata)].astype(np.float64)
        self.sums += np.array([values.size, values.sum(), values @ values])
        self.low = min(self.low, float(values.min(initial=np.inf)))
        self.high = max(self.high, float(values.max(initial=-np.inf)))

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
