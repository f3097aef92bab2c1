"""Samples with data (SWD): tables of records with the values of the variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sdm.data.nodata import NodataCodes, NodataValues
from sdm.data.place import PLACE, is_place, refuse_place_names, without_place
from sdm.data.records.columns import PRESENCE, SPECIES, coordinate_pair, first_of, named_column, species_column
from sdm.data.records.frames import pd, take_rows
from sdm.data.records.occurrences import as_text, check_file, species_of_rows
from sdm.data.records.rows import LEFT_OUT, FileRows, RowRules, identifiers, with_fate, with_left_out
from sdm.data.records.textfile import TextTable
from sdm.data.untagged import blank_codes, refuse_codes
from sdm.data.variables import NamedVariables, not_a_variable, numbers_rows
from sdm.errors import ColumnError, NoRecordsError, VariableError


@dataclass(frozen=True)
class Swd:
    """Samples with data: n records with the values of the variables."""

    species: np.ndarray  # names; `background` for background
    x: np.ndarray  # NaN without coordinates
    y: np.ndarray
    table: pd.DataFrame  # (n, V) the variables: numbers, or text for categorical ones
    categorical: tuple[str, ...]
    source: str
    notes: tuple[str, ...]
    weight: np.ndarray | None
    effort: np.ndarray | None
    fold: np.ndarray | None  # labels as text, empty without a label
    text: pd.DataFrame  # other named columns
    row: np.ndarray
    identifier: np.ndarray
    left_out: pd.DataFrame  # dropped rows with reasons

    def take(self, which: np.ndarray) -> Swd:
        """Return some rows, by index or by booleans."""
        names = ("species", "x", "y", "table", "weight", "effort", "fold", "text", "row", "identifier")
        return take_rows(self, which, names)

    @property
    def is_background(self) -> np.ndarray:
        """Mask of background rows."""
        return np.asarray(self.species == "background")

    @property
    def species_names(self) -> list[str]:
        """The species in order of appearance, without background."""
        return [str(name) for name in pd.unique(self.species) if name != "background"]

    def with_place(self) -> Swd:
        """Return the table with its coordinates as variables of place."""
        name = Path(self.source).name
        refuse_place_names([str(column) for column in self.table], "column", f"'{name}'", row=True)
        if np.isnan(self.x).all() or np.isnan(self.y).all():
            raise ColumnError(
                f"table '{name}' has no coordinates, which spatial features (--spatial) need: expected columns such as "
                "x and y, or longitude and latitude"
            )
        return replace(self, table=self.table.assign(**dict(zip(PLACE, (self.x, self.y)))))

    def fate(self) -> pd.DataFrame:
        """Return the record log: a line per row of the file, in its order, with identifier, outcome and reason."""
        text = self.table.select_dtypes(exclude="number")
        complete = self.table.notna().all(axis=1).to_numpy() & (text != "").all(axis=1).to_numpy()
        why = np.where(complete, 0, 1)
        if self.effort is not None:
            why[complete & ~(self.effort > 0)] = 2
        lines = pd.DataFrame(dict(zip(LEFT_OUT, (self.row, self.identifier, self.species, self.x, self.y))))
        reasons = ("", "without a value for every variable", "where the sampling effort is zero or missing")
        return with_left_out(with_fate(lines, why, reasons), self.left_out)

    def sites(self) -> Swd:
        """Return one row per place with any species: the background of a target group.

        Rows belong to one place if their coordinates are equal, or in a table without coordinates, all variables.
        """
        records = np.flatnonzero(~self.is_background)
        if not len(records):
            raise NoRecordsError(f"table '{Path(self.source).name}' contains no records of species for a target group")
        place = pd.DataFrame({"x": self.x, "y": self.y})
        place = place if np.isfinite(place.to_numpy()[records]).all() else self.table
        first = records[~place.iloc[records].duplicated().to_numpy()]
        name = np.full(len(first), "background", dtype=object)
        return replace(self.take(first), species=name, weight=None, fold=None)


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of a table of samples other than variables, by their names in the file."""

    weight: str | None = None
    effort: str | None = None
    fold: str | None = None
    text: tuple[str, ...] = ()


