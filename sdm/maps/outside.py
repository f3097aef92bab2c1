"""How many cells of a map are outside the training range of its model."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.place import is_place
from sdm.data.rasters.grid import Grid
from sdm.novelty.ranges import TrainingRange
from sdm.types import AnyArray, Numbers

LISTED = 0.001  # of the cells: numbers that are outside their range in fewer are not listed


@dataclass(frozen=True)
class Outside:
    """Cells of a map that are outside the training range: in any variable, and in each; and their areas."""

    cells: int
    km2: float
    outside: int
    outside_km2: float
    variables: dict[str, tuple[int, float]]  # numbers outside their range: cells, km²
    unseen: dict[str, tuple[int, float]]  # categories that training did not have

    @property
    def numbers(self) -> Numbers:
        """The same as JSON values."""

        def part(cells: int, km2: float) -> Numbers:
            return {"cells": cells, "share": cells / self.cells if self.cells else 0.0, "km2": km2}

        return {
            "of_cells": self.cells,
            "of_km2": self.km2,
            **part(self.outside, self.outside_km2),
            "variables": {name: part(*counted) for name, counted in self.variables.items()},
            "unseen_categories": {name: part(*counted) for name, counted in self.unseen.items()},
        }

    @classmethod
    def of_numbers(cls, numbers: Numbers) -> "Outside":
        """Return what `numbers` say."""

        def parts(key: str) -> dict[str, tuple[int, float]]:
            return {name: (part["cells"], part["km2"]) for name, part in numbers[key].items()}

        of_cells, of_km2, cells, km2 = (numbers[key] for key in ("of_cells", "of_km2", "cells", "km2"))
        return cls(of_cells, of_km2, cells, km2, parts("variables"), parts("unseen_categories"))

    @property
    def line(self) -> str:
        """The same in words."""
        if not self.outside:
            return f"outside the training range: no cell of {self.cells:,}"
        share = _percent(self.outside / self.cells)
        area = f", {self.outside_km2:,.0f} km²" if self.km2 else ""
        size = f"{self.outside:,} of {self.cells:,} cells ({share}{area})"
        listed = [self._shares(self.variables, LISTED)]
        if unseen := self._shares(self.unseen, 1 / self.cells):
            listed.append(f"categories that were not in training: {unseen}")
        return ": ".join(filter(None, [f"outside the training range: {size}", "; ".join(filter(None, listed))]))

    def _shares(self, counted: dict[str, tuple[int, float]], least: float) -> str:
        """Return the variables that are outside in at least a share of the cells, the worst first."""
        ordered = sorted(counted.items(), key=lambda item: -item[1][0])
        shares = ((name, cells / self.cells) for name, (cells, _) in ordered)
        return ", ".join(f"{name} {_percent(share)}" for name, share in shares if share >= least)


def _percent(share: float) -> str:
    """Return a share above 0 as text."""
    return f"{share:.1%}" if share >= LISTED else "under 0.1%"


class OutsideTally:
    """Cells outside the training range after some windows, counted by row of the grid, so that the order in which
    threads finish does not matter."""

    def __init__(self, seen: TrainingRange, grid: Grid) -> None:
        self.seen, self.grid = seen, grid
        self._rows = np.zeros((len(seen.names) + 2, grid.height), dtype=np.int64)
        self._lock = Lock()

    def add(self, window: Window, columns: Sequence[AnyArray], valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Count the valid cells of one more window; return which of them are outside."""
        width, first = int(window.width), int(window.row_off)
        outside, counts = self.seen.mark(columns, valid, width)
        totals = [mask.reshape(-1, width).sum(axis=1) for mask in (valid, outside)]
        with self._lock:
            self._rows[:, first : first + int(window.height)] += np.vstack([*totals, counts])
        marked: NDArray[np.bool_] = outside
        return marked

    def summary(self) -> Outside:
        """Return the counts, and exact areas (`Grid.cell_km2`; without a CRS, numbers that can be degrees are)."""
        grid = self.grid.located
        # Every variable by itself: a product of matrices would add up in an order that depends on how many there are.
        cells, km2 = self._rows.sum(axis=1), (self._rows * grid.cell_km2(np.arange(grid.height))).sum(axis=1)
        each = {name: (int(cells[k]), float(km2[k])) for k, name in enumerate(self.seen.names, start=2)}
        listed = [name for name, known in zip(self.seen.names, self.seen.classes) if known is not None]
        numbers = {name: counted for name, counted in each.items() if name not in listed and not is_place(name)}
        total = int(cells[0]), float(km2[0]), int(cells[1]), float(km2[1])
        return Outside(*total, numbers, {name: each[name] for name in listed})
