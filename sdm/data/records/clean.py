"""Clean records: from records to presences in cells, with a summary of the cleaning.

Cleaning has two steps, so that the rasters are read once. `locate` does everything that needs no values; the caller
reads the values at `Located.cells`; `finish_cleaning` does the rest. `clean` does all in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from rasterio.crs import CRS

from sdm.data.crs import reproject
from sdm.data.place import without_place
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.cells import disc, neighbours
from sdm.data.rasters.grid import Grid, to_lonlat
from sdm.data.rasters.stack import Stack
from sdm.data.records.frames import pd, take_rows
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.rows import FILTERED, MOVED, UNREADABLE, with_fate, with_left_out
from sdm.data.records.suspicious import (
    BITS,
    SEA_CELLS,
    Suspicion,
    describe_suspicious,
    flag_coordinates,
    flag_words,
    impossible,
    in_the_sea,
)
from sdm.data.records.thinning import Thinning, one_of_each, thin_by_bins, thin_by_distance
from sdm.errors import OptionError, UnusableRecordsError

_WORDS = {
    UNREADABLE: "that cannot be read",
    FILTERED: "dropped by filters",
    "no_coordinates": "without coordinates",
    "zero_coordinates": "at (0, 0)",
    "impossible": "with a latitude beyond ±90° or a longitude beyond ±360°",
    "swapped": "with longitude and latitude probably swapped",
    "outside_extent": "outside the extent of the layers",
    "equal_coordinates": "with longitude equal to latitude",
    "whole_degrees": "at whole degrees",
    "repeated_point": "at one point of many species",
    "outside_area": "outside the study area",
    "in_the_sea": "on nodata and far from any cell with data",
    "nodata": "on nodata",
    "no_effort": "where the sampling effort is zero or missing",
    "duplicates": "in a cell that had one already",
    "thinned": "dropped by thinning",
}
REASONS = ("kept", *list(_WORDS)[2:])  # outcomes of cleaning by code; all but the first are reasons for dropping
(KEPT, NO_COORDINATES, ZERO, IMPOSSIBLE, SWAPPED, OUTSIDE, EQUAL, WHOLE, REPEATED, OUTSIDE_AREA, IN_SEA, NODATA,
 NO_EFFORT, DUPLICATE, THINNED) = range(len(REASONS))  # fmt: skip
_DROPPED = {"equal": EQUAL, "whole": WHOLE, "repeated": REPEATED}  # reasons of optional flags
_CERTAIN = sum(bit for name, bit in BITS.items() if name not in _DROPPED)


@dataclass(frozen=True)
class Located:
    """The n records in their cells, before any raster is read."""

    occurrences: Occurrences
    stack: Stack
    x: np.ndarray  # of all records, in the CRS of the stack
    y: np.ndarray
    reason: np.ndarray  # outcome of each record, an index into `REASONS`; 0 if it is kept so far
    record: np.ndarray  # indices of the remaining records, in file order
    rows: np.ndarray  # with `cols`, the distinct cells with records, in row-major order
    cols: np.ndarray
    cell: np.ndarray  # for each of `record`, its cell as an index into `rows` and `cols`
    turned: np.ndarray  # mask of records with longitudes shifted by 360° to the range of the layers
    flags: np.ndarray  # suspicious coordinates, bits of `sdm.data.records.suspicious`; 0 without `suspicion`
    suspicion: Suspicion | None = None

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns to look up, for ``sample_background(..., lookup_cells=located.cells)``."""
        return self.rows, self.cols

    def describe_turned(self, noun: str = "records") -> list[str]:
        """Return a line about longitudes that were shifted to the convention of the layers; none if none were."""
        left, _, right, _ = self.stack.bounds
        layers, count = f"the longitudes of the layers ({left:g} … {right:g}°)", int(np.count_nonzero(self.turned))
        return [f"the longitudes of {count:,} {noun} were shifted by 360° to {layers}"] if count else []


@dataclass(frozen=True)
class CleanPoints:
    """The presences of one species."""

    species: str
    rows: np.ndarray
    cols: np.ndarray
    x: np.ndarray  # in the CRS of the stack; the centre of the new cell if the record was moved
    y: np.ndarray
    index: np.ndarray  # indices of the records in the occurrences
    values: np.ndarray  # (m, V) of the layers

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: np.ndarray) -> CleanPoints:
        """Return some presences, by index or by a boolean array."""
        return take_rows(self, which, ("rows", "cols", "x", "y", "index", "values"))


