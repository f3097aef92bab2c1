"""Read text tables with any delimiter, decimal sign, encoding and style of quotes."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from sdm.data.records.frames import pd
from sdm.errors import BadValueError, FileFormatError, NoRecordsError
from sdm.storage.reading import open_zipped, refuse_special
from sdm.types import Numbers

HEAD_BYTES = 1 << 16
SAMPLE_ROWS = 100
CHUNK_ROWS = 200_000


class TextTable:
    """A text table, with the format recognized from its first rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.too_long: list[int] = []  # rows with more fields than the header
        refuse_special(path)
        self.zipped = self._zipped()
        with self._open() as file:
            head = file.read(HEAD_BYTES)
        self.encoding, text = self._decode(head)
        if len(head) == HEAD_BYTES:
            text = text[: text.rfind("\n") + 1] or text
        blank = re.match(r"(?:[ \t]*\r?\n)*", text)
        start = blank.end() if blank else 0
        self.skip = text.count("\n", 0, start)
        self.delimiter, self.quoting, rows = self._split(text[start:])
        if not any(cell.strip() for row in rows for cell in row):
            raise NoRecordsError(f"file '{path.name}' is empty: expected a header and one row per record")
        self.header, self.sample = self._columns(rows)
        comma = self.delimiter != "," and any(re.fullmatch(r"\s*-?\d+,\d+\s*", cell) for row in rows for cell in row)
        self.decimal = "," if comma else "."
        name = {"\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}.get(self.delimiter)
        if name:
            self.notes.append(f"columns are separated by {name}" + (", with decimal comma" if comma else ""))

    def _zipped(self) -> str | None:
        """Return the name of the table in a zip file, such as GBIF's; None if the file is not zipped."""
        names = in_zip(self.path, (".csv", ".tsv", ".txt"))
        main = [name for name in names if Path(name).name == "occurrence.txt"] or names
        if not main:
            return None
        if len(main) > 1:
            raise FileFormatError(
                f"file '{self.path.name}' contains several tables: unzip it, and use one ({', '.join(main)})"
            )
        return main[0]

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        """Yield the table as a stream of unpacked bytes."""
        if self.zipped is None:
            with self.path.open("rb") as file:
                yield file
            return
        try:
            with zipfile.ZipFile(self.path) as archive, open_zipped(archive, self.zipped, self.path.name) as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise FileFormatError(f"file '{self.path.name}' is damaged ({error}): copy or download it again") from error

    def _decode(self, head: bytes) -> tuple[str, str]:
        """Return the encoding and the text of the first bytes."""
        marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
        for mark, encoding in marks.items():
            if head.startswith(mark):
                return encoding, codecs.getincrementaldecoder(encoding)().decode(head)
        if b"\0" in head or head.startswith(b"PK\x03\x04"):
            raise FileFormatError(f"file '{self.path.name}' is not a text file: save it as CSV first")
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
        if delimiter == "\t" and "gbifid" in map(column_key, rows[0]):
            # GBIF does not quote: a single quotation mark is part of a name.
            return delimiter, csv.QUOTE_NONE, _rows(text, delimiter, csv.QUOTE_NONE)
        return delimiter, csv.QUOTE_MINIMAL, rows

    def _columns(self, rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns and the first rows of data; set the number of lines to skip."""
        names = [name.strip() for name in rows[0]]
        if len(names) == 3 and is_number(names[1]) and is_number(names[2]):
            self.notes.append("the file has no header: the columns are assumed to be species, x and y")
            return ["species", "x", "y"], rows
        self.skip += 1
        data = {number: row for number, row in enumerate(rows) if number and any(cell.strip() for cell in row)}
        if data and all(len(row) == len(names) + 1 for row in data.values()):
            if all(row[-1].strip() == "" for row in data.values()):
                names.append("")  # every row ends in a delimiter
            else:
                names.insert(0, "")  # R writes row names without a header
        unique: dict[str, None] = {}
        for k, name in enumerate(names):
            unique[name if name and name not in unique else f"{name or 'column'}_{k + 1}"] = None
        return list(unique), list(data.values())

    def read(
        self,
        as_text: set[str | None],
        only: list[str] | None = None,
        *,
        strict: bool = True,
        as_numbers: Collection[str] = (),
    ) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the table, and the row number in the file of each row.

        Columns `as_text` are text, as categories. In columns `as_numbers`, only values that are not numbers are text.

        Rows with more fields than the header are refused, or, unless `strict`, dropped and listed in `too_long`.
        """
        kinds: Numbers = {name: str for name in as_text if name}
        options: Numbers = {
            "sep": self.delimiter,
            "header": None,
            "names": self.header,
            "usecols": only,
            "skiprows": self.skip,
            "decimal": self.decimal,
            "quoting": self.quoting,
            "na_values": ["\\N"],
            "skip_blank_lines": False,  # so that row numbers are those in the file
            "index_col": False,
            "on_bad_lines": "warn",
            "chunksize": CHUNK_ROWS,  # only one chunk is in memory as text
        }
        for encoding in dict.fromkeys([self.encoding, "cp1252", "latin-1"]):
            try:
                frame = self._read_chunks(encoding, kinds, options, as_numbers)
                break
            except UnicodeDecodeError:
                continue
            except (pd.errors.ParserError, pd.errors.EmptyDataError) as problem:
                reason = re.sub(r".*C error: ", "", " ".join(str(problem).split()))
                if opened := re.fullmatch(r"EOF inside string starting at row (\d+)", reason):
                    raise FileFormatError(self._unclosed(int(opened[1]) + 1, "the end of the file")) from problem
                raise FileFormatError(f"file '{self.path.name}' cannot be read as a table: {reason}") from problem
        self.encoding = encoding
        if encoding in ("cp1252", "latin-1"):
            self.notes.append(f"the file is not UTF-8: read as {encoding}")
        row = np.arange(len(frame) + len(self.too_long)) + self.skip + 1
        row = row[~np.isin(row, self.too_long)]
        self._refuse_swallowed(frame, row)
        if strict and self.too_long:
            raise FileFormatError(
                f"file '{self.path.name}' has more fields in row {self.too_long[0]} than the header, which has "
                f"{len(self.header)}: put text that contains a separator in quotation marks"
            )
        full = frame.notna().any(axis=1).to_numpy()
        if not full.any():
            raise NoRecordsError(f"file '{self.path.name}' has a header but no record: expected one row per record")
        return (frame, row) if full.all() else (frame[full].reset_index(drop=True), row[full])

    def _refuse_swallowed(self, frame: pd.DataFrame, row: np.ndarray) -> None:
        """Raise DataError if a cell contains complete rows, because two single quotation marks enclose them.

        Columns of numbers distinguish rows from lines of a remark.
        """
        width = len(self.header)
        wide = [cells for cells in self.sample if len(cells) == width]
        numeric = [k for k in range(width) if wide and all(is_number(cells[k]) for cells in wide)]
        if self.quoting == csv.QUOTE_NONE or not numeric:
            return
        for name in frame.columns:
            if pd.api.types.is_numeric_dtype(frame[name]):
                continue
            code, texts = pd.factorize(frame[name])
            for k in (k for k, text in enumerate(texts) if "\n" in str(text)):
                lines = [line.split(self.delimiter) for line in str(texts[k]).splitlines()[1:]]
                held = [cells for cells in lines if len(cells) == width and all(is_number(cells[k]) for k in numeric)]
                if held:
                    raise FileFormatError(
                        self._unclosed(int(row[np.flatnonzero(code == k)[0]]), f"{len(held):,} rows later")
                    )

    def _unclosed(self, row: int, until: str) -> str:
        """Return the message about a quotation mark that encloses rows."""
        return (
            f"file '{self.path.name}', row {row}: text begins with a quotation mark that is not closed until {until}, "
            "so that the rows between would be lost; remove the mark, or close it"
        )

    def texts(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows of data as written, each with its row number; `read` must have recognized the encoding
        before."""
        with self._open() as file, io.TextIOWrapper(file, encoding=self.encoding, newline="") as stream:
            for _ in range(self.skip):
                stream.readline()
            rows = csv.reader(stream, delimiter=self.delimiter, quoting=cast(Any, self.quoting))
            yield from enumerate(rows, start=self.skip + 1)

    def _read_chunks(
        self, encoding: str, kinds: Numbers, options: Numbers, as_numbers: Collection[str]
    ) -> pd.DataFrame:
        """Read a table in chunks and join them; a column with numbers in one chunk and text in another is text."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            with self._open() as stream, pd.read_csv(stream, encoding=encoding, dtype=kinds, **options) as reader:
                texts = [part.astype({name: "category" for name in kinds if name in part}) for part in reader]
                parts = [{str(name): column for name, column in part.items()} for part in texts]  # taken one by one
                del texts
        messages = " ".join(str(warning.message) for warning in caught)
        self.too_long = [int(number) for number in re.findall(r"Skipping line (\d+)", messages)]
        columns: dict[Any, Any] = {}
        for name in list(parts[0]):
            pieces = [part.pop(name) for part in parts]
            if len(pieces) == 1:
                columns[name] = pieces[0]
            elif name in kinds:
                columns[name] = pd.api.types.union_categoricals([piece.array for piece in pieces])
            elif len({pd.api.types.is_numeric_dtype(piece) for piece in pieces if piece.notna().any()}) > 1:
                if name not in as_numbers:
                    return self._read_chunks(encoding, {**kinds, str(name): str}, options, as_numbers)
                columns[name] = pd.Series(np.concatenate([piece.to_numpy(dtype=object) for piece in pieces]))
            else:
                columns[name] = pd.concat(pieces, ignore_index=True)
        return pd.DataFrame(columns)


def _rows(text: str, delimiter: str, quoting: Any = csv.QUOTE_MINIMAL) -> list[list[str]]:
    """Return the first rows of a text."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)
    return list(itertools.islice(reader, SAMPLE_ROWS))


def in_zip(path: Path, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files with such suffixes in a zip file; none if it is not a zip file."""
    if path.suffix.lower() != ".zip" or not zipfile.is_zipfile(path):
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            return [name for name in archive.namelist() if name.lower().endswith(suffixes)]
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise FileFormatError(f"file '{path.name}' is damaged ({error}): copy or download it again") from error


def column_key(name: str) -> str:
    """Return a column's name without case, spaces and punctuation, for comparison."""
    return re.sub(r"[\W_]", "", name).lower()


def is_number(word: str) -> bool:
    """Whether a word is a number, with decimal point or comma."""
    return bool(re.fullmatch(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*", word))


def to_numbers(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return a column as float64, NaN if empty or not a number, and the indices of the latter."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(0, dtype=np.int64)
    number = pd.to_numeric(_objects(column), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan).copy()
    rest = np.flatnonzero(np.isnan(number) & column.notna().to_numpy())
    code, values = pd.factorize(column.iloc[rest])
    words = pd.Series(values).astype("str").str.strip()
    words = words.str.replace(",", ".", regex=False).str.replace("−", "-", regex=False)
    again = pd.to_numeric(words, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.isnan(again) & (words != "").to_numpy()
    number[rest] = again[code]
    return number, rest[bad[code]]


def _objects(column: pd.Series) -> pd.Series:
    """Return the values of a categorical column; other columns are unchanged."""
    return column.astype(object) if str(column.dtype) == "category" else column


def loose_numbers(column: pd.Series) -> np.ndarray:
    """Return a column as float64, NaN if empty or not a number.

    A comma may be decimal, as in 12,5; 1,500 is not a number, since its comma may separate thousands.
    """
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    code, values = pd.factorize(column)
    names = pd.Series(values, dtype=object)
    number = pd.to_numeric(names, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan).copy()
    words = names.astype(str)
    comma = words.str.fullmatch(r"\s*-?\d+,(\d{1,2}|\d{4,})\s*").to_numpy(dtype=bool)
    number[comma] = words[comma].str.replace(",", ".", regex=False).astype(float)
    return np.append(number, np.nan)[code]


def numbers(column: pd.Series, row: np.ndarray, source: str) -> np.ndarray:
    """Return a column as float64, NaN if empty; raise DataError at the first value that is not a number."""
    number, bad = to_numbers(column)
    if len(bad):
        raise BadValueError(
            f"file '{source}', row {row[bad[0]]}, column '{column.name}': '{column.iloc[bad[0]]}' is not a number; "
            f"correct it or remove the row ({len(bad):,} such rows)"
        )
    return number
