"""Check of a run over species without fitting."""

import numpy as np

from sdm.data.background import background_from_points
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import Effort, KernelEffort
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import clean, locate
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.suspicious import Suspicion
from sdm.data.records.weights import uncertain_beyond_cell
from sdm.data.variables import variables_line
from sdm.data.vectors import split_layer
from sdm.errors import BackgroundError, DataError, MissingFileError, TooFewError, UnknownNameError, with_code
from sdm.kinds.inputs import check_layers, read_area
from sdm.kinds.species.inputs import (
    background_points,
    clean_located,
    has_cells,
    open_species_layers,
    prepare_species,
    read_group,
    read_records,
    read_survey,
)
from sdm.kinds.species.sampling import accessible_areas, make_effort, weigh
from sdm.kinds.task import FEW, CheckedVariables, Findings
from sdm.options.definitions import AREA_WORDS, GROUP_WORD, RunOptions


def check_species_run(options: RunOptions, findings: Findings) -> None:
    """Check files, grids, coordinates, records, layers and splits of a run over species."""
    if options.occurrences.file is None or not has_cells(options):
        findings.attempt(lambda: _check_tables(options, findings))
        return
    file = options.occurrences.file
    records = findings.attempt(lambda: read_records(options, file))
    stack = findings.attempt(lambda: open_species_layers(options, records, refuse=False))
    if records is not None:
        findings.facts.append(f"{file}: {len(records):,} records of {len(records.species_names):,} species")
        findings.facts += records.notes
    if stack is None:
        bg = options.background
        for extra in filter(None, (bg.file, options.test.file, bg.area, bg.target_group, bg.bias)):
            if extra not in (*AREA_WORDS, GROUP_WORD) and not split_layer(extra)[0].exists():
                findings.problems.append(f"file '{extra}' does not exist: check the path [{MissingFileError.code}]")
        return
    size = f"{stack.width:,} × {stack.height:,} cells"
    findings.facts += [f"{len(stack.paths)} layers of {size}"] if stack.paths else stack.notices
    findings.facts.append(variables_line(stack.names, stack.categorical))
    findings.facts += [text for text in stack.notices if text.startswith("categorical")]
    findings.warnings += [text for text in stack.notices if stack.paths and not text.startswith("categorical")]
    findings.attempt(lambda: check_layers(stack, options, findings))
    findings.variables = CheckedVariables(stack.names, stack.categorical, stack.notices)
    area = findings.attempt(lambda: _area(options, stack, findings))
    group = findings.attempt(lambda: read_group(options, records))
    effort = findings.attempt(lambda: _effort(options, stack, group, findings))
    if records is not None:
        findings.attempt(lambda: _check_records(records, stack, area, effort, options, findings))
    findings.attempt(lambda: _check_others(stack, area, group, effort, options, findings))


def _check_tables(options: RunOptions, findings: Findings) -> None:
    prepared = prepare_species(options)
    findings.problems += map(with_code, prepared.failures.values())
    findings.facts += prepared.notices
    findings.warnings += prepared.warnings
    for species, table in prepared.tables.items():
        _count(species, table.n_presences, findings)


def _area(options: RunOptions, stack: Stack, findings: Findings) -> StudyArea | None:
    area = read_area(options, stack)
    if area is not None:
        area.check(stack)
        findings.facts += area.notes
    return area


def _effort(options: RunOptions, stack: Stack, group: Occurrences | None, findings: Findings) -> Effort | None:
    """Read the sampling effort: find a damaged file, another grid, negative values, or only zeros."""
    effort = make_effort(options, stack, group)
    if effort is None:
        return None
    positive = sum(int(np.count_nonzero(effort.window(window) > 0)) for window in stack.windows())
    if not positive:
        raise BackgroundError(f"sampling effort '{effort.name}' is zero or missing everywhere: expected some above 0")
    findings.facts.append(f"{effort.name}: sampling effort in {positive:,} of {stack.n_cells:,} cells")
    if isinstance(effort, KernelEffort):
        findings.facts.append(f"bandwidth {effort.bandwidth:.3g} km, {effort.n_sites:,} sites")
    return effort


def _check_others(
    stack: Stack,
    area: StudyArea | None,
    group: Occurrences | None,
    effort: Effort | None,
    options: RunOptions,
    findings: Findings,
) -> None:
    """Look up the background and test files in the layers."""
    background = background_points(options, group)
    if background is not None:
        grouped = options.background.kind == GROUP_WORD
        points = background_from_points(stack, background, study_area=area, effort=effort, one_per_cell=grouped)
        noun = "sites of the target group" if grouped else "usable background points"
        findings.facts += background.extra_notes if background.source != options.occurrences.file else []
        findings.facts.append(f"{background.source}: {len(points):,} {noun}")
        if not grouped:  # several records of a target group in one cell are expected
            findings.warnings += points.notices
    if options.test.file is not None:
        sites = read_survey(options, options.test.file)
        findings.facts += sites.extra_notes
        suspicion = Suspicion.of(options.occurrences.drop_suspicious)
        tests, ledger = clean(sites.take(~sites.absent), stack, study_area=area, suspicion=suspicion)
        findings.warnings += ledger.notices("test records")
        absent = int(np.count_nonzero(sites.absent))
        also = f" and {absent:,} absences" if absent else ""
        findings.facts.append(f"{options.test.file}: {sum(map(len, tests.values())):,} usable test records{also}")


def _check_records(
    records: Occurrences,
    stack: Stack,
    area: StudyArea | None,
    effort: Effort | None,
    options: RunOptions,
    log: Findings,
) -> None:
    located = locate(records, stack, study_area=area, suspicion=Suspicion.of(options.occurrences.drop_suspicious))
    accessible_areas(options, located)
    values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = clean_located(located, np.asarray(values), options, effort)
    log.facts += located.describe_turned()
    log.warnings += ledger.suspicions()
    if options.test.fold_column:
        labels = records.labels(options.test.fold_column)
        names = ", ".join(np.unique(labels)[:10].tolist())
        log.facts.append(f"folds of column '{options.test.fold_column}': {names}")
    chosen = options.occurrences.species or records.species_names
    for species in chosen:
        if species not in records.species_names:
            log.problems.append(f"species '{species}' is not in {options.occurrences.file} [{UnknownNameError.code}]")
            continue
        try:
            ledger.check(species)
            if ledger.describe(species):
                log.warnings.append(f"{species}: {ledger.describe(species)}")
            _count(species, len(points[species]), log)
            doubt = uncertain_beyond_cell(records, points[species], stack, options.occurrences.uncertainty_column)
            log.warnings += [] if doubt is None else [f"{species}: {doubt}"]
            weigh(options, records, points[species], stack)
        except DataError as error:
            log.problems.append(with_code(error))


def _count(species: str, presences: int, findings: Findings) -> None:
    if presences < 2:
        findings.problems.append(f"{species}: {presences} usable presences, expected at least 2 [{TooFewError.code}]")
    elif presences < FEW:
        findings.warnings.append(f"{species}: only {presences} usable presences; results will be rough below {FEW}")
    else:
        findings.facts.append(f"{species}: {presences:,} usable presences")
