"""Recognize the columns of a file: species, coordinates, presence or absence."""

import re
from collections.abc import Sequence

from sdm.data.records.textfile import column_key, is_number
from sdm.errors import ColumnError, UnknownColumnError, name_list

# Names of columns, without case, spaces and punctuation; the first one in a file is used.
COORDINATES = (
    *(("decimallongitude", "decimallatitude"), ("longitude", "latitude"), ("ddlong", "ddlat"), ("ddlon", "ddlat")),
    *(("long", "lat"), ("lon", "lat"), ("lng", "lat"), ("longdd", "latdd"), ("londd", "latdd")),
    *(("decimallong", "decimallat"), ("decimallon", "decimallat"), ("longitudedecimal", "latitudedecimal")),
    *(("longitudewgs84", "latitudewgs84"), ("longwgs84", "latwgs84"), ("lonwgs84", "latwgs84")),
    *(("xwgs84", "ywgs84"), ("wgs84x", "wgs84y")),
    *(("longitud", "latitud"), ("xlong", "ylat"), ("xlon", "ylat"), ("pointx", "pointy"), ("xcoord", "ycoord")),
    *(("coordx", "coordy"), ("xcoordinate", "ycoordinate"), ("easting", "northing"), ("eastings", "northings")),
    *(("east", "north"), ("utmeasting", "utmnorthing"), ("xutm", "yutm"), ("utmx", "utmy"), ("x", "y")),
)
SPECIES = (
    *("species", "speciesname", "scientificname", "acceptedscientificname", "sciname", "taxon", "taxonname"),
    *("binomial", "canonicalname", "speciesid", "spid", "speciescode", "spname", "sp"),
    *("verbatimscientificname", "name"),
)
ABSENT = ("0", "0.0", "absent", "absence", "no", "false")  # values of absence in such a column, in any case
PRESENCE = ("presence", "presenceabsence", "presabs", "pa", "pb", "occ", "occurrence")
UNCERTAINTY = (
    *("coordinateuncertaintyinmeters", "coordinateuncertaintyinmetres", "coordinateuncertainty", "uncertaintyinmeters"),
    *("uncertaintym", "positionaluncertainty", "horizontalaccuracy", "positionalaccuracy"),
)
# Columns of text that are not the species.
NOT_SPECIES = re.compile(
    r"date|time|basis|status|country|local|site|source|note|remark|collect|recorded|sex|institution"
)
DATE = re.compile(r"\d{4}-\d{1,2}|\d{1,4}[./]\d{1,2}[./]\d{1,4}")


def find_columns(
    header: list[str], sample: list[list[str]], named: tuple[str | None, str | None, str | None], source: str
) -> tuple[str | None, str, str]:
    """Return the columns of species (None without one), x and y."""
    pair = coordinate_pair(header)
    x, y = (pair[k] if name is None else named_column(name, header, source) for k, name in enumerate(named[1:]))
    by_position = len(header) == 3 and all(len(row) == 3 and is_number(row[1]) and is_number(row[2]) for row in sample)
    if (x is None or y is None) and by_position:
        x, y = header[1:]
    if x is None or y is None:
        raise ColumnError(
            f"file '{source}' has no coordinate columns: expected names such as decimalLongitude, longitude, lon, x or "
            f"easting, and decimalLatitude, latitude, lat, y or northing; it has {', '.join(header)}. Name them with "
            "--x-column and --y-column"
        )
    return species_column(header, sample, named[0], source, (x, y)), x, y


def species_column(
    header: list[str], sample: list[list[str]], named: str | None, source: str, taken: tuple[str, ...] = ()
) -> str | None:
    """Return the column of species: the named one, one with a usual name, or the first that contains words."""
    column = first_of(header, SPECIES) if named is None else named_column(named, header, source)
    if column:
        return column
    for k, name in enumerate(header):
        words = [row[k].strip() for row in sample if k < len(row) and row[k].strip()]
        if name in taken or NOT_SPECIES.search(column_key(name)) or not words:
            continue
        if not any(is_number(word) or DATE.match(word) for word in words):
            return name
    return None


def first_of(header: list[str], names: Sequence[str]) -> str | None:
    """Return the column with the first of these names that occurs."""
    by_key = {column_key(name): name for name in reversed(header)}
    return next((by_key[name] for name in names if name in by_key), None)


def coordinate_pair(header: list[str]) -> tuple[str | None, str | None]:
    """Return the columns of x and y, from one pair if possible."""
    by_key = {column_key(name): name for name in reversed(header)}
    for x, y in COORDINATES:
        if x in by_key and y in by_key:
            return by_key[x], by_key[y]
    return first_of(header, [x for x, _ in COORDINATES]), first_of(header, [y for _, y in COORDINATES])


def named_column(name: str, header: list[str], source: str) -> str:
    """Return a column by the name that the user typed."""
    column = name if name in header else first_of(header, [column_key(name)])
    if column is None:
        raise UnknownColumnError(f"file '{source}' has no column '{name}': its columns are {name_list(header)}")
    return column


def row_count(count: int) -> str:
    """Return a number of rows in words."""
    return "1 row" if count == 1 else f"{count:,} rows"
