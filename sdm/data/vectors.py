"""Read vector files: points and polygons in any format that GDAL reads, and layers of files with several."""

import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sdm.errors import ConflictError, DataError, FileFormatError, MissingFileError, MissingPackageError, SdmError
from sdm.storage.files import has_parquet
from sdm.storage.reading import open_zipped, refuse_special

if TYPE_CHECKING:
    import pandas as pd

VECTOR = frozenset(
    {".gpkg", ".geojson", ".json", ".shp", ".parquet", ".geoparquet", ".pq", ".fgb", ".kml", ".gml", ".sqlite"}
)
_NAMED = re.compile(rf"(.+?(?:{'|'.join(map(re.escape, sorted((*VECTOR, '.zip'))))})):(.+)", re.IGNORECASE)
_HEAD_BYTES = 1 << 16
# Formats that refer to files or servers, which GDAL would open. It recognizes them anywhere in the head of any file.
_REFERENCES = re.compile(rb"<(?:OGR|OGCAPI|GDAL)|WFS_Capabilities|gdal_streamed_alg|PDS_VERSION_ID")
# Virtual tables of a database, which GDAL fills from other files, except its own indices.
_VIRTUAL_TABLE = re.compile(r"\bvirtual\b.*\busing\b", re.IGNORECASE | re.DOTALL)
_INDEX = re.compile(
    r"CREATE VIRTUAL TABLE \S+ USING (?:rtree|fts\d|Virtual(?:SpatialIndex|Elementary|KNN2?))\b.*",
    re.IGNORECASE | re.DOTALL,
)
Kind = Literal["point", "polygon"]


def split_layer(path: str | Path, layer: str | None = None) -> tuple[Path, str | None]:
    """Return file and layer from ``file.gpkg:layer``, or from a path and a layer; the layer may be None.

    Examples
    --------
    >>> file, layer = split_layer("plots.gpkg:2024")
    >>> file.name, layer
    ('plots.gpkg', '2024')
    """
    named = None if Path(path).exists() else _NAMED.fullmatch(str(path))
    if named is None:
        return Path(path), layer
    if layer not in (None, named[2]):
        raise ConflictError(f"'{Path(path).name}' and --layer {layer} name two layers: use one of them")
    return Path(named[1]), named[2]


def read_vector(path: str | Path, layer: str | None = None, *, kind: Kind | None = None) -> tuple[Any, list[str]]:
    """Read any vector file; return a GeoDataFrame (or a DataFrame, for Parquet without geometry) and notes.

    In a file of several layers, one is named, as `layer` or in ``file.gpkg:layer``. Otherwise it must be the only one
    of its `kind`, and a note states it.
    """
    import geopandas
    import pyogrio

    path, layer = split_layer(path, layer)
    if not path.exists():
        raise MissingFileError(f"file '{path}' does not exist: check the path")
    refuse_special(path)
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if path.suffix.lower() in {".parquet", ".geoparquet", ".pq"}:
                if layer is not None:
                    raise ConflictError(f"file '{path.name}' has no layers: remove '{layer}'")
                return _read_parquet(path), []
            refuse_references(path)
            pyogrio.set_gdal_config_options({"GML_DOWNLOAD_WFS_SCHEMA": "NO"})  # reads GML without its server
            shapes = {str(name): str(shape or "") for name, shape in pyogrio.list_layers(path)}
            if layer is None and len(shapes) > 1:
                layer = _only_one(shapes, kind, path)
                others = ", ".join(name for name in shapes if name != layer)
                notes.append(f"layer '{layer}' of '{path.name}' is used, the only one with {kind}s (others: {others})")
            elif layer is not None and layer not in shapes:
                raise DataError(f"file '{path.name}' has no layer '{layer}': expected one of {', '.join(shapes)}")
            frame = geopandas.read_file(path, layer=layer)
        except (OSError, RuntimeError, ValueError) as problem:
            if isinstance(problem, SdmError):
                raise
            reason = " ".join(str(problem).split())
            raise FileFormatError(f"file '{path.name}' cannot be read as a vector file: {reason}") from problem
    # DeprecationWarnings concern the libraries, not the user.
    notes += [str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning)]
    return frame, notes


