"""From records to presences in cells, with a summary of the cleaning.

Cleaning has two steps, so that the rasters are read once: `locate` does all that needs no values, then whoever reads
the rasters looks up the values at `Located.cells`, then `finish_cleaning` does the rest. `clean` does all in one call.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from rasterio.crs import CRS

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.distance import to_lonlat
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import Stack
from sdm.data.records.occurrences import Occurrences, project
from sdm.data.records.rows import FILTERED, MOVED, UNREADABLE, with_fate, with_left_out
from sdm.data.records.thinning import Thinning, one_of_each, thin_by_bins
from sdm.errors import DataError, OptionError

_WORDS = {
    UNREADABLE: "that cannot be read",
    FILTERED: "left out by filters",
    "no_coordinates": "without coordinates",
    "zero_coordinates": "at (0, 0)",
    "swapped": "with longitude and latitude swapped, it seems",
    "outside_extent": "outside the extent of the layers",
    "outside_area": "outside the study area",
    "nodata": "on nodata",
    "no_effort": "where the sampling effort is zero or missing",
    "duplicates": "in a cell that had one already",
    "thinned": "left out by thinning",
}
REASONS = ("kept", *list(_WORDS)[2:])  # the outcome of cleaning a record, by code; but for the first, why it is dropped
KEPT, NO_COORDINATES, ZERO, SWAPPED, OUTSIDE, OUTSIDE_AREA, NODATA, NO_EFFORT, DUPLICATE, THINNED = range(len(REASONS))
_TURNED = (
    "most would be inside with 360 added to their longitude, for the layers go beyond 180°: "
    "add it to the records, or bring the layers to -180 … 180"
)


@dataclass(frozen=True)
class Located:
    """The n records in their cells, before any raster is read."""

    occurrences: Occurrences
    stack: Stack
    x: np.ndarray  # of all records, in the CRS of the stack
    y: np.ndarray
    reason: np.ndarray  # the outcome of each record, an index into `REASONS`; 0 if it is kept so far
    record: np.ndarray  # which records are still in, in file order
    rows: np.ndarray  # with `cols`, the distinct cells that hold a record, in row-major order
    cols: np.ndarray
    cell: np.ndarray  # for each of `record`, its cell as an index into `rows` and `cols`
    turned: np.ndarray  # whether a record is outside, but would be inside a whole turn further east

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns to look up, for ``sample_background(..., lookup_cells=located.cells)``."""
        return self.rows, self.cols


@dataclass(frozen=True)
class CleanPoints:
    """The presences of one species."""

    species: str
    rows: np.ndarray
    cols: np.ndarray
    x: np.ndarray  # in the CRS of the stack; the centre of the new cell for those that were moved
    y: np.ndarray
    index: np.ndarray  # which records of the occurrences they are
    values: np.ndarray  # (m, V) of the layers

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: np.ndarray) -> "CleanPoints":
        """Return some of the presences, by index or by a boolean array."""
        names = ("rows", "cols", "x", "y", "index", "values")
        return replace(self, **{name: getattr(self, name)[which] for name in names})