def read_swd(
    path: str | Path,
    *,
    categorical: Sequence[str] = (),
    variables: Sequence[str] | None = None,
    roles: ColumnRoles | None = None,
    rules: RowRules | None = None,
    choice: NamedVariables | None = None,
    nodata: NodataValues = None,
    like: Collection[str] = (),
) -> Swd:
    """Read a table of samples with data.

    A row is background if its species is ``background``, or if a column such as ``presence`` or ``occ`` is 0.
    Coordinates are optional. All other columns of numbers are variables, unless `variables` names them. Columns with
    one of the `roles`, columns that `choice` excludes, and row numbers are not variables; row numbers are if `choice`
    names them in full, or if they are variables of another table, `like`. `categorical` columns contain classes, as
    numbers or text. Variables of place in `variables` are the coordinates, unless there are columns with these names.
    `nodata` are missing values (`sdm.data.nodata`), and `rules` select the rows.
    """
    check_file(Path(path))
    text, roles = TextTable(Path(path)), roles or ColumnRoles()
    columns = _record_columns(text, roles, categorical)
    rows = FileRows.read(text, {columns[0]}, rules=rules)
    species, x, y = _records(rows, columns, text.path.stem)
    named = {"weight": roles.weight, "effort": roles.effort, "fold": roles.fold}
    by_role = {role: named_column(name, text.header, text.path.name) for role, name in named.items() if name}
    used = {*columns, *by_role.values(), *roles.text}
    rest = [name for name in rows.frame.columns if name not in used]
    placed = variables is not None and any(is_place(name) and name not in rest for name in variables)
    if placed:  # variables of place are the coordinates
        variables = without_place(variables or ())
    if absent := [name for name in [*(variables or ()), *categorical] if name not in rest]:
        raise VariableError(f"table '{text.path.name}' has no variable '{absent[0]}', only {', '.join(rest)}")
    names, idle = list(variables or ()), list[str]()
    if variables is None:
        names, idle = _choose(rows, rest, (x, y), choice, like, categorical)
    weight, effort = (rows.numbers(by_role[role]) if role in by_role else None for role in ("weight", "effort"))
    table, notes = _variables(rows, names, categorical, named=variables is not None)
    keep = rows.sift()
    if columns[0] is not None and not roles.text and not len(like):  # a table of background may have no species
        rows.leave_out(species == "", "without a species name")
    swd = Swd(
        species, x, y, table, tuple(name for name in names if name in categorical), str(path),
        notes=(*text.notes, *idle, *notes, *rows.notes),
        weight=weight, effort=effort, fold=as_text(rows.frame[by_role["fold"]]) if "fold" in by_role else None,
        text=pd.DataFrame({name: as_text(rows.frame[name]) for name in roles.text}, index=range(len(rows.frame))),
        row=rows.row, identifier=identifiers(rows.frame, len(rows.frame)), left_out=rows.left_out(species, x, y),
    )  # fmt: skip
    if not keep.any():
        raise NoRecordsError(f"table '{text.path.name}' contains no usable row ({'; '.join(rows.notes)})")
    swd, codes = swd if keep.all() else swd.take(keep), NodataCodes.read(nodata)
    cleaned, blanked = blank_codes(swd.table, codes)
    refuse_codes(cleaned, codes, text.path.name)
    swd = replace(swd, table=cleaned, notes=(*swd.notes, *blanked))
    return swd.with_place() if placed else swd


def _record_columns(text: TextTable, roles: ColumnRoles, categorical: Sequence[str]) -> list[str | None]:
    """Return the columns of species, x, y, and presence or absence; None without such a column."""
    presence = first_of(text.header, PRESENCE)
    if presence in roles.text:  # presence and absence are the classes
        presence = None
    species = first_of(text.header, SPECIES)
    if species is None and presence is None and not roles.text:
        species = species_column(text.header, text.sample, None, text.path.name, tuple(categorical))
    return [species, *coordinate_pair(text.header), presence]


def _records(rows: FileRows, columns: Sequence[str | None], default: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the species, x and y of every row, NaN without coordinates."""
    species = species_of_rows(rows.frame, columns[0], default)
    missing = np.full(len(rows.frame), np.nan)
    x, y, presence = (missing.copy() if name is None else rows.numbers(name) for name in columns[1:])
    species[[name.lower() == "background" for name in species]] = "background"
    species[presence == 0] = "background"
    return species, x, y


def _choose(
    rows: FileRows,
    names: Sequence[str],
    xy: tuple[np.ndarray, np.ndarray],
    choice: NamedVariables | None,
    like: Collection[str],
    categorical: Sequence[str],
) -> tuple[list[str], list[str]]:
    """Return the variables among columns if none are named, and a note for each column of row numbers."""
    choice = choice or NamedVariables()
    shared = [name for name in names if name in like]
    chosen = shared or choice.of(list(names), "column", rows.source)  # they were selected with the other table
    explicit = {*like, *categorical, *choice.variables}
    places = len(np.unique(np.column_stack(xy), axis=0)) if np.isfinite(xy[0]).all() else None
    idle = [name for name in chosen if name not in explicit and numbers_rows(name, rows.frame[name], places)]
    return [name for name in chosen if name not in idle], [not_a_variable(name) for name in idle]


def _variables(
    rows: FileRows, names: Sequence[str], categorical: Sequence[str], *, named: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of variables, and notes on columns without numbers; `named` columns must contain numbers."""
    table, notes = dict[str, np.ndarray](), list[str]()
    for name in names:
        values = rows.frame[name]
        if name in categorical:
            table[name] = values.to_numpy() if pd.api.types.is_numeric_dtype(values) else values.to_numpy(dtype=object)
        elif not named and pd.to_numeric(values, errors="coerce").isna().all():
            notes.append(f"column '{name}' contains no numbers and was dropped: use --categorical {name} for classes")
        else:
            table[name] = rows.numbers(name)
    if not table:
        raise ColumnError(
            f"table '{rows.source}' has no column of numbers other than species and coordinates: add one column per "
            "variable, or give a folder of layers after the table"
        )
    return pd.DataFrame(table), notes
