"""Styles beside a raster, made of what it says about itself: `.qml` for QGIS, `.sld` (OGC SLD 1.0.0) for others.

Categories have the colours of the raster's own table and its labels; other values a ramp with breaks at round numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from xml.etree import ElementTree

from rasterio.errors import RasterioError

from sdm.data.opening.rasters import open_local
from sdm.errors import OutputError
from sdm.models.colours import MAGMA, RED_TO_BLUE, VIRIDIS, hex_colour, ramp_colour
from sdm.storage.commit import publishing

ENDINGS = (".qml", ".sld")
LABELS = ("class", "variable", "value")  # tags of categories begin so
SLD = "http://www.opengis.net/sld"
_UNIT = ("0 to 1",)  # units whose ramps go from 0 to 1, whatever values there are
_ON_THE_SCALE = ("mean", "lower", "upper", "minimum", "maximum")  # statistics that are values of the scale themselves
_AROUND = ("MESS", "axis", "difference", "multivariate environmental similarity")


@dataclass(frozen=True)
class Break:
    """A value with its colour and label."""

    value: float
    colour: str
    label: str


@dataclass(frozen=True)
class RasterStyle:
    """How a raster is shown: categories or a ramp of one band, or three bands as red, green and blue."""

    title: str
    breaks: Sequence[Break]
    categories: bool = False
    colours: bool = False


def style_places(raster: Path) -> list[Path]:
    """Return where the styles of a raster are."""
    return [raster.with_suffix(ending) for ending in ENDINGS]


def write_styles(raster: Path) -> list[Path]:
    """Write the styles of a raster beside it, and return their places."""
    style = read_style(raster)
    places = style_places(raster)
    try:
        for place, tree in zip(places, (_qml(style), _sld(style))):
            ElementTree.indent(tree)
            head = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n" if place.suffix == ".qml" else _XML
            place.write_text(head + ElementTree.tostring(tree, encoding="unicode") + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{places[0]} cannot be written ({error.strerror})") from error
    return places


@contextmanager
def publishing_maps(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Give places to write rasters of one folder to; at the end they move to their own places with their styles: all,
    or none."""
    with publishing(files) as places:
        yield places
        for place in places:
            write_styles(place)


def style_folder(folder: Path) -> None:
    """Write the styles of every GeoTIFF of a folder and of the folders in it."""
    for raster in sorted(folder.rglob("*.tif")):
        write_styles(raster)


def read_style(raster: Path) -> RasterStyle:
    """Return the style that a raster's tags, colour table and statistics make."""
    try:
        with open_local(raster) as source:
            tags, first, kind = source.tags(), source.tags(1), source.dtypes[0]
            title = source.descriptions[0] or raster.stem
            if source.count >= 3 and "red" in source.colorinterp[0].name:
                return RasterStyle(tags.get("what", title), (), colours=True)
            table = source.colormap(1) if source.colorinterp[0].name == "palette" else {}
            unit = source.units[0] or ""
    except RasterioError as error:
        raise OutputError(f"{raster} has no style: it cannot be read ({error})") from error
    words = [(*key.rpartition("_")[::2], label) for key, label in tags.items()]
    labels = {int(code): label for what, code, label in words if what in LABELS and code.isdecimal()}
    if kind == "uint8" and labels and table:
        known = {code: table[code][:3] for code in labels if code in table}
        if "variable" in {what for what, *_ in words}:
            known |= {0: table[0][:3]} if 0 in table else {}
            labels.setdefault(0, "none")
        entries = [Break(code, hex_colour(colour), labels[code]) for code, colour in sorted(known.items())]
        return RasterStyle(title, entries, categories=True)
    low, high = (float(first.get(f"STATISTICS_{name}", end)) for name, end in (("MINIMUM", 0), ("MAXIMUM", 1)))
    ramp: Sequence[str] = MAGMA if unit == "nats" or "deviation" in tags.get("statistic", "") else VIRIDIS
    if unit in _UNIT and tags.get("statistic", "mean").split()[0] in _ON_THE_SCALE:
        low, high = 0.0, 1.0
    elif low < 0 < high and any(word in title for word in _AROUND):
        high = max(-low, high)
        low, ramp = -high, RED_TO_BLUE
    return RasterStyle(title, ramp_breaks(low, high, ramp))


