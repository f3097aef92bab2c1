"""Predictions for the rows of a table: values in its columns, or taken from layers at its coordinates."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdm.data.crs import WGS84, reproject
from sdm.data.nodata import NodataValues
from sdm.data.place import ELSEWHERE, PLACE, Region, is_place
from sdm.data.rasters.stack import Stack
from sdm.data.records.columns import coordinate_pair, named_column
from sdm.data.records.occurrences import Occurrences, as_text
from sdm.data.records.textfile import TextTable, column_key, numbers
from sdm.errors import ColumnError, DuplicateNameError, OptionError, RegionError
from sdm.kinds.inputs import check_columns, open_text, values_at
from sdm.kinds.model_task import MapOptions, MapResult, ModelTask
from sdm.maps.novelty import OF_VARIABLES, Novelty
from sdm.maps.outside import outside_line, outside_numbers
from sdm.models.extrapolation import BOTH, extrapolated
from sdm.models.interface import FittedModel
from sdm.novelty.exdet import NONE
from sdm.report.tables import write_rows
from sdm.storage.commit import publishing
from sdm.types import AnyArray, Array, Index, Numbers, Progress, Row

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".tsv", ".txt")
DEGREES = ("lon", "lng", "wgs84")  # parts of column names of longitudes


@dataclass(frozen=True)
class PredictionSettings:
    """Settings of maps and predictions of a model file, and of reading layers and tables.

    Attributes
    ----------
    scale : {"cloglog", "raw", "cumulative", "logistic"}, optional
        Scale of a model of one species; default: cloglog.
    extrapolation : {"clamp", "free", "none", "fade", "lower"}, optional
        Prediction outside the training range: variables at its limits (default), unlimited variables, or no prediction.
        Models of one species also have fade (clamp minus its difference from free) and lower (the lower of the two).
    novelty : str or sequence of str, optional
        Additional maps of novelty: ``mess``, ``exdet``, ``mop``, ``clamping`` and ``limiting``. Their files are
        `<stem>_mess.tif` and, with the most dissimilar variable, `<stem>_mod.tif`, and others. The share of the map
        outside the training range is always among the numbers.
    clamp : bool, optional
        The earlier name of extrapolation: True is clamp, and False is free.
    threshold : str or float, optional
        Threshold for a map of presence and absence, for a model of one species or of presence and absence.
    known : path, optional
        For a joint model: a table of survey sites with columns (or rows) of some species, 1, 0 or blank. Predictions in
        the cells of these sites are conditional on these labels; a cell with several sites has the species if one site
        has it. For a table of points, it is the same table, or a table joined by names of sites, by coordinates, or row
        by row.
    communities : bool
        For a joint model and a table of points: also write probable communities of every row with their probabilities,
        to `<stem>_communities.csv`.
    area : path, optional
        Polygons that limit the map.
    nodata, align, rename
        See `open_stack`; rules of renaming may also be texts, such as ``"wc2.1_10m_bio_{n}=bio{n}"``.
    values_from : sequence of str
        For a table: layers with the values at its coordinates. By default, its columns are the variables.
    x_column, y_column, crs : str, optional
        Coordinates of a table with `values_from`, or of `known`. Default: columns with standard names.
    progress : callable, optional
        Called with the windows done, their total, and the stage.
    """

    scale: str | None = None
    extrapolation: str | None = None
    novelty: str | Sequence[str] | None = None
    clamp: bool | None = None
    threshold: str | float | None = None
    known: str | Path | None = None
    communities: bool = False
    area: str | Path | None = None
    nodata: NodataValues = None
    align: str | None = None
    rename: Mapping[str, str] | Sequence[str] | None = None
    values_from: Sequence[str] = ()
    x_column: str | None = None
    y_column: str | None = None
    crs: str | None = None
    threads: int = 2
    overwrite: bool = False
    progress: Progress | None = None


OpenLayers = Callable[[Sequence[str]], Stack]
"""Opens files as the layers of a model."""


def check_table(points: Path, output: Path) -> None:
    """Raise if the predictions for a table cannot be written to their path."""
    if output.suffix.lower() not in SUFFIXES:
        raise OptionError(f"{points} is a table, and so are its predictions: expected -o FILE.csv, got {output}")
    if output.resolve() == points.resolve():
        raise OptionError(f"{output} is the table itself: choose another name for the predictions")


def predict_table(
    task: ModelTask[FittedModel],
    model: FittedModel,
    points: Path,
    output: Path,
    notices: list[str],
    settings: PredictionSettings,
    open_layers: OpenLayers,
    options: MapOptions,
) -> MapResult:
    """Write a table again with its rows and columns, and with columns of predictions and novelty; with `communities`
    also a table of the possible communities of its rows."""
    scale, extrapolation, survey, communities = options.scale, options.extrapolation, options.known, options.communities
    text = open_text(points)
    if settings.values_from:
        x, row = _from_layers(model, text, settings, open_layers, notices)
    else:
        x, row = _from_columns(model, text, settings)
    away = _leave_out_elsewhere(model, x, notices)
    notices += text.notes
    columns = list(np.ascontiguousarray(x.T))
    clamped = extrapolation != "free"
    measured = Novelty(model, options.novelty, scale)
    rows = task.row_predictor(model, survey, text, row, notices)
    base = rows.values(columns, scale, clamped)
    beside = measured.measure(columns, model.column_values(columns, scale, clamped), clamped) if options.novelty else {}
    free = (lambda: rows.values(columns, scale, False)) if extrapolation in BOTH else (lambda: base)
    values = extrapolated(model, base, free, columns, extrapolation)
    complete = np.asarray(~np.isnan(base).any(axis=0))
    made = {**task.table_columns(model, values, scale), **{name: _texts(model, name, beside[name]) for name in beside}}
    possible = rows.communities(columns, clamped) if communities else []
    files = {"table": output} | ({"communities": communities_place(output)} if communities else {})
    with publishing(list(files.values())) as places:
        _write(places[0], text, row, made)
        if communities:
            write_rows(places[1], possible)
    if gaps := int(np.count_nonzero(~complete)) - away:
        notices.append(f"{gaps:,} of {len(row):,} rows have no prediction, because a value is missing")
    outside = _outside(model, columns, complete)
    counted = {} if outside is None else {"outside": _row_numbers(outside)}
    predicted = int(np.count_nonzero(~np.isnan(values).any(axis=0)))
    lines = (
        [] if outside is None else [outside_line(outside).replace(" cells (", " rows (").replace("no cell", "no row")]
    )
    lines.append(f"written: {output} ({len(row):,} rows, {predicted:,} with a prediction: {', '.join(made)})")
    if communities:
        lines.append(f"written: {files['communities']} ({len(possible):,} possible communities)")
    return MapResult(files, {"rows": len(row), "predicted": predicted, **counted}, lines)


def communities_place(output: Path) -> Path:
    """Return the path of the possible communities of the rows of a table."""
    return output.with_name(f"{output.stem}_communities{output.suffix}")


def _leave_out_elsewhere(model: FittedModel, x: Array, notices: list[str]) -> int:
    """Blank rows (n, V) outside the region of a model with spatial features; return their number."""
    region = Region.of_model(model)
    if region is None:
        return 0
    coordinates = [x[:, model.names.index(name)] if name in model.names else np.full(len(x), np.nan) for name in PLACE]
    away = region.beyond(*coordinates)
    count = int(np.count_nonzero(away))
    if count == len(x) and count:
        raise RegionError(f"{ELSEWHERE}; none of {count:,} rows is in this region: use points of the region")
    x[away] = np.nan
    if count:
        notices.append(
            f"{count:,} of {len(x):,} rows have no prediction, because they are outside the training region: "
            f"{ELSEWHERE}"
        )
    return count


def _from_columns(model: FittedModel, text: TextTable, settings: PredictionSettings) -> tuple[Array, Index]:
    """Return the values of the columns of a table, in the order of the model, and their row numbers. Coordinates are
    the location of a row, unless there are columns for the spatial variables."""
    labels = model.encoder.labels
    pair: list[str | None] = [None, None]
    if any(is_place(name) and name not in text.header for name in model.names):
        pair = _coordinate_columns(text, settings)
    check_columns(model, text, () if None in pair else PLACE)
    frame, row = text.read(as_text=set(labels))
    where = {} if None in pair else _in_region(model, frame, row, text, pair, settings.crs)
    table = {
        name: where[name]
        if name in where
        else [word or None for word in as_text(frame[name])]
        if name in labels
        else numbers(frame[name], row, text.path.name)
        for name in model.names
    }
    return model.encoder.encode(
        {name: np.asarray(column, dtype=object) if name in labels else column for name, column in table.items()}
    ), row


def _coordinate_columns(text: TextTable, settings: PredictionSettings) -> list[str | None]:
    """Return the coordinate columns of a table, as named or by standard names, else None."""
    names = (settings.x_column, settings.y_column)
    return [
        by_name if name is None else named_column(name, text.header, text.path.name)
        for name, by_name in zip(names, coordinate_pair(text.header))
    ]


def _in_region(
    model: FittedModel, frame: "pd.DataFrame", row: Index, text: TextTable, pair: Sequence[str | None], crs: str | None
) -> dict[str, Array]:
    """Return the coordinates of a table as spatial variables: in the coordinates of the fit, converted from longitude
    and latitude."""
    x, y = (numbers(frame[name], row, text.path.name) for name in pair)
    source = crs or (WGS84 if any(word in column_key(str(pair[0])) for word in DEGREES) else None)
    region = Region.of_model(model)
    if source is not None and region is not None and region.crs:
        x, y = reproject(x, y, source, region.crs)
    return dict(zip(PLACE, (x, y)))


def _from_layers(
    model: FittedModel, text: TextTable, settings: PredictionSettings, open_layers: OpenLayers, notices: list[str]
) -> tuple[Array, Index]:
    """Return the values of layers at the coordinates of a table, NaN if missing, and the rows."""
    source = text.path.name
    pair = _coordinate_columns(text, settings)
    if None in pair:
        raise ColumnError(
            f"file '{source}' has no coordinate columns, which layers need; it has {', '.join(text.header)}: name them "
            "with --x-column and --y-column"
        )
    frame, row = text.read(as_text=set())
    x, y = (numbers(frame[name], row, source) for name in pair)
    stack = open_layers(settings.values_from)
    if (region := Region.of_model(model)) is not None:
        region.check_crs(stack)
    notices += stack.notices
    nobody = np.full(len(row), "", dtype=object)
    records = Occurrences(nobody, x, y, settings.crs or WGS84, row, source=str(text.path))
    at_records, index = values_at(stack, records, "points", notices)
    values = np.full((len(row), len(model.names)), np.nan)
    values[index] = at_records
    return values, row


def _texts(model: FittedModel, name: str, values: AnyArray) -> list[object]:
    """Return a column of novelty: names of variables, empty if there is none."""
    if name in OF_VARIABLES:
        return ["" if k in (0, NONE) else model.names[k - 1] for k in values.tolist()]
    if values.dtype == np.uint8:
        return ["" if flag == NONE else flag for flag in values.tolist()]
    return list(values.tolist())


def _outside(model: FittedModel, columns: Sequence[Array], valid: AnyArray) -> Numbers | None:
    """Return the number of rows outside the training range, without areas."""
    seen = model.training_range
    if seen is None:
        return None
    outside, counts = seen.mark(columns, valid, max(len(valid), 1))
    rows = np.concatenate([[valid.sum(), outside.sum()], np.sum(counts, axis=1)])
    return outside_numbers(seen, rows, np.zeros(len(rows)))


def _row_numbers(numbers: Numbers) -> Row:
    """Rename numbers of cells to numbers of rows."""

    def named(part: Numbers) -> Numbers:
        return {"rows": part["cells"], "share": part["share"]}

    groups = {
        key: {name: named(part) for name, part in numbers[key].items()} for key in ("variables", "unseen_categories")
    }
    return {"of_rows": numbers["of_cells"], **named(numbers), **groups}


def _write(place: Path, text: TextTable, row: Index, new_columns: Mapping[str, Sequence[object]]) -> None:
    """Write the unchanged rows of a table, with new columns after its own."""
    names = _free_names(text, list(new_columns))
    row_of = {int(number): k for k, number in enumerate(row)}
    with place.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=text.delimiter, lineterminator="\n")
        writer.writerow([*text.header, *names])
        for number, cells in text.texts():
            if (k := row_of.get(number)) is not None:
                new = [_word(column[k], text.decimal) for column in new_columns.values()]
                writer.writerow([*cells, *[""] * (len(text.header) - len(cells)), *new])


def _free_names(text: TextTable, names: Sequence[str]) -> list[str]:
    """Return the names of new columns, different from those of the table."""
    out = [name if name not in text.header else f"predicted {name}" for name in names]
    if taken := [name for name in out if name in text.header]:
        raise DuplicateNameError(f"file '{text.path.name}' already has a column '{taken[0]}': rename or remove it")
    return out


def _word(value: object, decimal: str) -> str:
    """Return a value as text; empty if it is missing."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.9g}".replace(".", decimal)
    return str(value)
