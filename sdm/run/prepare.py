"""From files to tables: what each species is fitted on, with one pass over the layers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np

from sdm.config import RunOptions
from sdm.data.area import StudyArea
from sdm.data.background import Background, background_from_points, sample_background
from sdm.data.clean import CleanPoints, Ledger, clean, finish, locate
from sdm.data.layers import Stack, open_stack
from sdm.data.occurrences import Occurrences, Swd, read_occurrences, read_swd
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError

SWD_SUFFIXES = (".csv", ".tsv", ".txt", ".swd")


@dataclass
class Prepared:
    """What a run works on.

    Attributes
    ----------
    tables : dict
        A table a species, in the order of the file.
    tests : dict
        Values and coordinates at the test records of a species, where there are any.
    failures : dict
        Species that cannot be fitted, and why.
    stack, study_area, ledger
        None for tables of samples with data, which have no map.
    projections : dict
        Other layers to map on, by name.
    notices : list of str
    """

    tables: dict[str, SampleTable] = field(default_factory=dict)
    tests: dict[str, CleanPoints] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    stack: Stack | None = None
    study_area: StudyArea | None = None
    ledger: Ledger | None = None
    projections: dict[str, Stack] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def prepare(options: RunOptions) -> Prepared:
    """Read and clean the records, draw the background, and look up the layers."""
    check_options(options)
    if options.occurrences.file is None:
        example = "'sdm fit records.csv layers/ -o results'"
        raise OptionError(f"no occurrence file: give it first, as in {example}, or as occurrences.file")
    if not options.layers.files or is_swd(options.layers.files):
        return _prepare_swd(options)
    return _prepare_layers(options)


def check_options(options: RunOptions) -> None:
    """Raise for options that contradict each other."""
    if options.test.percent and options.test.file:
        raise OptionError("give test.percent or test.file, not both: the model is tested with one of them")


def is_swd(files: Sequence[str]) -> bool:
    """Tell whether the 'layers' are a table of background points with their values."""
    return len(files) == 1 and Path(files[0]).suffix.lower() in SWD_SUFFIXES


def open_layers(options: RunOptions, files: Sequence[str] | None = None, names: Sequence[str] | None = None) -> Stack:
    """Open the layers of a run, or others (for a projection) under the same options."""
    chosen = options.layers.files if files is None else files
    return open_stack(
        list(chosen) if len(chosen) > 1 else chosen[0],
        categorical=options.layers.categorical,
        nodata=options.layers.nodata,
        align=options.layers.align,
        names=names,
    )


def read_records(options: RunOptions, file: str) -> Occurrences:
    """Read an occurrence file under the run's options; recorded absences are left out."""
    own = options.occurrences
    records = read_occurrences(
        file, crs=own.crs, species_column=own.species_column, x_column=own.x_column, y_column=own.y_column
    )
    absent = records.absent
    if absent.all():
        raise DataError(f"file '{Path(file).name}' holds absences only ({len(records):,}): expected presences")
    if absent.any():
        note = f"{np.count_nonzero(absent):,} rows that record an absence left out"
        records = replace(records.take(~absent), notes=(*records.notes, note))
    return records


def read_points(options: RunOptions, file: str) -> Occurrences:
    """Read a file of background points under the run's options; it needs no species."""
    own = options.occurrences
    return read_occurrences(file, crs=own.crs, x_column=own.x_column, y_column=own.y_column)


def open_projections(
    options: RunOptions, names: Sequence[str], places: dict[str, str] | None = None
) -> dict[str, Stack]:
    """Open the layers of the run's projections, or of some of them."""
    found = {}
    for title, place in (options.predict.projections if places is None else places).items():
        try:
            found[title] = open_layers(options, [place], names=names)
        except (DataError, OptionError) as error:
            raise type(error)(f"projection {title}: {error}") from error
    return found


