"""Response curves as small pictures: one figure that is used again for every chart."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sdm.assess.profiles import Band, Profile
from sdm.models.colours import read_colour
from sdm.report.charts import (
    CURVES,
    EFFECT_LABEL,
    EFFECTS,
    SCALES,
    SHADE,
    ColumnChart,
    Line,
    LineChart,
    Range,
    ResponseCurve,
    colour_of,
    curve_chart,
    response_range,
)
from sdm.report.figures.charts import DASHES, draw_curve, draw_panels
from sdm.report.figures.lettering import drawable, font_of, turned_words
from sdm.report.figures.style import ACCENT, COLUMN, INCH, INK, PAGE, PLAIN, SMALL, Paper
from sdm.report.paper import DPI
from sdm.report.png import png_bytes
from sdm.types import Array

LEFT, BOTTOM, RIGHT, TOP_ROOM = 13.0, 10.0, 2.5, 5.0  # millimetres around the axes in their figure
KEY = 3.6  # millimetres of a line of a legend
SMALLEST = 42.0  # millimetres of a panel
Ranked = TypeVar("Ranked", Profile, Band)


def profile_chart(profile: Profile, scale: str, y_range: Range | None = None) -> LineChart | ColumnChart:
    """Return the chart of one profile, as its picture shows it."""
    effect = profile.kind in EFFECTS
    title, colour = CURVES[profile.kind]
    inside = (profile.lo, profile.hi)
    curve = ResponseCurve(profile.x.tolist(), profile.y.tolist(), profile.classes, inside, colour=colour)
    label = EFFECT_LABEL if effect else SCALES[scale]
    return curve_chart(
        profile.variable, {title: curve}, title=title, y_label=label, y_range=None if effect else y_range
    )


def draw_profiles(
    profiles: Sequence[Profile],
    folder: Path,
    scale: str,
    names: dict[str, str],
    paper: Paper = PLAIN,
    order: Sequence[str] = (),
) -> list[Path]:
    """Draw curves to `<folder>/<variable>.png` and `<variable>_only.png`, and all effects, on one scale, to
    `effects.png`: those of variables that come first in an `order` first."""
    width = paper.width or COLUMN
    painter = CurvePainter(width, paper.dpi)
    suffix = {"marginal": "", "only": "_only"}
    written = []
    curves = [profile for profile in profiles if profile.kind not in EFFECTS]
    y_range = response_range(scale, [float(y) for profile in curves for y in profile.y])
    for profile in curves:
        chart = profile_chart(profile, scale, y_range)
        path = folder / f"{names[profile.variable]}{suffix[profile.kind]}.png"
        painter.draw(chart)
        path.write_bytes(png_bytes(painter.pixels(), paper.dpi, painter.palette))
        if paper.vectors:
            _draw_vectors([chart], path, paper)
        written.append(path)
    effects = effect_charts(in_order(profiles, order), scale)
    if effects:
        written.append(folder / "effects.png")
        across = min(4, len(effects), max(1, int((paper.width or PAGE) / SMALLEST)))
        small = CurvePainter((paper.width or PAGE) / across, paper.dpi)
        panels = []
        for k, chart in enumerate(effects):
            small.draw(chart if k % across == 0 else replace(chart, y_label=""))
            panels.append(small.pixels())
        written[-1].write_bytes(png_bytes(_mosaic(panels, across), paper.dpi, small.palette))
        if paper.vectors:
            _draw_vectors(effects, written[-1], paper)
    return written


def draw_lines(chart: LineChart, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw several lines, with their names below: fast, as response curves are."""
    painter = CurvePainter(paper.width or COLUMN, paper.dpi, len(chart.lines))
    painter.draw(replace(chart, title=""))
    path.write_bytes(png_bytes(painter.pixels(), paper.dpi))
    if paper.vectors:
        _draw_vectors([chart], path, paper)
    return path


