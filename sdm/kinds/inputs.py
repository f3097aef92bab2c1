"""Common inputs of runs and commands: layers, species, and values for a fitted model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from sdm.data.nodata import NodataCodes
from sdm.data.place import Region, has_place, without_place
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.examine import examine, refuse_codes_in
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.names import names_meant
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import CleanPoints, Ledger, clean
from sdm.data.records.filters import RecordFilters, read_length, read_years
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.rows import RowRules
from sdm.data.records.suspicious import Suspicion
from sdm.data.records.textfile import TextTable
from sdm.data.untagged import refuse_values
from sdm.data.variables import NamedVariables, matching, variables_line
from sdm.errors import ColumnError, InapplicableError, MissingFileError, OptionError, UnknownNameError, VariableError
from sdm.features.classes import FeatureChoice, named_alone
from sdm.kinds.task import Findings
from sdm.models.interface import FittedModel
from sdm.options.definitions import AREA_WORDS, RunOptions
from sdm.options.inputs import LayerOptions
from sdm.storage.addresses import place_suffix
from sdm.types import Array, Index, Numbers

SWD_SUFFIXES = (".csv", ".tsv", ".txt", ".swd")


def is_swd(files: Sequence[str]) -> bool:
    """Whether the 'layers' are a table of samples, by file ending; a file without ending is a table of dismo, unless a
    raster header is next to it."""
    if len(files) != 1:
        return False
    plain = not place_suffix(files[0]) and Path(files[0]).is_file() and not Path(f"{files[0]}.hdr").is_file()
    return plain or place_suffix(files[0]) in SWD_SUFFIXES


def row_rules(options: RunOptions, *, absences: bool = False) -> RowRules:
    """Return which rows of the files of records are used; recorded absences only if the kind uses them."""
    occurrences = options.occurrences
    filters = RecordFilters(
        max_uncertainty=None if occurrences.max_uncertainty is None else read_length(occurrences.max_uncertainty),
        years=None if occurrences.years is None else read_years(occurrences.years),
        basis=tuple(occurrences.basis),
        exclude_issues=tuple(occurrences.exclude_issues),
        where=occurrences.where,
        uncertainty_column=occurrences.uncertainty_column,
        keep_absences=absences,
    )
    return RowRules(filters, occurrences.max_bad_rows)


def open_layers(
    options: RunOptions,
    files: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    refuse: bool = True,
) -> Stack:
    """Open the layers of a run, or other files with the same options, and inspect a few blocks of each.

    Layers with an untagged code of "no data" are refused, unless `check_layers` inspects all their cells next.
    """
    chosen, layers = options.layers.files if files is None else files, options.layers
    with naming_features(options):
        stack = open_stack(
            list(chosen) if len(chosen) > 1 else chosen[0],
            categorical=layers.categorical if names is None else names_meant(layers.categorical, names),
            nodata=layers.nodata,
            align=layers.align,
            names=names,
            rename=layers.rename,
            variables=wanted_variables(options) if names is None else (),
            exclude=layers.exclude if names is None else (),
        )
    if names is None:
        for pattern in NodataCodes.read(layers.nodata).patterns:
            matching(pattern, stack.names, "nodata", "layer")
    stack = examine(stack)
    if refuse:
        refuse_codes_in(stack)
    return stack


def choice_of(options: RunOptions) -> NamedVariables:
    """Return which variables of a table to use."""
    return NamedVariables(tuple(wanted_variables(options)), tuple(options.layers.exclude))


def wanted_variables(options: RunOptions) -> list[str]:
    """Return names or patterns of the variables of a run (empty for all): the selected variables, or those of features
    by variable name."""
    return options.layers.variables or named_alone(options.fit.feature_text)


@contextmanager
def naming_features(options: RunOptions) -> Iterator[None]:
    """Add to an error about a missing variable that features name it."""
    try:
        yield
    except OptionError as error:
        if options.layers.variables or not wanted_variables(options):
            raise
        raise OptionError(str(error).replace("layers.variables:", "fit.features:", 1)) from error


def check_features(options: RunOptions, names: Sequence[str]) -> None:
    """Raise if features name unknown variables."""
    FeatureChoice.read(options.fit.feature_text).check(names)


def narrowed(stack: Stack | None, names: Sequence[str]) -> Stack | None:
    """Return a stack with some of its layers, in its own order; None for tables."""
    return stack and replace(stack, layers=tuple(layer for layer in stack.layers if layer.name in names))


def read_area(options: RunOptions, stack: Stack) -> StudyArea | None:
    """Read the polygons of the study area, if it is a file."""
    if options.background.area is None or options.background.area in AREA_WORDS:
        return None
    return StudyArea.read(options.background.area, stack.crs, grid=stack)


def check_species(names: Sequence[str], species: Sequence[str], source: str) -> None:
    """Raise for a species that the file does not contain."""
    for name in names:
        if name not in species:
            more = f" and {len(species) - 10:,} more" if len(species) > 10 else ""
            raise UnknownNameError(f"species '{name}' is not in {source}, which has {', '.join(species[:10])}{more}")


def check_layers(stack: Stack, options: RunOptions, findings: Findings) -> None:
    """Read all layers: find damaged files, layers without data, constant layers, or no cell valid in all layers."""
    summary = stack.summary(threads=options.threads)
    findings.attempt(lambda: summary.check(stack))
    findings.warnings += stack.warnings
    findings.facts.append(f"{summary.n_valid:,} of {stack.n_cells:,} cells have a value in every layer")
    for k, name in enumerate(stack.names):
        low, high = float(summary.minimum[k]), float(summary.maximum[k])
        if low == high:
            findings.warnings.append(f"layer '{name}' has one value everywhere ({low:g}): it is uninformative")


def chosen_options(model: FittedModel, values: Mapping[str, object], allowed: Sequence[str]) -> Numbers:
    """Return the options with a value (neither None nor empty); raise for one that does not apply."""
    chosen = {name: value for name, value in values.items() if value not in (None, [], (), {})}
    for name in chosen:
        if name not in allowed:
            raise InapplicableError(f"--{name.replace('_', '-')} does not apply to a {model.called}: remove it")
    return chosen


def check_categories(model: FittedModel) -> None:
    """Raise if a variable of a model has categories of text, which layers cannot hold."""
    if text := list(model.encoder.labels):
        raise VariableError(f"variable '{text[0]}' of the model has categories of text: use a table, not layers")


def open_for(model: FittedModel, options: LayerOptions) -> Stack:
    """Open the layers of a model, in its order and with its names; refuse untagged codes of "no data"."""
    check_categories(model)
    stack = open_tagged(options.files, options, model.names, model.categorical, options.align)
    return replace(stack, notices=(*stack.notices, variables_line(stack.names, stack.categorical)))


def open_tagged(
    files: Sequence[str],
    options: LayerOptions,
    names: Sequence[str],
    categorical: Sequence[str],
    align: str | Grid | None,
) -> Stack:
    """Open layers of some names, and inspect a few blocks of each; refuse untagged codes of "no data"."""
    places, nodata = list(files) if len(files) > 1 else files[0], options.nodata
    stack = examine(
        open_stack(places, categorical=categorical, nodata=nodata, align=align, names=names, rename=options.rename)
    )
    refuse_codes_in(stack)
    return stack


def check_region(model: FittedModel, stack: Stack, area: StudyArea | None = None) -> None:
    """Raise if a model with spatial features is used outside its region."""
    if (region := Region.of_model(model)) is not None:
        region.check(stack, None if area is None else area.bounds)


def values_at(
    stack: Stack, records: Occurrences, noun: str, notices: list[str], drop_suspicious: Sequence[str] = ()
) -> tuple[Array, Index]:
    """Return the values of layers at each record, and the indices of these records.

    Unusable records are dropped; `notices` gets a line with their number and the noun `what`.
    """
    if not len(records):
        return np.empty((0, len(stack.names))), np.empty(0, dtype=np.int64)
    points, _ = points_at(stack, records, noun, notices, drop_suspicious)
    return np.asarray(points.values, dtype=np.float64), points.index


def points_at(
    stack: Stack, records: Occurrences, noun: str, notices: list[str], drop_suspicious: Sequence[str], snap: int = 0
) -> tuple[CleanPoints, Ledger]:
    """Return the cell of each record, and the record cleaning summary; parameters as in `values_at`."""
    named = replace(records, species=np.full(len(records), noun, dtype=object))
    suspicion = Suspicion.of(drop_suspicious, names=False)
    points, ledger = clean(named, stack, snap=snap, remove_duplicates=False, suspicion=suspicion)
    notices += ledger.notices(noun)
    refuse_values(points[noun].values, stack, noun)
    if ledger.describe(noun):
        notices.append(f"{noun} dropped: {ledger.describe(noun)}")
    return points[noun], ledger


def open_text(path: str | Path) -> TextTable:
    """Open a text table; raise if it is missing or empty."""
    if not Path(path).is_file():
        raise MissingFileError(f"file '{path}' does not exist: check the path")
    return TextTable(Path(path))


def check_columns(model: FittedModel, text: TextTable, others: Sequence[str] = ()) -> None:
    """Raise if a table lacks a variable of a model, except `others`."""
    missing = [name for name in model.names if name not in text.header and name not in others]
    if absent := [f"'{name}'" for name in missing]:
        noun = "a variable" if len(absent) == 1 else "variables"
        hint = f"{noun} of the model: add it, or give layers with --layers"
        if has_place(missing) and not without_place(missing):
            hint = f"{noun} of the model: add columns of coordinates, such as x and y, or longitude and latitude"
        raise ColumnError(f"file '{text.path.name}' has no column {', '.join(absent)}, {hint}")
