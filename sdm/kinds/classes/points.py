"""Points with classes or proportions from files, with coordinates or with values of the variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdm.data.records.columns import ABSENT, SPECIES, first_of, named_column
from sdm.data.records.frames import pd
from sdm.data.records.occurrences import Occurrences, as_text, read_occurrences
from sdm.data.records.samples import ColumnRoles, read_swd
from sdm.data.records.textfile import TextTable, column_key
from sdm.data.site_folds import SITE
from sdm.errors import InapplicableError, NoRecordsError, OptionError, UnknownColumnError, UnknownNameError, name_list
from sdm.kinds.inputs import choice_of, row_rules
from sdm.options.definitions import RunOptions


@dataclass(frozen=True)
class Points:
    """Rows of a file: their labels, other columns, and values if the file has them."""

    records: Occurrences
    table: pd.DataFrame | None = None

    def take(self, rows: NDArray[np.bool_]) -> Points:
        """Return some of the rows."""
        table = None if self.table is None else self.table.loc[rows].reset_index(drop=True)
        return Points(self.records.take(rows), table)

    def leave_out(self, drop: NDArray[np.bool_], reason: str) -> Points:
        """Drop rows and list them in the records with a reason."""
        table = None if self.table is None else self.table.loc[~drop].reset_index(drop=True)
        return Points(self.records.leave_out(drop, reason), table)


def read_class_points(options: RunOptions, file: str, notices: list[str]) -> Points:
    """Read points with classes or proportions, without rows that are not selected."""
    occ, classes = options.occurrences, options.classes
    column, source = occ.response or classes.column, Path(file).name
    if options.layers.files:
        records = read_occurrences(
            file,
            crs=occ.crs,
            named=(column, occ.x_column, occ.y_column),
            columns=_beside(options),
            numeric=classes.proportions,
            rules=row_rules(options, absences=_has_absences(options)),
            layer=occ.layer if file == occ.file else None,
            noun=None if column is None else "class",
        )
        points = Points(records)
    elif occ.layer is not None:
        raise InapplicableError(f"occurrences.layer={occ.layer!r} needs points with layers, not a table: remove it")
    else:
        points = _read_table(options, file, column)
        records = points.records
    place = " (in the whole file)" if classes.select else ""
    notices += [note + place if note[:1].isdigit() else note for note in records.notes]
    records = replace(records, notes=())
    if column is None:
        records = replace(records, species=np.full(len(records), "sites", dtype=object))
    points = replace(points, records=records)
    keep = selected(records.extra, classes.select, source)
    if occ.response is not None:
        check_presence(records, occ.response, source)
    points = points.leave_out(~keep, f"without {' and '.join(f'{k}={v}' for k, v in classes.select.items())}")
    notices += points.records.notes
    return points


def _has_absences(options: RunOptions) -> bool:
    """Whether records of absence are used: with a response, including a response in the status column."""
    return options.occurrences.response is not None or column_key(options.classes.column or "") == "occurrencestatus"


def _beside(options: RunOptions) -> list[str]:
    """Return the additional columns to read."""
    source, classes = options.occurrences, options.classes
    species = [source.species_column] if source.species_column else list(SPECIES) if source.response else []
    sites = [source.site_column] if source.site_column else list(SITE)
    folds = [options.test.fold_column] if options.test.fold_column else []
    return [*classes.proportions, *classes.select, *species, *sites, *folds]


def _read_table(options: RunOptions, file: str, column: str | None) -> Points:
    """Read a table whose columns are the variables, except columns with another meaning."""
    source, header = options.occurrences, TextTable(Path(file)).header if Path(file).is_file() else []
    named = [column, *options.classes.proportions, *options.classes.select, source.species_column, source.site_column]
    named += [options.test.fold_column, first_of(header, SITE), first_of(header, SPECIES) if source.response else None]
    names = list(dict.fromkeys(named_column(name, header, Path(file).name) for name in named if name))
    rules = row_rules(options, absences=_has_absences(options))
    swd = read_swd(
        file,
        categorical=options.layers.categorical,
        roles=ColumnRoles(text=tuple(names)),
        choice=choice_of(options),
        nodata=options.layers.nodata,
        rules=rules,
    )
    label = swd.text[named_column(column, header, Path(file).name)].to_numpy(dtype=object) if column else swd.species
    records = Occurrences(
        label, swd.x, swd.y, source.crs or "EPSG:4326", swd.row, swd.text.reset_index(drop=True), swd.source, swd.notes
    )
    complete = swd.table.notna().all(axis=1).to_numpy() & (label != "")
    if not complete.any():
        raise NoRecordsError(f"no row of '{Path(file).name}' has a class and a value of every variable")
    points = Points(replace(records, left_out=swd.left_out), swd.table.reset_index(drop=True))
    return points.leave_out(~complete, "without a class, or a value of every variable,")


def selected(table: pd.DataFrame, select: Mapping[str, str], source: str) -> NDArray[np.bool_]:
    """Return the mask of rows with the selected value in every named column."""
    keep = np.ones(len(table), dtype=bool)
    header = [str(name) for name in table.columns]
    for column, value in select.items():
        name = column if column in header else first_of(header, [column_key(column)])
        if name is None:
            raise UnknownColumnError(f"classes.select: {source} has no column '{column}', only {name_list(header)}")
        keep &= as_text(table[name]) == value
        if not keep.any():
            raise UnknownNameError(f"classes.select: no record of {source} has '{value}' in column '{name}'")
    return keep


def check_presence(records: Occurrences, column: str, source: str) -> None:
    """Raise unless a column has two values, one of which is an absence."""
    values = sorted({str(name) for name in records.species})
    if len(values) == 2 and sum(map(is_absence, values)) == 1:
        return
    expected = "--response expects two values, presence and absence, such as 1 and 0, or present and absent"
    instead = f"for classes use 'sdm classify --class-column {column}'"
    if len(values) > 2 and any(map(is_absence, values)) and all(name.isascii() and name.isdigit() for name in values):
        most = max(map(int, values))
        raise OptionError(f"column '{column}' of {source} has counts up to {most:,}: {expected} ({instead})")
    quoted = name_list([f"'{name}'" for name in values], 5)
    content = f"{len(values):,} values ({quoted})" if len(values) > 2 else quoted.replace(", ", " and ")
    content += " only" if len(values) == 1 else ""
    raise OptionError(f"column '{column}' of {source} contains {content}: {expected}; {instead}")


def is_absence(word: str) -> bool:
    """Whether a word denotes an absence."""
    return word.strip().lower() in ABSENT