@dataclass(frozen=True)
class Ledger:
    """Record cleaning summary by species.

    ``read`` is the sum of all drops and ``kept``; ``snapped`` counts the records that were moved off nodata, which are
    kept or duplicates.
    """

    counts: dict[str, dict[str, int]]  # by species, in order of appearance
    degrees: bool = True  # False if coordinates cannot be degrees, against their CRS
    fate: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())  # the record log
    flags: np.ndarray | None = None  # of all records, in file order; None if they were not computed
    suspicious: tuple[str, ...] = ()  # a line about them; "{}" stands for the noun of the points
    turned: tuple[str, ...] = ()  # a line about longitudes that were shifted to the convention of the layers

    def only(self, species: str) -> Ledger:
        """Return the counts of one species."""
        counts = {species: self.counts[species]} if species in self.counts else {}
        return Ledger(counts, self.degrees)

    def rows(self) -> list[dict[str, str | int]]:
        """Return one flat dictionary per species, for a table."""
        return [{"species": species, **count} for species, count in self.counts.items()]

    def total(self) -> dict[str, int]:
        """Return the counts summed over species."""
        columns = next(iter(self.counts.values()), {})
        return {key: sum(count[key] for count in self.counts.values()) for key in columns}

    def describe(self, species: str) -> str:
        """Return the numbers of dropped records of a species with reasons; empty if none was dropped."""
        count = self.counts[species]
        return ", ".join(f"{count[key]:,} {words}" for key, words in _WORDS.items() if count[key])

    def notices(self, noun: str = "records") -> list[str]:
        """Return lines about all records together: shifted longitudes, suspicious coordinates."""
        return [text.format(noun) for text in self.turned] + self.suspicions(noun)

    def suspicions(self, noun: str = "records") -> list[str]:
        """Return a line about suspicious coordinates; none without any, or if they were not computed."""
        return [text.format(noun) for text in self.suspicious]

    def check(self, species: str) -> None:
        """Raise DataError, with the reasons, if a species has no record left."""
        count = self.counts[species]
        if count["kept"]:
            return
        hint = "check --crs and the layers"
        if not self.degrees:
            hint = "the coordinates are not degrees, so name their system with --crs (for example --crs EPSG:25833)"
        elif count["no_effort"]:
            hint = "the sampling effort must be above 0 at the records, so check the bias raster"
        elif count["nodata"]:
            hint += ", or try --snap 1"
        raise UnusableRecordsError(
            f"{species}: none of {count['read']:,} records can be used ({self.describe(species)}): {hint}"
        )


def locate(
    occurrences: Occurrences,
    stack: Stack,
    *,
    study_area: StudyArea | None = None,
    suspicion: Suspicion | None = None,
) -> Located:
    """Find the cell of every record, and drop records without a cell or outside the study area; no raster is read.

    Longitudes are shifted to the convention of the layers, such as 0 … 360°. With `suspicion`, records with suspicious
    coordinates are flagged, and dropped if it names their flag.
    """
    longitude, y = reproject(occurrences.x, occurrences.y, occurrences.crs, stack.crs)
    x = stack.turned(longitude)
    rows, cols = stack.rowcol(x, y)
    inside = rows >= 0
    turned = inside & (x != longitude)
    x = np.where(turned, x, longitude)
    flags, plane = np.zeros(len(x), dtype=np.uint8), stack.is_plane
    degrees = CRS.from_user_input(occurrences.crs).is_geographic and not plane
    if suspicion is not None and not plane:
        flags = flag_coordinates(occurrences, names=suspicion.names, degrees=degrees and stack.crs is not None)
    # Reasons in increasing priority: later ones replace earlier ones.
    reason = np.where(inside, KEPT, OUTSIDE).astype(np.int8)
    if study_area is not None:
        reason[inside] = np.where(study_area.contains(stack, rows[inside], cols[inside]), KEPT, OUTSIDE_AREA)
    for name, why in reversed(_DROPPED.items()):
        if suspicion is not None and name in suspicion.drop:
            reason[inside & (flags & BITS[name] > 0)] = why
    if degrees:
        swapped = _swapped(occurrences, stack, inside)
        reason[swapped] = SWAPPED
        flags[swapped] |= BITS["swapped"]
    if degrees and stack.crs is not None:
        reason[impossible(occurrences.x, occurrences.y)] = IMPOSSIBLE
    if not plane:  # (0, 0) is a valid point of a plane
        reason[(occurrences.x == 0) & (occurrences.y == 0)] = ZERO
    reason[~(np.isfinite(occurrences.x) & np.isfinite(occurrences.y))] = NO_COORDINATES
    record = np.flatnonzero(reason == KEPT)
    flat, cell = np.unique(rows[record] * stack.width + cols[record], return_inverse=True)
    cells = flat // stack.width, flat % stack.width, cell
    return Located(occurrences, stack, x, y, reason, record, *cells, turned, flags, suspicion)


