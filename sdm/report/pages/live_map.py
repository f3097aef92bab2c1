"""Maps inside a page: a reduced raster as compressed numbers that the page colours itself, and its records."""

import base64
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from PIL import Image

from sdm.assess.measures.thresholds import TOPS
from sdm.errors import DataError
from sdm.report.results import Results, column, number

PIXELS = 512
LEVELS = 4000
NOTHING = 65535
MOST_POINTS = 5000
MOST_LAYERS = 8
SPREAD = {
    "mean map": "mean over replicates",
    "sd map": "standard deviation over replicates",
    "lower map": "lower limit over replicates",
    "upper map": "upper limit over replicates",
}
# Viridis in 16 steps; the page and the thumbnails interpolate between them.
PALETTE = (
    "440154", "481a6c", "472f7d", "414487", "39568c", "31688e", "2a788e", "23888e",
    "1f988b", "22a884", "35b779", "54c568", "7ad151", "a5db36", "d2e21b", "fde725",
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A raster, reduced to the size of a page.

    Attributes
    ----------
    values : (h, w) array
        NaN where there is nothing; the first row is the northernmost.
    bounds : left, bottom, right, top
    geographic : bool
        Whether coordinates are degrees.
    cells : (h, w) of the raster itself
    crs : str
    resolution : (x, y) size of a cell
    """

    values: NDArray[np.float32]
    bounds: tuple[float, float, float, float]
    geographic: bool
    cells: tuple[int, int]
    crs: str
    resolution: tuple[float, float]

    @property
    def aspect(self) -> float:
        """How wide it is to be shown, relative to its height."""
        left, bottom, right, top = self.bounds
        middle = float(np.radians(np.clip(0.5 * (bottom + top), -85, 85)))
        return (right - left) * (float(np.cos(middle)) if self.geographic else 1.0) / max(top - bottom, 1e-12)


def read_picture(path: Path, pixels: int = PIXELS, number: int = 1) -> Picture:
    """Read a band of a raster, reduced to so many pixels on the long side: every pixel is one of its cells.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        with rasterio.open(path) as source:
            shrink = max(1.0, max(source.width, source.height) / pixels)
            shape = (max(1, round(source.height / shrink)), max(1, round(source.width / shrink)))
            band = source.read(number, out_shape=shape, masked=True).astype(np.float32).filled(np.nan)
            left, bottom, right, top = source.bounds
            if source.transform.e > 0:  # its rows run from south to north
                band, bottom, top = band[::-1], top, bottom
            crs = source.crs
            return Picture(
                band,
                (left, bottom, right, top),
                bool(crs and crs.is_geographic),
                (source.height, source.width),
                "" if not crs else crs.to_string() if crs.to_epsg() else str(crs.to_dict().get("proj", "own system")),
                (abs(source.transform.a), abs(source.transform.e)),
            )
    except rasterio.errors.RasterioError as error:
        raise DataError(
            f"{path} cannot be read as a raster ({error}): make the results again with `sdm fit`"
        ) from error


def pack(values: NDArray[np.float32], top: float) -> str:
    """Return values from 0 to `top` as text: steps of 1/4000 in two bytes, high ones first, deflated, in base 64."""
    share = np.clip(np.nan_to_num(values / top), 0.0, 1.0)
    # Rounded down, as the page rounds a threshold: a cell whose value is the threshold is above it, as in the map.
    steps = np.where(np.isfinite(values), np.floor(share * LEVELS + 1e-4), NOTHING).astype(np.uint16)
    planes = np.stack([steps >> 8, steps & 255]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii")


def live_map(results: Results) -> dict[str, Any] | None:
    """Return everything that the live map of a page needs, as plain numbers and texts; None where there is no map."""
    path = results.path("map")
    if path is None:
        return None
    others = [(what, f"projection: {what.removeprefix('projection ')}") for what in results.files if _projected(what)]
    others += [(what, name) for what, name in SPREAD.items() if what in results.files]
    layers = [("training layers", read_picture(path), False)]
    for what, name in others[: MOST_LAYERS - 1]:
        layers.append((name, read_picture(results.folder / results.files[what]), what == "sd map"))
    top = TOPS.get(results.scale) or max(_highest(picture) for _, picture, _ in layers)
    main = layers[0][1]
    samples = results.table("sample predictions")
    return {
        "top": top,
        "levels": LEVELS,
        "nothing": NOTHING,
        "palette": PALETTE,
        "geographic": main.geographic,
        "layers": [
            {
                "name": name,
                "width": picture.values.shape[1],
                "height": picture.values.shape[0],
                "bounds": picture.bounds,
                "aspect": picture.aspect,
                # A deviation has colours of its own, and no threshold.
                "top": _highest(picture) if deviation else top,
                "deviation": deviation,
                "values": pack(picture.values, _highest(picture) if deviation else top),
            }
            for name, picture, deviation in layers
        ],
        "left_out": [name for _, name in others[MOST_LAYERS - 1 :]],
        "reduced": main.cells != main.values.shape,
        "train": _points(samples, "train"),
        "test": _points(samples, "test"),
        "sweep": _sweep(results),
        "thresholds": _thresholds(results),
        "chosen": _chosen(results),
    }


def _projected(what: str) -> bool:
    return what.startswith("projection ")


def _highest(picture: Picture) -> float:
    """Return the largest value to be coloured; never zero."""
    return (float(np.nanmax(picture.values)) if np.isfinite(picture.values).any() else 0.0) or 1.0


def _points(samples: list[dict[str, str]], kind: str) -> list[list[float]]:
    """Return the places of records; of very many, every so many-th."""
    rows = [row for row in samples if row.get("Test or train") == kind]
    rows = rows[:: -(-len(rows) // MOST_POINTS) or 1]
    places = zip(column(rows, "X"), column(rows, "Y"))
    return [[float(f"{x:.8g}"), float(f"{y:.8g}")] for x, y in places if np.isfinite(x) and np.isfinite(y)]


def _sweep(results: Results) -> list[list[float | None]]:
    """Return threshold, area, training and test omission of the stored table."""
    names = ("Threshold", "Fractional area", "Training omission", "Test omission")
    return [[number(row.get(name)) for name in names] for row in results.table("roc")]


def _thresholds(results: Results) -> list[dict[str, Any]]:
    """Return the thresholds that have names, on the map's scale."""
    known = results.numbers.get("thresholds")
    told = []
    for item in known.values() if isinstance(known, dict) else []:
        value = number(item.get(results.scale))
        if value is not None:
            keys = {"area": "area", "train": "training_omission", "test": "test_omission"}
            told.append({"name": item.get("name"), "value": value} | {a: number(item.get(b)) for a, b in keys.items()})
    return told


def _chosen(results: Results) -> float | None:
    """Return the threshold that a page begins with: the run's own, else `maxsss`."""
    own = number(results.numbers.get("map_threshold"))
    known = results.numbers.get("thresholds")
    common = known.get("maxsss") if isinstance(known, dict) else None
    return own if own is not None or not isinstance(common, dict) else number(common.get(results.scale))


def thumbnail(path: Path, top: float | None, pixels: int = 160, band: int = 1) -> str:
    """Return a small picture of a band of a raster, as the text of a data address."""
    picture = read_picture(path, pixels, band)
    values = picture.values
    share = np.clip(np.nan_to_num(values / (top or _highest(picture))), 0, 1)
    coded = np.where(np.isfinite(values), 1 + np.round(share * 62), 0).astype(np.uint8)
    image = Image.fromarray(coded, "P")
    image.putpalette([232, 232, 232, *(part for k in range(63) for part in colour(k / 62))])
    high = max(1, round(image.width / picture.aspect))
    image = image.resize((image.width, min(high, 4 * pixels)), Image.Resampling.NEAREST)
    out = BytesIO()
    image.save(out, "PNG", optimize=True, transparency=0)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")


def colour(share: float) -> tuple[int, int, int]:
    """Return the colour of a value from 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(PALETTE) - 1)
    k = min(int(place), len(PALETTE) - 2)
    a, b = (bytes.fromhex(PALETTE[i]) for i in (k, k + 1))
    red, green, blue = (round(x + (y - x) * (place - k)) for x, y in zip(a, b))
    return red, green, blue


def embed(path: Path) -> str:
    """Return a PNG file as the text of a data address."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
