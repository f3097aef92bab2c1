"""A model of any kind, and the values that it needs: layers, at records, or columns of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdm.conditional.model import ClassModel
from sdm.data.clean import clean
from sdm.data.layers import Stack, open_stack
from sdm.data.occurrences import Occurrences
from sdm.data.textfile import TextTable
from sdm.errors import DataError, OptionError
from sdm.features.domain import Array, Index
from sdm.joint.fitted import FittedJoint
from sdm.model import Model

AnyModel = Model | ClassModel | FittedJoint


def kind_of(model: AnyModel) -> str:
    """Return what messages call such a model."""
    return {ClassModel: "class model", FittedJoint: "joint model"}.get(type(model), "model of one species")


def refuse_options(model: AnyModel, given: Mapping[str, Any]) -> None:
    """Raise for the first of these options that was given (is neither None nor empty): it is of other models."""
    for name, value in given.items():
        if value not in (None, [], (), {}):
            raise OptionError(f"{name} says nothing to a {kind_of(model)}: leave it out")


def variable_names(model: AnyModel) -> tuple[str, ...]:
    """Return the variables of a model, in its order."""
    return model.encoder.names if isinstance(model, FittedJoint) else model.names


def categorical_names(model: AnyModel) -> list[str]:
    """Return the variables of a model that are categories."""
    if isinstance(model, FittedJoint):
        return list(model.encoder.categorical)
    return [variable.name for variable in model.variables if variable.categorical]


def category_labels(model: AnyModel) -> dict[str, tuple[str, ...]]:
    """Return the names of the categories of every variable that has categories of text."""
    if isinstance(model, FittedJoint):
        return dict(model.encoder.labels)
    return {variable.name: variable.labels for variable in model.variables if variable.labels}


def check_categories(model: AnyModel) -> None:
    """Raise if a variable of a model has categories of text, which layers cannot hold."""
    if text := list(category_labels(model)):
        raise DataError(
            f"variable '{text[0]}' of the model has categories of text, which layers cannot hold: give its values in a "
            "table"
        )


def open_for(model: AnyModel, layers: Sequence[str], *, nodata: float | None = None, align: str | None = None) -> Stack:
    """Open the layers that a model needs, in its order.

    Raises
    ------
    DataError
        If one is missing, or a variable of the model has categories of text.
    """
    check_categories(model)
    return open_stack(
        list(layers) if len(layers) > 1 else layers[0],
        categorical=categorical_names(model),
        nodata=nodata,
        align=align,
        names=variable_names(model),
    )


def values_at(stack: Stack, records: Occurrences, what: str, notices: list[str]) -> tuple[Array, Index]:
    """Return the layers' values at records, each record by itself, and which records those are.

    Records that cannot be used are left out, and `notices` gets a line that says how many `what` they are.
    """
    if not len(records):
        return np.empty((0, len(stack.names))), np.empty(0, dtype=np.int64)
    named = replace(records, species=np.full(len(records), what, dtype=object))
    points, ledger = clean(named, stack, remove_duplicates=False)
    if ledger.describe(what):
        notices.append(f"{what} left out: {ledger.describe(what)}")
    return np.asarray(points[what].values, dtype=np.float64), points[what].index


def open_text(path: str | Path) -> TextTable:
    """Open a text table.

    Raises
    ------
    DataError
        If there is none, or nothing in it.
    """
    if not Path(path).is_file():
        raise DataError(f"file '{path}' does not exist: check the path")
    return TextTable(Path(path))


def check_columns(model: AnyModel, text: TextTable) -> None:
    """Raise if a table lacks a variable of a model."""
    absent = [f"'{name}'" for name in variable_names(model) if name not in text.header]
    if absent:
        what = "a variable" if len(absent) == 1 else "variables"
        raise DataError(
            f"file '{text.path.name}' has no column {', '.join(absent)}, {what} of the model: add it, or give layers "
            "with --layers"
        )