def _swapped(occurrences: Occurrences, grid: Grid, placed: np.ndarray) -> np.ndarray:
    """Return a mask of records outside that would be inside with longitude and latitude swapped."""
    x, y = occurrences.x, occurrences.y
    suspect = ~placed & (np.abs(x) <= 90) & (np.abs(y) <= 90)
    east, north = reproject(y[suspect], x[suspect], occurrences.crs, grid.crs)
    suspect[suspect] = grid.rowcol(grid.turned(east), north)[0] >= 0
    return np.asarray(suspect)


def finish_cleaning(
    located: Located,
    values: np.ndarray,
    *,
    snap: float = 0,
    remove_duplicates: bool = True,
    effort: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    thinning: Thinning | None = None,
    uncertainty_column: str | None = None,
    partial: bool = False,
) -> tuple[dict[str, CleanPoints], Ledger]:
    """Drop records on nodata (or move them) and duplicates, thin, and divide the rest by species.

    `values` are the layers at ``located.cells``, (M, V), NaN for nodata. With `snap`, a record on nodata moves to the
    nearest cell with data in all layers, at most this many cells away (between centres; ties: the northernmost, then
    the westernmost). Of duplicates, the one with the least uncertain coordinates is kept, then the first. Records are
    dropped unless `effort`, called with rows and columns, is positive. With `partial`, records with data in at least
    one layer are kept, with NaN. Species without presences are not among the points, and ``ledger.check(species)``
    raises their error.
    """
    if not snap >= 0:
        raise OptionError(f"occurrences.snap={snap}: expected a number of cells, 0 or more")
    stack, reason = located.stack, located.reason.copy()
    record, cell, flags = located.record, located.cell, located.flags.copy()
    dropped: frozenset[str] = frozenset()
    sea = np.zeros(len(located.rows), dtype=bool)
    if located.suspicion is not None:
        dropped = located.suspicion.drop
        sea = in_the_sea(stack, located.rows, located.cols, values)
        flags[record[sea[cell]]] |= BITS["sea"]
        sea &= "sea" in dropped
        dropped |= {"sea"} if snap <= SEA_CELLS else set()  # on nodata, and not moved
    rows, cols, values, moved = _snap(located, values, snap, sea)
    empty = np.isnan(values).all(axis=1) if partial else np.isnan(values).any(axis=1)
    usable_cells = {IN_SEA: ~sea, NODATA: ~empty, NO_EFFORT: _has_effort(effort, rows, cols)}
    for why, good in usable_cells.items():
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
    for i, c in _by_species(code, record, cell):
        centre = stack.xy(rows[c], cols[c])
        x, y = (np.where(moved[c], middle, recorded[i]) for middle, recorded in zip(centre, (located.x, located.y)))
        name = str(names[code[i[0]]])
        points[name] = CleanPoints(name, rows[c], cols[c], x, y, i, values[c])
        if thinning is not None and thinning.active:
            points[name] = thin(points[name], stack, thinning, None if uncertainty is None else uncertainty[i])
            reason[np.setdiff1d(i, points[name].index)] = THINNED
    snapped = located.record[moved[located.cell]]
    # For records that are dropped for another reason, optional flags are not counted.
    lost = ~np.isin(reason, (KEPT, *_DROPPED.values(), DUPLICATE, THINNED))
    return points, Ledger(
        counts=_count(located.occurrences, code, names, reason, snapped),
        degrees=_may_be_degrees(located.occurrences),
        fate=_fate(located.occurrences, reason, snapped, flags),
        flags=flags if located.suspicion is not None else None,
        suspicious=tuple(describe_suspicious(np.where(lost, flags & _CERTAIN, flags), dropped, "{}")),
        turned=tuple(located.describe_turned("{}")),
    )


