"""Read occurrence records from tables and vector files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from sdm.data.crs import WGS84, as_crs
from sdm.data.records.columns import ABSENT, PRESENCE, find_columns, first_of, named_column, row_count, species_column
from sdm.data.records.filters import uncertainty_metres
from sdm.data.records.frames import pd
from sdm.data.records.rows import FILTERED, LEFT_OUT, FileRows, RowRules, identifiers
from sdm.data.records.textfile import SAMPLE_ROWS, TextTable, column_key, in_zip, numbers
from sdm.data.vectors import VECTOR, read_vector, split_layer
from sdm.errors import BadValueError, ConflictError, FileFormatError, MissingFileError, NoRecordsError
from sdm.storage.reading import refuse_special

# Columns of a GBIF download to read, in addition to those that the user names: two million rows of all fifty columns
# would not fit in memory.
GBIF = frozenset({"gbifid", "coordinateuncertaintyinmeters", "coordinateprecision"})
GBIF_WORDS = frozenset({"basisofrecord", "occurrencestatus", "issue"})  # columns with few distinct words
_DROPPED = re.compile(r"[1-9][\d,]* rows? .*dropped")


@dataclass(frozen=True)
class Occurrences:
    """The n records of one or more species."""

    species: np.ndarray
    x: np.ndarray  # in `crs`, NaN without coordinates
    y: np.ndarray
    crs: str = WGS84  # any form that rasterio and pyproj accept
    row: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    extra: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())  # the other columns
    source: str = ""
    notes: tuple[str, ...] = ()
    left_out: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(LEFT_OUT)))  # dropped rows

    def __len__(self) -> int:
        return len(self.x)

    @property
    def species_names(self) -> list[str]:
        """The species in order of appearance."""
        return [str(name) for name in pd.unique(self.species)]

    @property
    def absent(self) -> np.ndarray:
        """Mask of absences, by a column such as ``presence`` with 1 and 0."""
        name = first_of([str(column) for column in self.extra.columns], PRESENCE)
        if name is None:
            return np.zeros(len(self), dtype=bool)
        return self.extra[name].astype("str").str.strip().str.lower().isin(ABSENT).to_numpy()

    @property
    def extra_notes(self) -> list[str]:
        """Notes on a file that is read in addition to the records: its layer if it has several, and dropped rows."""
        name = Path(self.source).name
        return [
            note if note.startswith("layer '") else f"{name}: {note}"
            for note in self.notes
            if note.startswith("layer '") or _DROPPED.match(note)
        ]

    def uncertainty(self, column: str | None = None) -> np.ndarray | None:
        """Return the coordinate uncertainty of each record in metres, as computed by `uncertainty_metres`."""
        if column not in self._metres:  # used for every species of a batch
            self._metres[column] = uncertainty_metres(self.extra, column, Path(self.source).name)
        return self._metres[column]

    @cached_property
    def _metres(self) -> dict[str | None, np.ndarray | None]:
        return {}

    def numbers(self, column: str) -> np.ndarray:
        """Return the numbers in one of the other columns, NaN if missing."""
        name = named_column(column, [str(name) for name in self.extra.columns], Path(self.source).name)
        if name not in self._numbers:
            self._numbers[name] = numbers(self.extra[name], self.row, Path(self.source).name)
        return self._numbers[name]

    @cached_property
    def _numbers(self) -> dict[str, np.ndarray]:
        return {}

    def labels(self, column: str) -> np.ndarray:
        """Return one of the other columns as text; raise if a record has none."""
        name = named_column(column, [str(name) for name in self.extra.columns], Path(self.source).name)
        text = as_text(self.extra[name])
        if missing := int(np.count_nonzero(text == "")):
            row = self.row[np.flatnonzero(text == "")[0]]
            raise BadValueError(
                f"column '{name}' of '{Path(self.source).name}' is empty for {missing:,} records, first in row {row}: "
                "give every record a value"
            )
        return text

    def lines(self) -> pd.DataFrame:
        """Return row in the file, identifier, species and coordinates of each record."""
        row = self.row if len(self.row) else np.arange(len(self)) + 1
        species = pd.Categorical(self.species)
        return pd.DataFrame(dict(zip(LEFT_OUT, (row, identifiers(self.extra, len(self)), species, self.x, self.y))))

    def leave_out(self, drop: np.ndarray, reason: str) -> Occurrences:
        """Return the records without some, which are counted in a note and listed with the reason."""
        if not (count := int(np.count_nonzero(drop))):
            return self
        table = self.lines().loc[drop].assign(kind=FILTERED, reason=reason)
        left_out = table if self.left_out.empty else pd.concat([self.left_out, table], ignore_index=True)
        return replace(self.take(~drop), left_out=left_out, notes=(*self.notes, f"{row_count(count)} {reason} dropped"))

    def take(self, which: np.ndarray) -> Occurrences:
        """Return some records, by index or by a boolean array."""
        row, extra = (self.row[which] if len(self.row) else self.row), self.extra
        extra = extra.iloc[np.arange(len(self))[which]].reset_index(drop=True) if len(extra) else extra
        return replace(self, species=self.species[which], x=self.x[which], y=self.y[which], row=row, extra=extra)


@dataclass(frozen=True)
class _Reading:
    """Columns and rows of a file to read as records."""

    named: tuple[str | None, str | None, str | None]  # species, x, y
    columns: Sequence[str]
    numeric: Sequence[str]
    rules: RowRules | None
    noun: str | None


def read_occurrences(
    path: str | Path,
    *,
    crs: str | None = None,
    named: tuple[str | None, str | None, str | None] = (None, None, None),
    layer: str | None = None,
    columns: Sequence[str] = (),
    numeric: Sequence[str] = (),
    rules: RowRules | None = None,
    noun: str | None = "species",
) -> Occurrences:
    """Read the records of a text table, a GBIF download or a vector file of points.

    Parameters
    ----------
    path
        Text with any of ``, ; tab |`` between columns (also zipped, as GBIF sends it), GeoPackage, GeoJSON,
        Shapefile, (Geo)Parquet or FlatGeobuf.
    crs
        Coordinate system; by default the one in the file, otherwise WGS 84.
    named
        The columns of species, x and y, if they are not recognized.
    layer
        Layer of a vector file with several; `path` may also be ``file.gpkg:layer``.
    columns
        Other columns to read; in most files all are read.
    numeric
        Columns that must contain numbers: rows without a number are unreadable.
    rules
        Rules for the rows: filters, and the largest share of unreadable rows.
    noun
        Noun of the names in the column of species, for messages; None for records without names, which all get the
        name of the file.
    """
    path, layer = split_layer(path, layer)
    check_file(path)
    as_crs(crs or WGS84)
    reading = _Reading(named, columns, numeric, rules, noun)
    if path.suffix.lower() in VECTOR or in_zip(path, (".shp",)):
        records = _read_vector(path, layer, reading)
    elif layer is not None:
        raise ConflictError(f"file '{path.name}' is a text table, which has no layers: remove '{layer}'")
    else:
        records = _read_text(TextTable(path), reading)
    if len(records) == 0:
        raise NoRecordsError(f"file '{path.name}' contains no usable record ({'; '.join(records.notes)})")
    return records if crs is None else replace(records, crs=crs)


def as_text(column: pd.Series) -> np.ndarray:
    """Return a column as text, whole numbers without a decimal point; empty if missing."""
    if pd.api.types.is_numeric_dtype(column):
        values = [int(value) if not pd.isna(value) and value == int(value) else value for value in column.tolist()]
        return np.array(["" if pd.isna(value) else str(value) for value in values], dtype=str)
    return np.array(["" if pd.isna(value) else str(value).strip() for value in column], dtype=str)


def check_file(path: Path) -> None:
    """Raise DataError if a file is missing, empty or a folder."""
    if not path.exists():
        raise MissingFileError(f"file '{path}' does not exist: check the path")
    if path.is_dir():
        raise FileFormatError(f"'{path}' is a folder: expected a file of occurrences")
    refuse_special(path)
    if path.stat().st_size == 0:
        raise NoRecordsError(f"file '{path.name}' is empty: expected a header and one row per record")


def _read_text(text: TextTable, reading: _Reading) -> Occurrences:
    """Read the records of a text table."""
    species, x, y = find_columns(text.header, text.sample, reading.named, text.path.name)
    species = species if reading.noun else None
    rules = reading.rules
    only, words = None, {species}
    if "gbifid" in map(column_key, text.header):
        filters = rules.filters.columns(text.header, text.path.name) if rules else []
        more = GBIF | GBIF_WORDS | {column_key(name) for name in (*reading.columns, *reading.numeric, *filters)}
        only = [name for name in text.header if column_key(name) in more or name in (species, x, y)]
        words |= {name for name in only if column_key(name) in GBIF_WORDS}
    rows = FileRows.read(text, words, only, rules, as_numbers=[x, y, *reading.numeric])
    notes = [*text.notes, ", ".join([*_from(species, reading.noun), f"x from '{x}'", f"y from '{y}'"])]
    return _sifted(rows, species, (rows.numbers(x), rows.numbers(y)), text.path, notes, reading, (x, y))


def _from(species: str | None, noun: str | None) -> list[str]:
    """Return the origin of the names of species as text; nothing without names."""
    if noun is None:
        return []
    return [f"{noun} from the file name" if species is None else f"{noun} from '{species}'"]


def _sifted(
    rows: FileRows,
    species_column: str | None,
    xy: tuple[np.ndarray, np.ndarray],
    path: Path,
    notes: list[str],
    reading: _Reading,
    coordinates: Sequence[str] = (),
) -> Occurrences:
    """Return the records of readable rows that pass the filters; `coordinates` are the columns of x and y."""
    header, noun, (x, y) = [str(name) for name in rows.frame.columns], reading.noun, xy
    for name in reading.numeric:
        rows.numbers(named_column(name, header, path.name))
    species = species_of_rows(rows.frame, species_column, path.stem)
    keep = rows.sift()
    if species_column is not None:
        rows.leave_out(species == "", f"without a {'species name' if noun == 'species' else noun}")
        rows.note_lost(species, noun)
    records = Occurrences(
        species=species,
        x=x,
        y=y,
        row=rows.row,
        extra=rows.frame.drop(columns=[name for name in {species_column, *coordinates} if name]),
        source=str(path),
        left_out=rows.left_out(species, x, y),
        notes=(*notes, *rows.notes),
    )
    return records if keep.all() else records.take(keep)


def _read_vector(path: Path, layer: str | None, reading: _Reading) -> Occurrences:
    """Read the points of a vector file; several points of a feature are several records."""
    frame, notes = read_vector(path, layer, kind="point")
    if not hasattr(frame, "geometry"):  # Parquet without geometry
        sample = [[str(v) for v in line] for line in frame.head(SAMPLE_ROWS).to_numpy()]
        name, x, y = find_columns([str(c) for c in frame.columns], sample, reading.named, path.name)
        rows = FileRows(frame, np.arange(len(frame)) + 1, path.name, reading.rules)
        return _sifted(rows, name, (rows.numbers(x), rows.numbers(y)), path, notes, reading, (x, y))
    import shapely

    points = np.asarray(frame.geometry)
    kinds = set(shapely.get_type_id(points)) - {-1, 0, 4}
    if kinds:
        kind = shapely.GeometryType(kinds.pop()).name.lower()
        raise FileFormatError(f"file '{path.name}' contains a {kind}: expected points")
    # A feature without a point is one record without coordinates.
    index = np.repeat(np.arange(len(points)), np.maximum(1, shapely.get_num_coordinates(points)))
    xy = np.full((len(index), 2), np.nan)
    xy[shapely.get_num_coordinates(points)[index] > 0] = shapely.get_coordinates(points)
    table = pd.DataFrame(frame.drop(columns=frame.geometry.name)).iloc[index].reset_index(drop=True)
    sample = [[str(v) for v in line] for line in table.head(SAMPLE_ROWS).to_numpy()]
    species = (
        species_column([str(c) for c in table.columns], sample, reading.named[0], path.name) if reading.noun else None
    )
    rows = FileRows(table, index + 1, path.name, reading.rules)
    notes = [*notes, *_from(species, reading.noun)]
    records = _sifted(rows, species, (xy[:, 0], xy[:, 1]), path, notes, reading)
    return records if frame.crs is None else replace(records, crs=frame.crs.to_string())


def species_of_rows(frame: pd.DataFrame, column: str | None, stem: str) -> np.ndarray:
    """Return the species of each row; empty if missing."""
    if column is None:
        return np.full(len(frame), stem, dtype=object)
    code, names = pd.factorize(frame[column])
    return np.array([*(str(name).strip() for name in names), ""], dtype=object)[code]
