"""Tables for the fits of species, from files, with one pass over the layers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from sdm.data.background import Background, sample_backgrounds
from sdm.data.place import PLACE_WARNING, Region, refuse_place_names
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.effort import Effort
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import CleanPoints, Ledger, Located, clean, finish_cleaning, locate
from sdm.data.records.occurrences import Occurrences, read_occurrences
from sdm.data.records.rows import RowRules
from sdm.data.records.samples import ColumnRoles, Swd, read_swd
from sdm.data.records.suspicious import Suspicion
from sdm.data.records.thinning import Thinning
from sdm.data.records.weights import UNCERTAINTY, uncertain_beyond_cell
from sdm.data.table import SampleTable, Survey
from sdm.data.variables import hint_columns, variables_line
from sdm.data.window import NO_CRS, window_stack
from sdm.errors import (
    DataError,
    InapplicableError,
    LabelError,
    MissingInputError,
    NoRecordsError,
    OptionError,
    UntaggedNodata,
    UnusableRecordsError,
)
from sdm.kinds.inputs import (
    check_species,
    choice_of,
    is_swd,
    naming_features,
    narrowed,
    open_layers,
    read_area,
    row_rules,
)
from sdm.kinds.species import sampling
from sdm.kinds.task import Prepared
from sdm.options.definitions import GROUP_WORD, RunOptions
from sdm.types import AnyArray

if TYPE_CHECKING:
    from sdm.kinds.species.methods.axes import GroupFits

RANDOM_CELLS = 2000  # in addition to the sites of a target group, for shared axes


@dataclass
class SpeciesPrepared(Prepared):
    """Inputs of a run over species; `tables` are `SampleTable`."""

    by_model: ClassVar[tuple[str, ...]] = (*Prepared.by_model, "tests", "surveys", "areas")

    tests: dict[str, CleanPoints] = field(default_factory=dict)  # test records of a species
    surveys: dict[str, Survey] = field(default_factory=dict)  # sites of test records, if there are absences
    areas: dict[str, StudyArea] = field(default_factory=dict)  # study areas around records
    effort: Effort | None = None
    around: Background | None = None  # random cells in addition to a target group, for shared axes
    group: "GroupFits | None" = None  # the axes of all species

    @property
    def common(self) -> list[str] | None:
        """The identity of the axes: the results of every species depend on them."""
        return None if self.group is None else self.group.identity

    def area_of(self, species: str) -> StudyArea | None:
        """Return the study area of a species."""
        return self.areas.get(species, self.study_area)


def arrange(prepared: SpeciesPrepared, name: str, variables: Sequence[str]) -> SpeciesPrepared:
    """Return the inputs with some of the variables of one species, in the given order."""
    table = prepared.tables[name]
    columns = [table.names.index(variable) for variable in variables]
    tests, surveys = dict(prepared.tests), dict(prepared.surveys)
    if name in tests:
        tests[name] = replace(tests[name], values=tests[name].values[:, columns])
    if name in surveys:
        surveys[name] = Survey(surveys[name].presence[:, columns], surveys[name].absence[:, columns])
    tables = {**prepared.tables, name: table.arrange(variables)}
    stack = narrowed(prepared.stack, variables)
    return replace(prepared, tables=tables, tests=tests, surveys=surveys, stack=stack)


def prepare_species(options: RunOptions) -> SpeciesPrepared:
    """Read and clean the records, draw the background, and look up the layers."""
    if options.occurrences.file is None:
        example = "'sdm fit records.csv layers/ -o results'"
        raise MissingInputError(f"no occurrence file: give it first, as in {example}")
    return _prepare_layers(options) if has_cells(options) else _prepare_swd(options)


def has_cells(options: RunOptions) -> bool:
    """Whether the domain of a run is cells (of layers or a window), not a table of samples."""
    files = options.layers.files
    return options.layers.bounds is not None or bool(files and not is_swd(files))


def given_crs(options: RunOptions) -> str | None:
    """Return the coordinate system of records in the options."""
    return None if options.occurrences.crs == NO_CRS else options.occurrences.crs


def read_records(options: RunOptions, file: str) -> Occurrences:
    """Read an occurrence file with the options of the run, without recorded absences."""
    records = read_survey(options, file)
    return records.leave_out(records.absent, "that record an absence")


def read_survey(options: RunOptions, file: str) -> Occurrences:
    """Read a file of presences, and absences if it has any, with the options of the run."""
    occurrences = options.occurrences
    columns = [name for name in (occurrences.uncertainty_column, options.test.fold_column) if name]
    records = read_occurrences(
        file,
        crs=given_crs(options),
        named=(occurrences.species_column, occurrences.x_column, occurrences.y_column),
        columns=columns,
        numeric=[occurrences.record_weights] if occurrences.record_weights not in (None, UNCERTAINTY) else [],
        rules=row_rules(options),
        layer=occurrences.layer if file == occurrences.file else None,
    )
    if records.absent.all():
        raise LabelError(f"file '{Path(file).name}' contains only absences ({len(records):,}): expected presences")
    return records


def read_group(options: RunOptions, records: Occurrences | None = None) -> Occurrences | None:
    """Read the records of the target group, if one is used; by default all species of the occurrence file."""
    if not options.background.uses_group:
        return None
    file = options.background.target_group
    if file is None:
        group = records if records is not None else read_records(options, str(options.occurrences.file))
        check_group(group.species_names, group.source)
        return group
    try:
        return read_records(options, file)
    except DataError as error:
        raise DataError(f"target group: {error}", code=error.code) from error


def check_group(names: Sequence[str], source: str) -> None:
    """Raise for a target group that is only the species itself, which contains no information on effort."""
    if len(names) < 2:
        raise OptionError(
            f"{Path(source).name} contains only '{names[0]}', and a target group needs several species: add "
            "--target-group FILE with records of similar species, or use --background random"
        )


def background_points(options: RunOptions, group: Occurrences | None) -> Occurrences | None:
    """Return the points of the background, if it is not drawn: the file of the user, or the target group."""
    file, occ = options.background.file, options.occurrences
    if file is not None:  # without a species
        rules = RowRules(most_bad=occ.max_bad_rows)
        return read_occurrences(file, crs=given_crs(options), named=(None, occ.x_column, occ.y_column), rules=rules)
    return group if options.background.kind == GROUP_WORD else None


def open_species_layers(options: RunOptions, records: Occurrences | None, *, refuse: bool = True) -> Stack:
    """Open the layers of a run over species as `open_layers` does, with coordinates as variables if requested; or
    create the window of a point pattern around the records."""
    layers = options.layers
    if layers.bounds is not None:
        if records is None:
            raise NoRecordsError("no window of the point pattern can be made, because no records could be read")
        stack = window_stack(records, layers.bounds, layers.cells, options.occurrences.crs)
        with naming_features(options):
            return cast(Stack, narrowed(stack, choice_of(options).of(stack.names, "variable")))
    stack = open_layers(options, refuse=refuse)
    return stack.with_place() if options.fit.spatial else stack


def _prepare_layers(options: RunOptions) -> SpeciesPrepared:
    if options.background.effort_column is not None:
        raise InapplicableError("background.effort_column needs tables of samples: with layers use background.bias")
    everyone = read_records(options, str(options.occurrences.file))
    stack = open_species_layers(options, everyone)
    area = read_area(options, stack)
    records = _choose_species(everyone, options.occurrences.species)
    used = variables_line(stack.names, stack.categorical)
    notices = [*records.notes, *stack.notices, used, *(area.notes if area else [])]
    located = locate(records, stack, study_area=area, suspicion=Suspicion.of(options.occurrences.drop_suspicious))
    group = read_group(options, everyone)
    prepared = SpeciesPrepared(stack=stack, study_area=area, notices=notices)
    prepared.warnings += [*stack.warnings, *([PLACE_WARNING] if options.fit.spatial else [])]
    prepared.areas = sampling.accessible_areas(options, located)
    prepared.effort = effort = sampling.make_effort(options, stack, group)
    places: list[StudyArea | None] = [*prepared.areas.values()] or [area]
    points = background_points(options, group)
    for other in (points, group):
        if other is not None and other.source != records.source:
            notices += [text for text in other.extra_notes if text not in notices]
    backgrounds = sampling.make_backgrounds(options, stack, places, points, effort, located.cells)
    share = sampling.random_share(options, options.fit.spatial)
    if options.fit.shares_axes and options.background.kind == GROUP_WORD and share:
        (prepared.around,) = sample_backgrounds(
            stack, [area], n=RANDOM_CELLS, seed=options.seed, threads=options.threads
        )
    values = backgrounds[0].presence_values
    if values is None:
        values = stack.sample(*located.cells, threads=options.threads)
    cleaned, ledger = clean_located(located, values, options, effort)
    prepared.ledger, prepared.fate, prepared.fate_crs = ledger, ledger.fate, records.crs
    notices += ledger.notices()
    by_area = dict(zip(prepared.areas, backgrounds))
    labels = records.labels(options.test.fold_column) if options.test.fold_column else None
    notices += sampling.tell(options, effort, backgrounds[0])
    for species, background in by_area.items() or [("", backgrounds[0])]:
        notices += [f"{species}: {text}" if species else text for text in background.notices]
    for species in records.species_names:
        try:
            ledger.check(species)
            background = by_area.get(species, backgrounds[0])
            background.check(prepared.area_of(species))
            folds = None if labels is None else labels[cleaned[species].index]
            prepared.tables[species] = _cell_table(options, prepared, records, cleaned[species], background, folds)
        except DataError as error:
            prepared.failures[species] = error.with_traceback(None)
    if options.test.file:
        _read_tests(prepared, options, options.test.file)
    return prepared


def _cell_table(
    options: RunOptions,
    prepared: SpeciesPrepared,
    records: Occurrences,
    points: CleanPoints,
    background: Background,
    folds: AnyArray | None,
) -> SampleTable:
    """Return the table of one species, whose presences and background are cells of layers."""
    stack, effort, area = cast("Stack", prepared.stack), prepared.effort, prepared.area_of(points.species)
    strength = None if effort is None else effort.at_cells(points.rows, points.cols)
    of_records = options.background.bias_treatment == "records"
    divided, strength = (strength, None) if of_records else (None, strength)
    weights, notes = sampling.weigh(options, records, points, stack, divided)
    table = SampleTable.from_stack(
        stack, points, background, presence_weights=weights, presence_effort=strength, folds=folds
    )
    doubt = uncertain_beyond_cell(records, points, stack, options.occurrences.uncertainty_column)
    return replace(
        table,
        sampling=sampling.describe(options, effort, area),
        notes=notes,
        warnings=() if doubt is None else (f"{points.species}: {doubt}",),
        region=Region.of_layers(stack, None if area is None else area.bounds) if options.fit.spatial else None,
    ).filled(options.seed)


def clean_located(
    located: Located, values: np.ndarray, options: RunOptions, effort: Effort | None
) -> tuple[dict[str, CleanPoints], Ledger]:
    """Clean records with known cells and values, as the options require."""
    occ = options.occurrences
    return finish_cleaning(
        located,
        values,
        snap=occ.snap,
        remove_duplicates=not occ.keep_duplicates,
        effort=None if effort is None else effort.at_cells,
        thinning=Thinning(occ.thin_distance, occ.thin_bins, tuple(occ.thin_variables), occ.thin_tries, options.seed),
        uncertainty_column=occ.uncertainty_column,
        partial=occ.partial,
    )


def _choose_species(records: Occurrences, names: Sequence[str]) -> Occurrences:
    for name in set(names) - set(records.species_names):
        cut = records.left_out[records.left_out["species"] == name]
        if len(cut):
            why = ", ".join(f"{count:,} {reason}" for reason, count in cut["reason"].value_counts().items())
            raise UnusableRecordsError(f"{name}: none of {len(cut):,} records can be used ({why}): change the filters")
    check_species(names, records.species_names, records.source)
    if not names:
        return records
    remaining = records.left_out[records.left_out["species"].isin([*names, ""])]
    return replace(records.take(np.isin(records.species.astype(str), list(names))), left_out=remaining)


def _read_tests(prepared: SpeciesPrepared, options: RunOptions, file: str) -> None:
    """Look up the test records; a file of one species tests the only species of the run, whatever their names."""
    stack = cast("Stack", prepared.stack)
    try:
        records = read_survey(options, file)
        prepared.notices += [text for text in records.extra_notes if text not in prepared.notices]
        area, suspicion = prepared.study_area, Suspicion.of(options.occurrences.drop_suspicious)
        prepared.tests, ledger = clean(records.take(~records.absent), stack, study_area=area, suspicion=suspicion)
        prepared.surveys = _surveys(records, stack, area, suspicion)
    except DataError as error:
        raise DataError(f"test records: {error}", code=error.code) from error
    prepared.notices += ledger.notices("test records")
    for species in ledger.counts:
        if ledger.describe(species):
            prepared.notices.append(f"test records of {species} dropped: {ledger.describe(species)}")
    if len(prepared.tests) == 1 and len(prepared.tables) == 1:
        prepared.tests = dict(zip(prepared.tables, prepared.tests.values()))
        prepared.surveys = dict(zip(prepared.tables, prepared.surveys.values()))
    for species in prepared.tables:
        if species not in prepared.tests:
            prepared.notices.append(f"no test record of {species} in {file}")


def _surveys(
    records: Occurrences, stack: Stack, area: StudyArea | None, suspicion: Suspicion | None
) -> dict[str, Survey]:
    """Look up the survey sites of every species with absences; each visit counts, even several in one cell."""
    if not records.absent.any():
        return {}
    present, absent = (
        clean(records.take(part), stack, remove_duplicates=False, study_area=area, suspicion=suspicion)[0]
        for part in (~records.absent, records.absent)
    )
    return {
        name: Survey(*(np.asarray(points[name].values, dtype=np.float64) for points in (present, absent)))
        for name in absent
        if name in present
    }


def _prepare_swd(options: RunOptions) -> SpeciesPrepared:
    """Take presences and background from tables that contain the variables."""
    needing = {
        "test.file": (options.test.file, "use test.percent or test.folds"),
        "project.scenarios": (options.project.scenarios, "use 'sdm project' afterwards"),
        "background.area": (options.background.area, "remove the rows outside it"),
        "background.bias": (options.background.bias, "use background.effort_column with the name of a column"),
        "occurrences.layer": (options.occurrences.layer, "remove it"),
        "occurrences.drop_suspicious": (options.occurrences.drop_suspicious, "remove such rows beforehand"),
        "occurrences.thin_distance": (options.occurrences.thin_distance, "thin the table beforehand"),
        "occurrences.thin_bins": (options.occurrences.thin_bins, "thin the table beforehand"),
    }
    for name, (value, instead) in needing.items():
        if value:
            raise InapplicableError(f"{name} needs layers, and tables of samples were given: {instead}")
    grouped = options.background.kind == GROUP_WORD
    place = [*options.layers.files, *filter(None, [options.background.file, options.background.target_group])][:1]
    weights = options.occurrences.record_weights
    if weights == UNCERTAINTY:
        raise InapplicableError("occurrences.record_weights=uncertainty needs layers: use the name of a column")
    table = _read_table(options, str(options.occurrences.file), alone=not (place or grouped), weights=weights)
    drawn = bool(place) and place[0] != options.background.target_group
    background = _read_table(options, place[0], like=table.table.columns, filtered=not drawn) if place else None
    if grouped:
        if background is None:
            check_group([name for name in table.species_names if name != "background"], table.source)
        background = (table if background is None else background).sites()
    description = sampling.describe(options, rows=table.source if background is None else background.source)
    chosen = options.occurrences.species
    check_species(chosen, table.species_names, table.source)
    notes = dict.fromkeys(table.notes)
    if background is not None and background.source != table.source:
        name = Path(background.source).name
        notes |= dict.fromkeys(f"{name}: {note}" if note[:1].isdigit() else note for note in background.notes)
    prepared = SpeciesPrepared(notices=[*notes, variables_line([str(name) for name in table.table], table.categorical)])
    prepared.warnings += hint_columns(table.table if background is None else background.table, table.categorical)
    prepared.warnings += [PLACE_WARNING] if options.fit.spatial else []
    prepared.notices.append("tables of samples have no map: use 'sdm predict' with layers")
    prepared.fate = table.fate()
    if chosen:
        prepared.fate = prepared.fate[prepared.fate["species"].isin([*chosen, "background", ""])]
    for species in table.species_names:
        if not chosen or species in chosen:
            try:
                sample = SampleTable.from_swd(table, species, background, partial=options.occurrences.partial)
                sample = _with_region(replace(sample, sampling=description).filled(options.seed), options)
                first = next(iter(prepared.tables.values()), sample)
                prepared.tables[species] = sample.with_background_of(first)
            except DataError as error:
                prepared.failures[species] = error.with_traceback(None)
    return prepared


def _with_region(table: SampleTable, options: RunOptions) -> SampleTable:
    """Return a table with coordinates for spatial features."""
    if not options.fit.spatial:
        return table
    x, y = (np.concatenate(pair) for pair in zip(*((x, y) for _, x, y in table.points())))
    return replace(table, region=Region.of_points(x, y))


def _read_table(
    options: RunOptions,
    file: str,
    alone: bool = False,
    weights: str | None = None,
    like: Collection[str] = (),
    filtered: bool = True,
) -> Swd:
    """Read a table of samples; a single table must contain background. `like` are the variables of another table.
    Filters apply to records only: a table of background is not `filtered`."""
    hint = (
        "no layers were given: give a folder of layers, or a table of background points, after the occurrence file. "
        "For a density of the points without layers, use --bounds xmin,ymin,xmax,ymax"
    )
    roles = ColumnRoles(weights, options.background.effort_column, options.test.fold_column)
    try:
        with naming_features(options):
            table = read_swd(
                file,
                categorical=options.layers.categorical,
                roles=roles,
                rules=row_rules(options) if filtered else RowRules(most_bad=options.occurrences.max_bad_rows),
                choice=choice_of(options),
                nodata=options.layers.nodata,
                like=like,
            )
    except UntaggedNodata:
        raise
    except DataError as error:
        raise DataError(f"{error} ({hint})" if alone else str(error), code=error.code) from error
    if alone and not table.is_background.any():
        raise MissingInputError(f"{file} has no background rows, and {hint}")
    if options.fit.spatial:
        return table.with_place()
    refuse_place_names([str(name) for name in table.table], "column", f"'{Path(file).name}'")
    return table