@dataclass(frozen=True)
class Ledger:
    """Record cleaning summary by species: ``read`` is the sum of all drops and ``kept``; ``snapped`` counts the records
    moved off nodata (they are among the kept and the duplicates)."""

    counts: dict[str, dict[str, int]]  # by species, in order of appearance
    degrees: bool = True  # False if coordinates were taken for degrees but cannot be
    fate: pd.DataFrame = field(default_factory=pd.DataFrame)  # every row of the file, and what became of it
    turned: frozenset[str] = frozenset()  # species mostly west of layers beyond 180°, inside with longitude + 360

    def rows(self) -> list[dict[str, str | int]]:
        """Return one flat dictionary per species, for a table."""
        return [{"species": species, **count} for species, count in self.counts.items()]

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return the counts by species, for JSON."""
        return {species: dict(count) for species, count in self.counts.items()}

    def total(self) -> dict[str, int]:
        """Return the counts summed over species."""
        columns = next(iter(self.counts.values()), {})
        return {key: sum(count[key] for count in self.counts.values()) for key in columns}

    def describe(self, species: str) -> str:
        """Return in words where the dropped records of a species went; empty if none was dropped."""
        return f"{self._drops(species)}; {_TURNED}" if species in self.turned else self._drops(species)

    def _drops(self, species: str) -> str:
        """Return how many records of a species were dropped for what reason."""
        count = self.counts[species]
        return ", ".join(f"{count[key]:,} {words}" for key, words in _WORDS.items() if count[key])

    def check(self, species: str) -> None:
        """Raise DataError, saying where the records went, if a species has none left."""
        count = self.counts[species]
        if count["kept"]:
            return
        hint = "check --crs and the layers"
        if not self.degrees:
            hint = "the coordinates are not degrees, give their CRS with --crs (for instance --crs EPSG:25833)"
        elif species in self.turned:
            hint = _TURNED
        elif count["no_effort"]:
            hint = "the effort must be above 0 where the species was found, so check the bias raster"
        elif count["nodata"]:
            hint += ", or try --snap 1"
        raise DataError(f"{species}: none of {count['read']:,} records can be used ({self._drops(species)}): {hint}")


def locate(occurrences: Occurrences, stack: Stack, *, study_area: StudyArea | None = None) -> Located:
    """Find the cell of every record, and drop those that have none, or one outside the study area; reads no raster."""
    x, y = project(occurrences.x, occurrences.y, occurrences.crs, stack.crs)
    rows, cols = stack.rowcol(x, y)
    inside = rows >= 0
    # The first reason that applies counts, so the last to be written is the first in rank.
    reason = np.where(inside, KEPT, OUTSIDE).astype(np.int8)
    if study_area is not None:
        reason[inside] = np.where(study_area.contains(stack, rows[inside], cols[inside]), KEPT, OUTSIDE_AREA)
    turned = _turned(x, y, stack, inside)
    reason[_swapped(occurrences, stack, inside | turned)] = SWAPPED
    reason[(occurrences.x == 0) & (occurrences.y == 0)] = ZERO
    reason[~(np.isfinite(occurrences.x) & np.isfinite(occurrences.y))] = NO_COORDINATES
    record = np.flatnonzero(reason == KEPT)
    flat, cell = np.unique(rows[record] * stack.width + cols[record], return_inverse=True)
    return Located(occurrences, stack, x, y, reason, record, flat // stack.width, flat % stack.width, cell, turned)


def _turned(x: np.ndarray, y: np.ndarray, grid: Grid, inside: np.ndarray) -> np.ndarray:
    """Return which points are outside, but would be inside with 360° added: layers of 0 … 360°, points of ±180°."""
    if grid.crs is None or not grid.crs.is_geographic or grid.bounds[2] <= 180:
        return np.zeros(len(x), dtype=bool)
    return ~inside & (grid.rowcol(x + 360, y)[0] >= 0)


def _swapped(occurrences: Occurrences, grid: Grid, placed: np.ndarray) -> np.ndarray:
    """Return which records have no place, but would be one, or inside, if longitude and latitude were swapped."""
    x, y = occurrences.x, occurrences.y
    if not CRS.from_user_input(occurrences.crs).is_geographic:
        return np.zeros(len(x), dtype=bool)
    suspect = ~placed & (np.abs(x) <= 90) & (np.abs(y) <= 180)
    rows, _ = grid.rowcol(*project(y[suspect], x[suspect], occurrences.crs, grid.crs))
    suspect[suspect] = (np.abs(y[suspect]) > 90) | (rows >= 0)
    return suspect


def finish_cleaning(
    located: Located,
    values: np.ndarray,
    *,
    snap: float = 0,
    remove_duplicates: bool = True,
    effort: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    thinning: Thinning | None = None,
    uncertainty_column: str | None = None,
) -> tuple[dict[str, CleanPoints], Ledger]:
    """Drop records on nodata (or move them) and duplicates, thin, and divide the rest by species.

    `values` are the layers at ``located.cells``, (M, V), NaN for nodata. With `snap` a record on nodata moves to the
    nearest cell with data in all layers, at most this many cells away (between centres; the northernmost, then the
    westernmost of equally near ones). Of duplicates that with the least uncertain coordinates stays, then the first.
    Records where `effort`, called with rows and columns, is not above 0 are dropped. Species with no presence left are
    not among the points, and ``ledger.check(species)`` raises the error for these.
    """
    if not snap >= 0:
        raise OptionError(f"snap is {snap}: expected a number of cells, 0 or more")
    stack, reason = located.stack, located.reason.copy()
    rows, cols, values, moved = _snap(located, values, snap)
    record, cell = located.record, located.cell
    for why, good in ((NODATA, ~np.isnan(values).any(axis=1)), (NO_EFFORT, _looked_at(effort, rows, cols))):
        usable = good[cell]
        reason[record[~usable]] = why
        record, cell = record[usable], cell[usable]
    uncertainty = located.occurrences.uncertainty(uncertainty_column)
    code, names = pd.factorize(located.occurrences.species)
    if remove_duplicates:
        key = code[record] * stack.n_cells + rows[cell] * stack.width + cols[cell]
        first = one_of_each(key, None if uncertainty is None else uncertainty[record])
        reason[record[~first]] = DUPLICATE
        record, cell = record[first], cell[first]
    points = {}
    order = np.argsort(code[record], kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(code[record][order])) + 1):
        if len(members):
            i, c = record[members], cell[members]
            centre = stack.xy(rows[c], cols[c])
            x, y = (np.where(moved[c], mid, given[i]) for mid, given in zip(centre, (located.x, located.y)))
            name = str(names[code[i[0]]])
            presences = CleanPoints(name, rows[c], cols[c], x, y, i, values[c])
            if thinning is not None and thinning.active:
                points[name] = thin(presences, stack, thinning, None if uncertainty is None else uncertainty[i])
                reason[np.setdiff1d(i, points[name].index)] = THINNED
            else:
                points[name] = presences
    snapped = located.record[moved[located.cell]]
    return points, Ledger(
        counts=_count(located.occurrences, code, names, reason, snapped),
        degrees=_may_be_degrees(located.occurrences),
        fate=_fate(located.occurrences, reason, snapped),
        turned=_mostly(located.turned, code, names, reason),
    )


def _looked_at(
    effort: Callable[[np.ndarray, np.ndarray], np.ndarray] | None, rows: np.ndarray, cols: np.ndarray
) -> np.ndarray:
    """Return which cells have sampling effort."""
    if effort is None or not len(rows):
        return np.ones(len(rows), dtype=bool)
    with np.errstate(invalid="ignore"):
        return np.asarray(effort(rows, cols) > 0)


def thin(points: CleanPoints, stack: Stack, thinning: Thinning, uncertainty: np.ndarray | None = None) -> CleanPoints:
    """Leave out presences of a species that lie close to others: first in the environment, then in space."""
    thinning.check(stack.names)
    if thinning.bins:
        names = thinning.variables or stack.names
        at = [stack.names.index(name) for name in names]
        classes = np.array([name in stack.categorical for name in names])
        keep = thin_by_bins(points.values[:, at], thinning.bins, categorical=classes, uncertainty=uncertainty)
        points, uncertainty = points.take(keep), None if uncertainty is None else uncertainty[keep]
    if thinning.distance:
        from sdm.data.records.spacing import thin_by_distance

        lon, lat = to_lonlat(points.x, points.y, stack, "thinning by distance")
        seed, tries = thinning.seed_of(points.species), thinning.tries
        keep = thin_by_distance(lon, lat, thinning.distance, tries=tries, seed=seed, uncertainty=uncertainty)
        points = points.take(keep)
    return points


def clean(
    occurrences: Occurrences,
    stack: Stack,
    *,
    snap: float = 0,
    remove_duplicates: bool = True,
    study_area: StudyArea | None = None,
) -> tuple[dict[str, CleanPoints], Ledger]:
    """Clean the records of all species against a stack, in one call; at least one species must have a record left."""
    located = locate(occurrences, stack, study_area=study_area)
    values = stack.sample(*located.cells)
    points, ledger = finish_cleaning(located, values, snap=snap, remove_duplicates=remove_duplicates)
    if not points:
        ledger.check(next(iter(ledger.counts)))
    return points, ledger


def _snap(located: Located, values: np.ndarray, snap: float) -> tuple[np.ndarray, ...]:
    """Return rows, columns and values of the cells after moving those without data, and which were moved."""
    rows, cols, values = located.rows.copy(), located.cols.copy(), values.copy()
    moved = np.zeros(len(rows), dtype=bool)
    bad = np.flatnonzero(np.isnan(values).any(axis=1))
    reach, stack = int(snap), located.stack
    dr, dc = (part.ravel() for part in np.mgrid[-reach : reach + 1, -reach : reach + 1])
    distance = dr**2 + dc**2
    order = np.lexsort((dc, dr, distance))
    order = order[(distance[order] > 0) & (distance[order] <= snap**2)]
    step = max(1, 1_000_000 // max(1, len(order)))  # bounds the memory
    for start in range(0, len(bad) if len(order) else 0, step):
        batch = bad[start : start + step]
        r, c = rows[batch, None] + dr[order], cols[batch, None] + dc[order]
        inside = (r >= 0) & (r < stack.height) & (c >= 0) & (c < stack.width)
        flat, back = np.unique(r[inside] * stack.width + c[inside], return_inverse=True)
        sampled = stack.sample(flat // stack.width, flat % stack.width)
        good = np.zeros(r.shape, dtype=bool)
        good[inside] = ~np.isnan(sampled).any(axis=1)[back]
        hit = np.flatnonzero(good.any(axis=1))
        nearest = good[hit].argmax(axis=1)
        rows[batch[hit]], cols[batch[hit]] = r[hit, nearest], c[hit, nearest]
        values[batch[hit]] = sampled[np.searchsorted(flat, r[hit, nearest] * stack.width + c[hit, nearest])]
        moved[batch[hit]] = True
    return rows, cols, values, moved


def _count(
    occurrences: Occurrences, code: np.ndarray, names: np.ndarray, reason: np.ndarray, snapped: np.ndarray
) -> dict[str, dict[str, int]]:
    """Count records by species and by outcome; those that were left out on reading are among them."""
    width = len(REASONS)
    table = np.bincount(code * width + reason, minlength=len(names) * width).reshape(-1, width)
    moved = np.bincount(code[snapped], minlength=len(names))
    left = occurrences.left_out.groupby(["species", "kind"]).size().to_dict()
    counts = {}
    for name, line, moves in zip(names, table, moved):
        before = {kind: int(left.get((name, kind), 0)) for kind in (UNREADABLE, FILTERED)}
        after = {REASONS[k]: int(line[k]) for k in range(1, width)}
        read = int(line.sum()) + sum(before.values())
        counts[str(name)] = {"read": read, **before, **after, "snapped": int(moves), "kept": int(line[KEPT])}
    return counts


def _fate(occurrences: Occurrences, reason: np.ndarray, snapped: np.ndarray) -> pd.DataFrame:
    """Return a line for every row of the file, in its order: what tells it apart, what became of it, and why."""
    code = reason.astype(np.int64)
    code[snapped[reason[snapped] == KEPT]] = len(REASONS)
    words = ["", *(_WORDS[key] for key in REASONS[1:]), MOVED]
    return with_left_out(with_fate(occurrences.lines(), code, words), occurrences.left_out)


def _mostly(turned: np.ndarray, code: np.ndarray, names: np.ndarray, reason: np.ndarray) -> frozenset[str]:
    """Return the species more than half of whose records with coordinates are outside by a whole turn."""
    placed = np.bincount(code[reason != NO_COORDINATES], minlength=len(names))
    away = np.bincount(code[turned & (reason == OUTSIDE)], minlength=len(names))
    return frozenset(str(name) for name in names[2 * away > placed])


def _may_be_degrees(occurrences: Occurrences) -> bool:
    """Whether the coordinates can be what their CRS says: not so if most are degrees beyond a full turn."""
    x = occurrences.x[np.isfinite(occurrences.x)]
    geographic = CRS.from_user_input(occurrences.crs).is_geographic
    return not (geographic and len(x) and np.median(np.abs(x)) > 360)