def ramp_breaks(low: float, high: float, ramp: Sequence[str]) -> list[Break]:
    """Return about ten round values from the least to the greatest, with colours of a ramp."""
    if not high > low:
        high = low + (abs(low) or 1.0)
    step = _round_step((high - low) / 10)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    values = [k * step for k in range(first, last + 1)]
    return [Break(v, hex_colour(ramp_colour(ramp, k / (len(values) - 1))), f"{v:.6g}") for k, v in enumerate(values)]


def _round_step(step: float) -> float:
    power = 10.0 ** floor(log10(step))
    return next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= step * (1 - 1e-9))


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _qml(style: RasterStyle) -> ElementTree.Element:
    """Return the style of QGIS."""
    root = ElementTree.Element("qgis", version="3.28", styleCategories="Symbology", hasScaleBasedVisibilityFlag="0")
    pipe = ElementTree.SubElement(root, "pipe")
    common = {"opacity": "1", "alphaBand": "-1", "nodataColor": ""}
    if style.colours:
        bands = {"type": "multibandcolor", "redBand": "1", "greenBand": "2", "blueBand": "3"}
        ElementTree.SubElement(pipe, "rasterrenderer", {**bands, **common, "alphaBand": "4"})
        return root
    if style.categories:
        painter = ElementTree.SubElement(pipe, "rasterrenderer", {"type": "paletted", "band": "1", **common})
        ElementTree.SubElement(painter, "rasterTransparency")
        table = ElementTree.SubElement(painter, "colorPalette")
        for one in style.breaks:
            entry = {"value": f"{one.value:g}", "label": one.label, "color": one.colour, "alpha": "255"}
            ElementTree.SubElement(table, "paletteEntry", entry)
        return root
    ends = f"{style.breaks[0].value:.9g}", f"{style.breaks[-1].value:.9g}"
    limits = {"classificationMin": ends[0], "classificationMax": ends[1]}
    painter = ElementTree.SubElement(
        pipe, "rasterrenderer", {"type": "singlebandpseudocolor", "band": "1", **limits, **common}
    )
    ElementTree.SubElement(painter, "rasterTransparency")
    shader = ElementTree.SubElement(ElementTree.SubElement(painter, "rastershader"), "colorrampshader")
    shader.attrib |= {"colorRampType": "INTERPOLATED", "classificationMode": "1", "clip": "0", "labelPrecision": "6"}
    shader.attrib |= {"minimumValue": ends[0], "maximumValue": ends[1]}
    for one in style.breaks:
        item = {"value": f"{one.value:.9g}", "label": one.label, "color": one.colour, "alpha": "255"}
        ElementTree.SubElement(shader, "item", item)
    return root


def _sld(style: RasterStyle) -> ElementTree.Element:
    """Return the style of OGC SLD 1.0.0. Its colour maps have no types, which are an addition of some programs: between
    the whole numbers of categories there is no cell, so a ramp shows them as they are."""
    head = {"version": "1.0.0", "xmlns": SLD}
    head |= {"xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance"}
    head |= {"xsi:schemaLocation": f"{SLD} http://schemas.opengis.net/sld/1.0.0/StyledLayerDescriptor.xsd"}
    root = ElementTree.Element("StyledLayerDescriptor", head)
    layer = ElementTree.SubElement(root, "NamedLayer")
    ElementTree.SubElement(layer, "Name").text = style.title
    user = ElementTree.SubElement(layer, "UserStyle")
    ElementTree.SubElement(user, "Title").text = style.title
    rule = ElementTree.SubElement(ElementTree.SubElement(user, "FeatureTypeStyle"), "Rule")
    symbol = ElementTree.SubElement(rule, "RasterSymbolizer")
    channels = ElementTree.SubElement(symbol, "ChannelSelection")
    names = ("RedChannel", "GreenChannel", "BlueChannel") if style.colours else ("GrayChannel",)
    for band, name in enumerate(names, start=1):
        ElementTree.SubElement(ElementTree.SubElement(channels, name), "SourceChannelName").text = str(band)
    if style.breaks:
        table = ElementTree.SubElement(symbol, "ColorMap")
        for one in style.breaks:
            entry = {"color": one.colour, "quantity": f"{one.value:.9g}", "label": one.label, "opacity": "1"}
            ElementTree.SubElement(table, "ColorMapEntry", entry)
    return root
