"""Pictures: the map with its points, and response curves. They draw what `assess` and `predict` computed."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import rasterio
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from rasterio.coords import BoundingBox

from sdm.assess.profiles import Profile
from sdm.data.rasters.area import StudyArea
from sdm.types import Array

DPI = 100
MAP_PIXELS = 900
LEFT, BOTTOM, WIDTH, HEIGHT = 0.17, 0.19, 0.8, 0.7  # of a response curve's axes in its figure
INK = "#1f3b4d"
ACCENT = "#c8553d"
PALE = "#f3efe2"
EFFECTS = ("additive", "partial")  # kinds of curves that show a variable's effect on the score
LABELS = {
    "cloglog": "Suitability (cloglog)",
    "logistic": "Suitability (logistic)",
    "cumulative": "Cumulative (%)",
    "raw": "Raw density",
    "density": "Density relative to area",
}


def save(figure: Figure, path: Path) -> None:
    """Write a PNG without the date or version that would make two equal pictures differ."""
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})


def draw_map(
    raster: Path,
    path: Path,
    *,
    title: str,
    scale: str,
    x: Array,
    y: Array,
    test: tuple[Array, Array] | None = None,
    area: StudyArea | None = None,
    edges: bool = False,
) -> Path:
    """Draw a map with the records and the outline of the study area on it, from the raster's overviews.

    With `edges`, cells of exactly zero are pale and the range has a line around it.
    """
    with rasterio.open(raster) as source:
        shrink = max(1.0, max(source.width, source.height) / MAP_PIXELS)
        shape = (max(1, round(source.height / shrink)), max(1, round(source.width / shrink)))
        band = source.read(1, out_shape=shape, masked=True).astype(np.float32).filled(np.nan)
        bounds = source.bounds
        if source.transform.e > 0:  # its rows run from south to north
            band, bounds = band[::-1], BoundingBox(bounds.left, bounds.top, bounds.right, bounds.bottom)
        geographic = bool(source.crs and source.crs.is_geographic)
    middle = np.radians(np.clip(0.5 * (bounds.bottom + bounds.top), -85, 85))
    aspect = 1.0 / np.cos(middle) if geographic else 1.0
    tall = (bounds.top - bounds.bottom) * aspect / max(bounds.right - bounds.left, 1e-12)
    width = 8.0 if tall < 1.2 else max(4.5, 9.6 / tall)
    figure = Figure(figsize=(width, min(max(width * tall * 0.84, 3.0), 12.0)), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    extent = (bounds.left, bounds.right, bounds.bottom, bounds.top)
    top = 1.0 if scale in ("cloglog", "logistic") else None
    image = axes.imshow(band, extent=extent, cmap="viridis", vmin=0, vmax=top, interpolation="nearest", aspect=aspect)
    if edges:
        image.set_cmap(colormaps["viridis"].with_extremes(under=PALE))
        image.set_clim(np.nextafter(np.float32(0), np.float32(1)), top)
        inside = np.nan_to_num(band) > 0
        axes.contour(inside, [0.5], extent=extent, origin="upper", colors=ACCENT, linewidths=0.9)
        axes.plot([], [], color=ACCENT, lw=0.9, label="range")
    if area is not None:
        axes.plot(*_outline(area), color=ACCENT, lw=1.2, label="study area")
    axes.plot(x, y, "o", ms=3.5, mfc="white", mec="black", mew=0.7, label=_counted(len(x), "record"), ls="none")
    if test is not None:
        axes.plot(
            *test, "o", ms=3.5, mfc=ACCENT, mec="black", mew=0.7, label=_counted(len(test[0]), "test record"), ls="none"
        )
    axes.set_xlim(bounds.left, bounds.right)
    axes.set_ylim(bounds.bottom, bounds.top)
    axes.set_facecolor("#e8e8e8")
    axes.set_title(short(title, 70).replace("$", r"\$"), fontsize=11)
    axes.tick_params(labelsize=8)
    axes.legend(loc="lower left", fontsize=8, framealpha=0.9)
    figure.colorbar(image, ax=axes, label=LABELS[scale], shrink=0.75)
    save(figure, path)
    return path


def _outline(area: StudyArea) -> tuple[Array, Array]:
    """Return the edges of a study area as one line, with gaps between its rings."""
    import shapely

    rings = [ring for part in area.geometries for ring in shapely.get_rings(shapely.get_parts(part))]
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([piece for ring in rings for piece in (shapely.get_coordinates(ring), gap)])
    return points[:, 0], points[:, 1]


class CurvePainter:
    """One small figure, used again for every response curve: making axes anew costs more than drawing them.

    Axes and ticks are one plain line, and texts are put on the finished pixels: ten times faster than matplotlib's own.
    """

    TITLES: ClassVar = {
        "marginal": "others at the presences' mean",
        "only": "this variable alone",
        "additive": "additive effect on the score",
        "partial": "mean effect on the score",
    }

    def __init__(self, scale: str) -> None:
        self.scale = scale
        self.figure = Figure(figsize=(4.0, 2.8), dpi=80)
        self.canvas = FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((LEFT, BOTTOM, WIDTH, HEIGHT))
        self.axes.set_axis_off()
        self.axes.set_autoscale_on(False)
        self.frame = Line2D([], [], color="black", lw=0.8)
        self.figure.add_artist(self.frame)
        self.texts: list[tuple[float, float, str, str]] = []
        self.beside = ""
        self.range = self.axes.axvspan(0, 1, color="#eef3f5", lw=0)
        (self.line,) = self.axes.plot([], [], color=INK, lw=1.6)
        self.bars: Any = None

    def draw(self, profile: Profile) -> None:
        """Put one curve, or bars for classes, on the figure."""
        if self.bars is not None:
            self.bars.remove()
            self.bars = None
        self.line.set_visible(profile.classes is None)
        self.range.set_visible(profile.classes is None)
        self.texts = [(0.57, 0.97, self.TITLES[profile.kind], "ma"), (0.57, 0.02, short(profile.variable), "md")]
        self.beside = "Contribution" if profile.kind in EFFECTS else LABELS[self.scale]
        low, high = self._limits(profile)
        self.axes.set_ylim(low, high)
        if profile.classes is None:
            left, right = float(profile.x[0]), float(profile.x[-1])
            across = _ticks(left, right)
            self.range.set_x(profile.lo)
            self.range.set_width(profile.hi - profile.lo)
            self.line.set_data(profile.x, profile.y)
        else:
            left, right = -0.6, len(profile.classes) - 0.4
            self.bars = self.axes.bar(range(len(profile.classes)), profile.y, color=INK, width=0.7)
            step = -(-len(profile.classes) // 14)
            across = [(k, short(profile.classes[k], 8)) for k in range(0, len(profile.classes), step)]
        self.axes.set_xlim(left, right)
        self._draw_axes([((x - left) / (right - left), text) for x, text in across], low, high)

    def _draw_axes(self, across: list[tuple[float, str]], low: float, high: float) -> None:
        """Draw the two axes with their ticks as one line, and place the labels."""
        up = [((y - low) / (high - low), text) for y, text in _ticks(low, high)]
        path = [(LEFT, BOTTOM + HEIGHT), (LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), (np.nan, np.nan)]
        for share, text in across:
            x = LEFT + share * WIDTH
            path += [(x, BOTTOM), (x, BOTTOM - 0.015), (np.nan, np.nan)]
            self.texts.append((x, BOTTOM - 0.03, text, "ma"))
        for share, text in up:
            y = BOTTOM + share * HEIGHT
            path += [(LEFT, y), (LEFT - 0.01, y), (np.nan, np.nan)]
            self.texts.append((LEFT - 0.018, y, text, "rm"))
        self.frame.set_data(*zip(*path))

    def _limits(self, profile: Profile) -> tuple[float, float]:
        """Return the vertical range to show."""
        if profile.kind not in EFFECTS and self.scale in ("cloglog", "logistic"):
            return 0.0, 1.0
        low, high = float(profile.y.min()), float(profile.y.max())
        if profile.kind not in EFFECTS:
            low = 0.0
        margin = 0.05 * (high - low) or 0.5
        return low - margin * (profile.kind in EFFECTS), high + margin

    def pixels(self) -> NDArray[np.uint8]:
        """Return the figure as an image (a copy: the canvas draws the next one in the same place)."""
        self.canvas.draw()
        image = Image.fromarray(np.ascontiguousarray(np.asarray(self.canvas.buffer_rgba())[:, :, :3]))
        pen = ImageDraw.Draw(image)
        wide, high = image.size
        for x, y, text, anchor in self.texts:
            pen.text((x * wide, (1 - y) * high), text, "#333333", _font(), anchor)
        label = _upright(self.beside)
        image.paste("#333333", (4, round((1 - BOTTOM - HEIGHT / 2) * high - label.height / 2)), label)
        return np.asarray(image)


def draw_profiles(profiles: Sequence[Profile], folder: Path, scale: str, names: dict[str, str]) -> list[Path]:
    """Draw curves to `<folder>/<variable>.png` and `<variable>_only.png`, and all effects to `effects.png`."""
    painter = CurvePainter(scale)
    suffix = {"marginal": "", "only": "_only"}
    written, panels = [], []
    for profile in profiles:
        painter.draw(profile)
        if profile.kind in EFFECTS:
            panels.append(painter.pixels())
            continue
        path = folder / f"{names[profile.variable]}{suffix[profile.kind]}.png"
        Image.fromarray(painter.pixels()).save(path, compress_level=1)
        written.append(path)
    if panels:
        written.append(folder / "effects.png")
        Image.fromarray(_mosaic(panels)).save(written[-1], compress_level=1)
    return written


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return up to six round numbers within a range, with labels as short as tells them apart."""
    return [(float(t), f"{t:.6g}") for t in MaxNLocator(5).tick_values(low, high) if low <= t <= high]


