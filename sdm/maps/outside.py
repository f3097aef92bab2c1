"""Number of cells of a map outside the training range of its model."""

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.place import is_place
from sdm.data.rasters.grid import Grid
from sdm.novelty.reference import TrainingRange
from sdm.types import AnyArray, Array, Index, Numbers

LISTED = 0.001  # smallest share of cells for which a variable is listed


def outside_numbers(seen: TrainingRange, cells: Index, km2: Array) -> Numbers:
    """Return the cells outside the training range and their areas, as JSON values. The entries of `cells` and `km2` are
    all cells of the map, those outside in any variable, and those outside in each variable."""

    def part(k: int) -> Numbers:
        count, total = int(cells[k]), int(cells[0])
        return {"cells": count, "share": count / total if total else 0.0, "km2": float(km2[k])}

    each = {name: part(k) for k, name in enumerate(seen.names, start=2)}
    listed = [name for name, codes in zip(seen.names, seen.classes) if codes is not None]
    return {
        "of_cells": int(cells[0]),
        "of_km2": float(km2[0]),
        **part(1),
        "variables": {name: one for name, one in each.items() if name not in listed and not is_place(name)},
        "unseen_categories": {name: each[name] for name in listed},  # absent from the training data
    }


def outside_line(numbers: Numbers) -> str:
    """Return the numbers as text."""
    if not numbers["cells"]:
        return f"outside the training range: no cell of {numbers['of_cells']:,}"
    share = _percent(numbers["cells"] / numbers["of_cells"])
    area = f", {numbers['km2']:,.0f} km²" if numbers["km2"] else ""
    size = f"{numbers['cells']:,} of {numbers['of_cells']:,} cells ({share}{area})"
    listed = [_shares(numbers, "variables", LISTED)]
    if unseen := _shares(numbers, "unseen_categories", 1 / numbers["of_cells"]):
        listed.append(f"categories absent from training: {unseen}")
    return ": ".join(filter(None, [f"outside the training range: {size}", "; ".join(filter(None, listed))]))


def _shares(numbers: Numbers, key: str, least: float) -> str:
    """Return the variables outside the range in at least a share of the cells, in decreasing order."""
    ordered = sorted(numbers[key].items(), key=lambda item: -item[1]["cells"])
    shares = ((name, part["cells"] / numbers["of_cells"]) for name, part in ordered)
    return ", ".join(f"{name} {_percent(share)}" for name, share in shares if share >= least)


def _percent(share: float) -> str:
    """Return a share above 0 as text."""
    return f"{share:.1%}" if share >= LISTED else "under 0.1%"


class OutsideTally:
    """Number of cells outside the training range, by row of the grid. The order of the threads does not matter."""

    def __init__(self, seen: TrainingRange, grid: Grid) -> None:
        self.seen, self.grid = seen, grid
        self._rows = np.zeros((len(seen.names) + 2, grid.height), dtype=np.int64)
        self._lock = Lock()

    def add(self, window: Window, columns: Sequence[AnyArray], valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Count the valid cells of another window, and return those outside."""
        width, first = int(window.width), int(window.row_off)
        outside, counts = self.seen.mark(columns, valid, width)
        totals = [mask.reshape(-1, width).sum(axis=1) for mask in (valid, outside)]
        with self._lock:
            self._rows[:, first : first + int(window.height)] += np.vstack([*totals, counts])
        return outside

    def numbers(self) -> Numbers:
        """Return the counts and exact areas (`Grid.cell_km2`); without a CRS, numbers within the limits of degrees are
        degrees."""
        grid = self.grid.located
        # One product per variable: the order of the sums in a matrix product depends on the number of variables.
        km2 = (self._rows * grid.cell_km2(np.arange(grid.height))).sum(axis=1)
        return outside_numbers(self.seen, self._rows.sum(axis=1), km2)
