"""From files to tables: what each species is fitted on, with one pass over the layers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sdm.config import RunOptions
from sdm.data.area import StudyArea
from sdm.data.background import Background, background_from_points, sample_background
from sdm.data.clean import CleanPoints, Ledger, clean, finish, locate
from sdm.data.layers import Stack, open_stack
from sdm.data.occurrences import Occurrences, read_occurrences, read_swd
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
    notices : list of str
    """

    tables: dict[str, SampleTable] = field(default_factory=dict)
    tests: dict[str, CleanPoints] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    stack: Stack | None = None
    study_area: StudyArea | None = None
    ledger: Ledger | None = None
    notices: list[str] = field(default_factory=list)


def prepare(options: RunOptions) -> Prepared:
    """Read and clean the records, draw the background, and look up the layers."""
    if options.occurrences.file is None:
        raise OptionError("no occurrence file: give it first, as in 'sdm fit records.csv layers/ -o results', or as occurrences.file")
    if not options.layers.files or is_swd(options.layers.files):
        return _prepare_swd(options)
    return _prepare_layers(options)


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
    """Read an occurrence file under the run's options."""
    own = options.occurrences
    return read_occurrences(
        file, crs=own.crs, species_column=own.species_column, x_column=own.x_column, y_column=own.y_column
    )


def _prepare_layers(options: RunOptions) -> Prepared:
    records = read_records(options, str(options.occurrences.file))
    stack = open_layers(options)
    area = None if options.background.area is None else StudyArea.read(options.background.area, stack.crs)
    notices = [*records.notes, *stack.notices, *(area.notes if area else [])]
    records = _choose_species(records, options.occurrences.species)
    located = locate(records, stack, study_area=area)
    background = _background(options, stack, area, located.cells)
    values = background.presence_values
    if values is None:
        values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = finish(
        located, values, snap=options.occurrences.snap, remove_duplicates=not options.occurrences.keep_duplicates
    )
    prepared = Prepared(stack=stack, study_area=area, ledger=ledger, notices=[*notices, *background.notices])
    for species in records.species_names:
        try:
            ledger.check(species)
            prepared.tables[species] = SampleTable.from_stack(stack, points[species], background)
        except DataError as error:
            prepared.failures[species] = str(error)
    if options.test.file:
        prepared.tests, _ = clean(read_records(options, options.test.file), stack, study_area=area)
        _match_tests(prepared, options.test.file)
    return prepared


def _background(
    options: RunOptions, stack: Stack, area: StudyArea | None, cells: tuple[np.ndarray, np.ndarray]
) -> Background:
    if options.background.file is not None:
        return background_from_points(stack, read_records(options, options.background.file), study_area=area)
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
    if not wanted:
        return records
    unknown = [name for name in wanted if name not in records.species_names]
    if unknown:
        known = ", ".join(records.species_names[:10])
        raise OptionError(f"species '{unknown[0]}' is not in {records.source}; there are {known}")
    return records.take(np.isin(records.species.astype(str), list(wanted)))


def _match_tests(prepared: Prepared, file: str) -> None:
    """A test file of one species tests the one species of the run, whatever either is called."""
    if len(prepared.tests) == 1 and len(prepared.tables) == 1:
        prepared.tests = dict(zip(prepared.tables, prepared.tests.values()))
    for species in prepared.tables:
        if species not in prepared.tests:
            prepared.notices.append(f"no test record of {species} in {file}")


def _prepare_swd(options: RunOptions) -> Prepared:
    """Take presences and background from tables that hold the variables already."""
    table = read_swd(str(options.occurrences.file), categorical=options.layers.categorical)
    background = None
    if options.layers.files:
        background = read_swd(options.layers.files[0], categorical=options.layers.categorical)
    elif not table.is_background.any():
        raise OptionError(
            f"no layers were given, and {options.occurrences.file} has no background rows: give a folder of layers, "
            "or a table of background points, after the occurrence file"
        )
    if options.test.file:
        raise OptionError("test.file needs layers to look the records up in; use test.percent or test.folds with tables")
    wanted = options.occurrences.species
    prepared = Prepared(notices=list(table.notes))
    for species in table.species_names:
        if not wanted or species in wanted:
            try:
                prepared.tables[species] = SampleTable.from_swd(table, species, background)
            except DataError as error:
                prepared.failures[species] = str(error)
    return prepared
