"""Samples with data (SWD): tables of records that carry the values of the variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sdm.data.nodata import NodataCodes, NodataGiven
from sdm.data.place import PLACE, is_place, refuse_place_names, without_place
from sdm.data.records.columns import PRESENCE, SPECIES, coordinate_pair, first_of, named_column, species_column
from sdm.data.records.frames import pd
from sdm.data.records.occurrences import as_text, check_file, species_of_rows
from sdm.data.records.rows import LEFT_OUT, FileRows, RowRules, with_fate, with_left_out
from sdm.data.records.textfile import TextTable
from sdm.data.untagged import blank_codes, refuse_codes
from sdm.data.variables import NamedVariables, not_a_variable, numbers_rows
from sdm.errors import DataError


@dataclass(frozen=True)
class Swd:
    """Samples with data: n records that carry the values of the variables."""

    species: np.ndarray  # names; `background` for background
    x: np.ndarray  # NaN where there are no coordinates
    y: np.ndarray
    table: pd.DataFrame  # (n, V) the variables: numbers, or text for categorical ones
    categorical: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    weight: np.ndarray | None = None
    effort: np.ndarray | None = None
    fold: np.ndarray | None = None  # labels as text, empty where there is none
    text: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())  # other columns that were named
    row: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    identifier: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=object))
    left_out: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(LEFT_OUT)))  # rows, and why

    def take(self, which: np.ndarray) -> Swd:
        """Return some of the rows, by index or by booleans."""
        at = np.arange(len(self.species))[which]
        arrays = {name: getattr(self, name) for name in ("species", "x", "y", "weight", "effort", "fold", "row")}
        arrays["identifier"] = self.identifier
        taken = {name: part[at] for name, part in arrays.items() if part is not None and len(part)}
        tables = {name: getattr(self, name).iloc[at].reset_index(drop=True) for name in ("table", "text")}
        return replace(self, **taken, **tables)

    @property
    def is_background(self) -> np.ndarray:
        """Which rows are background."""
        return self.species == "background"

    @property
    def species_names(self) -> list[str]:
        """The different species, in order of appearance, without background."""
        return [str(name) for name in pd.unique(self.species) if name != "background"]

    def with_place(self) -> Swd:
        """Return the table with its coordinates as variables of place."""
        name = Path(self.source).name
        refuse_place_names([str(column) for column in self.table], "column", f"'{name}'", row=True)
        if np.isnan(self.x).all() or np.isnan(self.y).all():
            raise DataError(
                f"table '{name}' has no coordinates, which features of place (--spatial) are made of: expected columns "
                "such as x and y, or longitude and latitude"
            )
        return replace(self, table=self.table.assign(**dict(zip(PLACE, (self.x, self.y)))))

    def fate(self) -> pd.DataFrame:
        """Return a line for every row of the file, in its order: what tells it apart, its fate, and why."""
        text = self.table.select_dtypes(exclude="number")
        whole = self.table.notna().all(axis=1).to_numpy() & (text != "").all(axis=1).to_numpy()
        why = np.where(whole, 0, 1)
        if self.effort is not None:
            why[whole & ~(self.effort > 0)] = 2
        names = self.identifier if len(self.identifier) else np.full(len(why), "", dtype=object)
        lines = pd.DataFrame(dict(zip(LEFT_OUT, (self.row, names, self.species, self.x, self.y))))
        reasons = ("", "without a value for every variable", "where the sampling effort is zero or missing")
        return with_left_out(with_fate(lines, why, reasons), self.left_out)

    def sites(self) -> Swd:
        """Return one row of each place where any species was found: the background of a target group. Rows are of one
        place if their coordinates are the same, or, where a table has none, all their variables."""
        records = np.flatnonzero(~self.is_background)
        if not len(records):
            raise DataError(f"table '{Path(self.source).name}' holds no records of species: expected a target group")
        at = pd.DataFrame({"x": self.x, "y": self.y})
        at = at if np.isfinite(at.to_numpy()[records]).all() else self.table
        first = records[~at.iloc[records].duplicated().to_numpy()]
        effort = None if self.effort is None else self.effort[first]
        table = self.table.iloc[first].reset_index(drop=True)
        name = np.full(len(first), "background", dtype=object)
        sites = replace(self, species=name, x=self.x[first], y=self.y[first], table=table)
        return replace(sites, weight=None, effort=effort, fold=None)


def read_swd(
    path: str | Path,
    *,
    categorical: Sequence[str] = (),
    variables: Sequence[str] | None = None,
    weight_column: str | None = None,
    effort_column: str | None = None,
    fold_column: str | None = None,
    text_columns: Sequence[str] = (),
    rules: RowRules | None = None,
    choice: NamedVariables | None = None,
    nodata: NodataGiven = None,
    like: Collection[str] = (),
) -> Swd:
    """Read a table of samples with data.

    A row is background if its species is called ``background``, or if a column such as ``presence`` or ``occ`` says 0.
    Coordinates are optional. All other columns that hold numbers are variables, unless `variables` names them; those
    with weights, effort, folds and text are none, nor are those that `choice` leaves out, and those that only number
    the rows (unless `choice` names them in full, or they are variables of another table, `like`). `categorical` columns
    hold classes, as numbers or text. Variables of place that `variables` name are the coordinates, unless there are
    columns of these names. `nodata` are values that are missing values (`sdm.data.nodata`), and `rules` say which rows
    take part.
    """
    check_file(Path(path))
    text = TextTable(Path(path))
    named: list[str | None] = [
        first_of(text.header, SPECIES),
        *coordinate_pair(text.header),
        first_of(text.header, PRESENCE),
    ]
    if named[3] in text_columns:
        named[3] = None  # presence and absence are the classes
    if named[0] is None and named[3] is None and not text_columns:
        named[0] = species_column(text.header, text.sample, None, text.path.name, tuple(categorical))
    rows = FileRows.read(text, {named[0]}, rules=rules)
    frame = rows.frame
    species = species_of_rows(frame, named[0], text.path.stem)
    x, y, presence = (np.full(len(frame), np.nan) if name is None else rows.numbers(name) for name in named[1:])
    species[[name.lower() == "background" for name in species]] = "background"
    species[presence == 0] = "background"
    beside: list[np.ndarray | None] = [None, None]
    for k, wanted in enumerate((weight_column, effort_column)):
        if wanted is not None:
            column = named_column(wanted, text.header, text.path.name)
            named.append(column)
            beside[k] = rows.numbers(column)
    if fold_column is not None:
        named.append(named_column(fold_column, text.header, text.path.name))
        beside.append(as_text(frame[named[-1]]))
    named += text_columns
    rest = [name for name in frame.columns if name not in named]
    placed = variables is not None and any(is_place(name) and name not in rest for name in variables)
    if placed:  # it is where the rows are
        variables = without_place(variables or ())
    if absent := [name for name in [*(variables or ()), *categorical] if name not in rest]:
        raise DataError(f"table '{text.path.name}' has no variable '{absent[0]}': the variables are {', '.join(rest)}")
    table, notes = {}, list(text.notes)
    choice, chosen = choice or NamedVariables(), list(variables or ())
    if variables is None:
        shared = [name for name in rest if name in like]
        chosen = shared or choice.of(rest, "column", text.path.name)  # what the other table has was chosen there
        asked = {*like, *categorical, *choice.variables}
        places = len(np.unique(np.column_stack([x, y]), axis=0)) if np.isfinite(x).all() else None
        idle = [name for name in chosen if name not in asked and numbers_rows(name, frame[name], places)]
        notes += [not_a_variable(name) for name in idle]
        chosen = [name for name in chosen if name not in idle]
    for name in chosen:
        values = frame[name]
        if name in categorical:
            table[name] = values.to_numpy() if pd.api.types.is_numeric_dtype(values) else values.to_numpy(dtype=object)
        elif variables is None and pd.to_numeric(values, errors="coerce").isna().all():
            notes.append(f"column '{name}' holds no numbers and is left out: name it as categorical to use it")
        else:
            table[name] = rows.numbers(name)
    if not table:
        raise DataError(
            f"table '{text.path.name}' has no column of numbers beside species and coordinates: add one column per "
            "variable, or give a folder of layers after the table"
        )
    kept = tuple(name for name in table if name in categorical)
    text_table = pd.DataFrame({name: as_text(frame[name]) for name in text_columns}, index=range(len(frame)))
    weight, effort, fold = [*beside, None][:3]
    keep = rows.sift()
    if named[0] is not None and not text_columns and not len(like):  # one beside another is background, of no species
        rows.leave_out(species == "", "without a species name")
    swd = Swd(species, x, y, pd.DataFrame(table), kept, str(path), (*notes, *rows.notes), weight, effort, fold)
    swd = replace(swd, text=text_table, row=rows.row, identifier=rows.identifier, left_out=rows.left_out(species, x, y))
    if not keep.any():
        raise DataError(f"table '{text.path.name}' holds no row of use ({'; '.join(rows.notes)})")
    swd, codes = swd if keep.all() else swd.take(keep), NodataCodes.read(nodata)
    cleaned, blanked = blank_codes(swd.table, codes)
    refuse_codes(cleaned, codes, text.path.name)
    swd = replace(swd, table=cleaned, notes=(*swd.notes, *blanked))
    return swd.with_place() if placed else swd
