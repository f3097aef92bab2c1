"""Partition of the records or survey sites of a run: test data, folds, or replicates."""

import logging
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdm.assess.splits.folds import Fold, Split, by_group, located
from sdm.assess.splits.methods import labelled_folds, split_table
from sdm.assess.variables.variogram import Autocorrelation, kilometres, measure_autocorrelation
from sdm.data.place import is_place
from sdm.data.rasters.globe import in_one_piece, near, seam
from sdm.data.rasters.grid import to_lonlat
from sdm.data.rasters.stack import Stack
from sdm.data.site_folds import check_folds, fold_numbers, number_sites, training_rows
from sdm.data.site_sample import SiteSample
from sdm.data.table import SampleTable
from sdm.errors import BadValueError, ConflictError, CrsError, DataError, InapplicableError, TooFewError
from sdm.options.definitions import RunOptions
from sdm.options.fitting import TestOptions
from sdm.options.rules import WHOLE_BACKGROUND
from sdm.types import Array, Index, Numbers

log = logging.getLogger("sdm")
TableT = TypeVar("TableT")
TestT = TypeVar("TestT")

FOLDS = 5  # default number of parts
SUBSAMPLE = 25.0  # in percent
ENOUGH = 500  # points for variograms: background is added to fewer records
SMALLER = 12  # times that blocks are reduced by a fifth, until the records are in enough of them


@dataclass(frozen=True)
class Plan(Generic[TableT, TestT]):
    """The data of one model, divided into training data, test data and folds."""

    table: TableT
    test: TestT | None
    split: Split | None


TestRecords = tuple[Array, Array, Array]
"""Values, x and y of the test records of a species."""
RecordPlan = Plan[SampleTable, TestRecords]
"""The records of one species, divided."""


def set_aside(table: SampleTable, options: RunOptions) -> tuple[SampleTable, TestRecords | None]:
    """Divide the presences at random by `test.percent`: training data, and values, x and y of test records.

    At least one is held out and at least two remain. For replicates by subsampling, the percentage applies to them, and
    all presences are training data.
    """
    percent, m = options.test.percent, table.n_presences
    if percent == 0 or options.test.division == "subsample":
        return table, None
    count = min(max(1, round(m * percent / 100)), m - 2)
    if count < 1:
        raise TooFewError(f"{table.species}: {m} presences are too few for {percent:g} % of test records")
    out = np.zeros(m, dtype=bool)
    out[np.random.default_rng([options.seed, 1]).permutation(m)[:count]] = True
    return table.take(~out), (table.presence[out], table.presence_x[out], table.presence_y[out])


def make_split(table: SampleTable, options: RunOptions, stack: Stack | None = None) -> Split | None:
    """Divide a table for validation by the options; None without validation.

    A checkerboard consists of cells of the layers, and distances are measured in their coordinates; coordinates of
    tables are degrees.
    """
    how = options.test.division
    if how is None:
        return None
    try:
        return _divide(table, options, how, stack)
    except DataError as error:
        raise DataError(f"{table.species}: {error}", code=error.code) from error


def _divide(
    table: SampleTable,
    options: RunOptions,
    how: str,
    stack: Stack | None,
    noun: str = "records",
    strata: Index | None = None,
) -> Split:
    """Divide a table; measure the block size first if requested or missing.

    If records are in fewer blocks than folds, blocks are reduced, and a note reports it.
    """
    arguments, placed = _arguments(table, options, how, stack) | {"noun": noun}, _placed(table, how, stack)
    arguments |= {} if strata is None else {"strata": strata}
    if how != "block" or isinstance(options.test.block_size, float):
        return split_table(placed, how, **arguments)
    if options.test.block_size is None:
        needs = "test.split=block needs the side of a square in km: add --block-size"
        try:
            blocks = _measure_blocks(table, options, stack, noun)
        except DataError:
            raise ConflictError(f"{needs}, as in --block-size 100") from None
        hint = f"--block-size {_rounded(blocks.size_km)} (or auto)"
        raise ConflictError(f"{needs}. The variables at these {noun} suggest {hint}: {blocks.text}")
    blocks = _measure_blocks(table, options, stack, noun)
    side = blocks.size_km
    for _ in range(SMALLER):
        try:
            split = split_table(placed, how, **arguments | {"size": side})
            break
        except DataError as error:
            wrong, side = error, 0.8 * side
    else:
        raise wrong
    if side < blocks.size_km:
        was = f"the {noun} lie in too few blocks of {kilometres(blocks.size_km)} km, so blocks are smaller"
        blocks = replace(blocks, size_km=side, note="; ".join(filter(None, [blocks.note, was])))
    return replace(split, blocks=blocks)


