"""Sample background cells from the valid part of the layers, in one pass and in bounded memory.

Every cell of the raster, valid or not, has one random number, drawn from the seed in row-major order; the sample is the
n valid cells with the smallest numbers. The result depends only on the seed: not on the size of windows, the number of
threads, or other reading in the same pass.

Sampling effort is a function of windows with one of two uses: cells are drawn in proportion to it (``sample``), or it
is the weight of cells that are drawn independently of it (``prior``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from rasterio.windows import Window

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.cells import CellLookup, Summary
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import finish_cleaning, locate
from sdm.data.records.frames import take_rows
from sdm.data.records.occurrences import Occurrences
from sdm.data.untagged import refuse_values
from sdm.errors import BackgroundError, OptionError

if TYPE_CHECKING:
    from sdm.data.rasters.effort import Effort

WeightFunction = Callable[[Window], np.ndarray]
"""Relative sampling effort in the cells of a window, (h, w); cells with 0 or NaN are never background."""
Treatment = Literal["sample", "prior"]
"""The use of effort: cells are drawn by it, or it is the base measure of predictions."""


@dataclass(frozen=True)
class Weighting:
    """Weights of cells in the base measure, from their area and effort.

    The sample is the cells with the n shortest exponential waiting times, each with the rate of the cell. Given the
    shortest time that was not drawn (limit), a cell of rate w was drawn with probability 1 - exp(-w limit), so
    w / (1 - exp(-w limit)) is its unbiased weight (Cohen and Kaplan 2007): nearly equal for all if few cells are drawn,
    and w if all are. Effort that is not used for drawing multiplies this weight.
    """

    area_weighted: bool = False  # cells are drawn by their area
    treatment: Treatment | None = None  # use of effort; None: cells are drawn by it, if there is any
    limit: float = np.inf  # shortest waiting time that was not drawn; infinite if all cells were drawn
    scale: float = 1.0  # divides all weights

    def rate(self, area: np.ndarray, effort: np.ndarray | None) -> np.ndarray | None:
        """Return the rates of drawing cells, None if all are equal."""
        rate = area if self.area_weighted else None
        if self.treatment == "sample" and effort is not None:
            rate = effort if rate is None else rate * effort
        return rate

    def weight(self, area: np.ndarray, effort: np.ndarray | None = None) -> np.ndarray:
        """Return the weights of cells from their areas and efforts."""
        rate = self.rate(area, effort)
        weight = np.ones(len(area)) if rate is None else rate / -np.expm1(-rate * self.limit)
        if self.treatment == "prior" and effort is not None:
            weight = weight * effort
        return weight / self.scale


@dataclass(frozen=True)
class Background:
    """N cells of the area available to a species, in row-major order."""

    rows: np.ndarray
    cols: np.ndarray
    x: np.ndarray  # of the cells' centres, or of the user's points
    y: np.ndarray
    values: np.ndarray  # (N, V) of the layers, without NaN
    weight: np.ndarray  # in the base measure, with mean 1: all 1 without area or effort weights
    n_valid: int  # cells that could be drawn: valid in all layers, in the study area, with effort
    presence_values: np.ndarray | None = None  # (M, V) values at `lookup_cells`, NaN for nodata
    summary: Summary | None = None  # of the complete raster; None if a part was read
    notices: tuple[str, ...] = ()
    weighting: Weighting = Weighting()  # gives presences that are added to the background the weight of their cell

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The values in double precision, as one array for all species."""
        return np.ascontiguousarray(self.values, dtype=np.float64)

    def take(self, which: np.ndarray) -> "Background":
        """Return some points, by index or by a boolean array."""
        part = take_rows(self, which, ("rows", "cols", "x", "y", "values", "weight"))
        return replace(part, n_valid=len(part))

    def check(self, study_area: StudyArea | None = None) -> None:
        """Raise BackgroundError if there is no point."""
        if len(self):
            return
        where = "in the study area" if study_area is not None else "with a weight above 0"
        among = "" if self.summary is None else f" of the {self.summary.n_valid:,} valid cells"
        raise BackgroundError(f"no valid cell {where}: check that it covers some{among}")


def sample_background(stack: Stack, *, study_area: StudyArea | None = None, **options: Any) -> Background:
    """Draw background cells at random, without replacement, from the cells with data in all layers; at least one.

    See `sample_backgrounds` for the options.
    """
    background = sample_backgrounds(stack, [study_area], **options)[0]
    background.check(study_area)
    return background