def _mosaic(panels: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Lay pictures of one size out in rows of up to four."""
    across = min(4, len(panels))
    down = -(-len(panels) // across)
    high, wide = panels[0].shape[:2]
    out = np.full((down * high, across * wide, 3), 255, dtype=np.uint8)
    for k, panel in enumerate(panels):
        row, col = divmod(k, across)
        out[row * high : (row + 1) * high, col * wide : (col + 1) * wide] = panel
    return out


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def short(text: str, longest: int = 40) -> str:
    """Keep a name from running out of the picture, with a box for each letter that the font does not have."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(letter if ord(letter) in _letters() else "□" for letter in text)


@cache
def _font() -> ImageFont.FreeTypeFont:
    """Return the font of the pictures, at the size of a response curve's texts."""
    return ImageFont.truetype(findfont(FontProperties()), 10)


@cache
def _upright(text: str) -> Image.Image:
    """Return a text as a mask, turned to be read from the right."""
    left, top, right, bottom = _font().getbbox(text)
    mask = Image.new("L", (int(right - left) + 2, int(bottom - top) + 2))
    ImageDraw.Draw(mask).text((1 - left, 1 - top), text, 255, _font())
    return mask.rotate(90, expand=True)


@cache
def _letters() -> frozenset[int]:
    """Return the letters that the font has; for others matplotlib would warn."""
    return frozenset(get_font(findfont(FontProperties())).get_charmap())
