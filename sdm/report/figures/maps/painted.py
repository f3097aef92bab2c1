"""The picture of a map, pixel by pixel: in less than half of the time of the plotting library, which is not loaded.

It looks as the library draws it (`sdm.report.figures.maps.drawn`), from the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sdm.models.colours import ramp_colour, read_colour
from sdm.report.charts import COLOURS, short
from sdm.report.figures.lettering import SLANTED, UPRIGHT, drawable, font_of, turned_words
from sdm.report.figures.maps.plan import MapFrame, MapPlan, Points, ScaleBar, Shades, degrees, dot_size
from sdm.report.numbers import number_words, round_numbers
from sdm.report.paper import INCH, NOWHERE, SMALL, TEXT, TITLE, Paper
from sdm.report.pictures import Picture
from sdm.types import Array, Colour

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea

BLACK, WHITE, ACCENT = (0, 0, 0), (255, 255, 255), read_colour(COLOURS[1])
LINE, TICK, PAD = 0.6, 2.5, 3.5  # points: width of lines, length of ticks, and from a tick to its number
PHASES = 4  # places of a dot within a pixel, each way
MANY = 20_000  # records of which those are left out that lie less than half a dot from another
SAMPLES = 3  # of an outline, within a pixel, each way
MOST, STEPS = 5, (1, 2, 3, 5)  # numbers beside an axis, and their distances, in powers of ten
LONGEST = 200  # letters; what is longer was cut before
Pixels = NDArray[np.uint8]


def paint_map(
    picture: Picture,
    shades: Shades,
    records: Mapping[str, Points],
    title: str,
    species: bool,
    area: StudyArea | None,
    paper: Paper,
) -> Pixels:
    """Return the pixels of a map with its title, colours, scale bar and legend."""
    frame = MapFrame.of(picture, list(records.values()))
    plan = MapPlan.of(frame, 0, len(records) + (area is not None), paper)
    sheet = _Sheet(plan, frame, paper.dpi)
    low, high = shades.low, picture.highest if shades.high is None else shades.high
    ramp = _ramp(shades.colours)
    sheet.paint(picture, low, high, ramp)
    if area is not None:
        sheet.outline(area)
    faces = dict(zip(records, (WHITE, ACCENT)))
    for noun, (x, y) in records.items():
        sheet.dots(x, y, faces[noun])
    sheet.axes()
    sheet.scale_bar(np.isfinite(picture.values))
    sheet.title(title, species)
    sheet.strip(shades.label, low, high, ramp)
    keys = [] if area is None else [_Key("study area", None)]
    for noun, (x, _) in records.items():
        keys.append(_Key(f"{len(x):,} {noun}{'' if len(x) == 1 else 's'}", faces[noun], dot_size(len(x))))
    sheet.keys(keys)
    return np.asarray(sheet.image)


@dataclass(frozen=True)
class _Key:
    """What a dot of a colour is, or a line."""

    words: str
    face: Colour | None
    size: float = 0.0


@dataclass
class _Sheet:
    """A sheet on which a map is painted; places are in pixels from the upper left corner."""

    plan: MapPlan
    frame: MapFrame
    dpi: int

    def __post_init__(self) -> None:
        plan, tall = self.plan, self.frame.tall
        wide, high = (int(size / INCH * self.dpi) for size in (plan.width, plan.height))
        x, y, across, up = (share * size for share, size in zip(plan.axes, (wide, high, wide, high)))
        if up > across * tall:  # proportions are true
            up, y = across * tall, y + (up - across * tall) / 2
        else:
            across, x = up / tall, x + (across - up / tall) / 2
        self.left, self.right, self.top, self.bottom = x, x + across, high - y - up, high - y
        self.point = self.dpi / 72
        self.image = Image.new("RGB", (wide, high), WHITE)
        self.box = (round(self.left), round(self.top), max(round(self.right), 1), max(round(self.bottom), 1))

    @property
    def pen(self) -> ImageDraw.ImageDraw:
        return ImageDraw.Draw(self.image)

    def across(self, x: Array) -> Array:
        """Return where places of the map are from the left of the sheet."""
        left, _, right, _ = self.frame.limits
        return self.left + (x - left) / (right - left) * (self.right - self.left)

    def down(self, y: Array) -> Array:
        """Return where places of the map are from the top of the sheet."""
        _, bottom, _, top = self.frame.limits
        return self.bottom - (y - bottom) / (top - bottom) * (self.bottom - self.top)

    def paint(self, picture: Picture, low: float, high: float, ramp: Pixels) -> None:
        """Paint the cells: every pixel has the colour of the cell that its middle is in."""
        left, top, right, bottom = self.box
        limits, bounds, (rows, columns) = self.frame.limits, picture.bounds, picture.values.shape
        x = limits[0] + (np.arange(left, right) + 0.5 - self.left) / (self.right - self.left) * (limits[2] - limits[0])
        y = limits[3] - (np.arange(top, bottom) + 0.5 - self.top) / (self.bottom - self.top) * (limits[3] - limits[1])
        c = np.clip(((x - bounds[0]) / (bounds[2] - bounds[0]) * columns).astype(int), 0, columns - 1)
        r = np.clip(((bounds[3] - y) / (bounds[3] - bounds[1]) * rows).astype(int), 0, rows - 1)
        colours = np.vstack([ramp, [read_colour(NOWHERE)]]).astype(np.uint8)
        known = np.isfinite(picture.values)
        share = np.where(known, picture.values - low, 0.0) / (high - low if high > low else 1.0)
        steps = np.where(known, np.clip(share * len(ramp), 0, len(ramp) - 1), len(ramp)).astype(np.intp)
        self.image.paste(Image.fromarray(colours[steps[np.ix_(r, c)]]), (left, top))

    def outline(self, area: StudyArea) -> None:
        """Draw the edges of a study area."""
        import shapely

        left, top, right, bottom = self.box
        size = (right - left) * SAMPLES, (bottom - top) * SAMPLES
        fine = Image.new("L", size)
        pen = ImageDraw.Draw(fine)
        for part in area.geometries:
            for ring in shapely.get_rings(shapely.get_parts(part)):
                x, y = shapely.get_coordinates(ring).T
                at = np.column_stack([self.across(x) - left, self.down(y) - top]) * SAMPLES
                at = np.clip(at, -size[0], 2 * max(size))  # what is far away makes no endless line
                pen.line([tuple(place) for place in at.tolist()], 255, round(0.9 * self.point * SAMPLES), "curve")
        self.image.paste(ACCENT, (left, top), fine.resize((right - left, bottom - top), Image.Resampling.BOX))

    def dots(self, x: Array, y: Array, face: Colour) -> None:
        """Put records on the map, each with an edge; what is outside is cut off."""
        left, top, right, bottom = self.box
        size = dot_size(len(x))
        at = np.column_stack([self.across(np.asarray(x, float)) - left, self.down(np.asarray(y, float)) - top])
        far = 2 * size * self.point
        at = at[((at > -far) & (at < [right - left + far, bottom - top + far])).all(axis=1)]
        phases = np.floor(at * PHASES).astype(int)
        near = 1 if len(x) < MANY else max(1, int(0.5 * PHASES * size * self.point))
        cells = phases // near
        _, first = np.unique(cells @ [1, 1 << 32], return_index=True)  # at one place the first is as good as all
        map_ = self.image.crop(self.box)
        for column, row in phases[np.sort(first)].tolist():
            dot, mask, reach = _dot(size * self.point, 0.4 * self.point, face, column % PHASES, row % PHASES)
            map_.paste(dot, (column // PHASES - reach, row // PHASES - reach), mask)
        self.image.paste(map_, (left, top))

    def line(self, ends: Sequence[float], width: float, colour: Colour = BLACK) -> None:
        """Draw a straight line across or down, of a width in points; in its middle it is sharp."""
        thick = width * self.point
        (x0, y0, x1, y1), half = ends, thick / 2
        if x0 == x1:
            x0 = x1 = _sharp(x0, thick)
            x0, x1 = x0 - half, x1 + half
        else:
            y0 = y1 = _sharp(y0, thick)
            y0, y1 = y0 - half, y1 + half
        left, top, right, bottom = floor(x0), floor(y0), ceil(x1), ceil(y1)
        part = [_covered(first, last, a, b) for first, last, a, b in ((left, right, x0, x1), (top, bottom, y0, y1))]
        self.image.paste(
            colour, (left, top), Image.fromarray(np.round(255 * np.outer(part[1], part[0])).astype(np.uint8))
        )

    def frame_box(self, left: float, top: float, right: float, bottom: float) -> None:
        """Draw the four sides of a box."""
        more = LINE * self.point / 2
        for y in (top, bottom):
            self.line((left - more, y, right + more, y), LINE)
        for x in (left, right):
            self.line((x, top - more, x, bottom + more), LINE)

    def text(
        self, x: float, y: float, words: str, size: float = SMALL, anchor: str = "ms", face: str = UPRIGHT
    ) -> None:
        """Write words; by the anchor `y` is their line."""
        self.pen.text((x, y), drawable(words, LONGEST), BLACK, font_of(size * self.point, face), anchor)

    def axes(self) -> None:
        """Draw the edge of the map, with degrees or kilometres beside it."""
        frame, point = self.frame, self.point
        self.frame_box(self.left, self.top, self.right, self.bottom)
        left, bottom, right, top = frame.limits
        unit = 1.0 if frame.geographic or frame.metres is None else frame.metres / 1000
        digit, end = self._digit(SMALL), (TICK + PAD) * point
        widest = 0.0
        for place in round_numbers(left, right, MOST, STEPS):
            x = float(self.across(np.array(place)))
            self.line((x, self.bottom, x, self.bottom + TICK * point), LINE)
            self.text(x, self.bottom + end + digit, self._number(place, "EW", unit))
        for place in round_numbers(bottom, top, MOST, STEPS):
            y, words = float(self.down(np.array(place))), self._number(place, "NS", unit)
            self.line((self.left - TICK * point, y, self.left, y), LINE)
            self.text(self.left - end, y + digit / 2, words, anchor="rs")
            widest = max(widest, font_of(SMALL * point).getlength(words))
        if frame.metres is not None and not frame.geographic:
            middle = (self.left + self.right) / 2, (self.top + self.bottom) / 2
            self.text(middle[0], self.bottom + end + digit + 6 * point + self._digit(TEXT), "Easting (km)", TEXT)
            self.upright(self.left - end - widest - 4 * point, middle[1], "Northing (km)", TEXT, "right")

    def _number(self, place: float, ends: str, unit: float) -> str:
        if self.frame.geographic:
            return degrees(place, ends)
        return f"{place * unit:,.10g}" if self.frame.metres is not None else f"{place:g}".replace("-", "−")

    def _digit(self, size: float) -> float:
        """Return how high a digit is."""
        return -float(font_of(size * self.point).getbbox("0", anchor="ls")[1])

    def upright(self, x: float, y: float, words: str, size: float, side: str = "left") -> None:
        """Write words that are read from the right, their middle at `y`, and their left or right side at `x`."""
        turned = turned_words(drawable(words, LONGEST), size * self.point)
        across = x - turned.width if side == "right" else x
        self.image.paste(BLACK, (round(across), round(y - turned.height / 2)), turned)

    def scale_bar(self, there: NDArray[np.bool_]) -> None:
        """Draw the scale bar, if the map has one."""
        wide, high = self.right - self.left, self.bottom - self.top
        bar = ScaleBar.of(self.frame, there, wide / self.dpi * INCH, high / self.dpi * INCH)
        if bar is None:
            return
        left, right = self.left + bar.left * wide, self.left + bar.right * wide
        y = self.bottom - bar.y * high
        for colour, width in ((WHITE, 4.2), (BLACK, 2.0)):
            self.line((left, y, right, y), width, colour)
        font = font_of(SMALL * self.point)
        foot = y - bar.up * high - font.getbbox("p", anchor="ls")[3]
        anchor = {"left": "ls", "right": "rs"}.get(bar.side, "ms")
        place, halo = (self.left + bar.at * wide, foot), max(round(self.point), 1)
        self.pen.text(place, bar.words, BLACK, font, anchor, stroke_width=halo, stroke_fill=WHITE)

    def title(self, title: str, species: bool) -> None:
        """Write the title above the map."""
        words = short(title, self.plan.letters)
        face = SLANTED if species else UPRIGHT
        self.text((self.left + self.right) / 2, self.top - 3 * self.point, words, TITLE, face=face)

    def strip(self, label: str, low: float, high: float, ramp: Pixels) -> None:
        """Draw the strip of colours beside the map, and what they mean."""
        mm = self.dpi / INCH
        tall = min(self.bottom - self.top, 60.0 * mm)
        left = self.left + (self.plan.axes[2] * self.image.width + self.right - self.left) / 2 + 2.0 * mm
        right, top = left + 3.0 * mm, (self.top + self.bottom - tall) / 2
        bottom = top + tall
        first, last = round(top), max(round(bottom), round(top) + 1)
        steps = (len(ramp) * (bottom - np.arange(first, last) - 0.5) / tall).astype(int).clip(0, len(ramp) - 1)
        colours = np.repeat(ramp[steps][:, None], max(round(right) - round(left), 1), axis=1)
        self.image.paste(Image.fromarray(np.ascontiguousarray(colours)), (round(left), first))
        self.frame_box(left, top, right, bottom)
        span = high - low if high > low else 1.0
        places = round_numbers(low, low + span, max(2, min(7, int(tall / (5.0 * mm)) + 1)), (1, 2, 2.5, 5))
        words, power = number_words(places)
        digit, point = self._digit(SMALL), self.point
        widest = 0.0
        for place, number in zip(places, words):
            y = bottom - (place - low) / span * tall
            self.line((right, y, right + TICK * point, y), LINE)
            self.text(right + (TICK + PAD) * point, y + digit / 2, number, anchor="ls")
            widest = max(widest, font_of(SMALL * point).getlength(number))
        if power:
            self.text(left, top - 3 * point, f"1e{power}".replace("-", "−"), anchor="ls")
        if label:
            self.upright(right + (TICK + PAD + 4) * point + widest, (top + bottom) / 2, label, TEXT)

    def keys(self, keys: Sequence[_Key]) -> None:
        """Write what the dots and lines are below the map, in two columns."""
        size, digit = SMALL * self.point, self._digit(SMALL)
        font = font_of(size)
        down = max(-(-len(keys) // 2), 1)
        columns = [keys[k : k + down] for k in range(0, len(keys), down)]
        widths = [2.4 * size + max(font.getlength(key.words) for key in column) for column in columns]
        x = (self.left + self.right) / 2 - (sum(widths) + 2.0 * size * (len(widths) - 1)) / 2
        below = self.image.height * (1 - self.plan.axes[1]) + self.plan.below * self.dpi / INCH
        for column, wide in zip(columns, widths):
            for k, key in enumerate(column):
                y = below + (1.15 + 1.4 * k) * size
                if key.face is None:
                    self.line((x, y, x + 2.0 * size, y), 0.9, ACCENT)
                else:
                    middle = PHASES // 2
                    dot, mask, reach = _dot(key.size * self.point, 0.4 * self.point, key.face, middle, middle)
                    self.image.paste(dot, (round(x + size) - reach, round(y) - reach), mask)
                self.text(x + 2.4 * size, y + digit / 2, key.words, anchor="ls")
            x += wide + 2.0 * size


def _ramp(colours: Sequence[str]) -> Pixels:
    """Return 256 colours between the steps of a ramp."""
    return np.array([ramp_colour(colours, k / 255) for k in range(256)], dtype=np.uint8)


def _sharp(middle: float, thick: float) -> float:
    """Return the middle of a line, moved so that its edges are between pixels as far as its width allows."""
    return floor(middle) + 0.5 if ceil(thick - 1e-9) % 2 else float(round(middle))


def _covered(first: int, last: int, low: float, high: float) -> Array:
    """Return how much of each pixel from the first to before the last lies between two places."""
    edges = np.arange(first, last + 1)
    return np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0.0, 1.0)


@cache
def _dot(size: float, edge: float, face: Colour, column: int, row: int) -> tuple[Image.Image, Image.Image, int]:
    """Return a dot with an edge, how much of each pixel it covers, and how far it reaches around its own pixel; it is
    somewhere within that."""
    reach = ceil((size + edge) / 2) + 1
    places = np.arange(-reach, reach + 1) + 0.5
    x, y = (places - (phase + 0.5) / PHASES for phase in (column, row))
    away = np.hypot(x[None], y[:, None])
    whole, inner = (np.clip((size + sign * edge) / 2 - away + 0.5, 0, 1) for sign in (1, -1))
    share = np.divide(inner, whole, out=np.zeros_like(inner), where=whole > 0)[:, :, None]
    colours = (share * np.array(face, dtype=float)).round().astype(np.uint8)
    return Image.fromarray(colours), Image.fromarray(np.round(255 * whole).astype(np.uint8)), reach
