"""From records to presences in cells, with a summary of the cleaning.

Cleaning has two steps, so that the rasters are read once: `locate` does all that needs no values, then whoever reads
the rasters looks up the values at `Located.cells`, then `finish_cleaning` does the rest. `clean` does all in one call.
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
    flag_coordinates,
    flag_words,
    impossible,
    in_the_sea,
    tell_suspicious,
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
REASONS = ("kept", *list(_WORDS)[2:])  # the outcome of cleaning a record, by code; but for the first, why it is dropped
(KEPT, NO_COORDINATES, ZERO, IMPOSSIBLE, SWAPPED, OUTSIDE, EQUAL, WHOLE, REPEATED, OUTSIDE_AREA, IN_SEA, NODATA,
 NO_EFFORT, DUPLICATE, THINNED) = range(len(REASONS))  # fmt: skip
_DROPPED = {"equal": EQUAL, "whole": WHOLE, "repeated": REPEATED}  # the reasons of flags, where they are dropped for it
_CERTAIN = sum(bit for name, bit in BITS.items() if name not in _DROPPED)


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
    turned: np.ndarray  # whether 360° were added to a record's longitude, or subtracted, to bring it to the layers
    flags: np.ndarray  # of suspicious coordinates, bits of `sdm.data.records.suspicious`; 0 if they are not looked for
    suspicion: Suspicion | None = None

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns to look up, for ``sample_background(..., lookup_cells=located.cells)``."""
        return self.rows, self.cols

    def tell_turned(self, what: str = "records") -> list[str]:
        """Return a line about longitudes that were brought to the convention of the layers; none if none was."""
        left, _, right, _ = self.stack.bounds
        layers, count = f"the longitudes of the layers ({left:g} … {right:g}°)", int(np.count_nonzero(self.turned))
        return [f"the longitudes of {count:,} {what} were shifted by 360° to {layers}"] if count else []


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

    def take(self, which: np.ndarray) -> CleanPoints:
        """Return some of the presences, by index or by a boolean array."""
        return take_rows(self, which, ("rows", "cols", "x", "y", "index", "values"))


@dataclass(frozen=True)
class Ledger:
    """Record cleaning summary by species: ``read`` is the sum of all drops and ``kept``; ``snapped`` counts the records
    moved off nodata (they are among the kept and the duplicates)."""

    counts: dict[str, dict[str, int]]  # by species, in order of appearance
    degrees: bool = True  # False if coordinates were taken for degrees but cannot be
    fate: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())  # every row of the file, and its fate
    flags: np.ndarray | None = None  # of all records, in file order; None if suspicious ones were not looked for
    suspicious: tuple[str, ...] = ()  # a line about them; "{}" stands for what the points are
    turned: tuple[str, ...] = ()  # a line about longitudes brought to the convention of the layers

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
        """Return in words where the dropped records of a species went; empty if none was dropped."""
        count = self.counts[species]
        return ", ".join(f"{count[key]:,} {words}" for key, words in _WORDS.items() if count[key])

    def notices(self, what: str = "records") -> list[str]:
        """Return what is to be said of all records together: longitudes that were turned, suspicious coordinates."""
        return [text.format(what) for text in self.turned] + self.suspicions(what)

    def suspicions(self, what: str = "records") -> list[str]:
        """Return a line about suspicious coordinates; none if there are none, or they were not looked for."""
        return [text.format(what) for text in self.suspicious]

    def check(self, species: str) -> None:
        """Raise DataError, saying where the records went, if a species has none left."""
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
    """Find the cell of every record, and drop those that have none, or one outside the study area; reads no raster.

    Longitudes are brought to the convention of the layers, such as 0 … 360°. With `suspicion` records with suspicious
    coordinates are flagged, and those that it names are dropped.
    """
    given, y = reproject(occurrences.x, occurrences.y, occurrences.crs, stack.crs)
    x = stack.turned(given)
    rows, cols = stack.rowcol(x, y)
    inside = rows >= 0
    turned = inside & (x != given)
    x = np.where(turned, x, given)
    flags, plane = np.zeros(len(x), dtype=np.uint8), stack.is_plane
    degrees = CRS.from_user_input(occurrences.crs).is_geographic and not plane
    if suspicion is not None and not plane:
        flags = flag_coordinates(occurrences, names=suspicion.names, degrees=degrees and stack.crs is not None)
    # The first reason that applies counts, so the last to be written is the first in rank.
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
    if not plane:  # where (0, 0) is a place as any other
        reason[(occurrences.x == 0) & (occurrences.y == 0)] = ZERO
    reason[~(np.isfinite(occurrences.x) & np.isfinite(occurrences.y))] = NO_COORDINATES
    record = np.flatnonzero(reason == KEPT)
    flat, cell = np.unique(rows[record] * stack.width + cols[record], return_inverse=True)
    cells = flat // stack.width, flat % stack.width, cell
    return Located(occurrences, stack, x, y, reason, record, *cells, turned, flags, suspicion)


