"""Background: cells drawn over the valid part of the layers, in one pass and in bounded memory.

Every cell of the raster, valid or not, has one random number, drawn from the seed in row-major order; the n valid
cells with the smallest numbers are the sample. So the result depends on the seed and on nothing else: not on the
size of windows, on the number of threads, or on what else is read in the same pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from rasterio.windows import Window

from sdm.data.area import StudyArea
from sdm.data.cells import CellLookup, Summary
from sdm.data.clean import finish, locate
from sdm.data.occurrences import Occurrences
from sdm.data.stack import Stack
from sdm.errors import DataError, OptionError

WeightFunction = Callable[[Window], np.ndarray]
"""Relative sampling effort in the cells of a window, (h, w); cells with 0 or NaN are never drawn."""


@dataclass(frozen=True)
class Background:
    """Cells that stand for what is available to a species, in row-major order.

    Parameters
    ----------
    rows, cols, x, y
        The N cells and their centres (or the points that were given).
    values
        (N, V) values of the layers, without NaN.
    weight
        (N,) weight in the fit: 1, unless every cell was taken while asking for unequal weights; then each
        cell carries its own, with mean 1.
    n_valid
        Number of cells that could have been drawn: valid in all layers, inside the study area.
    presence_values
        (M, V) values at the cells given as `also`, NaN for nodata; None without.
    summary
        Range and number of valid cells of every layer over the whole raster; None if it was not read whole.
    notices
        What the user should be told.
    """

    rows: np.ndarray
    cols: np.ndarray
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    n_valid: int
    presence_values: np.ndarray | None = None
    summary: Summary | None = None
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


def sample_background(
    stack: Stack,
    *,
    n: int | Literal["all"] = 10_000,
    seed: int = 0,
    area_weighted: bool = False,
    study_area: StudyArea | None = None,
    weights: WeightFunction | None = None,
    also: tuple[np.ndarray, np.ndarray] | None = None,
    threads: int = 2,
) -> Background:
    """Draw background cells at random, without replacement, from the cells with data in all layers.

    Parameters
    ----------
    stack
        The layers; they are read once.
    n
        How many, or ``"all"``.
    seed
        Same seed, same cells.
    area_weighted
        Draw cells in proportion to their area, which in a geographic CRS shrinks towards the poles.
    study_area
        Only cells whose centre lies in it.
    weights
        Draw cells in proportion to this, called with each window (from several threads).
    also
        Rows and columns of cells to look up in the same pass: ``Located.cells``.
    threads
        Number of reading threads.

    Raises
    ------
    DataError
        If a layer, or the study area, has no valid cell, or a file is damaged.
    """
    if n != "all" and n < 1:
        raise OptionError(f"the number of background points is {n}: expected 1 or more, or 'all'")
    if study_area is not None:
        study_area.check(stack)
    draw = _Draw(stack, stack.n_cells if n == "all" else n, seed, area_weighted, study_area, weights)
    lookup = None if also is None else CellLookup(stack, *also)

    def each(window: Window, array: np.ndarray) -> tuple[Summary, int, _Cells]:
        if lookup is not None:
            lookup.take(window, array)  # windows do not overlap, so neither do the writes
        summary, valid = Summary.of(array)
        return summary, *draw.candidates(window, array, valid)

    summary, n_valid = Summary.empty(len(stack.layers)), 0
    for _, (part, count, cells) in stack.scan(each=each, threads=threads):
        summary, n_valid = summary + part, n_valid + count
        draw.add(cells)
    summary.check(stack)
    cells = draw.result()
    if len(cells.flat) == 0:
        where = "in the study area" if study_area is not None else "with a weight above 0"
        raise DataError(f"no valid cell {where}: check that it covers some of the {summary.n_valid:,} valid cells")
    notices = () if n == "all" or n_valid >= n else (f"only {n_valid:,} valid cells: all are background, not {n:,}",)
    rows, cols = np.divmod(cells.flat, stack.width)
    x, y = stack.xy(rows, cols)
    weight = np.ones(len(rows)) if n_valid > len(rows) else cells.weight / cells.weight.mean()
    found = None if lookup is None else lookup.values
    return Background(rows, cols, x, y, cells.values, weight, n_valid, found, summary, notices)


@dataclass(frozen=True)
class _Cells:
    """Candidates for the sample: flat index, random key, weight and values."""

    flat: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    values: np.ndarray

    def take(self, which: np.ndarray) -> "_Cells":
        return _Cells(self.flat[which], self.key[which], self.weight[which], self.values[which])


class _Draw:
    """The n smallest keys among all windows seen so far."""

    def __init__(
        self,
        stack: Stack,
        n: int,
        seed: int,
        area_weighted: bool,
        study_area: StudyArea | None,
        weights: WeightFunction | None,
    ) -> None:
        self.stack, self.n, self.seed = stack, n, seed
        self.area_weighted, self.study_area, self.weights = area_weighted, study_area, weights
        self.limit = np.inf  # keys above it cannot be in the sample any more
        self.kept: list[_Cells] = []

    def candidates(self, window: Window, array: np.ndarray, valid: np.ndarray) -> tuple[int, _Cells]:
        """Return how many cells of a window can be drawn, and those of them that may be in the sample."""
        if self.study_area is not None:
            valid = valid & self.study_area.mask(self.stack, window)
        weight = self._weight(window)
        if weight is not None:
            with np.errstate(invalid="ignore"):
                valid = valid & (weight > 0) & np.isfinite(weight)
        cell = np.flatnonzero(valid)
        key = self._keys(window).ravel()[cell]
        own = np.ones(len(cell)) if weight is None else weight.ravel()[cell]
        if weight is not None:
            # Exponential waiting times with rate w: the n shortest are a weighted sample without replacement
            # (Efraimidis and Spirakis 2006).
            key = -np.log1p(-key) / own
        few = np.flatnonzero(key <= self.limit)
        if len(few) > self.n:
            few = few[np.argpartition(key[few], self.n)[: self.n]]
        row, col = np.divmod(cell[few], int(window.width))
        flat = (row + int(window.row_off)) * self.stack.width + col + int(window.col_off)
        return len(cell), _Cells(flat, key[few], own[few], array[:, row, col].T)

    def _weight(self, window: Window) -> np.ndarray | None:
        """Return the weight of the cells of a window, None if all are equal."""
        weight = None if self.weights is None else np.asarray(self.weights(window), dtype=np.float64)
        if self.area_weighted:
            area = self.stack.cell_area(np.arange(window.row_off, window.row_off + window.height))[:, None]
            weight = np.broadcast_to(area, (int(window.height), int(window.width))) if weight is None else weight * area
        return weight

    def _keys(self, window: Window) -> np.ndarray:
        """Return the random numbers of the cells of a window: number i of the stream is that of cell i."""
        height, width = int(window.height), int(window.width)
        start = int(window.row_off) * self.stack.width + int(window.col_off)
        bits = np.random.PCG64(self.seed)
        bits.advance(start)
        generator = np.random.Generator(bits)
        if width == self.stack.width:
            return generator.random((height, width))
        keys = np.empty((height, width))
        for row in keys:
            generator.random(out=row)
            bits.advance(self.stack.width - width)
        return keys

    def add(self, cells: _Cells) -> None:
        """Put the candidates of a window to the others."""
        self.kept.append(cells)
        if sum(len(part.flat) for part in self.kept) > 2 * self.n:
            self._compact()

    def _compact(self) -> None:
        """Keep the n smallest keys."""
        parts = ([getattr(cells, name) for cells in self.kept] for name in ("flat", "key", "weight", "values"))
        cells = _Cells(*(np.concatenate(part) for part in parts))
        if len(cells.flat) > self.n:
            cells = cells.take(np.argpartition(cells.key, self.n - 1)[: self.n])
            self.limit = float(cells.key.max())
        self.kept = [cells]

    def result(self) -> _Cells:
        """Return the sample, in row-major order."""
        self._compact()
        return self.kept[0].take(np.argsort(self.kept[0].flat))


def background_from_points(
    stack: Stack, occurrences: Occurrences, *, study_area: StudyArea | None = None
) -> Background:
    """Use points that the user gives as background; several in a cell all count.

    Raises
    ------
    DataError
        If no point lies on a valid cell.
    """
    points = replace(occurrences, species=np.full(len(occurrences), "background", dtype=object))
    located = locate(points, stack, study_area=study_area)
    found, ledger = finish(located, stack.sample(*located.cells), remove_duplicates=False)
    ledger.check("background")
    kept = found["background"]
    dropped = ledger.describe("background")
    notices = (f"background points left out: {dropped}",) if dropped else ()
    weight = np.ones(len(kept))
    return Background(kept.rows, kept.cols, kept.x, kept.y, kept.values, weight, len(kept), notices=notices)