def rehearse_curve() -> None:
    """Draw a curve for nobody: the first figure of a process takes twice as long as others."""
    painter = CurvePainter(COLUMN, PLAIN.dpi)
    painter.draw(LineChart("", "x", "y", [Line("", [0.0, 1.0], [0.0, 1.0])]))
    png_bytes(painter.pixels(), PLAIN.dpi, painter.palette)


def in_order(profiles: Sequence[Ranked], order: Sequence[str]) -> list[Ranked]:
    """Return curves in an order of their variables; those that it does not name come last."""
    place = {name: k for k, name in enumerate(order)}
    return sorted(profiles, key=lambda profile: place.get(profile.variable, len(place)))


def effect_charts(profiles: Sequence[Profile], scale: str) -> list[LineChart | ColumnChart]:
    """Return the charts of the effects on the score, all on one scale, so that strong ones look strong."""
    effects = [profile for profile in profiles if profile.kind in EFFECTS]
    known = [float(end) for profile in effects for end in _limits(profile.y)]
    shared = (min(known), max(known)) if known else None
    ways: dict[str, Any] = {"title": "", "y_range": shared}
    return [replace(profile_chart(profile, scale), **ways) for profile in effects]


def _draw_vectors(charts: Sequence[LineChart | ColumnChart], path: Path, paper: Paper) -> None:
    """Write charts in the formats that are no pixels, drawn by matplotlib, beside a PNG."""
    with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=path.parent) as folder:
        place = Path(folder) / path.name
        plain = replace(paper, dpi=50)  # its pixels are not kept
        draw_curve(charts[0], place, plain) if len(charts) == 1 else draw_panels(charts, place, paper=plain)
        for kind in paper.vectors:
            os.replace(place.with_suffix(f".{kind}"), path.with_suffix(f".{kind}"))


