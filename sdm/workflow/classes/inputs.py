"""The sites of a run of `sdm classify`: points with their classes or proportions, or drawn from a raster of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rasterio
from numpy.typing import NDArray

from sdm.conditional.targets import check_classes, scale_proportions
from sdm.data.background import sample_background
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import CleanPoints, Ledger, finish_cleaning, locate
from sdm.data.records.columns import first_of, named_column
from sdm.data.records.occurrences import Occurrences, as_text, read_occurrences
from sdm.data.records.textfile import column_key
from sdm.data.visits import SITE, site_groups
from sdm.errors import DataError, OptionError
from sdm.models.classes import label_text
from sdm.options.classes import ClassifyOptions
from sdm.types import Array, Colour, Index


@dataclass
class Sites:
    """What a model is fitted to: values `(n, V)`, labels or proportions, coordinates, and how they came about.

    `cell` numbers the cells, and `group` the sites: visits to one cell, or to one name, stay together where sites are
    divided.
    """

    title: str
    values: Array
    target: Any
    x: Array
    y: Array
    cell: Index
    group: Index
    stack: Stack
    area: StudyArea | None
    ledger: Ledger | None = None
    colours: dict[str, Colour] = field(default_factory=dict)
    projections: dict[str, Stack] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def read_sites(options: ClassifyOptions) -> Sites:
    """Return the sites of a run: the points of a file, or points drawn from a raster of classes."""
    sites = _drawn(options) if options.classes is not None else _recorded(options)
    for title, place in options.projections.items():
        try:
            sites.projections[title] = _open(options, sites.stack.names, [place])
        except (DataError, OptionError) as error:
            raise type(error)(f"projection {title}: {error}") from error
    if options.least is not None and not options.proportions:
        found, count = np.unique(sites.target, return_counts=True)
        rare = [str(name) for name in found[count < options.least]]
        if rare:
            keep = ~np.isin(sites.target, found[count < options.least])
            for name in ("values", "target", "x", "y", "cell", "group"):
                setattr(sites, name, getattr(sites, name)[keep])
            sites.notices.append(f"classes of fewer than {options.least} records left out: {', '.join(rare)}")
    if not options.proportions:
        found, count = np.unique(sites.target, return_counts=True)
        if found.size > 1 and count.min() < 2:
            hint = "draw more with --points, or" if options.classes is not None else "join it to another, or"
            raise DataError(
                f"class '{found[np.argmin(count)]}' has one record, expected at least two of every class: {hint} leave "
                "such classes out with --least 2"
            )
    return sites


def _open(options: ClassifyOptions, names: Sequence[str] | None = None, files: Sequence[str] | None = None) -> Stack:
    """Open the layers of the run, or other files, under its options."""
    categorical = [name for name in options.categorical if names is None or name in names]
    return open_stack(
        list(options.layers if files is None else files),
        categorical=categorical,
        nodata=options.nodata,
        align=options.align,
        names=names,
    )


def read_records(options: ClassifyOptions) -> tuple[Occurrences, list[str]]:
    """Read points with their classes, and what is to be said of them; those that were not selected are left out.

    The machinery for species takes classes just as well. Of proportions it takes the first for the class, so that
    a point needs no other name; then all of them are numbers among the other columns.
    """
    first = options.proportions[0] if options.proportions else None
    words = {"species name": "class", "species from": "class from"}
    if first is not None:
        words = {"rows without a species name": "sites with a missing proportion", f"species from '{first}', ": ""}
    try:
        records = read_occurrences(
            str(options.records),
            crs=options.crs,
            species_column=first or options.class_column,
            x_column=options.x_column,
            y_column=options.y_column,
            columns=[*options.proportions, *options.select, *([options.site_column] if options.site_column else SITE)],
        )
    except DataError as error:
        raise DataError(_replaced(str(error), words)) from error
    if first is not None:
        extra = records.extra.assign(**{first: records.species})
        records = replace(records, extra=extra, species=np.full(len(records), "sites", dtype=object))
    records = records.take(selected(records.extra, options.select, Path(records.source).name))
    lost = " (in the whole file)" if options.select else ""
    notes = [note + lost if note[:1].isdigit() else note for note in records.notes]
    return records, [_replaced(note, words) for note in notes]


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def selected(table: pd.DataFrame, select: Mapping[str, str], source: str) -> NDArray[np.bool_]:
    """Return which rows of a table have the wanted value in every column that was named."""
    keep = np.ones(len(table), dtype=bool)
    header = [str(known) for known in table.columns]
    for column, value in select.items():
        name = column if column in header else first_of(header, [column_key(column)])
        if name is None:
            raise OptionError(
                f"{source} has no column '{column}' to select by: besides class and coordinates it has {listed(header)}"
            )
        keep &= as_text(table[name]) == value
        if not keep.any():
            raise OptionError(f"no record has '{value}' in column '{name}' of {source}: check --select")
    return keep


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names in a row, and how many there are beside."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" if names else "none"


def _recorded(options: ClassifyOptions) -> Sites:
    """Return the points of a file, in the cells of the layers."""
    records, notices = read_records(options)
    shares = [records.numbers(name) for name in options.proportions]
    if not shares:
        check_classes(records.species_names)
    stack = _open(options)
    notices += stack.notices
    area = None if options.study_area is None else StudyArea.read(options.study_area, stack.crs)
    located = locate(records, stack, study_area=area)
    values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = finish_cleaning(located, values, snap=options.snap, remove_duplicates=not options.keep_duplicates)
    for name in records.species_names:
        ledger.check(name)
    parts = list(points.values())
    target: Any
    if shares:
        (part,) = parts
        target = pd.DataFrame({name: share[part.index] for name, share in zip(options.proportions, shares)})
        known = np.isfinite(target.to_numpy()).all(axis=1)
        if not known.all():
            notices.append(f"{int((~known).sum()):,} sites with a missing proportion left out")
            parts = [part.take(known)]
            target = target.loc[known].reset_index(drop=True)
        scale_proportions(target.to_numpy(), records.row[parts[0].index])
        title = Path(str(options.records)).stem
    else:
        target = _labels(np.repeat([part.species for part in parts], [len(part) for part in parts]))
        title = str(options.class_column)
    values, x, y, cell, index = _joined(parts, stack)
    group = _grouped(records, index, cell, options.site_column, notices)
    sites = Sites(options.title or title, values, target, x, y, cell, group, stack, area, ledger, notices=notices)
    notices.append(_account(ledger, len(sites.x), np.unique(sites.cell).size, bool(shares)))
    return sites


def _grouped(records: Occurrences, index: Index, cell: Index, wanted: str | None, notices: list[str]) -> Index:
    """Number the sites of the points: those of one cell, or of one name in a column of sites."""
    header = [str(name) for name in records.extra.columns]
    column = first_of(header, SITE) if wanted is None else named_column(wanted, header, Path(records.source).name)
    if column is None:
        return site_groups(cell)
    group = site_groups(as_text(records.extra[column])[index], cell)
    if (sites := np.unique(group).size) < np.unique(cell).size:
        notices.append(f"{group.size:,} visits to {sites:,} sites, by column '{column}': a site's are tested together")
    return group


def _account(ledger: Ledger, used: int, cells: int, one_name: bool) -> str:
    """Say how many points were read and are used, in how many cells, and where the others went."""
    total = ledger.total()
    whole = Ledger({"": total}, ledger.degrees)
    lost = whole.describe("")
    if total["duplicates"] and not one_name:
        lost = lost.replace("in a cell that had one already", "in a cell that had one of their class already")
    visits = ": every visit counts" if cells < used else ""
    return f"{total['read']:,} points, {used:,} used in {cells:,} cells{visits}" + (
        f"; left out: {lost}" if lost else ""
    )


def _joined(parts: Sequence[CleanPoints], stack: Stack) -> tuple[Array, Array, Array, Index, Index]:
    """Return values, x, y, cell and record of all points."""
    values = np.vstack([part.values for part in parts]).astype(np.float64)
    x, y, rows, cols, index = (
        np.concatenate([getattr(part, what) for part in parts]) for what in ("x", "y", "rows", "cols", "index")
    )
    return values, x, y, rows.astype(np.int64) * stack.width + cols, index


def _labels(names: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers where all of them are, so that 2 comes before 10, and -2 before -1."""
    text = names.astype(str)
    for kind in (int, float):
        try:
            found = [(name, kind(name)) for name in np.unique(text).tolist()]
        except ValueError:
            continue
        if all(np.isfinite(value) and label_text(value) == name for name, value in found):
            return text.astype(np.int64 if kind is int else np.float64)
    return text


