"""Evaluation of class models at independent points, or proportions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from sdm.assess.measures.classes import measure_classes
from sdm.conditional.targets import scale_proportions
from sdm.data.records.columns import row_count
from sdm.data.variables import variables_line
from sdm.data.vectors import VECTOR, split_layer
from sdm.errors import ConflictError, LabelError, MissingInputError, NoRecordsError, OptionError, UnknownColumnError
from sdm.kinds.classes.points import read_class_points
from sdm.kinds.inputs import check_columns, open_for, open_text, values_at
from sdm.kinds.model_task import EvaluationOptions
from sdm.models.classes import ClassModel
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options
from sdm.options.several import ClassOptions
from sdm.types import AnyArray, Array, Index, Numbers


def evaluate_classes(model: ClassModel, options: RunOptions, evaluation: EvaluationOptions) -> Numbers:
    """Measure a class model at points with known classes or proportions, as `sdm classify` tests its model."""
    notices: list[str] = []
    where = _where(model, evaluation.class_column, evaluation.proportions)
    file = Path(str(options.occurrences.file))
    chosen = cast(dict[str, str], evaluation.select or _selection(model, file, notices))
    column, shares = where.get("class_column"), where.get("proportions") or []
    classes = ClassOptions(column=column, proportions=shares, select=chosen)
    options = options.model_copy(update={"classes": classes})
    try:
        values, target, rows = _read_points(model, options, notices)
    except OptionError as error:
        if evaluation.class_column is None and column and f"no column '{column}'" in str(error):
            hint = "the model was fitted to a column of this name; name another one with --class-column"
            raise OptionError(f"{error}; {hint}") from error
        raise
    complete = np.isfinite(values).all(axis=1)
    if not complete.all():
        notices.append(f"{row_count(int(np.count_nonzero(~complete)))} without a value of every variable dropped")
        values, target, rows = values[complete], target[complete], rows[complete]
    if target.ndim == 2 and (blank := np.isnan(target).any(axis=1)).any():
        notices.append(f"{np.count_nonzero(blank):,} sites with a missing proportion dropped")
        values, target, rows = values[~blank], target[~blank], rows[~blank]
    targets = _targets(model, target, rows, file.name, notices)
    measures = measure_classes(model.distributions(values), targets, model.shares)
    return {
        "title": model.meta.get("title"),
        "classes": list(model.labels),
        "notices": notices,
        "warnings": [text for text in [measures.warning("evaluation")] if text],
        **measures.numbers(model.labels),
        **{name: dict(zip(model.labels, getattr(measures, name).tolist())) for name in ("recall", "precision")},
        "confusion": measures.confusion.tolist(),
    }


def _where(model: ClassModel, class_column: str | None, proportions: Sequence[str]) -> Numbers:
    """Return the location of the classes in a file: as the user sets it, or as stored in the model file."""
    if class_column and proportions:
        raise ConflictError("--class-column and --proportions exclude each other: use one of them")
    where = {"class_column": class_column} if class_column else {"proportions": proportions}
    if not class_column and not proportions:
        where = {name: model.meta[name] for name in ("class_column", "proportions") if model.meta.get(name)}
    if not where:
        raise MissingInputError("the model file lacks the column of its classes: add --class-column or --proportions")
    named = make_options({"classes.proportions": where.get("proportions")}).classes.proportions
    if named and (odd := set(named) ^ set(model.labels)):
        raise UnknownColumnError(
            f"--proportions {','.join(named)}: expected the classes of the model, {', '.join(model.labels)}; "
            f"'{min(odd)}' is not in both"
        )
    return where


def _selection(model: ClassModel, file: str | Path, notices: list[str]) -> dict[str, str]:
    """Return the selection of records in the fit of a model, for columns that a file has."""
    stored = model.meta.get("select")
    selection: dict[str, str] = stored if isinstance(stored, dict) else {}
    if selection and split_layer(file)[0].suffix.lower() not in VECTOR:
        header = open_text(file).header
        selection = {column: value for column, value in selection.items() if column in header}
    notices += [f"only records with {column}={value}, as the model was fitted" for column, value in selection.items()]
    return selection


def _read_points(model: ClassModel, options: RunOptions, notices: list[str]) -> tuple[Array, AnyArray, Index]:
    """Return the values of the variables at the points, from layers or columns; labels `(n,)` or proportions `(n, C)`
    in the order of the model; and row numbers."""
    layers, file = options.layers, str(options.occurrences.file)
    if layers.files:
        stack = open_for(model, layers)
        records = read_class_points(options, file, notices).records
        notices += stack.notices
        values, index = values_at(stack, records, "points", notices, options.occurrences.drop_suspicious)
    else:
        check_columns(model, open_text(file))
        columns = {"variables": list(model.names), "categorical": list(model.categorical)}
        points = read_class_points(options.with_values(layers=columns), file, notices)
        records, values = points.records, model.encoder.encode(points.table)
        index = np.arange(len(records))
        notices.append(variables_line(model.names, model.categorical))
    shares = [records.numbers(label) for label in model.labels] if options.classes.proportions else None
    target = records.species.astype(str) if shares is None else np.column_stack(shares)
    return values, target[index], records.row[index]


def _targets(model: ClassModel, target: AnyArray, rows: Index, source: str, notices: list[str]) -> Array:
    """Return target distributions `(C, n)` of labels or proportions."""
    if not len(target):
        raise NoRecordsError(f"no point of '{source}' has a class and a value of every variable")
    if target.ndim == 2:
        return scale_proportions(target, rows)
    place = {label: c for c, label in enumerate(model.labels)}
    place |= {str(code): place[label] for label, code in model.codes.items() if str(code) not in place}
    strange = target[[label not in place for label in target.tolist()]]
    if strange.size:
        names = [f"'{name}'" for name in sorted(set(strange.tolist()))]
        others = f" (and {', '.join(names[1:6])}{', …' if len(names) > 6 else ''})" if len(names) > 1 else ""
        raise LabelError(
            f"{strange.size:,} points of '{source}' have the class {names[0]}{others}, and the classes of the model "
            f"are {', '.join(model.labels)}: rename or remove these points"
        )
    codes = np.array([place[label] for label in target.tolist()])
    for c in sorted(set(range(len(model.labels))) - set(codes.tolist())):
        notices.append(f"no point of class '{model.labels[c]}': its accuracy is unknown")
    return np.asarray(np.eye(len(model.labels))[:, codes])