def refuse_references(path: Path) -> None:
    """Raise FileFormatError if GDAL may read a file, or one in an archive, in a format that refers to others."""
    for name, head in _heads(path):
        if (
            name.lower().endswith(".gdalg.json")
            or _REFERENCES.search(head.partition(b"\0")[0])
            or (head.startswith(b"SQLite format 3\0") and _has_virtual_tables(path, name))
        ):
            raise FileFormatError(
                f"file '{path.name}' refers to other files or servers: expected a format that contains its own points "
                "or polygons, such as GeoPackage; convert it with ogr2ogr"
            )


def _heads(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the first bytes of a file, or of each file in an archive."""
    from zipfile import ZipFile, is_zipfile

    if is_zipfile(path):
        with ZipFile(path) as archive:
            for name in archive.namelist():
                with open_zipped(archive, name, path.name) as file:
                    yield name, file.read(_HEAD_BYTES)
    elif path.is_file():
        with path.open("rb") as file:
            yield path.name, file.read(_HEAD_BYTES)


def _has_virtual_tables(path: Path, name: str) -> bool:
    """Whether a database, possibly in an archive, has tables with rows in other files."""
    import sqlite3
    from contextlib import closing
    from zipfile import ZipFile, is_zipfile

    zipped = is_zipfile(path)
    mode = "mode=ro" if os.access(path.absolute().parent, os.W_OK) else "immutable=1"  # as GDAL does
    try:
        with closing(sqlite3.connect(":memory:" if zipped else f"{path.absolute().as_uri()}?{mode}", uri=True)) as base:
            if zipped:
                with ZipFile(path) as archive, open_zipped(archive, name, path.name) as file:
                    content = bytearray(file.read())
                content[18:20] = b"\1\1"  # without a write-ahead log, which memory does not support
                base.deserialize(bytes(content))
            texts = [str(text) for (text,) in base.execute("SELECT sql FROM sqlite_master")]
    except sqlite3.Error as problem:
        raise ValueError(str(problem)) from problem
    return any(_VIRTUAL_TABLE.search(text) and not _INDEX.fullmatch(text) for text in texts)


def _only_one(shapes: dict[str, str], kind: Kind | None, path: Path) -> str:
    """Return the only layer that may contain the kind of geometry; raise with the names of the layers otherwise."""
    # A layer of mixed or unknown geometry may contain any; one without geometry is a table, such as the styles of QGIS.
    able = [name for name, shape in shapes.items() if shape and (kind is None or _may_hold(shape, kind))]
    if len(able) == 1 and kind is not None and kind.title() in shapes[able[0]]:
        return able[0]
    listed = ", ".join(f"{name} ({shape or 'a table'})" for name, shape in shapes.items())
    if not able:
        raise FileFormatError(f"file '{path.name}' has no layer of {kind}s, only {listed}: use another file")
    also = f" (for the records also --layer {able[0]})" if kind == "point" else ""
    raise FileFormatError(f"file '{path.name}' has the layers {listed}: name one, as in {path.name}:{able[0]}{also}")


def _may_hold(shape: str, kind: Kind) -> bool:
    """Whether a layer with this type of geometry may contain points, or polygons."""
    return kind.title() in shape or not any(word in shape for word in ("Point", "Line", "Polygon"))


def _read_parquet(path: Path) -> Any:
    """Read GeoParquet, or a plain table if the file has no geometry."""
    if not has_parquet():
        raise MissingPackageError(f"reading '{path.name}' needs pyarrow: pip install 'sdm-maxent[parquet]'")
    import geopandas
    import pyarrow.parquet

    if b"geo" in (pyarrow.parquet.read_schema(path).metadata or {}):
        return geopandas.read_parquet(path)
    return pyarrow.parquet.read_table(path).to_pandas()


def read_attributes(path: Path, encoding: str, rows: int) -> "pd.DataFrame":
    """Return the first `rows` of an attribute table without geometry."""
    import pyogrio

    refuse_references(path)
    table: pd.DataFrame = pyogrio.read_dataframe(path, read_geometry=False, encoding=encoding, max_features=rows)
    return table
