"""Names of values in raster files: category names, attribute tables and colours.

GDAL stores the names of classes and raster attribute tables in a file `<raster>.aux.xml` (in a `.vrt` in the file
itself), and Esri programs store attribute tables in `<raster>.vat.dbf`. Rasterio reads neither, so they are read here,
with limits on size, and without definitions of entities (which could fill the memory from a small file).
"""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from rasterio import DatasetReader

from sdm.errors import SdmError

MOST_BYTES = 16 << 20
MOST_ROWS = 65_536
VALUE, NAME = "5", "2"  # usage of columns of an attribute table: values of cells (or their range), and names
TEXT = "2"  # type of a column
# Titles of columns with names, without case and punctuation, the best first.
NAMES = ("classname", "classnames", "category", "categoryname", "class", "label", "labels", "name", "names",
         "description", "descript", "desc", "landcover", "legend", "type", "typename")  # fmt: skip
NOTHING = frozenset({"", "nodata", "no data", "no_data", "null", "none", "n/a", "na", "missing", "unclassified"})


@dataclass(frozen=True)
class Categories:
    """Names of values of a band, and whether they have colours."""

    names: dict[float, str] = field(default_factory=dict)
    coloured: bool = False


def read_categories(path: str, band: int, data: DatasetReader) -> Categories:
    """Return the names of values in the files of a band, which is open as `data`, and whether they have colours."""
    names: dict[float, str] = {}
    for source in (_from_tags(data), _from_xml(path, band), _from_dbf(path) if band == 1 else {}):
        names = {value: text.strip() for value, text in source.items() if text.strip().lower() not in NOTHING}
        if names:
            break
    return Categories(names, _coloured(data, band))


def _coloured(data: DatasetReader, band: int) -> bool:
    """Whether a band has a colour table."""
    if data.dtypes[band - 1] not in ("uint8", "uint16"):
        return False
    try:
        return bool(data.colormap(band))
    except ValueError:  # it has no table
        return False


def _from_tags(data: DatasetReader) -> dict[float, str]:
    """Return the names in the tags of a class map written by sdm."""
    tags = {key.removeprefix("class_"): text for key, text in data.tags().items() if key.startswith("class_")}
    return {float(code): text for code, text in tags.items() if code.isdecimal()}


def _from_xml(path: str, band: int) -> dict[float, str]:
    """Return the names in GDAL's auxiliary file of a raster, or in a virtual raster."""
    place = Path(path) if path.lower().endswith(".vrt") else Path(f"{path}.aux.xml")
    content = _content(place)
    if content is None or b"<!DOCTYPE" in content or b"<!ENTITY" in content or b"\0" in content:
        return {}
    try:
        root = ElementTree.fromstring(content)  # noqa: S314 - without entities, and not large
    except ElementTree.ParseError:
        return {}
    for item in root:
        if item.tag in ("PAMRasterBand", "VRTRasterBand") and item.get("band", "1") == str(band):
            table = item.find("GDALRasterAttributeTable")
            named = {} if table is None else _from_table(table)
            words = [part.text or "" for part in item.iterfind("CategoryNames/Category")]
            return named or {float(code): text for code, text in enumerate(words)}
    return {}


def _from_table(table: ElementTree.Element) -> dict[float, str]:
    """Return the names in a raster attribute table."""
    if table.get("tableType", "thematic") != "thematic":
        return {}
    columns = [
        tuple((item.findtext(tag) or "") for tag in ("Name", "Type", "Usage")) for item in table.iterfind("FieldDefn")
    ]
    value = _place(columns, VALUE, ("value", "values", "code", "gridcode"))
    words = [k for k, (_, kind, _) in enumerate(columns) if kind == TEXT]
    named = _place(columns, NAME, ())
    named = named if named is not None else _best([columns[k][0] for k in words], words)
    start, step = table.get("Row0Min"), table.get("BinSize")
    if named is None or (value is None and start is None):
        return {}
    out: dict[float, str] = {}
    for k, row in enumerate(table.iterfind("Row")):
        cells = [part.text or "" for part in row.iterfind("F")]
        try:
            code = float(start or 0) + k * float(step or 1) if value is None else float(cells[value])
            out[code] = cells[named]
        except (ValueError, IndexError):
            continue
        if len(out) >= MOST_ROWS:
            break
    return out


def _place(columns: list[tuple[str, ...]], usage: str, names: tuple[str, ...]) -> int | None:
    """Return the index of the column with a usage, or with a name."""
    for k, column in enumerate(columns):
        if column[2] == usage:
            return k
    numbers = [k for k, column in enumerate(columns) if column[1] != TEXT]
    return next((k for k in numbers if columns[k][0].strip().lower() in names), None)


def _best(titles: list[str], places: list[int]) -> int | None:
    """Return the place of the column that probably contains names; the first if no title is recognized."""
    keys = ["".join(letter for letter in title.lower() if letter.isalnum()) for title in titles]
    titled = [places[keys.index(name)] for name in NAMES if name in keys]
    return next(iter([*titled, *places]), None)


def _from_dbf(path: str) -> dict[float, str]:
    """Return the names in the attribute table of an Esri program (dBASE)."""
    place = next((p for p in (Path(f"{path}.vat.dbf"), Path(path).with_suffix(".vat.dbf")) if _content(p)), None)
    if place is None:
        return {}
    from sdm.data.vectors import read_attributes

    for encoding in ("utf-8", "cp1252"):
        with suppress(SdmError, RuntimeError, ValueError):
            table = read_attributes(place, encoding, MOST_ROWS)
            value = next((name for name in map(str, table) if name.lower() in ("value", "code", "gridcode")), None)
            words = [str(name) for name in table.select_dtypes(exclude="number")]
            best = _best(words, list(range(len(words))))
            if value is None or best is None:
                return {}
            texts = table[words[best]].fillna("").astype(str).str.strip()
            return dict(zip(table[value].astype(float).tolist(), texts.tolist()))
    return {}


def _content(path: Path) -> bytes | None:
    """Return the content of a file of limited size; None if it is missing or not a plain file."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            return path.read_bytes()
    return None
