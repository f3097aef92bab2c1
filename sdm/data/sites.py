"""Read tables of survey sites: one 0/1 column per species, or one row per species and site.

A column is a species if it is named as one, or otherwise if it contains only 0, 1 and blanks. In a table with one row
per species and site, a column contains the names of species. The other columns, without coordinates, site names and
unused species, are the environment, which may also be in a second table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from math import ceil
from pathlib import Path

import numpy as np

from sdm.data.records.columns import ABSENT, PRESENCE, SPECIES, coordinate_pair, first_of, named_column
from sdm.data.records.filters import RecordFilters
from sdm.data.records.frames import pd, take_rows
from sdm.data.records.occurrences import as_text
from sdm.data.records.rows import LEFT_OUT, FileRows, RowRules
from sdm.data.records.textfile import TextTable, column_key, to_numbers
from sdm.data.site_folds import SITE, site_groups
from sdm.data.variables import matching, not_a_variable, numbers_rows
from sdm.errors import (
    ColumnError,
    ConflictError,
    DuplicateNameError,
    MismatchError,
    MissingFileError,
    NoRecordsError,
    UnknownColumnError,
    UnknownVariableError,
    name_list,
)

_ROW = "\0row"


@dataclass(frozen=True)
class SiteTable:
    """Survey sites with presence and absence of species."""

    labels: pd.DataFrame  # (n, S): 1, 0, or missing
    environment: pd.DataFrame | None  # (n, V); None with layers
    x: np.ndarray  # NaN without coordinates
    y: np.ndarray
    row: np.ndarray  # row of each site in its file, from 1 with the header, for messages
    fold: np.ndarray | None  # labels, if a column is named
    group: np.ndarray  # site number of each row: one name, or the same coordinates, are one site
    source: str
    notes: tuple[str, ...] = ()
    left_out: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(LEFT_OUT)))  # dropped rows
    level: np.ndarray | None = None  # of each row, if a column of levels is named; empty if missing

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, which: np.ndarray) -> SiteTable:
        """Return some sites, by index or by booleans."""
        return take_rows(self, which, ("labels", "environment", "x", "y", "row", "group", "fold", "level"))


@dataclass(frozen=True)
class NamedColumns:
    """Columns that the user named; None or empty for automatic recognition."""

    species: Sequence[str] = ()  # names, patterns such as `sp_*`, or prefixes
    environment: Sequence[str] = ()  # names or patterns
    exclude: Sequence[str] = ()  # names or patterns of columns that are not environment
    categorical: Sequence[str] = ()
    site: str | None = None
    x: str | None = None
    y: str | None = None
    fold: str | None = None
    level: str | None = None  # values are the levels of a random effect
    presence_above: float | None = None  # counts or cover above this are presences; None: columns hold 0 and 1


def read_site_table(
    path: str | Path,
    named: NamedColumns | None = None,
    *,
    table: str | Path | None = None,
    layers: bool = False,
    labels_only: bool = False,
    rules: RowRules | None = None,
) -> SiteTable:
    """Read a table of sites: text with one column per species, or one row per species and site with a column such as
    ``presence``.

    `table` is a second one with the environment, joined by a common column of site names, otherwise row by row. With
    `layers`, the environment comes from layers, and needs no column. With `labels_only`, neither environment nor
    coordinates are needed. `rules` select the rows of the first table, and limit unreadable rows in both.
    """
    named, rules = named or NamedColumns(), rules or RowRules()
    layers = layers or labels_only
    first = _Table.read(path, named, rules)
    other = None if table is None else _Table.read(table, named, RowRules(most_bad=rules.most_bad))
    tables = [part for part in (first, other) if part]
    _check_columns(tables, named)
    spelled = (_same(named.level, [str(name) for name in part.frame.columns]) for part in tables)
    named = replace(named, level=next((name for name in spelled if name), named.level))
    first = first.wide()
    second = None if other is None else first.join(other, named)
    if not layers:
        named, pattern_notes = _expanded(first if second is None else second, named)
    species = _species(first, named, only_table=second is None and not layers)
    labels = pd.DataFrame({name: first.labels(name, named.presence_above) for name in species})
    unused, notes = _unused_columns(first, species, named, only_table=second is None and not layers)
    environment = None
    if not layers:
        taken = {*species, *unused} if second is None else set()
        environment, more = _environment(first if second is None else second, taken, named)
        notes += [*pattern_notes, *more]
    fold, level = (_labelling(name, first, second) for name in (named.fold, named.level))
    x, y = _coordinates(first, second)
    if layers and not labels_only and not (np.isfinite(x) & np.isfinite(y)).any():
        raise ColumnError(
            f"table '{first.name}' has no coordinates to read layers at: expected columns such as longitude and "
            f"latitude, x and y, or easting and northing; it has {', '.join(first.frame.columns)}. Name them with "
            "--x-column and --y-column"
        )
    rows = first.rows if second is None else first.rows.joined(second.rows)
    keep = rows.sift()
    messages = [*first.notes, *(second.notes if second else ()), *rows.notes, *notes]
    messages.append(f"{len(species)} species: {name_list(species)}")
    names = [as_text(first.frame[first.site])] if first.site else []
    group = site_groups(*names, np.column_stack([x, y]))
    lost = rows.left_out(np.full(len(x), "", dtype=object), x, y)
    lost = pd.concat([first.left_out, lost], ignore_index=True) if len(first.left_out) and len(lost) else lost
    lost = lost if len(lost) else first.left_out
    sites = SiteTable(labels, environment, x, y, first.row, fold, group, str(path), tuple(messages), lost, level)
    return sites if keep.all() else sites.take(keep)


@dataclass(frozen=True)
class _Table:
    """A table, with its columns of coordinates and site names."""

    name: str
    frame: pd.DataFrame
    row: np.ndarray
    x: str | None
    y: str | None
    site: str | None
    notes: tuple[str, ...]
    rules: RowRules  # limit of unreadable rows; filters have already been applied
    left_out: pd.DataFrame
    pivoted: tuple[str, ...] = ()  # species of a table with one row per species and site

    @cached_property
    def rows(self) -> FileRows:
        """The rows, with faults of the columns read so far."""
        return FileRows(self.frame, self.row, self.name, self.rules)

    @classmethod
    def read(cls, path: str | Path, named: NamedColumns, rules: RowRules) -> _Table:
        path = Path(path)
        if not path.is_file():
            raise MissingFileError(f"file '{path}' does not exist: expected a table of sites")
        if path.stat().st_size == 0:
            raise NoRecordsError(f"file '{path.name}' is empty: expected a header and one row per site")
        text = TextTable(path)
        rows = FileRows.read(text, set(), rules=rules)
        header = [str(name) for name in rows.frame.columns]
        pair = zip((named.x, named.y), coordinate_pair(header))
        x, y = (recognized if name is None else _same(name, header) for name, recognized in pair)
        x, y = (x, y) if x and y else (None, None)
        site = first_of(header, SITE) if named.site is None else _same(named.site, header)
        keep, later = rows.sift(), RowRules(RecordFilters(keep_absences=True), rules.most_bad)
        if not keep.any():
            raise NoRecordsError(f"file '{path.name}' contains no usable site ({'; '.join(rows.notes)})")
        blank, nowhere = np.full(len(keep), "", dtype=object), np.full(len(keep), np.nan)
        xs, ys = (nowhere if name is None else to_numbers(rows.frame[name])[0] for name in (x, y))
        frame = rows.frame if keep.all() else rows.frame[keep].reset_index(drop=True)
        notes = (*text.notes, *rows.notes)
        return cls(path.name, frame, rows.row[keep], x, y, site, notes, later, rows.left_out(blank, xs, ys))

    def free_columns(self, named: NamedColumns) -> list[str]:
        """Return the columns other than coordinates, site names and folds."""
        taken = {self.x, self.y, self.site, named.fold, named.level} - {*named.environment}
        return [str(name) for name in self.frame.columns if name not in taken]

    def is_species(self, name: str) -> bool:
        """Whether a column contains only 0, 1 and blanks, except for a few unreadable cells."""
        column = self.frame[name]
        values = pd.to_numeric(_flags(column), errors="coerce")
        words = int(np.count_nonzero(values.isna() & column.notna()))
        few = words <= ceil(len(column) * self.rules.most_bad / 100)
        return bool(values.notna().any() and values.dropna().isin([0, 1]).all() and few)

    def labels(self, name: str, above: float | None = None) -> np.ndarray:
        """Return the column of a species as numbers; as 1 and 0 if counts or cover `above` a number are presences."""
        values = self.rows.numbers(_flags(self.frame[name]))
        return values if above is None else np.where(np.isnan(values), np.nan, values > above)

    def coordinates(self) -> tuple[np.ndarray, np.ndarray] | None:
        if self.x is None or self.y is None:
            return None
        return self.rows.numbers(self.x), self.rows.numbers(self.y)

    def wide(self) -> _Table:
        """Return one row per site, if the table has one row per species and site."""
        header = [str(name) for name in self.frame.columns]
        species, presence = first_of(header, SPECIES), first_of(header, PRESENCE)
        if species is None or presence is None or pd.api.types.is_numeric_dtype(self.frame[species]):
            return self
        keys = [self.site] if self.site else [name for name in (self.x, self.y) if name]
        if not keys:
            raise ColumnError(f"table '{self.name}' has no column that identifies the sites: add --site-column")
        frame = self.frame.assign(**{_ROW: self.row})
        words = frame[presence].astype("str").str.strip().str.lower()
        frame[presence] = np.where(words.isin(ABSENT), 0.0, np.where(frame[presence].isna(), np.nan, 1.0))
        labels = frame.groupby([*keys, species], sort=False)[presence].max().unstack(species)
        labels.columns = [str(name) for name in labels.columns]
        rest = frame.drop(columns=[species, presence]).groupby(keys, sort=False).first()
        if twice := [name for name in labels.columns if name in rest.columns]:
            raise DuplicateNameError(f"'{twice[0]}' is both a species and a column of '{self.name}': rename one")
        out = rest.join(labels).reset_index()
        note = f"one row per species and site: {len(frame):,} rows are {len(out):,} sites"
        row = out.pop(_ROW).to_numpy()
        return replace(self, frame=out, row=row, notes=(*self.notes, note), pivoted=tuple(labels.columns))

    def join(self, other: _Table, named: NamedColumns) -> _Table:
        """Return another table with one row per site of this one."""
        key = self._key(other, named)
        if key is None:
            if len(self.frame) != len(other.frame):
                raise MismatchError(
                    f"'{self.name}' has {len(self.frame):,} sites, and '{other.name}' has {len(other.frame):,} rows: "
                    "name a column that identifies the site in both with --site-column"
                )
            return replace(other, notes=(*other.notes, f"'{other.name}' joined row by row"))
        ours, theirs = as_text(self.frame[key]), as_text(other.frame[key])
        place = pd.Index(theirs)
        if not place.is_unique:
            twice = place[place.duplicated(keep="last")][0]
            raise DuplicateNameError(f"site '{twice}' occurs twice in '{other.name}': expected one row per site")
        index = place.get_indexer(ours)
        if (index < 0).all():
            raise MismatchError(
                f"no site of '{self.name}' is in '{other.name}' (joined by column '{key}'): the first site is "
                f"'{ours[0]}' in one and '{theirs[0]}' in the other"
            )
        frame = other.frame.set_axis(place).reindex(ours).reset_index(drop=True)
        note = f"'{other.name}' joined by column '{key}'"
        if absent := int(np.count_nonzero(index < 0)):
            note += f"; {absent:,} sites are not in it"
        return replace(other, frame=frame, row=other.row[index], notes=(*other.notes, note))

    def _key(self, other: _Table, named: NamedColumns) -> str | None:
        """Return the column of site names in both tables."""
        if named.site is not None:
            ours, theirs = (
                named_column(named.site, [str(name) for name in part.frame.columns], part.name)
                for part in (self, other)
            )
            if ours != theirs:
                raise UnknownColumnError(
                    f"the column of sites is '{ours}' in one table and '{theirs}' in the other: rename one"
                )
            return ours
        return self.site if self.site is not None and self.site == other.site else None


def _same(name: str | None, header: list[str]) -> str | None:
    """Return a column that the user named, as spelled in the header; None if it is missing."""
    return None if name is None else name if name in header else first_of(header, [column_key(name)])


def _labelling(name: str | None, first: _Table, second: _Table | None) -> np.ndarray | None:
    """Return a named column as text, from the table that has it; None without a name."""
    if name is None:
        return None
    for part in (first, second):
        if part is not None and name in part.frame:
            return as_text(part.frame[name])
    named_column(name, list(first.frame.columns), first.name)
    return None


def _check_columns(tables: Sequence[_Table], named: NamedColumns) -> None:
    """Raise if a named column is in none of the tables."""
    headers = [[str(name) for name in table.frame.columns] for table in tables]
    for option, name in (("--x-column", named.x), ("--y-column", named.y), ("--site-column", named.site)):
        if name is not None and not any(_same(name, header) for header in headers):
            has = "; ".join(f"'{table.name}' has {', '.join(header)}" for table, header in zip(tables, headers))
            raise UnknownColumnError(f"{option} '{name}': no table has such a column; {has}")


def _flags(column: pd.Series) -> pd.Series:
    """Return TRUE and FALSE as 1 and 0."""
    if pd.api.types.is_bool_dtype(column) or (
        column.dtype == object and column.map(lambda v: isinstance(v, bool)).any()
    ):
        return column.map(lambda v: float(v) if isinstance(v, (bool, np.bool_)) else v)
    return column


def _is_count(column: pd.Series) -> bool:
    """Whether a column looks like counts: whole numbers from 0, with 0 and numbers above 1."""
    values = pd.to_numeric(_flags(column), errors="coerce").dropna()
    return bool(len(values) and values.min() == 0 and values.max() > 1 and (values == values.round()).all())


def _species(table: _Table, named: NamedColumns, *, only_table: bool) -> list[str]:
    """Return the columns of species."""
    columns = table.free_columns(named)
    if not named.species:
        free = [name for name in columns if name not in named.environment and name not in named.categorical]
        species = [name for name in free if name in (table.pivoted or free) and table.is_species(name)]
        if named.presence_above is not None and not table.pivoted:
            if only_table:
                raise ConflictError("joint.presence_above needs the columns of counts or cover: add --species")
            species = [
                name
                for name in free
                if pd.api.types.is_numeric_dtype(table.frame[name]) and table.frame[name].min() >= 0
            ]
        if not species:
            raise ColumnError(
                f"table '{table.name}' has no columns of species (with 0, 1 and blanks only): name them with --species "
                "(columns of counts and cover also need --presence-above 0); it has "
                f"{', '.join(map(str, table.frame.columns))}"
            )
        if only_table and len(species) == len(columns):
            raise ColumnError(
                f"table '{table.name}' contains species only ({name_list(species)}): name the columns of the "
                "environment with --environment, or give a table of the environment, or layers, after the sites"
            )
        return species
    out: list[str] = []
    for word in named.species:
        parts = [word] if word in columns else [part.strip() for part in word.split(",") if part.strip()]
        for part in parts:
            exact = [name for name in columns if name == part]
            matches = exact or [name for name in columns if fnmatchcase(name, part) or name.startswith(part)]
            if not matches:
                raise UnknownColumnError(
                    f"'{table.name}' has no species '{part}': its columns are {', '.join(columns)}"
                )
            out += [name for name in matches if name not in out]
    return out


def _unused_columns(
    table: _Table, species: Sequence[str], named: NamedColumns, *, only_table: bool
) -> tuple[list[str], list[str]]:
    """Return columns that are neither species nor environment, unless they are named, and messages about them.

    `only_table`: the other columns of the table are the environment.
    """
    used = {*species, *named.environment, *named.categorical}
    free = [name for name in table.free_columns(named) if name not in used]
    blank = [name for name in free if table.frame[name].isna().all()]
    notes = [f"column '{name}' is blank at every site and was dropped" for name in blank]
    free = [name for name in free if name not in blank]
    unused = [name for name in free if name in table.pivoted or (not table.pivoted and table.is_species(name))]
    if unused and not named.environment:
        kind = "other species of the table" if table.pivoted else "columns with only 0, 1 and blanks"
        how = "" if not only_table or table.pivoted else ", or with --environment if they are not species"
        notes.append(f"{kind} were dropped: {name_list(unused)}; name them with --species to use them{how}")
    counts = [name for name in free if name not in table.pivoted and _is_count(table.frame[name])]
    if counts and not named.environment:
        done = "used as environment" if only_table else "not used"
        least = "" if not only_table else "; otherwise name the columns of the environment with --environment"
        notes.append(
            f"columns of whole numbers from 0 on, {done}: {name_list(counts)}; for counts of species, use --species "
            f"with these names and --presence-above 0{least}"
        )
    return [*blank, *unused], notes


def _environment(table: _Table, species: Collection[str], named: NamedColumns) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns of the environment, and messages about them."""
    notes = []
    chosen: dict[str, np.ndarray] = {}
    names = [name for name in named.environment if name not in named.exclude]
    if not named.environment:
        free = [name for name in table.free_columns(named) if name not in species and name not in named.exclude]
        idle = [name for name in free if name not in named.categorical and numbers_rows(name, table.frame[name])]
        notes += [not_a_variable(name) for name in idle]
        names = [name for name in free if name not in idle]
    for name in named.categorical:
        if name not in names and name not in named.exclude:
            raise UnknownVariableError(f"layers.categorical={name}: expected some of {', '.join(names)}")
    for name in names:
        column = _flags(table.frame[name])
        if name in named.categorical:
            chosen[name] = column.to_numpy() if pd.api.types.is_numeric_dtype(column) else column.to_numpy(dtype=object)
        elif not named.environment and pd.to_numeric(column, errors="coerce").isna().all():
            notes.append(f"column '{name}' contains no numbers and was dropped: use --categorical {name} for classes")
        else:
            chosen[name] = table.rows.numbers(column)
    if not chosen:
        raise ColumnError(
            f"table '{table.name}' has no column of the environment: name some with --environment, or give a table of "
            "the environment, or layers, after the sites"
        )
    return pd.DataFrame(chosen), notes