def sample_backgrounds(
    stack: Stack,
    study_areas: Sequence[StudyArea | None],
    *,
    n: int | Literal["all"] = 10_000,
    seed: int = 0,
    weighting: Weighting | None = None,
    effort: WeightFunction | None = None,
    lookup_cells: tuple[np.ndarray, np.ndarray] | None = None,
    threads: int = 2,
) -> list[Background]:
    """Draw a background in each of several study areas, in one pass; it is empty without a valid cell.

    `n` may be ``"all"``; the same `seed` gives the same cells. With `weighting`, cells can be drawn in proportion to
    their area, which in a geographic CRS decreases towards the poles. `effort` (`Effort.window`) is called with each
    window, from several threads: with ``"sample"``, the default, cells are drawn in proportion to it; with ``"prior"``,
    it is their weight. `lookup_cells` are rows and columns of cells whose values are read in the same pass
    (`Located.cells`).
    """
    if n != "all" and n < 1:
        raise OptionError(f"background.points={n}: expected 1 or more, or 'all'")
    for area in study_areas:
        if area is not None:
            area.check(stack)
    weighting = weighting or Weighting()
    weighting = replace(weighting, treatment=None if effort is None else weighting.treatment or "sample")
    count = stack.n_cells if n == "all" else n
    draws = [_Draw(stack, count, seed, area, weighting) for area in study_areas]
    lookup = None if lookup_cells is None else CellLookup(stack, *lookup_cells)

    def compute(window: Window, array: np.ndarray) -> tuple[Summary, list[_Candidates]]:
        if lookup is not None:
            lookup.take(window, array)  # windows do not overlap, so neither do the writes
        summary, valid = Summary.of(array, stack.layers)
        strength = None if effort is None else np.asarray(effort(window), dtype=np.float64)
        return summary, [draw.candidates(window, array, valid, strength) for draw in draws]

    summary = Summary.empty(len(stack.layers))
    near = _near(stack, study_areas, lookup_cells)
    for _, (part, candidates) in near.scan(compute=compute, threads=threads):
        summary = summary + part
        for draw, cells in zip(draws, candidates):
            draw.add(cells)
    if near.reach is None:
        summary.check(stack)
    elif not any(draw.n_valid for draw in draws):  # raise for the layers first, then for the study area
        stack.summary(threads=threads).check(stack)
    total = summary if near.reach is None else None
    values = None if lookup is None else lookup.values
    return [
        replace(draw.result(), presence_values=values, summary=total, notices=draw.notices(None if n == "all" else n))
        for draw in draws
    ]


def _near(
    stack: Stack, study_areas: Sequence[StudyArea | None], lookup_cells: tuple[np.ndarray, np.ndarray] | None
) -> Stack:
    """Return the stack limited to the study areas and the cells to look up, if all backgrounds have areas."""
    boxes = [area.bounds for area in study_areas if area is not None]
    if len(boxes) < len(study_areas) or not boxes:
        return stack
    if lookup_cells is not None and len(lookup_cells[0]):
        x, y = stack.xy(*lookup_cells)
        boxes.append((x.min(), y.min(), x.max(), y.max()))
    left, bottom, right, top = zip(*boxes)
    return stack.within((min(left), min(bottom), max(right), max(top)))


class _Cells(NamedTuple):
    """Candidates for the sample: flat index, random key, effort and values."""

    flat: np.ndarray
    key: np.ndarray
    effort: np.ndarray
    values: np.ndarray

    def take(self, which: np.ndarray) -> "_Cells":
        return _Cells(*(column[which] for column in self))


_Candidates = tuple[_Cells, int, int, int]
"""Result for a window: candidates, and numbers of cells that can be drawn, with zero effort, with unknown effort."""