def _measure_blocks(table: SampleTable, options: RunOptions, stack: Stack | None, noun: str) -> Autocorrelation:
    """Measure the range of autocorrelation at the records, with background points if there are few."""
    columns = [v for v, name in enumerate(table.names) if name not in table.categorical and not is_place(name)]
    x, y, values = table.presence_x, table.presence_y, table.presence
    if len(x) < ENOUGH and table.background is not table.presence:
        added = np.random.default_rng([options.seed, 23]).permutation(table.n_background)[: ENOUGH - len(x)]
        x, y = np.concatenate([x, table.background_x[added]]), np.concatenate([y, table.background_y[added]])
        values = np.vstack([values, table.background[added]])
        noun = f"{noun} and background points"
    located(np.column_stack([x, y]), np.empty((0, 2)), noun)
    lonlat = np.column_stack(_degrees(x, y, stack, "test.split=block"))
    names = [table.names[v] for v in columns]
    return measure_autocorrelation(lonlat, values[:, columns], names, seed=options.seed, noun=noun)


def _rounded(km: float) -> str:
    """Return a distance rounded to two digits."""
    return f"{float(f'{km:.2g}'):g}"


def set_sites_aside(sites: SiteSample, options: RunOptions) -> NDArray[np.bool_]:
    """Return the mask of training rows by `test.percent`, with all visits to a site together; all rows if it is 0.

    A share of the sites of every class is held out, and two of each remain. For replicates by subsampling, the
    percentage applies to them, and all sites are training data.
    """
    percent = options.test.percent
    if percent == 0 or options.test.division == "subsample":
        return np.ones(len(sites), dtype=bool)
    label, rng = _drawing(sites, options)
    train = training_rows(label, percent, rng, sites.group)
    sites.check_part(np.flatnonzero(train), np.flatnonzero(~train), "--test-percent")
    return train


def split_sites(sites: SiteSample, options: RunOptions, stack: Stack | None = None) -> Split | None:
    """Divide survey sites for validation by the options, with all visits to a site together; None without validation.

    Random partitions are stratified by class. The location of a site is the location of its first visit. Folds of a
    column of the user (`own`) are used visit by visit, with a warning if a site is in several folds. Raise for
    impossible options before any fit.
    """
    how, test = options.test.division, options.test
    if how is None:
        return None
    if test.validation_background == "partition":
        raise InapplicableError("test.validation_background=partition does not apply to sites: remove it")
    if how == "own":
        split = labelled_folds(_fold_labels(sites, test), noun="sites")
    else:
        check_folds(_fold_count(test) if how in ("random", "block", "environment") else 0, sites.group)
        split = _split_by_site(sites, options, how, stack)
    option = f"--split {how}"
    if how in ("random", "bootstrap", "subsample"):
        option = "--replicates" if test.replicates > 1 else "--folds"
    for fold in split.folds:
        sites.check_part(fold.train, fold.test, option, fold.name)
    return replace(split, background="")


def _split_by_site(sites: SiteSample, options: RunOptions, how: str, stack: Stack | None) -> Split:
    """Divide sites, and assign all visits to the part of their site."""
    test, (label, rng) = options.test, _drawing(sites, options)
    member, kind = number_sites(label, sites.group)
    if sites.label is not None and how == "random":
        return by_group("random", fold_numbers(label, _fold_count(test), rng, sites.group), None, "full", noun="sites")
    if sites.label is not None and how == "subsample":
        draws = [training_rows(label, test.percent or SUBSAMPLE, rng, sites.group) for _ in range(test.replicates)]
        parts = [(np.flatnonzero(train), np.flatnonzero(~train)) for train in draws]
        return Split(how, tuple(Fold(str(k + 1), *part) for k, part in enumerate(parts)), None, None, "full")
    first_rows = np.unique(member, return_index=True)[1]
    x, y, values = sites.x[first_rows], sites.y[first_rows], sites.values[first_rows]
    table = SampleTable(sites.title, sites.names, sites.categorical, values, values, x, y, x, y)
    split = _divide(table, options, how, stack, "sites", kind if how == "bootstrap" else None)
    folds = [Fold(fold.name, _visits(fold.train, member), _visits(fold.test, member)) for fold in split.folds]
    group = None if split.group is None else split.group[member]
    return Split(split.method, tuple(folds), group, None, "full", split.blocks)


def _visits(places: Index, member: Index) -> Index:
    """Return the rows of some sites, with repetitions; `member` is the site of every row."""
    return np.repeat(np.arange(member.size), np.bincount(places, minlength=int(member.max()) + 1)[member])


def _drawing(sites: SiteSample, options: RunOptions) -> tuple[Index, np.random.Generator]:
    """Return the strata of sites, and the random generator."""
    if sites.label is None:
        return np.zeros(len(sites), dtype=np.int64), np.random.default_rng([options.seed, 1])
    return sites.label, np.random.default_rng([options.seed, 7])


