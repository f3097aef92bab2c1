"""What would go wrong in a run, found in seconds and listed all at once."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from sdm.config import RunOptions
from sdm.data.area import StudyArea
from sdm.data.clean import finish, locate
from sdm.data.layers import Stack
from sdm.data.occurrences import Occurrences
from sdm.errors import DataError, SdmError
from sdm.files import refuse_existing
from sdm.run.prepare import is_swd, open_layers, prepare, read_records

T = TypeVar("T")
FEW = 10


@dataclass
class Findings:
    """What was found: problems stop a run, warnings do not."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def attempt(self, step: Callable[[], T]) -> T | None:
        """Do a step; what goes wrong in it becomes a problem."""
        try:
            return step()
        except SdmError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None


def check_run(options: RunOptions) -> Findings:
    """Check files, grids, coordinates, records, layers and the output folder of a run, without fitting."""
    found = Findings()
    _check_output(options, found)
    if not options.layers.files or is_swd(options.layers.files) or options.occurrences.file is None:
        found.attempt(lambda: _check_tables(options, found))
        return found
    file = options.occurrences.file
    records = found.attempt(lambda: read_records(options, file))
    stack = found.attempt(lambda: open_layers(options))
    if records is not None:
        found.facts.append(f"{file}: {len(records):,} records of {len(records.species_names):,} species")
        found.warnings += records.notes
    if stack is not None:
        found.facts.append(f"{len(stack.names)} layers of {stack.width:,} × {stack.height:,} cells: {', '.join(stack.names)}")
        found.warnings += stack.notices
        found.attempt(lambda: _check_layers(stack, options, found))
        _check_projections(stack, options, found)
    if stack is not None and records is not None:
        found.attempt(lambda: _check_records(records, stack, options, found))
    for extra in (options.background.file, options.test.file):
        if extra is not None:
            found.attempt(lambda file=extra: read_records(options, file))  # type: ignore[misc]
    return found


def _check_output(options: RunOptions, found: Findings) -> None:
    if options.output.folder is None:
        found.warnings.append("no output folder: 'sdm fit' needs one (-o)")
        return
    target = Path(options.output.folder)
    found.attempt(lambda: refuse_existing(target, overwrite=options.output.overwrite))
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    if not os.access(place, os.W_OK):
        found.problems.append(f"{place} cannot be written: choose another output folder")


def _check_tables(options: RunOptions, found: Findings) -> None:
    prepared = prepare(options)
    found.problems += prepared.failures.values()
    for species, table in prepared.tables.items():
        _count(species, table.n_presences, found)


def _check_layers(stack: Stack, options: RunOptions, found: Findings) -> None:
    """Read the layers once: damaged files, layers without data, constant layers, no cell valid in all."""
    summary = stack.summary(threads=options.threads)
    summary.check(stack)
    found.facts.append(f"{summary.n_valid:,} of {stack.n_cells:,} cells have a value in every layer")
    for k, name in enumerate(stack.names):
        low, high = float(summary.minimum[k]), float(summary.maximum[k])
        if low == high:
            found.warnings.append(f"layer '{name}' has one value everywhere ({low:g}): it cannot tell places apart")


def _check_projections(stack: Stack, options: RunOptions, found: Findings) -> None:
    for title, place in options.predict.projections.items():
        if found.attempt(lambda where=place: open_layers(options, [where], names=stack.names)):  # type: ignore[misc]
            found.facts.append(f"projection {title} has all layers")


def _check_records(records: Occurrences, stack: Stack, options: RunOptions, found: Findings) -> None:
    """Find out what becomes of the records."""
    area = None if options.background.area is None else StudyArea.read(options.background.area, stack.crs)
    if area is not None:
        area.check(stack)
    located = locate(records, stack, study_area=area)
    values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = finish(
        located, np.asarray(values), snap=options.occurrences.snap, remove_duplicates=not options.occurrences.keep_duplicates
    )
    wanted = options.occurrences.species or records.species_names
    for species in wanted:
        if species not in records.species_names:
            found.problems.append(f"species '{species}' is not in {options.occurrences.file}")
            continue
        try:
            ledger.check(species)
            if ledger.describe(species):
                found.warnings.append(f"{species}: {ledger.describe(species)}")
            _count(species, len(points[species]), found)
        except DataError as error:
            found.problems.append(str(error))


def _count(species: str, presences: int, found: Findings) -> None:
    if presences < 2:
        found.problems.append(f"{species}: {presences} usable presences, expected at least 2")
    elif presences < FEW:
        found.warnings.append(f"{species}: only {presences} usable presences; results will be rough below {FEW}")
    else:
        found.facts.append(f"{species}: {presences:,} usable presences")
