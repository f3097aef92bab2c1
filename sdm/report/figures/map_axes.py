"""The axes of a map: cropped to the data, with degrees or kilometres beside it and a scale bar where there is room."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, floor, log10, radians

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from sdm.report.figures.style import INCH, SMALL, tidy
from sdm.report.pictures import Picture
from sdm.types import Array

EQUATOR_KM = 40075.017
MARGIN = 0.02  # of the data's extent, on every side
BAR = 0.28  # of the width of a map, at most
UNEVEN = 1.25  # how much longer a kilometre may be at one edge than at another, for a bar without a latitude
Limits = tuple[float, float, float, float]
Points = tuple[Array, Array]


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


def label_axes(axes: Axes, frame: MapFrame, *, names: bool = True) -> None:
    """Set the limits of axes, and write degrees or kilometres beside them."""
    left, bottom, right, top = frame.limits
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect(frame.stretch)
    tidy(axes)
    for axis, ends in ((axes.xaxis, "EW"), (axes.yaxis, "NS")):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 3, 5, 10]))
        if frame.geographic:
            axis.set_major_formatter(FuncFormatter(lambda v, _, ends=ends: degrees(v, ends)))
        elif frame.metres is not None:
            share = frame.metres / 1000
            axis.set_major_formatter(FuncFormatter(lambda v, _, share=share: f"{v * share:,.10g}"))
    if frame.metres is not None and not frame.geographic and names:
        tidy(axes, x="Easting (km)", y="Northing (km)")


def degrees(value: float, ends: str) -> str:
    """Return degrees as they are written on maps; `ends` are what positive and negative ones are called."""
    value = round(value, 9)
    if ends == "EW":
        value = (value + 180) % 360 - 180 if not -180 <= value <= 180 else value
    sign = "" if value == 0 or (ends == "EW" and abs(value) == 180) else ends[int(value < 0)]
    return f"{abs(value):g}°{sign}"


def scale_bar(axes: Axes, frame: MapFrame, there: NDArray[np.bool_] | None = None) -> str | None:
    """Put a scale bar into the corner with the fewest data; return the corner, None where distances are not known.

    In degrees a kilometre is not as long everywhere: the bar holds in the middle of the height, and says so where the
    edges differ much. Maps that reach a pole have no bar.
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
    box = axes.get_window_extent()
    high = box.height / axes.figure.dpi * INCH  # millimetres
    across = box.width / axes.figure.dpi * INCH
    dx, dy = 2.0 / max(across, 1e-9), 2.0 / max(high, 1e-9)
    x = dx if "left" in corner else 1 - dx - wide
    y = dy if "lower" in corner else 1 - dy - 4.0 / high
    place = axes.transAxes
    for colour, width, order in (("white", 4.2, 5), ("black", 2.0, 6)):
        bar = Line2D([x, x + wide], [y, y], color=colour, lw=width, transform=place, zorder=order)
        bar.set_solid_capstyle("butt")
        axes.add_line(bar)
    from matplotlib.patheffects import withStroke

    halo, words = [withStroke(linewidth=2, foreground="white")], f"{length:,g} km{text}"
    at, side = x + wide / 2, "center"
    if 0.6 * SMALL * INCH / 72 * len(words) > wide * across:  # longer than the bar: it must not leave the map
        at, side = (x, "left") if "left" in corner else (x + wide, "right")
    axes.text(
        at, y + 0.9 / high, words, transform=place, ha=side, va="bottom", fontsize=SMALL, zorder=6, path_effects=halo
    )
    return corner


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
