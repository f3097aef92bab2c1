"""Rasters reduced to the size of a picture, for figures and pages, and pictures as data URLs."""

import base64
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from PIL import Image

from sdm.data.opening.rasters import open_local
from sdm.errors import ResultsError
from sdm.models.colours import VIRIDIS, hex_colour, palette, ramp_colour, read_colour
from sdm.types import AnyArray

PIXELS = 512
PALETTE = VIRIDIS  # the page and the thumbnails interpolate between its steps
SMALL = 160  # pixels of the long side of a thumbnail
STEPS = 62  # colours of a thumbnail


@dataclass(frozen=True)
class Picture:
    """A band of a raster, reduced to the size of a picture, north up; NaN without data.

    `bounds` are left, bottom, right and top, `cells` the size of the raster. `legend` contains the label and the colour
    of every class that the raster stores, and is empty for other rasters.
    """

    values: NDArray[np.float32]
    bounds: tuple[float, float, float, float]
    geographic: bool
    cells: tuple[int, int]
    crs: str
    resolution: tuple[float, float]
    legend: dict[int, tuple[str, str]] = field(default_factory=dict)
    metres: float | None = None  # metres of a unit of the projection; None for degrees, or if it is unknown

    @property
    def stretch(self) -> float:
        """The length of a vertical unit relative to a horizontal one."""
        middle = np.radians(np.clip(0.5 * (self.bounds[1] + self.bounds[3]), -85, 85))
        return 1.0 / float(np.cos(middle)) if self.geographic else 1.0

    @property
    def aspect(self) -> float:
        """The display width relative to the height."""
        left, bottom, right, top = self.bounds
        return (right - left) / self.stretch / max(top - bottom, 1e-12)

    @property
    def known_bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of the pixels with a value; of all pixels if there are none."""
        has_value = np.isfinite(self.values)
        if not has_value.any():
            return self.bounds
        (left, bottom, right, top), (high, wide) = self.bounds, has_value.shape
        rows, columns = (np.flatnonzero(has_value.any(axis=k))[[0, -1]] + [0, 1] for k in (1, 0))
        x, y = left + (right - left) * columns / wide, top - (top - bottom) * rows / high
        return float(x[0]), float(y[1]), float(x[1]), float(y[0])

    @property
    def highest(self) -> float:
        """The value of the last colour; never zero."""
        return (float(np.nanmax(self.values)) if np.isfinite(self.values).any() else 0.0) or 1.0


def read_picture(path: Path, pixels: int = PIXELS, band: int = 1) -> Picture:
    """Read a band of a raster, reduced to at most `pixels` along the long side by selecting cells."""
    try:
        with open_local(path) as source:
            shrink = max(1.0, max(source.width, source.height) / pixels)
            shape = (max(1, round(source.height / shrink)), max(1, round(source.width / shrink)))
            values = source.read(band, out_shape=shape, masked=True).astype(np.float32).filled(np.nan)
            left, bottom, right, top = source.bounds
            if source.transform.e > 0:  # rows run from south to north
                values, bottom, top = values[::-1], top, bottom
            crs = source.crs
            return Picture(
                values,
                (left, bottom, right, top),
                bool(crs and crs.is_geographic),
                (source.height, source.width),
                "" if not crs else crs.to_string() if crs.to_epsg() else str(crs.to_dict().get("proj", "custom CRS")),
                (abs(source.transform.a), abs(source.transform.e)),
                _legend(source),
                crs.linear_units_factor[1] if crs and crs.is_projected else None,
            )
    except (rasterio.errors.RasterioError, IndexError) as error:
        raise ResultsError(f"{path} cannot be read as a raster ({error}): run the fit again") from error


def resized(values: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Return a two-dimensional array in another size, by nearest neighbours."""
    rows, columns = ((np.arange(new) * old + old // 2) // new for new, old in zip(shape, values.shape))
    return values if values.shape == shape else values[np.ix_(rows, columns)]


def _legend(source: rasterio.DatasetReader) -> dict[int, tuple[str, str]]:
    """Return the classes, or the variables by number, that a raster stores, with their colours."""
    if source.dtypes[0] != "uint8":
        return {}
    words = [(*key.rpartition("_")[::2], label) for key, label in source.tags().items()]
    named = {code: label for kind, code, label in words if kind in ("class", "variable")}
    labels = {int(code): label for code, label in named.items() if code.isdecimal()}
    try:
        table = {code: hex_colour(colour[:3]) for code, colour in source.colormap(1).items()}
    except ValueError:  # no colour table
        table = {}
    colours = [hex_colour(colour) for colour in palette(len(labels))]
    return {code: (labels[code], table.get(code, colours[k])) for k, code in enumerate(sorted(labels))}


def thumbnail(path: Path, top: float | None) -> str:
    """Return a thumbnail of a raster as a data URL."""
    return embed(small_picture(path, top))


def small_picture(path: Path, top: float | None, band: int = 1) -> bytes:
    """Return a thumbnail of a band as PNG; `top` is the value of the last colour, by default the maximum."""
    picture = read_picture(path, SMALL, band)
    values = picture.values
    if picture.legend:
        colours = {code: read_colour(colour) for code, (_, colour) in picture.legend.items()}
        coded = np.select([values == code for code in colours], range(1, len(colours) + 1)).astype(np.uint8)
        table = list(colours.values())
    else:
        share = np.clip(np.nan_to_num(values / (top or picture.highest)), 0, 1)
        coded = np.where(np.isfinite(values), 1 + np.round(share * STEPS), 0).astype(np.uint8)
        table = [ramp_colour(PALETTE, k / STEPS) for k in range(STEPS + 1)]
    image = Image.fromarray(coded, "P")
    image.putpalette([232, 232, 232, *(part for colour in table for part in colour)])
    high = max(1, round(image.width / picture.aspect))
    image = image.resize((image.width, min(high, 4 * SMALL)), Image.Resampling.NEAREST)
    out = BytesIO()
    image.save(out, "PNG", optimize=True, transparency=0)
    return out.getvalue()


def embed(picture: Path | bytes) -> str:
    """Return a PNG file, or its content, as a data URL."""
    png = picture if isinstance(picture, bytes) else picture.read_bytes()
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


WIDE = 1100  # largest width in pixels
LARGE = 120_000  # largest size in bytes of a file that is embedded unchanged
TINTS = 256


def shown_picture(path: Path, wide: int = WIDE) -> str:
    """Return a PNG file as a data URL, reduced in width and colours if it is large."""
    if path.stat().st_size <= LARGE:
        return embed(path)
    try:
        with Image.open(path) as source:
            picture = source.convert("RGB")
    except OSError as error:
        raise ResultsError(f"{path} cannot be read as a picture ({error}): run the fit again") from error
    if picture.width > wide:
        high = max(1, round(picture.height * wide / picture.width))
        picture = picture.resize((wide, high), Image.Resampling.BOX, reducing_gap=2.0)
    out = BytesIO()
    picture.quantize(TINTS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(out, "PNG")
    return embed(out.getvalue())
