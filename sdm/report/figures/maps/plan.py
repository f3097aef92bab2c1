"""Content and layout of a map figure, independent of the renderer."""

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
MARGIN = 0.02  # of the extent of the data, on each side
BAR = 0.28  # of the width of a map, at most
UNEVEN = 1.25  # largest ratio of kilometres between the edges for a bar without a latitude
TALLEST = 220.0  # millimetres of a map
Limits = tuple[float, float, float, float]
Points = tuple[Array, Array]


@dataclass(frozen=True)
class Shades:
    """Colour scale of a map: label, range and palette."""

    label: str
    high: float | None = None
    low: float = 0.0
    colours: str | Sequence[str] = VIRIDIS  # steps of a ramp, or its name in matplotlib


@dataclass(frozen=True)
class Marks:
    """Marks on a map: records by label, the boundary of the study area, and with `edges` the boundary of the range;
    cells of exactly zero are then pale."""

    records: Mapping[str, Points] = field(default_factory=dict)
    area: "StudyArea | None" = None
    edges: bool = False


UNMARKED, UNNAMED = Marks(), Shades("")


def suitability(scale: str) -> Shades:
    """Return the colour scale of a species map."""
    return Shades(SCALES[scale], 1.0 if TOP.get(scale) == 1.0 else None)


def probability(subject: str) -> Shades:
    """Return the colour scale of the probability of a class, from zero to one."""
    return Shades(short(f"Probability of {subject}", 50), 1.0)


def entropy(classes: int) -> Shades:
    """Return the colour scale of the entropy of classes, from zero to the logarithm of their number."""
    return Shades("Entropy of the classes (nats)", float(np.log(classes)), colours=MAGMA)


@dataclass(frozen=True)
class MapFrame:
    """Extent of a map on axes: the limits (left, bottom, right, top), the length of a vertical unit relative to a
    horizontal one, and the unit: degrees, a number of metres, or unknown."""

    limits: Limits
    stretch: float = 1.0
    geographic: bool = False
    metres: float | None = None

    @classmethod
    def of(cls, picture: Picture, points: Sequence[Points] = ()) -> "MapFrame":
        """Return the frame of a picture, cropped to its data and to the points inside it."""
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
        """The height of the map relative to its width."""
        left, bottom, right, top = self.limits
        return (top - bottom) * self.stretch / max(right - left, 1e-12)

    @property
    def scale_bar(self) -> tuple[float, str] | None:
        """Return the length of a scale bar in rounded kilometres and its label; None if distances are unknown.

        In degrees the length of a kilometre depends on the latitude: the bar is correct at mid-height, and its label
        contains that latitude if the edges differ much. Maps that include a pole have no bar.
        """
        (left, bottom, right, top), latitude = self.limits, ""
        km = EQUATOR_KM / 360 / self.stretch if self.geographic else (self.metres or 0.0) / 1000  # of a horizontal unit
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
    """Return degrees as they are written on maps; `ends` are the letters of positive and negative values."""
    value = round(value, 9)
    if ends == "EW":
        value = (value + 180) % 360 - 180 if not -180 <= value <= 180 else value
    sign = "" if value == 0 or (ends == "EW" and abs(value) == 180) else ends[int(value < 0)]
    return f"{abs(value):g}°{sign}"


def round_below(value: float) -> float:
    """Return the largest value of 1, 2 or 5 times a power of ten that is not above `value`."""
    power = 10.0 ** floor(log10(max(value, 1e-12)))
    return max((f * power for f in (1, 2, 5) if f * power <= value * (1 + 1e-9)), default=power)


def emptiest(mask: NDArray[np.bool_] | None) -> str:
    """Return the corner of a north-up map with the fewest data."""
    corners = ("lower left", "lower right", "upper left", "upper right")
    if mask is None or mask.size == 0:
        return corners[0]
    high, wide = (max(1, round(0.2 * mask.shape[0])), max(1, round(0.35 * mask.shape[1])))
    parts = (mask[-high:, :wide], mask[-high:, -wide:], mask[:high, :wide], mask[:high, -wide:])
    return corners[int(np.argmin([np.count_nonzero(part) for part in parts]))]
