"""Check virtual rasters (VRT): text that names the rasters of a mosaic, such as ``gdalbuildvrt`` writes.

They are untrusted, so they are checked before GDAL opens them: they may refer to rasters in their folder and below.
Only text that GDAL and Python's parser read in the same way is accepted.
"""

import os
from pathlib import Path
from xml.etree import ElementTree

from sdm.errors import LayerError
from sdm.storage.reading import read_limited

_HEAD_BYTES = 1024  # GDAL recognizes formats by these
_PLAIN = "VRTSourcedRasterBand"  # a band composed of parts of rasters
# The elements of a mosaic of rasters. Others may refer to files, run code or decode bytes of any file.
_ELEMENTS = """
    VRTDataset SRS GeoTransform Metadata MDI OverviewList BlockXSize BlockYSize MaskBand VRTRasterBand Description
    UnitType Offset Scale NoDataValue HideNoDataValue ColorInterp ColorTable Entry CategoryNames Category
    GDALRasterAttributeTable FieldDefn Name Type Usage Row F Histograms HistItem HistMin HistMax BucketCount
    IncludeOutOfRange Approximate HistCounts SimpleSource ComplexSource SourceFilename SourceBand SourceProperties
    SrcRect DstRect NODATA UseMaskBand ScaleOffset ScaleRatio Exponent SrcMin SrcMax DstMin DstMax Clamp LUT
    ColorTableComponent
"""
_ATTRIBUTES = """
    rasterXSize rasterYSize subClass dataType band blockXSize blockYSize dataAxisToSRSAxisMapping coordinateEpoch
    domain key relativeToVRT shared resampling RasterXSize RasterYSize DataType BlockXSize BlockYSize xOff yOff
    xSize ySize c1 c2 c3 c4 tableType index Row0Min BinSize
"""


def is_virtual(path: str | Path) -> bool:
    """Whether GDAL reads a file as a virtual raster, by its content."""
    return b"<VRTDataset" in text_head(path)


def text_head(path: str | Path) -> bytes:
    """Return the text at the beginning of a file, up to the first zero byte, as GDAL does."""
    if not Path(path).is_file():
        return b""
    with open(path, "rb") as file:
        return file.read(_HEAD_BYTES).partition(b"\0")[0]


def rasters_of(path: Path) -> list[Path]:
    """Return the rasters of a virtual raster; raise LayerError unless all are in its folder and below.

    They may be virtual rasters, which may refer to the same folder.
    """
    path, name = path.resolve(), path.name
    todo, seen = [path], {path}
    rasters: list[Path] = []
    while todo:
        for source in _sources(todo.pop(), name):
            if not source.is_relative_to(path.parent):
                raise refused(name, f"it refers to '{source}', which is outside its folder '{path.parent}'")
            if source not in seen:
                (todo if is_virtual(source) else rasters).append(source)
                seen.add(source)
    return rasters


def _sources(virtual: Path, name: str) -> list[Path]:
    """Return the files that a virtual raster refers to."""
    try:
        text = read_limited(virtual)
        if "<!" in text or "<?" in text[1:]:
            raise ValueError("it has comments, declarations or entities")
        root = ElementTree.fromstring(text)  # noqa: S314 - without entities, and not large
    except (ElementTree.ParseError, OSError, ValueError) as problem:
        raise refused(name, f"'{virtual.name}' cannot be read ({problem})") from None
    elements, attributes, files = frozenset(_ELEMENTS.split()), frozenset(_ATTRIBUTES.split()), []
    for item in root.iter():
        strange = {item.tag} - elements | set(item.keys()) - attributes
        strange |= {item.get("subClass", _PLAIN)} - {_PLAIN}
        if strange:
            raise refused(name, f"'{virtual.name}' has '{min(strange)}', which may refer to other data")
        if item.tag == "SourceFilename":
            files.append(_source(virtual, item, name))
    return files


def _source(virtual: Path, item: ElementTree.Element, name: str) -> Path:
    """Return the file of an element of a virtual raster, with links resolved."""
    text, relative = item.text or "", item.get("relativeToVRT", "0")
    drive = Path(text).drive if os.name == "nt" else ""
    plain = text.strip() == text != "" and ":" not in text.removeprefix(drive) and relative in ("0", "1")
    if not plain or text.startswith(("/vsi", "<", "{")):
        raise refused(name, f"it refers to '{text}', which is not a plain file")
    try:
        source = Path(virtual.parent if relative == "1" else "", text).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise refused(name, f"it refers to '{text}', which does not exist") from None
    if not source.is_file():
        raise refused(name, f"it refers to '{text}', which is not a plain file")
    return source


def refused(name: str, reason: str) -> LayerError:
    """Return the error for a refused virtual raster."""
    return LayerError(
        f"virtual raster (VRT) '{name}' is refused: {reason}. Expected a mosaic of GeoTIFF, .img or .asc files in its "
        "folder or below: move them there, or write the values with gdal_translate -of GTiff"
    )
