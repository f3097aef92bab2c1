"""Response curves as small pictures: one figure that is used again for every chart."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sdm.assess.profiles import Profile
from sdm.progress.telling import step_by_step
from sdm.report.charts import EFFECTS, SCALES, TOP, ColumnChart, LineChart, Range, ResponseCurve, curve_chart
from sdm.report.figures.style import INK, drawable, font_file
from sdm.types import Progress

LEFT, BOTTOM, WIDTH, HEIGHT = 0.17, 0.19, 0.8, 0.7  # of the axes in their figure
TITLES = {
    "marginal": "others at the presences' mean",
    "only": "this variable alone",
    "additive": "additive effect on the score",
    "partial": "mean effect on the score",
}


def profile_chart(profile: Profile, scale: str, y_range: Range | None = None) -> LineChart | ColumnChart:
    """Return the chart of one profile, as its picture shows it."""
    effect = profile.kind in EFFECTS
    curve = ResponseCurve(profile.x.tolist(), profile.y.tolist(), profile.classes, (profile.lo, profile.hi))
    label = "Contribution" if effect else SCALES[scale]
    title = TITLES[profile.kind]
    return curve_chart(
        profile.variable, {title: curve}, title=title, y_label=label, y_range=None if effect else y_range
    )


def draw_profiles(
    profiles: Sequence[Profile], folder: Path, scale: str, names: dict[str, str], progress: Progress | None = None
) -> list[Path]:
    """Draw curves to `<folder>/<variable>.png` and `<variable>_only.png`, and all effects to `effects.png`."""
    painter = CurvePainter()
    suffix = {"marginal": "", "only": "_only"}
    highest = max((float(profile.y.max()) for profile in profiles if profile.kind not in EFFECTS), default=1.0)
    y_range = (0.0, TOP.get(scale, highest or 1.0))
    written, panels = [], []
    for profile in step_by_step(profiles, progress, "pictures of curves"):
        painter.draw(profile_chart(profile, scale, y_range))
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


class CurvePainter:
    """One small figure, used again for every response curve: making axes anew costs more than drawing them.

    Axes and ticks are one plain line, and texts are put on the finished pixels: ten times faster than matplotlib's own.
    """

    def __init__(self) -> None:
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

    def draw(self, chart: LineChart | ColumnChart) -> None:
        """Put the first curve of a chart, or its bars, on the figure."""
        if self.bars is not None:
            self.bars.remove()
            self.bars = None
        curve = isinstance(chart, LineChart)
        self.line.set_visible(curve)
        self.range.set_visible(curve)
        self.texts = [(0.57, 0.97, chart.title, "ma"), (0.57, 0.01, drawable(chart.x_label), "md")]
        self.beside = chart.y_label
        y = [v or 0.0 for v in chart.groups[0].values] if isinstance(chart, ColumnChart) else chart.lines[0].y
        low, high = chart.y_range or _limits(y)
        self.axes.set_ylim(low, high)
        if isinstance(chart, LineChart):
            x = chart.lines[0].x
            left, right = float(x[0]), float(x[-1])
            across = _ticks(left, right)
            lo, hi = chart.shade or (left, right)
            self.range.set_x(lo)
            self.range.set_width(hi - lo)
            self.line.set_data(x, y)
        else:
            names = chart.names
            left, right = -0.6, len(names) - 0.4
            self.bars = self.axes.bar(range(len(names)), y, color=INK, width=0.7)
            across = self._name_ticks(names)
        self.axes.set_xlim(left, right)
        self._draw_axes([((x - left) / (right - left), text) for x, text in across], low, high)

    def _name_ticks(self, names: Sequence[str]) -> list[tuple[float, str]]:
        """Return the names of bars, as many as fit; where they would touch, every other one is a line lower."""
        step = -(-len(names) // 14)
        room = self.figure.get_figwidth() * self.figure.dpi * WIDTH * step / (len(names) + 0.2) - 4
        if all(_font().getlength(drawable(name, 8)) <= room for name in names[::step]):
            return [(k, drawable(names[k], 8)) for k in range(0, len(names), step)]
        letters = max(3, min(12, int(2 * room / _font().getlength("n"))))
        return [(k, "\n" * (j % 2) + drawable(names[k], letters)) for j, k in enumerate(range(0, len(names), step))]

    def _draw_axes(self, across: list[tuple[float, str]], low: float, high: float) -> None:
        """Draw the two axes with their ticks as one line, and place the labels."""
        up = [((y - low) / (high - low), text) for y, text in _ticks(low, high)]
        path = [(LEFT, BOTTOM + HEIGHT), (LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), (np.nan, np.nan)]
        for share, text in across:
            x = LEFT + share * WIDTH
            path += [(x, BOTTOM), (x, BOTTOM - 0.015), (np.nan, np.nan)]
            self.texts.append((x, BOTTOM - 0.03 - 0.045 * text.count("\n"), text.lstrip("\n"), "ma"))
        for share, text in up:
            y = BOTTOM + share * HEIGHT
            path += [(LEFT, y), (LEFT - 0.01, y), (np.nan, np.nan)]
            self.texts.append((LEFT - 0.018, y, text, "rm"))
        self.frame.set_data(*zip(*path))

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


def _limits(y: Sequence[float]) -> Range:
    """Return the vertical range to show of a curve that has no limits of its own."""
    low, high = min(y), max(y)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


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


@cache
def _font() -> ImageFont.FreeTypeFont:
    """Return the font of the pictures, at the size of a response curve's texts."""
    return ImageFont.truetype(font_file(), 10)


@cache
def _upright(text: str) -> Image.Image:
    """Return a text as a mask, turned to be read from the right."""
    left, top, right, bottom = _font().getbbox(text)
    mask = Image.new("L", (int(right - left) + 2, int(bottom - top) + 2))
    ImageDraw.Draw(mask).text((1 - left, 1 - top), text, 255, _font())
    return mask.rotate(90, expand=True)
