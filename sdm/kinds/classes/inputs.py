"""Inputs of class models: points with classes or proportions, or points drawn from a raster of classes.

Presence and absence in a column (`occurrences.response`) are two classes, and every species has its own sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.conditional.targets import check_classes, scale_proportions
from sdm.data.background import sample_background
from sdm.data.encode import Encoder
from sdm.data.opening.rasters import open_raster
from sdm.data.rasters.layers import open_stack
from sdm.data.records.clean import Ledger, finish_cleaning, locate
from sdm.data.records.columns import SPECIES, first_of, named_column, row_count, species_column
from sdm.data.records.frames import pd
from sdm.data.records.occurrences import Occurrences, as_text
from sdm.data.records.rows import with_fate, with_left_out
from sdm.data.records.suspicious import Suspicion
from sdm.data.records.textfile import SAMPLE_ROWS
from sdm.data.records.weights import uncertain_beyond_cell
from sdm.data.site_folds import SITE, site_groups
from sdm.data.site_sample import ClassSample
from sdm.data.untagged import refuse_values
from sdm.data.variables import hint_columns, variables_line
from sdm.errors import (
    BadValueError,
    DataError,
    InapplicableError,
    LabelError,
    LayerError,
    MissingFileError,
    VariableError,
    name_list,
)
from sdm.kinds.classes.points import Points, is_absence, read_class_points
from sdm.kinds.inputs import check_species, open_layers, read_area
from sdm.kinds.task import Prepared
from sdm.models.classes import label_text
from sdm.models.interface import category_titles
from sdm.options.definitions import RunOptions
from sdm.options.rules import CLASS_INPUTS, refuse_broken
from sdm.types import AnyArray, Array, Colour, Index


@dataclass
class ClassPrepared(Prepared):
    """Inputs of a run over classes; `tables` are `ClassSample`, by the title of the model."""

    by_model: ClassVar[tuple[str, ...]] = (*Prepared.by_model, "tests", "ledgers")

    tests: dict[str, ClassSample] = field(default_factory=dict)  # of the test file
    ledgers: dict[str, Ledger] = field(default_factory=dict)  # the record cleaning summaries
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # categories of variables with text values
    colours: dict[str, Colour] = field(default_factory=dict)  # from a raster of classes
    codes: dict[str, int] = field(default_factory=dict)  # values of named classes in that raster
    species_column: str | None = None  # distinguishes the species of a response


def prepare_classes(options: RunOptions) -> ClassPrepared:
    """Read the points and their values, or draw points from a raster of classes."""
    refuse_broken(CLASS_INPUTS, options, "classes")
    prepared = _recorded(options) if options.classes.raster is None else _drawn(options)
    if prepared.stack is None and options.project.scenarios:
        raise InapplicableError("project.scenarios needs layers, and a table was given: use 'sdm project' afterwards")
    for sample in list(prepared.tables.values())[:1]:
        prepared.notices.append(variables_line(sample.names, sample.categorical))
    for title, sample in prepared.tables.items():
        prepared.tables[title] = _frequent(sample, options, prepared.notices)
    return prepared


def _recorded(options: RunOptions) -> ClassPrepared:
    """Return the points of a file: in the cells of the layers, or with the values in the file."""
    prepared = ClassPrepared()
    points = read_class_points(options, str(options.occurrences.file), prepared.notices)
    if options.layers.files:
        prepared.stack = open_layers(options)
        prepared.notices += prepared.stack.notices
        prepared.warnings += prepared.stack.warnings
        prepared.study_area = read_area(options, prepared.stack)
        prepared.notices += prepared.study_area.notes if prepared.study_area else []
    elif options.occurrences.drop_suspicious:
        raise InapplicableError("occurrences.drop_suspicious needs layers, and a table was given: remove it")
    else:
        prepared.notices.append("a table has no map: use 'sdm predict' with layers")
        prepared.warnings += [] if points.table is None else hint_columns(points.table, options.layers.categorical)
    parts = _models(points, options, prepared)
    all_points = points
    if len(parts) > 1:  # dropped rows belong to no model
        all_points = replace(points, records=replace(points.records, left_out=points.records.left_out[:0]))
    for title, rows in parts.items():
        n_notices = len(prepared.notices)
        try:
            if options.occurrences.response is not None:
                _check_both(points.records.species[rows].astype(str), title)
            prepared.tables[title], ledger = _sample(all_points.take(rows), title, options, prepared)
            if ledger is not None:
                prepared.ledgers[title] = ledger
            if len(parts) > 1:
                prepared.notices[n_notices:] = [f"{title}: {text}" for text in prepared.notices[n_notices:]]
        except DataError as error:
            if len(parts) == 1:
                raise
            named = error if str(error).startswith(title) else type(error)(f"{title}: {error}", code=error.code)
            prepared.failures[title] = named.with_traceback(None)
    prepared.fate, prepared.fate_crs = _fate(points, parts, prepared), points.records.crs
    if options.test.file is not None:
        _read_tests(options, options.test.file, prepared)
    return prepared


def _fate(points: Points, parts: dict[str, NDArray[np.bool_]], prepared: ClassPrepared) -> pd.DataFrame:
    """Return the record log: model and class, status, and reason for every row of the file."""
    tables = []
    for title, rows in parts.items():
        if title in prepared.ledgers:
            table = prepared.ledgers[title].fate
        else:
            reason = str(prepared.failures.get(title, ""))
            lines = points.records.lines().loc[rows]
            table = with_fate(lines, np.zeros(len(lines), dtype=np.int64), [reason])
        table = table.rename(columns={"species": "class"})
        table.insert(2, "species", title)
        tables.append(table)
    used = pd.concat(tables, ignore_index=True)
    column = prepared.species_column
    if column is not None:
        nameless = as_text(points.records.extra[column]) == ""
        points = points.leave_out(nameless, f"without a species in column '{column}'")
    dropped = points.records.left_out[~points.records.left_out["row"].isin(used["row"])]
    dropped = dropped.rename(columns={"species": "class"})
    dropped.insert(2, "species", "")
    return with_left_out(used, dropped)


def _models(points: Points, options: RunOptions, prepared: ClassPrepared) -> dict[str, NDArray[np.bool_]]:
    """Return the rows of every model: all rows, or the rows of each species with a response."""
    records, occurrences = points.records, options.occurrences
    if occurrences.response is None:
        title = options.classes.title or options.classes.column or Path(records.source).stem
        return {title: np.ones(len(records), dtype=bool)}
    source = Path(records.source).name
    column = prepared.species_column = _species_column(records, occurrences.species_column, source, prepared.notices)
    if column is None:
        names = np.full(len(records), options.classes.title or Path(records.source).stem)
    else:
        names = as_text(records.extra[column])
    species = [name for name in dict.fromkeys(names.tolist()) if name]
    check_species(occurrences.species, species, source)
    if blank := int(np.count_nonzero(names == "")):
        prepared.notices.append(f"{row_count(blank)} without a species in column '{column}' dropped")
    chosen = occurrences.species or species
    if len(chosen) > 1:
        prepared.notices.append(f"{len(chosen):,} species, from column '{column}': one model each")
    return {name: names == name for name in chosen}


def _species_column(records: Occurrences, name: str | None, source: str, notices: list[str]) -> str | None:
    """Return the column of species: as named, or by a standard name.

    Surveys often describe sites in words, so other text columns are not species.
    """
    header = _header(records)
    column = first_of(header, SPECIES) if name is None else named_column(name, header, source)
    if column is None:
        sample = [[str(value) for value in line] for line in records.extra.head(SAMPLE_ROWS).to_numpy()]
        perhaps = species_column(header, sample, None, source)
        hint = f"; if '{perhaps}' names species, use --species-column {perhaps}" if perhaps else ""
        notices.append(f"{source} has no column of species: all rows are assumed to be one species{hint}")
    return column


def _check_both(labels: AnyArray, species: str) -> None:
    """Raise unless a species has presences and absences."""
    values = set(labels.tolist())
    if len(values) < 2:
        noun = "absences" if is_absence(values.pop()) else "presences"
        raise LabelError(f"{species}: all {len(labels):,} records are {noun}: expected both presences and absences")


def _sample(
    points: Points, title: str, options: RunOptions, prepared: ClassPrepared, test: bool = False
) -> tuple[ClassSample, Ledger | None]:
    """Return the sample of one model, and its record cleaning summary."""
    records, proportions = points.records, options.classes.proportions
    if not proportions and not test:
        check_classes(records.species_names)
    ledger: Ledger | None = None
    if prepared.stack is not None:
        values, x, y, cell, index, ledger = _look_up(records, prepared, options)
        names, categorical = prepared.stack.names, tuple(prepared.stack.categorical)
    else:
        table = points.table if points.table is not None else pd.DataFrame()
        encoder = Encoder.learn(table, [name for name in options.layers.categorical if name in table.columns])
        prepared.levels |= encoder.labels
        values, index = encoder.encode(table), np.arange(len(records))
        x, y, cell = records.x, records.y, np.arange(len(records))
        names, categorical = encoder.names, encoder.categorical
    target: AnyArray | pd.DataFrame = _labels(records.species[index])
    if proportions:
        shares = pd.DataFrame({name: records.numbers(name)[index] for name in proportions})
        complete = np.isfinite(shares.to_numpy()).all(axis=1)
        if not complete.all():
            prepared.notices.append(f"{int((~complete).sum()):,} sites with a missing proportion dropped")
            values, x, y, cell, index = (part[complete] for part in (values, x, y, cell, index))
            shares = shares.loc[complete].reset_index(drop=True)
        scale_proportions(shares.to_numpy(), records.row[index])
        target = shares
    column, folds = options.test.fold_column, None
    if column and not test:
        folds = as_text(records.extra[named_column(column, _header(records), records.source)])[index]
    group = _grouped(records, index, cell, options.occurrences.site_column, prepared.notices)
    if ledger is not None and not test:
        prepared.notices.append(_account(ledger, len(x), np.unique(cell).size, bool(proportions)))
    return ClassSample(title, tuple(names), tuple(categorical), values, target, x, y, group, folds), ledger


def _header(records: Occurrences) -> list[str]:
    return [str(name) for name in records.extra.columns]


def _look_up(
    records: Occurrences, prepared: ClassPrepared, options: RunOptions
) -> tuple[Array, Array, Array, Index, Index, Ledger]:
    """Return values, x, y, cell and record of all usable points, and the record cleaning summary."""
    stack, keep = prepared.stack, options.occurrences.keep_duplicates
    assert stack is not None  # noqa: S101 - there are layers
    suspicion = Suspicion.of(options.occurrences.drop_suspicious, names=False)
    located = locate(records, stack, study_area=prepared.study_area, suspicion=suspicion)
    at_cells = stack.sample(*located.cells, threads=options.threads)
    refuse_values(at_cells, stack, "cells of the points")
    clean, ledger = finish_cleaning(located, at_cells, snap=options.occurrences.snap, remove_duplicates=keep is False)
    prepared.notices += ledger.notices("points")
    for name in records.species_names:
        ledger.check(name)
    parts = list(clean.values())
    title = options.classes.title or Path(records.source).name
    for part in parts:
        doubt = uncertain_beyond_cell(records, part, stack, options.occurrences.uncertainty_column)
        prepared.warnings += [] if doubt is None else [f"{title}, class {part.species}: {doubt}"]
    values = np.vstack([part.values for part in parts]).astype(np.float64)
    x, y, rows, cols, index = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "y", "rows", "cols", "index")
    )
    return values, x, y, rows.astype(np.int64) * stack.width + cols, index, ledger


def _grouped(records: Occurrences, index: Index, cell: Index, name: str | None, notices: list[str]) -> Index:
    """Number the sites of the points, by cell or by a column of sites."""
    header = _header(records)
    column = first_of(header, SITE) if name is None else named_column(name, header, Path(records.source).name)
    if column is None:
        return site_groups(cell)
    group = site_groups(as_text(records.extra[column])[index], cell)
    if (sites := np.unique(group).size) < np.unique(cell).size:
        notices.append(f"{group.size:,} visits to {sites:,} sites (column '{column}'): a site stays in one fold")
    return group


def _account(ledger: Ledger, used: int, cells: int, one_name: bool) -> str:
    """Report the numbers of points that were read, used and dropped, and of cells."""
    total = ledger.total()
    dropped = Ledger({"": total}, ledger.degrees).describe("")
    if total["duplicates"] and not one_name:
        dropped = dropped.replace("in a cell that had one already", "in a cell that had one of their class already")
    visits, dropped = ": every visit counts" if cells < used else "", f"; dropped: {dropped}" if dropped else ""
    return f"{total['read']:,} points, {used:,} used in {cells:,} cells{visits}{dropped}"


def _labels(names: AnyArray) -> AnyArray:
    """Return labels as integers if all of them are, for numerical order."""
    text = names.astype(str)
    for kind in (int, float):
        try:
            values = [(name, kind(name)) for name in np.unique(text).tolist()]
        except ValueError:
            continue
        if all(np.isfinite(value) and label_text(value) == name for name, value in values):
            return text.astype(np.int64 if kind is int else np.float64)
    return text


def _frequent(sample: ClassSample, options: RunOptions, notices: list[str]) -> ClassSample:
    """Drop rare classes if requested, and refuse a class with one record."""
    if options.classes.proportions:
        return sample
    least = options.classes.least
    classes, count = np.unique(sample.target, return_counts=True)
    if least is not None and (count < least).any():
        rare = classes[count < least]
        dropped = int(count[count < least].sum())
        text = f"{rare.size:,} classes with fewer than {least} records dropped, {dropped:,} records in total"
        notices.append(f"{text}: {', '.join(map(str, rare))}")
        sample = sample.take(~np.isin(sample.target, rare))
        classes, count = np.unique(sample.target, return_counts=True)
    if classes.size > 1 and count.min() < 2:
        hint = "draw more with --raster-points, or" if options.classes.raster is not None else "merge it, or"
        raise LabelError(
            f"class '{classes[np.argmin(count)]}' has one record, expected at least two of every class: {hint} drop "
            "such classes with --least 2"
        )
    return sample


def _read_tests(options: RunOptions, file: str, prepared: ClassPrepared) -> None:
    """Read the test sites; with one species on both sides, their names need not match."""
    quiet = replace(prepared, notices=[])
    try:
        points = read_class_points(options, file, quiet.notices)
        parts = _models(points, options, quiet).items()
        samples = {title: _sample(points.take(rows), title, options, quiet, test=True)[0] for title, rows in parts}
    except DataError as error:
        raise DataError(f"test sites: {error}", code=error.code) from error
    if len(samples) == 1 and len(prepared.tables) == 1:
        samples = dict(zip(prepared.tables, samples.values()))
    for title, sample in prepared.tables.items():
        if title not in samples:
            prepared.notices.append(f"no test site of {title} in {file}")
            continue
        if strange := sorted(set(samples[title].class_names) - set(sample.class_names)):
            names = name_list(sample.class_names)
            raise LabelError(f"test sites: '{strange[0]}' is not a class of the training sites ({names})")
        prepared.tests[title] = samples[title]


def _drawn(options: RunOptions) -> ClassPrepared:
    """Draw random points from a raster of classes, where all layers have values."""
    raster = Path(str(options.classes.raster))
    if not raster.exists():
        raise MissingFileError(f"the raster of classes '{raster}' does not exist: check the path")
    stack = open_layers(options)
    inside = [layer.name for layer in stack.layers if Path(layer.path).resolve() == raster.resolve()]
    notices = list(stack.notices)
    if inside:
        notices.append(f"'{inside[0]}' contains the classes and is not used as a variable")
        names = [name for name in stack.names if name not in inside]
        if not names:
            raise VariableError("the raster of classes is the only layer: add layers of the environment")
        both, stack = stack, open_layers(options, names=names)
        name = inside[0]
    else:
        bands = open_stack(str(raster)).names
        if len(bands) != 1:
            raise LayerError(f"the raster of classes '{raster.name}' has {len(bands)} bands: expected one")
        name = bands[0]
        files = options.layers.files if _among(raster, options.layers.files) else [*options.layers.files, str(raster)]
        both = open_layers(options, files, [*stack.names, name])
    area = read_area(options, stack)
    notices += area.notes if area else []
    drawn = sample_background(
        both, n=options.classes.raster_points, seed=options.seed, study_area=area, threads=options.threads
    )
    notices += [text.replace("background points", "points") for text in drawn.notices]
    values, order = np.asarray(drawn.values, dtype=np.float64), [both.names.index(other) for other in stack.names]
    codes = values[:, both.names.index(name)]
    if (odd := codes[codes != np.round(codes)]).size:
        raise BadValueError(f"the raster of classes '{raster.name}' has the value {odd[0]:g}: expected whole numbers")
    title, target = options.classes.title or name, codes.astype(np.int64)
    named, colours = _named_classes(target, dict(both.layers[both.names.index(name)].classes)), _colour_table(raster)
    if named:
        notices.append(f"names of the classes, from the raster: {name_list([f'{c} {n}' for c, n in named.items()])}")
        target = np.array([named[code] for code in target.tolist()])
        colours = {named[code]: colours[str(code)] for code in named if str(code) in colours}
    variables = tuple(stack.names), tuple(stack.categorical)
    sample = ClassSample(title, *variables, values[:, order], target, drawn.x, drawn.y, np.arange(len(codes)))
    prepared = ClassPrepared({title: sample}, stack=stack, study_area=area, notices=notices, colours=colours)
    prepared.warnings += stack.warnings
    prepared.codes = {label: code for code, label in named.items()}
    return prepared


def _named_classes(codes: NDArray[np.int64], names: dict[float, str]) -> dict[int, str]:
    """Return the names of the classes of a raster by value; empty if it has none."""
    present = np.unique(codes).tolist()
    return dict(zip(present, category_titles(present, names))) if any(code in names for code in present) else {}


def _among(raster: Path, files: Sequence[str]) -> bool:
    """Whether a raster is a layer that was not selected as a variable."""
    places = [Path(match).resolve() for file in files for match in (file, *glob(file))]
    return raster.resolve() in places or raster.resolve().parent in places


def _colour_table(raster: Path) -> dict[str, Colour]:
    """Return the colours of classes that a raster stores."""
    with open_raster(raster) as source:
        try:
            table = source.colormap(1)
        except ValueError:  # no colour table
            return {}
    return {str(code): (int(r), int(g), int(b)) for code, (r, g, b, *_) in table.items()}