def _prepare_layers(options: RunOptions) -> Prepared:
    records = read_records(options, str(options.occurrences.file))
    stack = open_layers(options)
    area = None if options.background.area is None else StudyArea.read(options.background.area, stack.crs)
    records = _choose_species(records, options.occurrences.species)
    projections = open_projections(options, stack.names)
    notices = [*records.notes, *stack.notices, *(area.notes if area else [])]
    for title, other in projections.items():
        notices += [f"projection {title}: {text}" for text in other.notices if text not in stack.notices]
    located = locate(records, stack, study_area=area)
    background = _background(options, stack, area, located.cells)
    values = background.presence_values
    if values is None:
        values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = finish(
        located, values, snap=options.occurrences.snap, remove_duplicates=not options.occurrences.keep_duplicates
    )
    notices += background.notices
    prepared = Prepared(stack=stack, study_area=area, ledger=ledger, projections=projections, notices=notices)
    for species in records.species_names:
        try:
            ledger.check(species)
            prepared.tables[species] = SampleTable.from_stack(stack, points[species], background)
        except DataError as error:
            prepared.failures[species] = str(error)
    if options.test.file:
        _read_tests(prepared, options, options.test.file)
    return prepared


def _background(
    options: RunOptions, stack: Stack, area: StudyArea | None, cells: tuple[np.ndarray, np.ndarray]
) -> Background:
    if options.background.file is not None:
        return background_from_points(stack, read_points(options, options.background.file), study_area=area)
    return sample_background(
        stack,
        n=options.background.points,
        seed=options.seed,
        area_weighted=options.background.area_weighted,
        study_area=area,
        also=cells,
        threads=options.threads,
    )


def _choose_species(records: Occurrences, wanted: Sequence[str]) -> Occurrences:
    """Keep only the species that were asked for."""
    _check_species(wanted, records.species_names, records.source)
    return records.take(np.isin(records.species.astype(str), list(wanted))) if wanted else records


def _check_species(wanted: Sequence[str], known: Sequence[str], source: str) -> None:
    """Raise for a species that the file does not hold."""
    for name in wanted:
        if name not in known:
            raise OptionError(f"species '{name}' is not in {source}; there are {', '.join(known[:10])}")


def _read_tests(prepared: Prepared, options: RunOptions, file: str) -> None:
    """Look the test records up; a file of one species tests the one species of the run, whatever either is called."""
    stack = cast("Stack", prepared.stack)
    try:
        prepared.tests, ledger = clean(read_records(options, file), stack, study_area=prepared.study_area)
    except DataError as error:
        raise DataError(f"test records: {error}") from error
    for species in ledger.counts:
        if ledger.describe(species):
            prepared.notices.append(f"test records of {species} left out: {ledger.describe(species)}")
    if len(prepared.tests) == 1 and len(prepared.tables) == 1:
        prepared.tests = dict(zip(prepared.tables, prepared.tests.values()))
    for species in prepared.tables:
        if species not in prepared.tests:
            prepared.notices.append(f"no test record of {species} in {file}")


def _prepare_swd(options: RunOptions) -> Prepared:
    """Take presences and background from tables that hold the variables already."""
    needing = {
        "test.file": (options.test.file, "use test.percent or test.folds with tables"),
        "predict.projections": (options.predict.projections, "use 'sdm predict' afterwards"),
        "background.area": (options.background.area, "leave out the rows outside it"),
    }
    for name, (value, instead) in needing.items():
        if value:
            raise OptionError(f"{name} needs layers, and tables of samples were given: {instead}")
    place = [*options.layers.files, *filter(None, [options.background.file])][:1]
    table = _read_table(options, str(options.occurrences.file), alone=not place)
    background = _read_table(options, place[0]) if place else None
    wanted = options.occurrences.species
    _check_species(wanted, table.species_names, table.source)
    prepared = Prepared(notices=[*table.notes, *(background.notes if background else ())])
    prepared.notices.append("tables of samples have no map: use 'sdm predict' with layers")
    for species in table.species_names:
        if not wanted or species in wanted:
            try:
                prepared.tables[species] = SampleTable.from_swd(table, species, background)
            except DataError as error:
                prepared.failures[species] = str(error)
    return prepared


def _read_table(options: RunOptions, file: str, alone: bool = False) -> Swd:
    """Read a table of samples; if it is alone, it must hold background too."""
    hint = "no layers were given: give a folder of them, or a table of background points, after the occurrence file"
    try:
        table = read_swd(file, categorical=options.layers.categorical)
    except DataError as error:
        raise DataError(f"{error} ({hint})" if alone else str(error)) from error
    if alone and not table.is_background.any():
        raise OptionError(f"{file} has no background rows, and {hint}")
    return table
