"""What runs of every kind read alike: the layers, and the names of species that were asked for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sdm.data.nodata import NodataCodes
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.examine import examine, refuse_codes_in
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.names import names_meant
from sdm.data.rasters.stack import Stack
from sdm.data.records.filters import RecordFilters, read_length, read_years
from sdm.data.records.rows import RowRules
from sdm.data.variables import NamedVariables, matching
from sdm.errors import OptionError
from sdm.features.by_variable import FeatureChoice, named_alone
from sdm.kinds.task import Findings
from sdm.options.definitions import AREA_WORDS, RunOptions
from sdm.storage.addresses import place_suffix

SWD_SUFFIXES = (".csv", ".tsv", ".txt", ".swd")


def is_swd(files: Sequence[str]) -> bool:
    """Tell whether the 'layers' are a table of samples with their values: by its ending, or a file without any, as
    dismo writes them (a raster without one has a header beside it)."""
    if len(files) != 1:
        return False
    plain = not place_suffix(files[0]) and Path(files[0]).is_file() and not Path(f"{files[0]}.hdr").is_file()
    return plain or place_suffix(files[0]) in SWD_SUFFIXES


def row_rules(options: RunOptions, *, absences: bool = False) -> RowRules:
    """Return which rows of the files of records take part; recorded absences only where they say something."""
    own = options.occurrences
    filters = RecordFilters(
        max_uncertainty=None if own.max_uncertainty is None else read_length(own.max_uncertainty),
        years=None if own.years is None else read_years(own.years),
        basis=tuple(own.basis),
        exclude_issues=tuple(own.exclude_issues),
        where=own.where,
        uncertainty_column=own.uncertainty_column,
        keep_absences=absences,
    )
    return RowRules(filters, own.max_bad_rows)


def open_layers(
    options: RunOptions,
    files: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    refuse: bool = True,
) -> Stack:
    """Open the layers of a run, or others under the same options, and look at a few blocks of each.

    Layers with an untagged code of "no data" are refused, unless all their cells are looked at next (`check_layers`).
    """
    chosen, own = options.layers.files if files is None else files, options.layers
    with naming_features(options):
        stack = open_stack(
            list(chosen) if len(chosen) > 1 else chosen[0],
            categorical=own.categorical if names is None else names_meant(own.categorical, names),
            nodata=own.nodata,
            align=own.align,
            names=names,
            rename=own.rename,
            variables=wanted_variables(options) if names is None else (),
            exclude=own.exclude if names is None else (),
        )
    if names is None:
        for pattern in NodataCodes.read(own.nodata).patterns:
            matching(pattern, stack.names, "nodata", "layer")
    stack = examine(stack)
    if refuse:
        refuse_codes_in(stack)
    return stack


def choice_of(options: RunOptions) -> NamedVariables:
    """Return which variables of a table are to be used."""
    return NamedVariables(tuple(wanted_variables(options)), tuple(options.layers.exclude))


def wanted_variables(options: RunOptions) -> list[str]:
    """Return names or patterns of the variables of a run, none for all: those that were chosen, or those that features
    by variable name."""
    return options.layers.variables or named_alone(features_given(options))


@contextmanager
def naming_features(options: RunOptions) -> Iterator[None]:
    """Say of a variable that is not there that features name it, where they do."""
    try:
        yield
    except OptionError as error:
        if options.layers.variables or not wanted_variables(options):
            raise
        raise OptionError(str(error).replace("layers.variables:", "fit.features:", 1)) from error


def features_given(options: RunOptions) -> str:
    """Return the text of the features of a run."""
    return options.fit.feature_text


def check_features(options: RunOptions, names: Sequence[str]) -> None:
    """Raise if features are given of variables that there are not."""
    FeatureChoice.read(features_given(options)).check(names)


def with_layers(stack: Stack, names: Sequence[str]) -> Stack:
    """Return a stack with some of its layers, in its own order."""
    return replace(stack, layers=tuple(layer for layer in stack.layers if layer.name in names))


def narrowed(stack: Stack | None, names: Sequence[str]) -> Stack | None:
    """Return the layers of a run with some of the variables; None for tables."""
    return None if stack is None else with_layers(stack, names)


def read_area(options: RunOptions, stack: Stack) -> StudyArea | None:
    """Read the polygons of the study area, if it is a file."""
    if options.background.area is None or options.background.area in AREA_WORDS:
        return None
    return StudyArea.read(options.background.area, stack.crs, grid=stack)


def check_species(wanted: Sequence[str], known: Sequence[str], source: str) -> None:
    """Raise for a species that the file does not hold."""
    for name in wanted:
        if name not in known:
            more = f" and {len(known) - 10:,} more" if len(known) > 10 else ""
            raise OptionError(f"species '{name}' is not in {source}; there are {', '.join(known[:10])}{more}")


def check_layers(stack: Stack, options: RunOptions, found: Findings) -> None:
    """Read the layers once: damaged files, layers without data, constant layers, no cell valid in all."""
    summary = stack.summary(threads=options.threads)
    found.attempt(lambda: summary.check(stack))
    found.warnings += stack.warnings
    found.facts.append(f"{summary.n_valid:,} of {stack.n_cells:,} cells have a value in every layer")
    for k, name in enumerate(stack.names):
        low, high = float(summary.minimum[k]), float(summary.maximum[k])
        if low == high:
            found.warnings.append(f"layer '{name}' has one value everywhere ({low:g}): it cannot tell places apart")