def _by_species(code: np.ndarray, record: np.ndarray, cell: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the records of each species with any, and their cells."""
    order = np.argsort(code[record], kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(code[record][order])) + 1):
        if len(members):
            yield record[members], cell[members]


def _has_effort(
    effort: Callable[[np.ndarray, np.ndarray], np.ndarray] | None, rows: np.ndarray, cols: np.ndarray
) -> np.ndarray:
    """Return a mask of cells with sampling effort."""
    if effort is None or not len(rows):
        return np.ones(len(rows), dtype=bool)
    with np.errstate(invalid="ignore"):
        return np.asarray(effort(rows, cols) > 0)


def thin(points: CleanPoints, stack: Stack, thinning: Thinning, uncertainty: np.ndarray | None = None) -> CleanPoints:
    """Thin the presences of a species, first in the environment, then in space."""
    thinning.check(stack.names)
    if thinning.bins:
        names = thinning.variables or without_place(stack.names)
        columns = [stack.names.index(name) for name in names]
        classes = np.array([name in stack.categorical for name in names])
        keep = thin_by_bins(points.values[:, columns], thinning.bins, categorical=classes, uncertainty=uncertainty)
        points, uncertainty = points.take(keep), None if uncertainty is None else uncertainty[keep]
    if thinning.distance:
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
    suspicion: Suspicion | None = None,
) -> tuple[dict[str, CleanPoints], Ledger]:
    """Clean the records of all species with a stack, in one call; raise if no species has a record left."""
    located = locate(occurrences, stack, study_area=study_area, suspicion=suspicion)
    values = stack.sample(*located.cells)
    points, ledger = finish_cleaning(located, values, snap=snap, remove_duplicates=remove_duplicates)
    if not points:
        ledger.check(next(iter(ledger.counts)))
    return points, ledger


def _snap(located: Located, values: np.ndarray, snap: float, lost: np.ndarray) -> tuple[np.ndarray, ...]:
    """Move cells without data, except `lost` ones; return rows, columns and values of all cells, and a mask of moved
    ones."""
    rows, cols, values = located.rows.copy(), located.cols.copy(), values.copy()
    moved = np.zeros(len(rows), dtype=bool)
    bad = np.flatnonzero(np.isnan(values).any(axis=1) & ~lost)
    stack, (dr, dc) = located.stack, disc(snap)
    step = max(1, 1_000_000 // max(1, len(dr)))  # bounds the memory
    for start in range(0, len(bad) if len(dr) else 0, step):
        batch = bad[start : start + step]
        r, c, inside = neighbours(stack, rows[batch], cols[batch], dr, dc)
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
    """Count records by species and outcome, including rows that were dropped on reading."""
    width = len(REASONS)
    table = np.bincount(code * width + reason, minlength=len(names) * width).reshape(-1, width)
    moved = np.bincount(code[snapped], minlength=len(names))
    dropped = occurrences.left_out.groupby(["species", "kind"]).size().to_dict()
    counts = {}
    for name, line, moves in zip(names, table, moved):
        before = {kind: int(dropped.get((name, kind), 0)) for kind in (UNREADABLE, FILTERED)}
        after = {REASONS[k]: int(line[k]) for k in range(1, width)}
        read = int(line.sum()) + sum(before.values())
        counts[str(name)] = {"read": read, **before, **after, "snapped": int(moves), "kept": int(line[KEPT])}
    return counts


def _fate(occurrences: Occurrences, reason: np.ndarray, snapped: np.ndarray, flags: np.ndarray) -> pd.DataFrame:
    """Return the record log: a line per row of the file, in its order, with identifier, outcome, reason and flags of
    suspicious coordinates."""
    code = reason.astype(np.int64)
    code[snapped[reason[snapped] == KEPT]] = len(REASONS)
    words = ["", *(_WORDS[key] for key in REASONS[1:]), MOVED]
    lines = with_fate(occurrences.lines(), code, words).assign(flags=flag_words(flags))
    return with_left_out(lines, occurrences.left_out)


def _may_be_degrees(occurrences: Occurrences) -> bool:
    """Whether the coordinates can be degrees, if their CRS is geographic: not if most exceed a full turn."""
    x = occurrences.x[np.isfinite(occurrences.x)]
    geographic = CRS.from_user_input(occurrences.crs).is_geographic
    return not (geographic and len(x) and np.median(np.abs(x)) > 360)
