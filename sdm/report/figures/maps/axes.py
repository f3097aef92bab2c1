"""The axes of a map: cropped to the data, labelled in degrees or kilometres, with a scale bar where there is room."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from sdm.report.figures.maps.plan import MapFrame, ScaleBar, degrees
from sdm.report.figures.style import tidy
from sdm.report.paper import INCH, SMALL


def label_axes(axes: Axes, frame: MapFrame, *, names: bool = True) -> None:
    """Set the limits of the axes, and label them in degrees or kilometres."""
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


def scale_bar(axes: Axes, frame: MapFrame, there: NDArray[np.bool_] | None = None) -> str | None:
    """Draw a scale bar in the corner with the fewest data. Return the corner, or None where distances are unknown."""
    box = axes.get_window_extent()
    across, high = (size / axes.figure.dpi * INCH for size in (box.width, box.height))
    bar = ScaleBar.of(frame, there, across, high)
    if bar is None:
        return None
    place = axes.transAxes
    for colour, width, order in (("white", 4.2, 5), ("black", 2.0, 6)):
        line = Line2D([bar.left, bar.right], [bar.y, bar.y], color=colour, lw=width, transform=place, zorder=order)
        line.set_solid_capstyle("butt")
        axes.add_line(line)
    from matplotlib.patheffects import withStroke

    style: dict[str, Any] = {"transform": place, "ha": bar.side, "va": "bottom", "fontsize": SMALL, "zorder": 6}
    axes.text(bar.at, bar.y + bar.up, bar.words, path_effects=[withStroke(linewidth=2, foreground="white")], **style)
    return bar.corner
