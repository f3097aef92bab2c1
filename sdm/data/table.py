"""Tables: text files as people write them, values taken out of rasters, and the table that is fitted."""

import codecs
import csv
import io
import itertools
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from rasterio.windows import Window

from sdm.errors import DataError

if TYPE_CHECKING:  # layers and points make tables, not the other way round
    from sdm.data.background import Background
    from sdm.data.clean import CleanPoints
    from sdm.data.layers import Stack
    from sdm.data.occurrences import Swd

HEAD_BYTES = 1 << 16
SAMPLE_ROWS = 100


class TextTable:
    """A text table, and how it is written, as seen from its first rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.content = self._unzip()
        head = self._start()
        self.encoding, text = self._decode(head)
        if len(head) == HEAD_BYTES:
            text = text[: text.rfind("\n") + 1] or text
        blank = re.match(r"(?:[ \t]*\r?\n)*", text)
        start = blank.end() if blank else 0
        self.skip = text.count("\n", 0, start)
        self.delimiter, self.quoting, rows = self._split(text[start:])
        if not any(cell.strip() for row in rows for cell in row):
            raise DataError(f"file '{path.name}' is empty: expected a header and one row a record")
        self.header, self.sample = self._columns(rows)
        comma = self.delimiter != "," and any(re.fullmatch(r"\s*-?\d+,\d+\s*", cell) for row in rows for cell in row)
        self.decimal = "," if comma else "."
        name = {"\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}.get(self.delimiter)
        if name:
            self.notes.append(f"columns are separated by {name}" + (", with decimal comma" if comma else ""))

    def _unzip(self) -> bytes | None:
        """Return the table in a zip file such as GBIF sends; None if the file is not zipped."""
        names = in_zip(self.path, (".csv", ".tsv", ".txt"))
        main = [name for name in names if Path(name).name == "occurrence.txt"] or names
        if not main:
            return None
        if len(main) > 1:
            raise DataError(f"file '{self.path.name}' holds several tables ({', '.join(main)}): unzip it and give one")
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(main[0])

    def _start(self) -> bytes:
        """Return the first bytes."""
        if self.content is not None:
            return self.content[:HEAD_BYTES]
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    def _decode(self, head: bytes) -> tuple[str, str]:
        """Return the encoding and the text of the first bytes."""
        for mark, encoding in (
            (codecs.BOM_UTF8, "utf-8-sig"),
            (codecs.BOM_UTF16_LE, "utf-16"),
            (codecs.BOM_UTF16_BE, "utf-16"),
        ):
            if head.startswith(mark):
                return encoding, codecs.getincrementaldecoder(encoding)().decode(head)
        if b"\0" in head or head.startswith(b"PK\x03\x04"):
            raise DataError(f"file '{self.path.name}' is not text: expected a table such as CSV; save it as CSV first")
        try:
            return "utf-8", codecs.getincrementaldecoder("utf-8")().decode(head)
        except UnicodeDecodeError:
            return "cp1252", head.decode("cp1252", errors="replace")

    def _split(self, text: str) -> tuple[str, int, list[list[str]]]:
        """Return the delimiter that divides the first rows most evenly, the rule for quotes, and the rows."""
        best: tuple[tuple[float, int], str, list[list[str]]] = ((0.0, 0), ",", [])
        for delimiter in (",", ";", "\t", "|"):
            rows = _rows(text, delimiter)
            width = len(rows[0]) if rows else 0
            even = sum(len(row) in (width, width + 1) for row in rows if row) / max(1, sum(map(bool, rows)))
            if width > 1 and (even, width) > best[0]:
                best = ((even, width), delimiter, rows)
        _, delimiter, rows = best
        if not rows:
            delimiter = " " if " " in text.split("\n", 1)[0].strip() else ","
            rows = _rows(text, delimiter)
        if delimiter == "\t" and "gbifid" in map(plain, rows[0]):
            # GBIF does not quote: a lone quotation mark is part of a place's name.
            return delimiter, csv.QUOTE_NONE, _rows(text, delimiter, csv.QUOTE_NONE)
        return delimiter, csv.QUOTE_MINIMAL, rows

    def _columns(self, rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, and the first rows of data; sets how many lines to skip."""
        names = [name.strip() for name in rows[0]]
        if len(names) == 3 and is_number(names[1]) and is_number(names[2]):
            self.notes.append("the file has no header: columns taken as species, x, y")
            return ["species", "x", "y"], rows
        self.skip += 1
        data = {number: row for number, row in enumerate(rows) if number and any(cell.strip() for cell in row)}
        if data and all(len(row) == len(names) + 1 for row in data.values()):
            if all(row[-1].strip() == "" for row in data.values()):
                names.append("")  # every row ends in a delimiter
            else:
                names.insert(0, "")  # R writes row names without a header
        for number, row in data.items():
            if len(row) > len(names):
                raise DataError(
                    f"file '{self.path.name}' has {len(row)} fields in row {self.skip + number}, the header has "
                    f"{len(names)}: put text that holds a delimiter in quotation marks"
                )
        unique: dict[str, None] = {}
        for k, name in enumerate(names):
            unique[name if name and name not in unique else f"{name or 'column'}_{k + 1}"] = None
        return list(unique), list(data.values())

    def read(self, as_text: set[str | None], only: list[str] | None = None) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the table, and the number of each of its rows in the file; columns `as_text` stay text."""
        options: dict[str, Any] = {
            "sep": self.delimiter,
            "header": None,
            "names": self.header,
            "usecols": only,
            "skiprows": self.skip,
            "decimal": self.decimal,
            "quoting": self.quoting,
            "dtype": {name: str for name in as_text if name},
            "na_values": ["\\N"],
            "skip_blank_lines": False,  # so that row numbers are those of the file
            "low_memory": False,
            "index_col": False,
        }
        for encoding in dict.fromkeys([self.encoding, "cp1252", "latin-1"]):
            stream = self.path if self.content is None else io.BytesIO(self.content)
            try:
                frame = pd.read_csv(stream, encoding=encoding, **options)
                break
            except UnicodeDecodeError:
                continue
            except (pd.errors.ParserError, pd.errors.EmptyDataError) as problem:
                reason = re.sub(r".*C error: ", "", " ".join(str(problem).split()))
                raise DataError(f"file '{self.path.name}' cannot be read as a table: {reason}") from problem
        if encoding in ("cp1252", "latin-1"):
            self.notes.append(f"the file is not UTF-8: read as {encoding}")
        full = frame.notna().any(axis=1).to_numpy()
        row = np.arange(len(frame)) + self.skip + 1
        if not full.any():
            raise DataError(f"file '{self.path.name}' has a header but no record: expected one row a record")
        return (frame, row) if full.all() else (frame[full].reset_index(drop=True), row[full])


def _rows(text: str, delimiter: str, quoting: Any = csv.QUOTE_MINIMAL) -> list[list[str]]:
    """Return the first rows of a text."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)
    return list(itertools.islice(reader, SAMPLE_ROWS))