def _drawn(options: ClassifyOptions) -> Sites:
    """Draw points at random from a raster of classes, where all layers have values."""
    raster = Path(str(options.classes))
    if not raster.exists():
        raise DataError(f"the raster of classes '{raster}' does not exist: check the path")
    stack = _open(options)
    inside = [layer.name for layer in stack.layers if Path(layer.path).resolve() == raster.resolve()]
    notices = list(stack.notices)
    if inside:
        notices.append(f"'{inside[0]}' holds the classes, so it is not among the variables")
        names = [name for name in stack.names if name not in inside]
        if not names:
            raise DataError("the raster of classes is the only layer: give layers that tell the classes apart")
        both, stack = stack, _open(options, names)
        own = inside[0]
    else:
        both = _open(options, files=[*options.layers, str(raster)])
        extra = [name for name in both.names if name not in stack.names]
        if len(extra) != 1:
            raise DataError(f"the raster of classes '{raster.name}' has {len(extra)} bands: expected one")
        own = extra[0]
    area = None if options.study_area is None else StudyArea.read(options.study_area, stack.crs)
    drawn = sample_background(both, n=options.points, seed=options.seed, study_area=area, threads=options.threads)
    at = both.names.index(own)
    order = [both.names.index(name) for name in stack.names]
    values = np.asarray(drawn.values, dtype=np.float64)
    codes = values[:, at]
    if np.any(codes != np.round(codes)):
        some = codes[codes != np.round(codes)][0]
        raise DataError(f"the raster of classes '{raster.name}' has the value {some:g}: expected whole numbers")
    notices += [text.replace("background points", "points") for text in drawn.notices]
    return Sites(
        options.title or own,
        values[:, order],
        codes.astype(np.int64),
        drawn.x,
        drawn.y,
        np.arange(len(codes)),
        np.arange(len(codes)),
        stack,
        area,
        colours=_colour_table(raster),
        notices=notices,
    )


def _colour_table(raster: Path) -> dict[str, Colour]:
    """Return the colours that a raster's file gives its classes, if it does."""
    with rasterio.open(raster) as source:
        try:
            table = source.colormap(1)
        except ValueError:  # it has none
            return {}
    return {str(code): (int(r), int(g), int(b)) for code, (r, g, b, *_) in table.items()}