def _expanded(table: _Table, named: NamedColumns) -> tuple[NamedColumns, list[str]]:
    """Replace patterns of the environment by matching columns; return notes on dropped ones.

    Coordinates, site names and row numbers must be named in full.
    """
    columns, free = [str(name) for name in table.frame.columns], table.free_columns(named)
    environment: list[str] = []
    notes: list[str] = []
    for word in named.environment:
        matches = [word] if word in columns else matching(word, free, "variables", "column", table.name)
        for name in matches:
            if name not in named.environment and numbers_rows(name, table.frame[name]):
                notes.append(not_a_variable(name))
            elif name not in environment:
                environment.append(name)
    exclude = [name for word in named.exclude for name in matching(word, columns, "exclude", "column", table.name)]
    if named.environment and not set(environment) - set(exclude):
        typed = ",".join([*named.environment, *(f"not {word}" for word in named.exclude)])
        raise UnknownVariableError(f"layers.variables={typed} leaves no column of '{table.name}': name other columns")
    return replace(named, environment=environment, exclude=exclude), notes


def _coordinates(*tables: _Table | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates in the first table with any; NaN without."""
    for table in tables:
        pair = None if table is None else table.coordinates()
        if pair is not None:
            return pair
    n = len(next(table.frame for table in tables if table is not None))
    return np.full(n, np.nan), np.full(n, np.nan)