def in_zip(path: Path, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files with such suffixes in a zip file; none if it is not one."""
    if path.suffix.lower() != ".zip" or not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        return [name for name in archive.namelist() if name.lower().endswith(suffixes)]


def plain(name: str) -> str:
    """Return a column name without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", name).lower()


def is_number(word: str) -> bool:
    """Whether a word is a number, with point or comma."""
    return bool(re.fullmatch(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*", word))


def numbers(column: pd.Series, row: np.ndarray, source: str) -> np.ndarray:
    """Return a column as float64, NaN where it is empty; raise DataError at the first word."""
    if is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    words = column.astype("str").str.strip().str.replace(",", ".", regex=False).str.replace("−", "-", regex=False)
    number = pd.to_numeric(words, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(np.isnan(number) & column.notna().to_numpy() & (words != "").to_numpy())
    if len(bad):
        raise DataError(
            f"file '{source}', row {row[bad[0]]}, column '{column.name}': '{column.iloc[bad[0]]}' is not a number; "
            f"correct it or remove the row ({len(bad):,} such)"
        )
    return number


def all_valid(array: np.ndarray) -> np.ndarray:
    """Return which cells of a (V, h, w) array have data in all layers."""
    missing = np.isnan(array[0])
    for plane in array[1:]:
        missing |= np.isnan(plane)
    return np.logical_not(missing, out=missing)


@dataclass(frozen=True)
class Summary:
    """Range and number of valid cells of each layer, and number of cells valid in all layers.

    A layer without any valid cell has minimum +inf and maximum -inf.
    """

    minimum: np.ndarray
    maximum: np.ndarray
    count: np.ndarray
    n_valid: int

    @classmethod
    def empty(cls, n_layers: int) -> "Summary":
        """Return the summary of no cell at all."""
        return cls(np.full(n_layers, np.inf), np.full(n_layers, -np.inf), np.zeros(n_layers, dtype=np.int64), 0)

    @classmethod
    def of(cls, array: np.ndarray) -> tuple["Summary", np.ndarray]:
        """Return the summary of a (V, h, w) array, and which of its cells are valid in all layers."""
        valid = all_valid(array)
        flat = array.reshape(len(array), -1)
        count = np.array([np.count_nonzero(plane == plane) for plane in flat], dtype=np.int64)
        # fmin and fmax step over NaN, and give NaN only where there is nothing else.
        low = np.fmin.reduce(flat, axis=1, initial=np.inf).astype(np.float64)
        high = np.fmax.reduce(flat, axis=1, initial=-np.inf).astype(np.float64)
        return cls(low, high, count, int(np.count_nonzero(valid))), valid

    def __add__(self, other: "Summary") -> "Summary":
        low, high = np.minimum(self.minimum, other.minimum), np.maximum(self.maximum, other.maximum)
        return Summary(low, high, self.count + other.count, self.n_valid + other.n_valid)

    def check(self, stack: "Stack") -> None:
        """Raise DataError if a layer has no data at all, or no cell has data in all layers."""
        for layer, count in zip(stack.layers, self.count):
            if count == 0:
                raise DataError(
                    f"layer '{Path(layer.path).name}' has no valid cell among {stack.n_cells:,}: "
                    "check its nodata value, or leave it out"
                )
        if self.n_valid == 0:
            least = stack.names[int(np.argmin(self.count))]
            raise DataError(
                f"no cell has data in all {len(stack.layers)} layers; '{least}' has the fewest "
                f"({int(self.count.min()):,} of {stack.n_cells:,}): check that the layers overlap"
            )


class CellLookup:
    """Values at given cells, gathered while windows go by in any order."""

    def __init__(self, stack: "Stack", rows: np.ndarray, cols: np.ndarray) -> None:
        self._order = np.argsort(rows, kind="stable")
        self._rows = np.asarray(rows)[self._order]
        self._cols = np.asarray(cols)[self._order]
        self.values = np.full((len(self._order), len(stack.layers)), np.nan, dtype=stack.dtype)

    def take(self, window: Window, array: np.ndarray) -> None:
        """Take the cells that lie in a window from its (V, h, w) array."""
        first, last = np.searchsorted(self._rows, [window.row_off, window.row_off + window.height])
        col = self._cols[first:last] - window.col_off
        here = np.flatnonzero((col >= 0) & (col < window.width))
        row = self._rows[first:last][here] - window.row_off
        self.values[self._order[first:last][here]] = array[:, row, col[here]].T


@dataclass(frozen=True)
class SampleTable:
    """What one species is fitted on: the variables at its presences and at the background.

    Parameters
    ----------
    species
        Its name.
    names
        The V variables, in the order of the columns.
    categorical
        Those of them whose values are codes of classes.
    presence, background
        (m, V) and (N, V) float64, without NaN.
    presence_x, presence_y, background_x, background_y
        Coordinates in the CRS of the layers; NaN where a table came without.
    weights
        Base weights of the background, (N,), or None if all are equal.
    presence_weights
        Weights of the presences, (m,), or None if all are equal.
    levels
        For categorical variables that came as text: their classes, in the order of their codes 0, 1, ...
    notes
        What the user should be told.
    """

    species: str
    names: tuple[str, ...]
    categorical: tuple[str, ...]
    presence: np.ndarray
    background: np.ndarray
    presence_x: np.ndarray
    presence_y: np.ndarray
    background_x: np.ndarray
    background_y: np.ndarray
    weights: np.ndarray | None = None
    presence_weights: np.ndarray | None = None
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_presences(self) -> int:
        """Number of presences."""
        return len(self.presence)

    @property
    def n_background(self) -> int:
        """Number of background points."""
        return len(self.background)

    @classmethod
    def from_stack(
        cls,
        stack: "Stack",
        points: "CleanPoints",
        background: "Background",
        *,
        presence_weights: np.ndarray | None = None,
    ) -> "SampleTable":
        """Put the cleaned points of a species and a background together."""
        weight = background.weight
        return cls(
            species=points.species,
            names=stack.names,
            categorical=stack.categorical,
            presence=np.ascontiguousarray(points.values, dtype=np.float64),
            background=np.ascontiguousarray(background.values, dtype=np.float64),
            presence_x=points.x,
            presence_y=points.y,
            background_x=background.x,
            background_y=background.y,
            weights=None if np.all(weight == weight[:1]) else weight,
            presence_weights=presence_weights,
        )

    @classmethod
    def from_swd(
        cls, swd: "Swd", species: str | None = None, background: "Swd | None" = None, *, categorical: Sequence[str] = ()
    ) -> "SampleTable":
        """Take one species out of a table of samples with data.

        Parameters
        ----------
        swd
            Presences of one or more species, and background unless `background` is given.
        species
            Which one; needed if there are several.
        background
            A table of background of its own; all its rows count, whatever they call their species.
        categorical
            More categorical variables than `swd` already knows of.

        Raises
        ------
        DataError
            If the species, the background, or a variable of the background is missing.
        """
        species = _one_species(swd, species)
        at = swd.species == species
        other = swd if background is None else background
        rows = swd.is_background if background is None else np.ones(len(other.species), dtype=bool)
        names = tuple(swd.table.columns)
        if absent := [name for name in names if name not in other.table.columns]:
            raise DataError(
                f"background '{Path(other.source).name}' has no column '{absent[0]}', as the presences have"
            )
        classes = tuple(name for name in names if name in {*swd.categorical, *categorical})
        both, levels = _codes(swd, at, other, rows, names, classes)
        whole = ~np.isnan(both).any(axis=1)
        is_presence = np.arange(len(both)) < np.count_nonzero(at)
        keep_p, keep_b = whole[is_presence], whole[~is_presence]
        for what, kept in (("presence", keep_p), ("background point", keep_b)):
            if not kept.any():
                raise DataError(f"{species}: no {what} with a value for every variable in '{Path(swd.source).name}'")
        lost = int(np.count_nonzero(~whole))
        return cls(
            species=species,
            names=names,
            categorical=classes,
            presence=np.ascontiguousarray(both[is_presence & whole]),
            background=np.ascontiguousarray(both[~is_presence & whole]),
            presence_x=swd.x[at][keep_p],
            presence_y=swd.y[at][keep_p],
            background_x=other.x[rows][keep_b],
            background_y=other.y[rows][keep_b],
            levels=levels,
            notes=(f"{lost:,} rows without a value for every variable left out",) if lost else (),
        )


def _one_species(swd: "Swd", species: str | None) -> str:
    """Return the species to use, if it is there and clear."""
    known = swd.species_names
    if species is None and len(known) == 1:
        return known[0]
    if species not in known:
        names = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        what = "holds several species" if species is None else f"holds no species '{species}'"
        raise DataError(f"table '{Path(swd.source).name}' {what}: choose one of {names or 'none'}")
    return species


def _codes(
    swd: "Swd", at: np.ndarray, other: "Swd", rows: np.ndarray, names: tuple[str, ...], classes: tuple[str, ...]
) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
    """Stack presences on background as float64; classes that are text become numbers by their sorted order."""
    both = np.empty((int(at.sum() + rows.sum()), len(names)))
    levels: dict[str, tuple[str, ...]] = {}
    for j, name in enumerate(names):
        parts = [swd.table[name].to_numpy()[at], other.table[name].to_numpy()[rows]]
        if name in classes and any(part.dtype.kind not in "biuf" for part in parts):
            text = np.concatenate([part.astype(object) for part in parts])
            missing = np.array([v is None or v != v or v == "" for v in text], dtype=bool)
            words = np.where(missing, "", text).astype(str)
            levels[name] = tuple(str(word) for word in np.unique(words[~missing]))
            code = np.searchsorted(np.array(levels[name], dtype=str), words).astype(np.float64)
            both[:, j] = np.where(missing, np.nan, code)
        else:
            both[:, j] = np.concatenate([part.astype(np.float64) for part in parts])
    return both, levels