class CurvePainter:
    """One small figure, used again for every response curve: making axes anew costs more than drawing them.

    Axes and ticks are one plain line, and texts are put on the finished pixels: ten times faster than matplotlib's own.
    Pixels of one curve are shades from ink to white, or from its colour to white. The width is in millimetres; margins
    are as wide as their letters need, and `keys` are lines of a legend below.
    """

    def __init__(self, width: float = COLUMN, dpi: float = DPI, keys: int = 0) -> None:
        height = max(width * 0.68, 36.0) + KEY * keys
        self.figure = Figure(figsize=(width / INCH, height / INCH), dpi=dpi)
        self.canvas = FigureCanvasAgg(self.figure)
        self.keys, self.ticks = keys, max(2, min(5, int((width - LEFT - RIGHT) / 9)))
        self.left, self.bottom = LEFT / width, (BOTTOM + KEY * keys) / height
        self.wide, self.high = 1 - (LEFT + RIGHT) / width, self._up(height - BOTTOM - TOP_ROOM - KEY * keys)
        self.point = dpi / 72
        self.axes = self.figure.add_axes((self.left, self.bottom, self.wide, self.high))
        self.axes.set_axis_off()
        self.axes.set_autoscale_on(False)
        self.frame = Line2D([], [], color=INK, lw=0.6)
        self.figure.add_artist(self.frame)
        self.texts: list[tuple[float, float, str, str]] = []
        self.beside = ""
        self.range = self.axes.axvspan(0, 1, color=SHADE, lw=0)
        self.lines = [self.axes.plot([], [], color=INK, lw=1.2)[0] for _ in range(max(1, keys))]
        self.samples = [Line2D([], [], lw=1.2) for _ in range(keys)]
        for sample in self.samples:
            self.figure.add_artist(sample)
        (self.zero,) = self.axes.plot([0, 1], [0, 0], color=INK, lw=0.4, transform=self.axes.get_yaxis_transform())
        self.bars: Any = None
        self.colour = INK  # of one curve

    @property
    def palette(self) -> list[int]:
        """The colours of the pixels of one curve."""
        shades = _INKS if self.colour == INK else [*_INKS[1::2], *_ACCENTS[1::2]]
        return [part for shade in shades for part in shade]

    def _up(self, mm: float) -> float:
        return mm / (float(self.figure.get_figheight()) * INCH)

    def draw(self, chart: LineChart | ColumnChart) -> None:
        """Put the first curve of a chart (with keys: all), or its bars, on the figure."""
        if self.bars is not None:
            self.bars.remove()
            self.bars = None
        curve = isinstance(chart, LineChart)
        for line in self.lines:
            line.set_visible(curve)
        self.range.set_visible(isinstance(chart, LineChart) and chart.shade is not None)
        middle, letters = self.left + self.wide / 2, int(self.figure.get_figwidth() * INCH / 1.6)
        title = drawable(chart.title, letters)
        below = self._up(1.0 + KEY * self.keys)
        self.texts = [(middle, 1 - self._up(0.6), title, "ma"), (middle, below, drawable(chart.x_label, letters), "md")]
        self.beside = chart.y_label
        y = [v or 0.0 for v in chart.groups[0].values] if isinstance(chart, ColumnChart) else chart.lines[0].y
        low, high = chart.y_range or _limits(y)
        self.axes.set_ylim(low, high)
        self.zero.set_visible(low < 0 < high)
        if isinstance(chart, LineChart):
            x = chart.lines[0].x
            left, right = chart.x_range or (float(x[0]), float(x[-1]))
            across = _ticks(left, right, self.ticks)
            lo, hi = chart.shade or (left, right)
            self.range.set_x(lo)
            self.range.set_width(hi - lo)
            self.colour = colour_of(chart.lines[0].colour)
            for line, own in zip(self.lines, chart.lines):
                line.set_data(own.x, own.y)
                line.set_color(colour_of(own.colour))
                line.set_linestyle(DASHES[own.dash % len(DASHES)])
                line.set_clip_on(chart.x_range is None)  # a line on the edge keeps its width
            self._name_lines(chart)
        else:
            names = chart.names
            left, right = -0.6, len(names) - 0.4
            self.colour = colour_of(chart.groups[0].colour or 0)
            self.bars = self.axes.bar(range(len(names)), y, color=self.colour, width=0.7)
            across = self._name_ticks(names)
        self.axes.set_xlim(left, right)
        self._draw_axes([((x - left) / (right - left), text) for x, text in across], low, high)

    def _name_lines(self, chart: LineChart) -> None:
        """Put the lines of a legend below the axes, and write their names beside them."""
        for k, (sample, own) in enumerate(zip(self.samples, chart.lines)):
            y = self._up(KEY * (self.keys - k - 0.5) + 0.6)
            sample.set_data([self.left, self.left + 0.09], [y, y])
            sample.set_color(colour_of(own.colour))
            sample.set_linestyle(DASHES[own.dash % len(DASHES)])
            self.texts.append((self.left + 0.11, y, drawable(own.name, 60), "lm"))

    def _name_ticks(self, names: Sequence[str]) -> list[tuple[float, str]]:
        """Return the names of bars, as many as fit; where they would touch, every other one is a line lower."""
        font, step = self._font, -(-len(names) // 14)
        room = self.figure.get_figwidth() * self.figure.dpi * self.wide * step / (len(names) + 0.2) - 1.4 * self.point
        if all(font.getlength(drawable(name, 8)) <= room for name in names[::step]):
            return [(k, drawable(names[k], 8)) for k in range(0, len(names), step)]
        letters = max(3, min(12, int(2 * room / font.getlength("n"))))
        return [(k, "\n" * (j % 2) + drawable(names[k], letters)) for j, k in enumerate(range(0, len(names), step))]

    @property
    def _font(self) -> ImageFont.FreeTypeFont:
        return font_of(SMALL * self.point)

    def _draw_axes(self, across: list[tuple[float, str]], low: float, high: float) -> None:
        """Draw the two axes with their ticks as one line, and place the labels."""
        size = self.figure.get_size_inches() * INCH
        x_mm, y_mm = 1 / float(size[0]), 1 / float(size[1])
        left, bottom = self.left, self.bottom
        up = [
            ((y - low) / (high - low), text)
            for y, text in _ticks(low, high, 5 if self.high * self.figure.get_figheight() * INCH > 25 else 3)
        ]
        path = [(left, bottom + self.high), (left, bottom), (left + self.wide, bottom), (np.nan, np.nan)]
        for share, text in across:
            x = left + share * self.wide
            path += [(x, bottom), (x, bottom - 0.9 * y_mm), (np.nan, np.nan)]
            self.texts.append((x, bottom - (1.5 + 2.6 * text.count("\n")) * y_mm, text.lstrip("\n"), "ma"))
        for share, text in up:
            y = bottom + share * self.high
            path += [(left, y), (left - 0.9 * x_mm, y), (np.nan, np.nan)]
            self.texts.append((left - 1.4 * x_mm, y, text, "rm"))
        self.frame.set_data(*zip(*path))

    def pixels(self) -> NDArray[np.uint8]:
        """Return the figure of one curve as places in its `palette`, or with keys in colours (a copy: the canvas draws
        the next one in the same place)."""
        self.canvas.draw()
        seen = np.asarray(self.canvas.buffer_rgba())
        # Of a curve in ink all colours lie between ink and white: their red tells them apart. The accent has more red
        # than blue, which ink, white and what lies between them do not have: its blue tells its shades apart.
        dark: Any = read_colour(INK)
        if self.keys:
            shown = seen[:, :, :3]
        elif self.colour == INK:
            shown, dark = seen[:, :, 0], dark[0]
        else:
            red, blue = seen[:, :, 0], seen[:, :, 2]
            shown, dark = np.where(red > blue, 128 + (blue >> 1), red >> 1), dark[0] >> 1
        image = Image.fromarray(np.ascontiguousarray(shown))
        pen, font = ImageDraw.Draw(image), self._font
        wide, high = image.size
        for x, y, text, anchor in self.texts:
            pen.text((x * wide, (1 - y) * high), text, dark, font, anchor)
        label = turned_words(self.beside, SMALL * self.point)
        middle = (1 - self.bottom - self.high / 2) * high
        image.paste(dark, (round(self.point), round(middle - label.height / 2)), label)
        return np.asarray(image)


def _limits(y: Sequence[float] | Array) -> tuple[float, float]:
    """Return the ends of an axis that values need; a flat curve lies in the middle."""
    low, high = float(np.min(y)), float(np.max(y))
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _ticks(low: float, high: float, most: int = 5) -> list[tuple[float, str]]:
    """Return a few round numbers within a range, with labels as short as tells them apart."""
    return [
        (float(t), f"{t:.6g}".replace("-", "−")) for t in MaxNLocator(most).tick_values(low, high) if low <= t <= high
    ]


def _mosaic(panels: Sequence[NDArray[np.uint8]], across: int) -> NDArray[np.uint8]:
    """Lay pictures of one size out in rows."""
    down = -(-len(panels) // across)
    high, wide = panels[0].shape
    out = np.full((down * high, across * wide), 255, dtype=np.uint8)
    for k, panel in enumerate(panels):
        row, col = divmod(k, across)
        out[row * high : (row + 1) * high, col * wide : (col + 1) * wide] = panel
    return out


def _to_white(colour: str, by: int) -> list[tuple[int, ...]]:
    """Return the shades from a colour to white by one of its parts: the colour itself at its own, and white at 255."""
    dark = np.array(read_colour(colour))
    shares = np.clip((np.arange(256) - dark[by]) / (255 - dark[by]), 0, 1)[:, None]
    return [tuple(int(v) for v in shade) for shade in np.round(dark + shares * (255 - dark))]


_INKS, _ACCENTS = _to_white(INK, 0), _to_white(ACCENT, 2)
