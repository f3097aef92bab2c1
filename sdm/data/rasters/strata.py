"""Strata: divide the cells of a grid by the classes of a layer, or into squares."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from rasterio.windows import Window

from sdm.data.crs import DEGREE_KM
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.cells import all_valid
from sdm.data.rasters.effort import Effort
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import Stack
from sdm.errors import BadValueError, CrsError, NoCellError, OptionError

SQUARES = "grid:"
MOST_CLASSES = 20_000  # of a layer; more values are not classes
FEWEST_CELLS = 2.0  # mean number of cells of a class
_COLUMNS = 1 << 31  # a square's code is its row times this, plus its column


@dataclass(frozen=True)
class ClassDivision:
    """Strata by the classes of a layer of a stack."""

    layer: str
    index: int

    @property
    def source(self) -> str:
        """The layer."""
        return f"layer '{self.layer}'"

    def codes(self, cells: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
        """Return the codes of cells from the layers' values (V, …); NaN outside all strata."""
        return np.asarray(values[self.index], dtype=np.float64)

    def name(self, code: float) -> str:
        """Return the class as a number without decimals."""
        return f"{code:.0f}"

    def check(self, codes: np.ndarray, cells: int | None = None) -> None:
        """Raise DataError if these are not codes of classes; `cells` is the number of cells with them."""
        advice = "convert it to classes first, or use squares such as --strata grid:50km"
        odd = codes[codes != np.round(codes)]
        if odd.size:
            raise BadValueError(f"{self.source} has values such as {odd[0]:g}, expected codes of classes: {advice}")
        many = codes.size > MOST_CLASSES
        if many or (cells is not None and codes.size > 1 and cells < FEWEST_CELLS * codes.size):
            among = "" if many or cells is None else f" in {cells:,} cells"
            raise BadValueError(
                f"{self.source} has {codes.size:,} distinct values{among}, too many for strata: {advice}"
            )


