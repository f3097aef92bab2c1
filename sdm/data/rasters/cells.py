"""Statistics and values of the cells of a stack, collected in a pass over its windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rasterio.windows import Window

from sdm.data.rasters.grid import Grid
from sdm.data.untagged import Extremes, Untagged, refuse_untagged
from sdm.errors import NoCellError
from sdm.storage.addresses import place_name


def all_valid(array: np.ndarray) -> np.ndarray:
    """Return a mask of the cells of a (V, h, w) array with data in all layers."""
    missing = np.isnan(array[0])
    for plane in array[1:]:
        missing |= np.isnan(plane)
    return np.asarray(np.logical_not(missing, out=missing))


@dataclass(frozen=True)
class Summary:
    """Range and number of valid cells of each layer, and number of cells valid in all layers.

    A layer without a valid cell has minimum +inf and maximum -inf.
    """

    minimum: np.ndarray
    maximum: np.ndarray
    count: np.ndarray
    n_valid: int
    ends: tuple[Extremes, ...] = ()  # of each layer, for detection of untagged nodata codes

    @classmethod
    def empty(cls, n_layers: int) -> "Summary":
        """Return the summary of no cell."""
        none = (Extremes(0),) * n_layers
        return cls(np.full(n_layers, np.inf), np.full(n_layers, -np.inf), np.zeros(n_layers, dtype=np.int64), 0, none)

    @classmethod
    def of(cls, array: np.ndarray, layers: Sequence[Any] = ()) -> tuple["Summary", np.ndarray]:
        """Return the summary of a (V, h, w) array, and a mask of cells valid in all layers.

        With the `layers` of the stack, untagged nodata codes are detected too.
        """
        valid = all_valid(array)
        flat = array.reshape(len(array), -1)
        count = np.array([np.count_nonzero(plane == plane) for plane in flat], dtype=np.int64)
        # fmin and fmax ignore NaN, and return NaN only without other values.
        low = np.fmin.reduce(flat, axis=1, initial=np.inf).astype(np.float64)
        high = np.fmax.reduce(flat, axis=1, initial=-np.inf).astype(np.float64)
        ends = tuple(
            Extremes(int(n)) if layer.trusted or layer.resample else Extremes.of(plane, layer.scaling, (a, b), int(n))
            for layer, plane, a, b, n in zip(layers, flat, low.tolist(), high.tolist(), count)
        )
        return cls(low, high, count, int(np.count_nonzero(valid)), ends), valid

    def __add__(self, other: "Summary") -> "Summary":
        low, high = np.minimum(self.minimum, other.minimum), np.maximum(self.maximum, other.maximum)
        ends = tuple(a + b for a, b in zip(self.ends, other.ends))
        return Summary(low, high, self.count + other.count, self.n_valid + other.n_valid, ends)

    def check(self, stack: Any) -> None:
        """Raise DataError if a layer has no data, or an untagged nodata code, or if no cell has data in all layers."""
        for layer, count in zip(stack.layers, self.count):
            if count == 0:
                raise NoCellError(
                    f"layer '{place_name(layer.path)}' has no valid cell: check its nodata value, or remove it"
                )
        pairs = zip(stack.layers, self.ends)
        tested = [Untagged.of(layer.name, ends, layer.dtype, dict(layer.classes)) for layer, ends in pairs]
        codes = {one.variable: one for one in tested if one is not None}
        # At the border a few cells suffice, and only the examination of blocks uses the border.
        refuse_untagged([*({one.variable: one for one in stack.untagged} | codes).values()], of="layer", places="cells")
        if self.n_valid == 0:
            least = stack.names[int(np.argmin(self.count))]
            raise NoCellError(
                f"no cell has data in all {len(stack.layers)} layers; '{least}' has the fewest "
                f"({int(self.count.min()):,} of {stack.n_cells:,}): check that the layers overlap"
            )


class CellLookup:
    """Values at cells, collected from windows in any order."""

    def __init__(self, stack: Any, rows: np.ndarray, cols: np.ndarray) -> None:
        self._order = np.argsort(rows, kind="stable")
        self._rows = np.asarray(rows)[self._order]
        self._cols = np.asarray(cols)[self._order]
        self.values = np.full((len(self._order), len(stack.layers)), np.nan, dtype=stack.dtype)

    def take(self, window: Window, array: np.ndarray) -> None:
        """Copy the values of the cells in a window from its (V, h, w) array."""
        first, last = np.searchsorted(self._rows, [window.row_off, window.row_off + window.height])
        col = self._cols[first:last] - window.col_off
        inside = np.flatnonzero((col >= 0) & (col < window.width))
        row = self._rows[first:last][inside] - window.row_off
        self.values[self._order[first:last][inside]] = array[:, row, col[inside]].T


def disc(reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps in rows and columns to cells at most `reach` away, without the cell itself, by distance; ties:
    the northernmost first, then the westernmost."""
    side = int(reach)
    dr, dc = (part.ravel() for part in np.mgrid[-side : side + 1, -side : side + 1])
    distance = dr**2 + dc**2
    order = np.lexsort((dc, dr, distance))
    order = order[(distance[order] > 0) & (distance[order] <= reach**2)]
    return dr[order], dc[order]


def neighbours(
    grid: Grid, rows: np.ndarray, cols: np.ndarray, dr: np.ndarray, dc: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and columns of the neighbours of each cell, and a mask of existing ones, also across the date line on
    global layers."""
    r, c = rows[:, None] + dr, cols[:, None] + dc
    if grid.is_round:
        c = c % grid.width
    return r, c, (r >= 0) & (r < grid.height) & (c >= 0) & (c < grid.width)
