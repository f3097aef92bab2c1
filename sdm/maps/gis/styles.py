"""Styles of rasters from their tags: `.qml` for QGIS, `.sld` (OGC SLD 1.0.0) for other programs.

Categories have the colours of the raster's own table and its labels; other values a ramp with breaks at round numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

from rasterio.errors import RasterioError

from sdm.data.opening.rasters import open_local
from sdm.errors import OutputError
from sdm.models.colours import MAGMA, RED_TO_BLUE, VIRIDIS, hex_colour, ramp_colour
from sdm.storage.commit import publishing

ENDINGS = (".qml", ".sld")
LABELS = ("class", "variable", "value")  # prefixes of the tags of categories
TEMPLATES = Path(__file__).parent / "templates"
_UNIT = ("0 to 1",)  # units with a ramp from 0 to 1
_ON_THE_SCALE = ("mean", "lower", "upper", "minimum", "maximum")  # statistics with the unit of the scale
_AROUND = ("MESS", "axis", "difference", "multivariate environmental similarity")


@dataclass(frozen=True)
class Break:
    """A value with its colour and label."""

    value: float
    colour: str
    label: str


@dataclass(frozen=True)
class RasterStyle:
    """The style of a raster: categories or a ramp of one band, or three bands as red, green and blue."""

    title: str
    breaks: Sequence[Break]
    categories: bool = False
    colours: bool = False


def style_places(raster: Path) -> list[Path]:
    """Return the paths of the styles of a raster."""
    return [raster.with_suffix(ending) for ending in ENDINGS]


def write_styles(raster: Path) -> list[Path]:
    """Write the styles of a raster next to it, and return their paths."""
    from jinja2 import Environment, FileSystemLoader

    style = read_style(raster)
    places = style_places(raster)
    templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    try:
        for place in places:
            text = templates.get_template(f"style{place.suffix}").render(style=style)
            place.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{places[0]} cannot be written ({error.strerror})") from error
    return places


@contextmanager
def publishing_maps(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield temporary paths for rasters of one folder. At the end, all rasters are moved to their paths with styles, or
    none."""
    with publishing(files) as places:
        yield places
        for place in places:
            write_styles(place)


def style_folder(folder: Path) -> None:
    """Write the styles of every GeoTIFF of a folder and its subfolders."""
    for raster in sorted(folder.rglob("*.tif")):
        write_styles(raster)


def read_style(raster: Path) -> RasterStyle:
    """Return the style for the tags, colour table and statistics of a raster."""
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
    labels = {int(code): label for prefix, code, label in words if prefix in LABELS and code.isdecimal()}
    if kind == "uint8" and labels and table:
        colours = {code: table[code][:3] for code in labels if code in table}
        if "variable" in {prefix for prefix, *_ in words}:
            colours |= {0: table[0][:3]} if 0 in table else {}
            labels.setdefault(0, "none")
        entries = [Break(code, hex_colour(colour), labels[code]) for code, colour in sorted(colours.items())]
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
    """Return about ten round values between two limits, with the colours of a ramp."""
    if not high > low:
        high = low + (abs(low) or 1.0)
    step = _round_step((high - low) / 10)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    values = [k * step for k in range(first, last + 1)]
    return [Break(v, hex_colour(ramp_colour(ramp, k / (len(values) - 1))), f"{v:.6g}") for k, v in enumerate(values)]


def _round_step(step: float) -> float:
    power = 10.0 ** floor(log10(step))
    return next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= step * (1 - 1e-9))