def _fold_labels(sites: SiteSample, test: TestOptions) -> np.ndarray:
    """Return the folds of the column of the user, one for every row."""
    if sites.folds is None:
        raise ConflictError("test.split=own needs a column with the fold of every site: name it with test.fold_column")
    if missing := int(np.count_nonzero(sites.folds == "")):
        raise BadValueError(f"{missing:,} of {len(sites):,} sites have no fold: fill column '{test.fold_column}'")
    pairs = np.unique(np.column_stack([sites.group, np.unique(sites.folds, return_inverse=True)[1]]), axis=0)
    if n_divided := int(np.count_nonzero(np.unique(pairs[:, 0], return_counts=True)[1] > 1)):
        log.warning(
            "warning: %s sites have visits in several folds of column '%s', so that a model is tested at its training "
            "sites: put all visits to a site in one fold",
            *(f"{n_divided:,}", test.fold_column),
        )
    return sites.folds


def with_default_folds(options: RunOptions) -> RunOptions:
    """Return the options of a selection by held-out loss: five random folds by default."""
    if options.test.division is not None:
        return options
    return options.with_values(test={"folds": FOLDS})


def _fold_count(test: TestOptions) -> int:
    """Return the number of folds, unless the method implies it."""
    return test.folds or (test.replicates if test.replicates > 1 else FOLDS)


def _arguments(table: SampleTable, options: RunOptions, how: str, stack: Stack | None) -> Numbers:
    """Return the additional arguments of a method."""
    test = options.test
    folds = _fold_count(test)
    around = {} if how in WHOLE_BACKGROUND else {"background": test.validation_background}
    match how:
        case "random":
            return {"k": min(folds, table.n_presences), "seed": options.seed}
        case "environment":
            return {"k": folds, "seed": options.seed, **around}
        case "block":
            globe = _on_globe(table, stack)
            return {"size": test.block_size, "k": folds, "seed": options.seed, "geographic": globe, **around}
        case "equal-blocks":
            return {"orientation": test.orientation, **around}
        case "checkerboard":
            return {**_board(stack), "aggregation": test.aggregation, **around}
        case "buffer":
            return {"radius": test.radius, "geographic": True, **around}
        case "own":
            return {"labels": table.folds, "background_labels": table.background_folds, **around}
        case "bootstrap":
            return {"replicates": test.replicates, "seed": options.seed}
        case "subsample":
            return {"replicates": test.replicates, "percent": test.percent or SUBSAMPLE, "seed": options.seed}
    return {}


def _board(stack: Stack | None) -> Numbers:
    """Return the corner and the cell size of the layers, for a checkerboard."""
    if stack is None:
        raise InapplicableError("test.split=checkerboard needs layers: use test.split=block")
    cell = abs(stack.transform.a), abs(stack.transform.e)
    west, _, _, top = stack.bounds
    return {"origin": (west, top), "cell": cell}


def _placed(table: SampleTable, how: str, stack: Stack | None) -> SampleTable:
    """Return the table with coordinates for a spatial partition: degrees for a buffer, degrees or km for blocks, and
    continuous longitudes at the date line for halves."""
    if how not in ("block", "buffer", "equal-blocks"):
        return table
    (x, y), (around_x, around_y) = (table.presence_x, table.presence_y), (table.background_x, table.background_y)
    if how == "equal-blocks":
        degrees = _may_be_degrees(x, y) if stack is None else stack.crs is not None and stack.crs.is_geographic
        x, around_x = in_one_piece(x, around_x) if degrees else (x, around_x)
    elif how == "block" and stack is not None and stack.crs is not None and not _on_globe(table, stack):
        unit = float(stack.crs.linear_units_factor[1]) / 1000
        x, y, around_x, around_y = (unit * part for part in (x, y, around_x, around_y))
    else:
        x, y = _degrees(x, y, stack, f"test.split={how}")
        around_x, around_y = _degrees(around_x, around_y, stack, f"test.split={how}")
    return replace(table, presence_x=x, presence_y=y, background_x=around_x, background_y=around_y)


def _on_globe(table: SampleTable, stack: Stack | None) -> bool:
    """Whether blocks are measured in degrees: for tables, for layers in degrees, and for global maps that separate the
    points at the date line."""
    if stack is None or stack.crs is None or stack.crs.is_geographic:
        return True
    x, y = (np.concatenate(pair) for pair in zip(*((x, y) for _, x, y in table.points())))
    lon, lat = to_lonlat(x, y, stack, "test.split=block")
    edge = seam(stack.crs, float(np.clip(np.nanmedian(lat), -80, 80)))
    return edge is not None and bool(in_one_piece(near(lon, edge - 180))[0].max() > edge)


def _degrees(x: Array, y: Array, stack: Stack | None, option: str) -> tuple[Array, Array]:
    if stack is not None:
        return to_lonlat(x, y, stack, option)
    if not _may_be_degrees(x, y):
        raise CrsError(f"{option} needs degrees, and the coordinates of the table are not degrees: use layers")
    return x, y


def _may_be_degrees(x: Array, y: Array) -> bool:
    """Whether coordinates of a table can be degrees; the partition refuses missing ones."""
    return not (np.any(np.abs(x) > 360) or np.any(np.abs(y) > 90))
