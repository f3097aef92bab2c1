"""A model of any kind, and the values that it needs: layers, at records, or columns of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sdm.data.nodata import NodataGiven
from sdm.data.place import Region, has_place, without_place
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.examine import examine, refuse_codes_in
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import clean
from sdm.data.records.occurrences import Occurrences
from sdm.data.records.suspicious import Suspicion
from sdm.data.records.textfile import TextTable
from sdm.data.untagged import refuse_values
from sdm.data.variables import said_variables
from sdm.errors import DataError, OptionError
from sdm.models.interface import FittedModel
from sdm.types import Array, Index, Numbers


@dataclass(frozen=True)
class SurveyFile:
    """A table of sites with labels that are known already, and its coordinates."""

    path: str | Path
    x_column: str | None = None
    y_column: str | None = None
    crs: str | None = None


def chosen_options(model: FittedModel, given: Mapping[str, Any], known: Sequence[str]) -> Numbers:
    """Return the options that were given (are neither None nor empty); raise for one that does not apply."""
    chosen = {name: value for name, value in given.items() if value not in (None, [], (), {})}
    for name in chosen:
        if name not in known:
            raise OptionError(f"--{name.replace('_', '-')} does not apply to a {model.called}: leave it out")
    return chosen


def check_categories(model: FittedModel) -> None:
    """Raise if a variable of a model has categories of text, which layers cannot hold."""
    if text := list(model.encoder.labels):
        raise DataError(
            f"variable '{text[0]}' of the model has categories of text, which layers cannot hold: give its values in a "
            "table"
        )


def open_for(
    model: FittedModel,
    layers: Sequence[str],
    *,
    nodata: NodataGiven = None,
    align: str | None = None,
    rename: Mapping[str, str] | None = None,
) -> Stack:
    """Open the layers that a model needs, in its order and under its names; untagged codes of "no data" are refused."""
    check_categories(model)
    files = list(layers) if len(layers) > 1 else layers[0]
    categorical, names = model.categorical, model.names
    stack = open_stack(files, categorical=categorical, nodata=nodata, align=align, names=names, rename=rename)
    stack = examine(stack)
    refuse_codes_in(stack)
    return replace(stack, notices=(*stack.notices, said_variables(stack.names, stack.categorical)))


def check_region(model: FittedModel, stack: Stack, area: StudyArea | None = None) -> None:
    """Raise if a model with variables of place is to be used where it was not fitted."""
    if (region := Region.of_model(model)) is not None:
        region.check(stack, None if area is None else area.bounds)


def values_at(
    stack: Stack, records: Occurrences, what: str, notices: list[str], drop_suspicious: Sequence[str] = ()
) -> tuple[Array, Index]:
    """Return the layers' values at records, each record by itself, and which records those are.

    Records that cannot be used are left out, and `notices` gets a line that says how many `what` they are.
    """
    if not len(records):
        return np.empty((0, len(stack.names))), np.empty(0, dtype=np.int64)
    named = replace(records, species=np.full(len(records), what, dtype=object))
    suspicion = Suspicion.of(drop_suspicious, names=False)
    points, ledger = clean(named, stack, remove_duplicates=False, suspicion=suspicion)
    notices += ledger.notices(what)
    refuse_values(points[what].values, stack, what)
    if ledger.describe(what):
        notices.append(f"{what} left out: {ledger.describe(what)}")
    return np.asarray(points[what].values, dtype=np.float64), points[what].index


def open_text(path: str | Path) -> TextTable:
    """Open a text table; raise if there is none, or nothing in it."""
    if not Path(path).is_file():
        raise DataError(f"file '{path}' does not exist: check the path")
    return TextTable(Path(path))


def check_columns(model: FittedModel, text: TextTable, known: Sequence[str] = ()) -> None:
    """Raise if a table lacks a variable of a model, but for those that are `known` otherwise."""
    missing = [name for name in model.names if name not in text.header and name not in known]
    if absent := [f"'{name}'" for name in missing]:
        what = "a variable" if len(absent) == 1 else "variables"
        hint = f"{what} of the model: add it, or give layers with --layers"
        if has_place(missing) and not without_place(missing):
            hint = f"{what} of the model: add columns of coordinates, such as x and y, or longitude and latitude"
        raise DataError(f"file '{text.path.name}' has no column {', '.join(absent)}, {hint}")
