"""How many cells of a map are outside the training range of its model."""

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.place import is_place
from sdm.data.rasters.grid import Grid
from sdm.novelty.reference import TrainingRange
from sdm.types import AnyArray, Array, Index, Numbers

LISTED = 0.001  # of the cells: numbers that are outside their range in fewer are not listed


def outside_numbers(seen: TrainingRange, cells: Index, km2: Array) -> Numbers:
    """Return the cells of a map that are outside the training range, and their areas, as JSON values. Of `cells` and
    `km2` the first is that of the map, the next of the cells outside in any variable, then come the variables."""

    def part(k: int) -> Numbers:
        count, total = int(cells[k]), int(cells[0])
        return {"cells": count, "share": count / total if total else 0.0, "km2": float(km2[k])}

    each = {name: part(k) for k, name in enumerate(seen.names, start=2)}
    listed = [name for name, known in zip(seen.names, seen.classes) if known is not None]
    return {
        "of_cells": int(cells[0]),
        "of_km2": float(km2[0]),
        **part(1),
        "variables": {name: one for name, one in each.items() if name not in listed and not is_place(name)},
        "unseen_categories": {name: each[name] for name in listed},  # that training did not have
    }


def outside_line(numbers: Numbers) -> str:
    """Return the same in words."""
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
    """Return the variables that are outside in at least a share of the cells, the worst first."""
    ordered = sorted(numbers[key].items(), key=lambda item: -item[1]["cells"])
    shares = ((name, part["cells"] / numbers["of_cells"]) for name, part in ordered)
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
        return outside

    def numbers(self) -> Numbers:
        """Return the counts, and exact areas (`Grid.cell_km2`; without a CRS, numbers that can be degrees are)."""
        grid = self.grid.located
        # Every variable by itself: a product of matrices would add up in an order that depends on how many there are.
        km2 = (self._rows * grid.cell_km2(np.arange(grid.height))).sum(axis=1)
        return outside_numbers(self.seen, self._rows.sum(axis=1), km2)