def _swapped(occurrences: Occurrences, grid: Grid, placed: np.ndarray) -> np.ndarray:
    """Return which records, in degrees, are outside, but would be inside if longitude and latitude were swapped."""
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

    `values` are the layers at ``located.cells``, (M, V), NaN for nodata. With `snap` a record on nodata moves to the
    nearest cell with data in all layers, at most this many cells away (between centres; the northernmost, then the
    westernmost of equally near ones). Of duplicates that with the least uncertain coordinates stays, then the first.
    Records where `effort`, called with rows and columns, is not above 0 are dropped. With `partial`, records that have
    data in one layer at least are kept, with NaN. Species with no presence left are
    not among the points, and ``ledger.check(species)`` raises the error for these.
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
    usable_cells = {IN_SEA: ~sea, NODATA: ~empty, NO_EFFORT: _looked_at(effort, rows, cols)}
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
    # Of a record that is dropped for another reason it does not matter that it has equal coordinates too.
    lost = ~np.isin(reason, (KEPT, *_DROPPED.values(), DUPLICATE, THINNED))
    return points, Ledger(
        counts=_count(located.occurrences, code, names, reason, snapped),
        degrees=_may_be_degrees(located.occurrences),
        fate=_fate(located.occurrences, reason, snapped, flags),
        flags=flags if located.suspicion is not None else None,
        suspicious=tuple(tell_suspicious(np.where(lost, flags & _CERTAIN, flags), dropped, "{}")),
        turned=tuple(located.tell_turned("{}")),
    )


def _by_species(code: np.ndarray, record: np.ndarray, cell: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the records of each species that has some, and their cells."""
    order = np.argsort(code[record], kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(code[record][order])) + 1):
        if len(members):
            yield record[members], cell[members]


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
        names = thinning.variables or without_place(stack.names)
        at = [stack.names.index(name) for name in names]
        classes = np.array([name in stack.categorical for name in names])
        keep = thin_by_bins(points.values[:, at], thinning.bins, categorical=classes, uncertainty=uncertainty)
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
    """Clean the records of all species against a stack, in one call; at least one species must have a record left."""
    located = locate(occurrences, stack, study_area=study_area, suspicion=suspicion)
    values = stack.sample(*located.cells)
    points, ledger = finish_cleaning(located, values, snap=snap, remove_duplicates=remove_duplicates)
    if not points:
        ledger.check(next(iter(ledger.counts)))
    return points, ledger


def _snap(located: Located, values: np.ndarray, snap: float, lost: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return rows, columns and values of the cells after moving those without data, and which were moved; those that
    are `lost` are not."""
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


def _fate(occurrences: Occurrences, reason: np.ndarray, snapped: np.ndarray, flags: np.ndarray) -> pd.DataFrame:
    """Return a line for every row of the file, in its order: what tells it apart, its fate, and why; and what
    is suspicious about its coordinates."""
    code = reason.astype(np.int64)
    code[snapped[reason[snapped] == KEPT]] = len(REASONS)
    words = ["", *(_WORDS[key] for key in REASONS[1:]), MOVED]
    lines = with_fate(occurrences.lines(), code, words).assign(flags=flag_words(flags))
    return with_left_out(lines, occurrences.left_out)


def _may_be_degrees(occurrences: Occurrences) -> bool:
    """Whether the coordinates can be what their CRS says: not so if most are degrees beyond a full turn."""
    x = occurrences.x[np.isfinite(occurrences.x)]
    geographic = CRS.from_user_input(occurrences.crs).is_geographic
    return not (geographic and len(x) and np.median(np.abs(x)) > 360)