@dataclass(frozen=True)
class SquareDivision:
    """Strata that are squares, counted from the upper left corner, in the projection of the grid; for degrees in the
    sinusoidal projection, which preserves areas."""

    grid: Grid
    km: float

    @property
    def source(self) -> str:
        """The size of the squares."""
        return f"squares of {self.km:g} km"

    def codes(self, cells: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
        """Return the codes of cells by their rows and columns; for a window they may be (h, 1) and (1, w)."""
        left, _, right, top = self.grid.bounds
        x, y = self.grid.xy(*cells)
        crs = self.grid.crs
        if crs is not None and crs.is_geographic:
            middle, half = 0.5 * (left + right), 0.5 * (right - left)
            east, south = DEGREE_KM * (half + (x - middle) * np.cos(np.radians(y))), DEGREE_KM * (top - y)
        else:
            unit = 1.0 if crs is None else float(crs.linear_units_factor[1])
            east, south = unit * (x - left) / 1000, unit * (top - y) / 1000
        # A cell with its centre on a line, within rounding, belongs to the square to its right or below.
        place = [np.floor(part / self.km + 1e-9) for part in (south, east)]
        return np.asarray(place[0] * _COLUMNS + place[1])

    def name(self, code: float) -> str:
        """Return row and column, starting from 1."""
        row, col = divmod(int(code), _COLUMNS)
        return f"r{row + 1}c{col + 1}"


Division = ClassDivision | SquareDivision
"""Division of cells into strata, each with a code."""


def make_division(text: str, stack: Stack) -> Division:
    """Return the division for a text: the name of a layer of the stack, or squares such as `grid:50km`."""
    if text.lower().startswith(SQUARES):
        km = square_km(text)
        if stack.crs is None:
            raise CrsError(f"path.strata={text} needs a coordinate reference system of the layers")
        return SquareDivision(stack, km)
    if text not in stack.names:
        raise OptionError(f"path.strata={text!r}: expected squares such as grid:50km, or {' or '.join(stack.names)}")
    return ClassDivision(text, stack.names.index(text))


def square_km(text: str) -> float:
    """Return the side in km of squares in the form `grid:50km` or `grid:500m`."""
    match = re.fullmatch(r"grid:\s*([0-9]*\.?[0-9]+)\s*(km|m)", text.strip().lower())
    size = 0.0 if match is None else float(match[1]) / (1000 if match[2] == "m" else 1)
    if not size > 0:
        raise OptionError(f"path.strata={text!r}: expected the side of a square with its unit, such as grid:50km")
    return size


@dataclass(frozen=True)
class Strata:
    """The n strata of a study area, with their cells, area and prior."""

    division: Division = field(repr=False)
    codes: np.ndarray  # increasing
    cells: np.ndarray  # number of cells with data, and with effort if it is used
    area: np.ndarray  # km², on the ellipsoid for grids in degrees; in cells for a grid without CRS
    prior: np.ndarray  # share of the prior: by area, or by sampling effort; sums to one

    @property
    def names(self) -> list[str]:
        """The names of the strata."""
        return [self.division.name(code) for code in self.codes]

    def place(self, codes: np.ndarray) -> np.ndarray:
        """Return the index of each code's stratum, −1 without one."""
        index = np.searchsorted(self.codes, np.nan_to_num(codes, nan=-np.inf)).clip(0, self.codes.size - 1)
        return np.where(self.codes[index] == codes, index, -1)


def survey_strata(
    stack: Stack,
    division: Division,
    *,
    study_area: StudyArea | None = None,
    effort: Effort | None = None,
    area_weighted: bool = False,
    threads: int = 2,
) -> Strata:
    """Count the cells of every stratum, their area and their prior, in one pass over the layers.

    Only cells with data in all layers count. The prior of a cell is its area; with `effort` it is the effort (times the
    area if `area_weighted`), and cells without effort do not count.
    """
    if study_area is not None:
        study_area.check(stack)

    def compute(window: Window, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside, strength = _inside(stack, window, array, study_area, effort)
        code = division.codes(np.ogrid[window.toslices()], array)[inside]
        rows = np.nonzero(inside)[0] + int(window.row_off)
        area = np.ones(len(rows)) if stack.crs is None else stack.cell_km2(rows)
        prior = area if effort is None else strength[inside] * (area if area_weighted else 1.0)
        codes, place = np.unique(code, return_inverse=True)
        if isinstance(division, ClassDivision):
            division.check(codes)
        return codes, _totals(place, codes.size, np.ones(code.size), area, prior)

    parts = [part for _, part in stack.scan(compute=compute, threads=threads)]
    codes, place = np.unique(np.concatenate([codes for codes, _ in parts]), return_inverse=True)
    if not codes.size:
        where = "in the study area" if study_area is not None else "with a prior above 0"
        raise NoCellError(f"no valid cell {where}: there are no strata")
    totals = _totals(place, codes.size, *np.concatenate([total for _, total in parts], axis=1))
    cells = totals[0].astype(np.int64)
    if isinstance(division, ClassDivision):
        division.check(codes, int(cells.sum()))
    return Strata(division, codes, cells, totals[1], totals[2] / totals[2].sum())


def _totals(place: np.ndarray, n: int, *columns: Iterable[float]) -> np.ndarray:
    """Sum columns by group."""
    return np.array([np.bincount(place, np.asarray(column), minlength=n) for column in columns])


def _inside(
    stack: Stack, window: Window, array: np.ndarray, study_area: StudyArea | None, effort: Effort | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a mask of the cells of a window that count, and their effort."""
    inside = all_valid(array)
    if study_area is not None:
        inside &= study_area.mask(stack, window)
    if effort is None:
        return inside, inside
    strength = np.asarray(effort.window(window), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return inside & (strength > 0) & np.isfinite(strength), strength


def stratum_of(
    stack: Stack,
    strata: Strata,
    window: Window,
    array: np.ndarray,
    study_area: StudyArea | None = None,
    effort: Effort | None = None,
) -> np.ndarray:
    """Return the stratum of each cell of a window, −1 for cells that do not count."""
    inside, _ = _inside(stack, window, array, study_area, effort)
    return np.where(inside, strata.place(strata.division.codes(np.ogrid[window.toslices()], array)), -1)
