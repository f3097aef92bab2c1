"""What the picture of a map shows, and where: for whoever draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos, floor, log10, radians
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdm.models.colours import MAGMA, VIRIDIS
from sdm.report.charts import SCALES, TOP, short
from sdm.report.paper import COLUMN, INCH, PAGE, SMALL, Paper
from sdm.report.pictures import Picture
from sdm.types import Array

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea

EQUATOR_KM = 40075.017
MARGIN = 0.02  # of the data's extent, on every side
BAR = 0.28  # of the width of a map, at most
UNEVEN = 1.25  # how much longer a kilometre may be at one edge than at another, for a bar without a latitude
TALLEST = 220.0  # millimetres of a map
Limits = tuple[float, float, float, float]
Points = tuple[Array, Array]


@dataclass(frozen=True)
class Shades:
    """How the values of a map become colours: what they are called, from where to where, and by which colours."""

    label: str
    high: float | None = None
    low: float = 0.0
    colours: str | Sequence[str] = VIRIDIS  # the steps of a ramp, or its name in the plotting library


@dataclass(frozen=True)
class Marks:
    """What lies on a map: records by what they are called, the outline of a study area, and with `edges` that of the
    range; cells of exactly zero are then pale."""

    records: Mapping[str, Points] = field(default_factory=dict)
    area: "StudyArea | None" = None
    edges: bool = False


UNMARKED, UNNAMED = Marks(), Shades("")


def suitability(scale: str) -> Shades:
    """Return the shades of a species' map on one of the scales."""
    return Shades(SCALES[scale], 1.0 if TOP.get(scale) == 1.0 else None)


def probability(subject: str) -> Shades:
    """Return the shades of the probability of a class, from zero to one."""
    return Shades(short(f"Probability of {subject}", 50), 1.0)


def entropy(classes: int) -> Shades:
    """Return the shades of how undecided classes are: from zero to the logarithm of their number."""
    return Shades("Entropy of the classes (nats)", float(np.log(classes)), colours=MAGMA)


@dataclass(frozen=True)
class MapFrame:
    """How far apart things are on axes: the limits (left, bottom, right, top), how much longer a unit is upwards, and
    what a unit is: degrees, a number of metres, or not known."""

    limits: Limits
    stretch: float = 1.0
    geographic: bool = False
    metres: float | None = None

    @classmethod
    def of(cls, picture: Picture, points: Sequence[Points] = ()) -> "MapFrame":
        """Return the frame of a picture, cropped to its data and to points that lie in it."""
        left, bottom, right, top = picture.known_bounds
        for x, y in points:
            inside = (x >= picture.bounds[0]) & (x <= picture.bounds[2])
            inside &= (y >= picture.bounds[1]) & (y <= picture.bounds[3])
            if inside.any():
                left, right = min(left, float(x[inside].min())), max(right, float(x[inside].max()))
                bottom, top = min(bottom, float(y[inside].min())), max(top, float(y[inside].max()))
        more = MARGIN * max(right - left, top - bottom)
        low, high = picture.bounds[:2], picture.bounds[2:]
        limits = (
            max(left - more, low[0]), max(bottom - more, low[1]), min(right + more, high[0]), min(top + more, high[1])
        )  # fmt: skip
        return cls(limits, picture.stretch, picture.geographic, picture.metres)

    @property
    def tall(self) -> float:
        """How high a map of it is, relative to its width."""
        left, bottom, right, top = self.limits
        return (top - bottom) * self.stretch / max(right - left, 1e-12)

    @property
    def km_across(self) -> float | None:
        """Kilometres of a unit across, where proportions are true; None where it is not known."""
        if self.geographic:
            return EQUATOR_KM / 360 / self.stretch
        return None if self.metres is None else self.metres / 1000