class _Draw:
    """Collects the n smallest keys of all windows, and the next one, which determines the probability of each."""

    def __init__(self, stack: Stack, n: int, seed: int, study_area: StudyArea | None, weighting: Weighting) -> None:
        self.stack, self.n, self.seed = stack, n, seed
        self.study_area, self.weighting = study_area, weighting
        self.limit = np.inf  # larger keys cannot be in the sample
        self.kept: list[_Cells] = []
        self.n_valid = self.zero = self.missing = 0

    def candidates(
        self, window: Window, array: np.ndarray, valid: np.ndarray, effort: np.ndarray | None
    ) -> _Candidates:
        """Return the number of cells of a window that can be drawn, and candidates for the sample among them."""
        if self.study_area is not None:
            valid = valid & self.study_area.mask(self.stack, window)
        zero = missing = 0
        if effort is not None:
            zero, missing = (int(np.count_nonzero(valid & which)) for which in (effort == 0, ~np.isfinite(effort)))
            with np.errstate(invalid="ignore"):
                valid = valid & (effort > 0) & np.isfinite(effort)
        cell = np.flatnonzero(valid)
        row, col = np.divmod(cell, int(window.width))
        strength = np.ones(len(cell)) if effort is None else effort.ravel()[cell]
        key = self._keys(window).ravel()[cell]
        areas = self.stack.cell_area(np.arange(int(window.height)) + int(window.row_off))  # one per row
        rate = self.weighting.rate(areas[row], strength)
        if rate is not None:
            # Exponential waiting times with rate w: the n shortest are a weighted sample without replacement
            # (Efraimidis and Spirakis 2006).
            key = -np.log1p(-key) / rate
        few = np.flatnonzero(key <= self.limit)
        if len(few) > self.n + 1:
            few = few[np.argpartition(key[few], self.n)[: self.n + 1]]
        row, col = row[few], col[few]
        flat = (row + int(window.row_off)) * self.stack.width + col + int(window.col_off)
        return _Cells(flat, key[few], strength[few], array[:, row, col].T), len(cell), zero, missing

    def _keys(self, window: Window) -> np.ndarray:
        """Return the random numbers of the cells of a window: cell i has number i of the stream."""
        height, width = int(window.height), int(window.width)
        start = int(window.row_off) * self.stack.width + int(window.col_off)
        bits = np.random.PCG64(self.seed)
        bits.advance(start)
        generator = np.random.Generator(bits)
        keys = np.empty((height, width))
        for row in keys:
            generator.random(out=row)
            bits.advance(self.stack.width - width)
        return keys

    def add(self, window: _Candidates) -> None:
        """Add the candidates of a window."""
        cells, count, zero, missing = window
        self.kept.append(cells)
        self.n_valid, self.zero, self.missing = self.n_valid + count, self.zero + zero, self.missing + missing
        if sum(len(part.flat) for part in self.kept) > 2 * (self.n + 1):
            self._compact()

    def _compact(self) -> None:
        """Keep the n + 1 smallest keys."""
        cells = _Cells(*(np.concatenate(columns) for columns in zip(*self.kept)))
        if len(cells.flat) > self.n + 1:
            cells = cells.take(np.argpartition(cells.key, self.n)[: self.n + 1])
            self.limit = float(cells.key.max())
        self.kept = [cells]

    def result(self) -> Background:
        """Return the sample, in row-major order."""
        self._compact()
        cells, weighting = self.kept[0], self.weighting
        if len(cells.flat) > self.n:
            last = int(np.argmax(cells.key))
            weighting = replace(weighting, limit=float(cells.key[last]))
            cells = cells.take(np.arange(len(cells.flat)) != last)
        cells = cells.take(np.argsort(cells.flat))
        rows, cols = np.divmod(cells.flat, self.stack.width)
        x, y = self.stack.xy(rows, cols)
        area = self.stack.cell_area(rows)
        if len(rows):
            weighting = replace(weighting, scale=float(weighting.weight(area, cells.effort).mean()))
        weight = weighting.weight(area, cells.effort)
        return Background(rows, cols, x, y, cells.values, weight, self.n_valid, weighting=weighting)

    def notices(self, requested: int | None) -> tuple[str, ...]:
        """Return messages about an unexpected background."""
        out = []
        for count, fault in ((self.missing, "no sampling effort (taken as zero)"), (self.zero, "zero sampling effort")):
            if count:
                out.append(f"{count:,} valid cells have {fault}: they are not background")
        if requested is not None and self.n_valid < requested:
            out.append(f"only {self.n_valid:,} valid cells: all are background, not {requested:,}")
        return tuple(out)


def background_from_points(
    stack: Stack,
    occurrences: Occurrences,
    *,
    study_area: StudyArea | None = None,
    effort: "Effort | None" = None,
    one_per_cell: bool = False,
) -> Background:
    """Use points of the user as background; several in a cell all count, unless `one_per_cell`.

    `effort` is their weight, and points without effort are dropped.
    """
    records = replace(occurrences, species=np.full(len(occurrences), "background", dtype=object))
    located = locate(records, stack, study_area=study_area)
    values = stack.sample(*located.cells)
    refuse_values(values, stack, "background points")
    points_by_species, ledger = finish_cleaning(
        located, values, remove_duplicates=one_per_cell, effort=None if effort is None else effort.at_cells
    )
    ledger.check("background")
    points = points_by_species["background"]
    dropped = ledger.describe("background")
    notices = (*ledger.notices("background points"), *([f"background points dropped: {dropped}"] if dropped else ()))
    weighting = Weighting(treatment=None if effort is None else "prior")
    strength = None if effort is None else effort.at_cells(points.rows, points.cols)
    area = np.ones(len(points))
    weighting = replace(weighting, scale=float(weighting.weight(area, strength).mean()))
    weight = weighting.weight(area, strength)
    place = (points.rows, points.cols, points.x, points.y, points.values)
    return Background(*place, weight, len(points), notices=notices, weighting=weighting)
