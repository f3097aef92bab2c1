"""What the picture of a map shows, and where: for whoever draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos, floor, log10, radians
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdm.models.colours import MAGMA, VIRIDIS
from sdm.report.charts import SCALES, TOP, short
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
    def scale_bar(self) -> tuple[float, str] | None:
        """How long a bar of a round number of kilometres is, and its label; None where distances are not known.

        In degrees a kilometre is not as long everywhere: the bar holds in the middle of the height, and its label has
        that latitude where the edges differ much. Maps that reach a pole have no bar.
        """
        (left, bottom, right, top), latitude = self.limits, ""
        km = EQUATOR_KM / 360 / self.stretch if self.geographic else (self.metres or 0.0) / 1000  # of a unit across
        if not km:
            return None
        if self.geographic:
            ends = [cos(radians(y)) for y in (bottom, top)]
            widest = 1.0 if bottom < 0 < top else max(ends)
            if min(ends) < 0.05:
                return None
            if widest > UNEVEN * min(ends):
                latitude = f" at {degrees(round(0.5 * (bottom + top)), 'NS')}"
        length = round_below(BAR * (right - left) * km)
        return length / km, f"{length:,g} km{latitude}"


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