@dataclass(frozen=True)
class MapPlan:
    """Where the parts of a map's figure are: its size in millimetres, and where its axes are in it, in shares."""

    width: float
    height: float
    axes: tuple[float, float, float, float]
    below: float  # millimetres of what is written under the axes

    @property
    def letters(self) -> int:
        """How many letters a title may have."""
        return max(12, int(0.55 * self.width))

    @classmethod
    def of(cls, frame: MapFrame, words: int, keys: int, paper: Paper) -> "MapPlan":
        """Plan the map of a frame; a legend beside it has a number of letters (`words`), `keys` are how many lines of
        a legend are written below, two in a row."""
        plane = frame.metres is not None and not frame.geographic
        left, top, below = (14.0 if plane else 10.0), 6.5, (9.0 if plane else 5.5)
        right, bottom = (12.0 + 1.45 * words if words else 16.5), below + (1.5 + 3.5 * -(-keys // 2) if keys else 1.0)
        width = paper.width or (PAGE if frame.tall < 0.6 else COLUMN)
        wide = max(width - left - right, 20.0)
        high = min(wide * frame.tall, TALLEST)
        wide = max(min(wide, high / frame.tall), 3.0)
        high = max(high, 3.0)
        height = max(high + top + bottom, 30.0)
        x, y = (width - left - right - wide) / 2 + left, bottom + (height - top - bottom - high) / 2
        return cls(width, height, (x / width, y / height, wide / width, high / height), below)


def dot_size(count: int) -> float:
    """Return how large the dots of records are, in points."""
    return 2.6 if count < 2000 else 1.2


@dataclass(frozen=True)
class ScaleBar:
    """A bar of a round number of kilometres, in shares of the axes from the lower left corner."""

    words: str
    corner: str
    left: float
    right: float
    y: float
    up: float  # from the bar to the foot of its words
    side: str  # of the bar where its words begin or end, or center

    @property
    def at(self) -> float:
        """Where the words are to the left of, to the right of, or in the middle of."""
        return {"left": self.left, "right": self.right}.get(self.side, (self.left + self.right) / 2)

    @classmethod
    def of(cls, frame: MapFrame, there: NDArray[np.bool_] | None, across: float, high: float) -> "ScaleBar | None":
        """Plan the bar of a map that is `across` and `high` millimetres large, in the corner with the fewest data; None
        where distances are not known.

        In degrees a kilometre is not as long everywhere: the bar holds in the middle of the height, and says so where
        the edges differ much. Maps that reach a pole have no bar.
        """
        km, (left, bottom, right, top) = frame.km_across, frame.limits
        if km is None:
            return None
        text = ""
        if frame.geographic:
            ends = [cos(radians(y)) for y in (bottom, top)]
            widest = 1.0 if bottom < 0 < top else max(ends)
            if min(ends) < 0.05:
                return None
            if widest > UNEVEN * min(ends):
                text = f" at {degrees(round(0.5 * (bottom + top)), 'NS')}"
        length = round_below(BAR * (right - left) * km)
        corner = emptiest(there)
        wide = length / km / (right - left)
        dx, dy = 2.0 / max(across, 1e-9), 2.0 / max(high, 1e-9)
        x = dx if "left" in corner else 1 - dx - wide
        y = dy if "lower" in corner else 1 - dy - 4.0 / high
        words, side = f"{length:,g} km{text}", "center"
        if 0.6 * SMALL * INCH / 72 * len(words) > wide * across:  # longer than the bar: it must not leave the map
            side = "left" if "left" in corner else "right"
        return cls(words, corner, x, x + wide, y, 0.9 / high, side)


def degrees(value: float, ends: str) -> str:
    """Return degrees as they are written on maps; `ends` are what positive and negative ones are called."""
    value = round(value, 9)
    if ends == "EW":
        value = (value + 180) % 360 - 180 if not -180 <= value <= 180 else value
    sign = "" if value == 0 or (ends == "EW" and abs(value) == 180) else ends[int(value < 0)]
    return f"{abs(value):g}°{sign}"


def round_below(value: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a value."""
    power = 10.0 ** floor(log10(max(value, 1e-12)))
    return max((f * power for f in (1, 2, 5) if f * power <= value * (1 + 1e-9)), default=power)


def emptiest(there: NDArray[np.bool_] | None) -> str:
    """Return the corner of a map, from north to south, that has the fewest data."""
    corners = ("lower left", "lower right", "upper left", "upper right")
    if there is None or there.size == 0:
        return corners[0]
    high, wide = (max(1, round(0.2 * there.shape[0])), max(1, round(0.35 * there.shape[1])))
    parts = (there[-high:, :wide], there[-high:, -wide:], there[:high, :wide], there[:high, -wide:])
    return corners[int(np.argmin([np.count_nonzero(part) for part in parts]))]
