"""Maps as pictures: suitability, probability, classes, entropy and richness, with records and outlines on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.image import AxesImage
from matplotlib.patches import Patch

from sdm.data.rasters.area import StudyArea
from sdm.report.charts import SCALES, TOP, most_frequent
from sdm.report.figures.style import ACCENT, NOWHERE, PALE, new_figure, one_plot, safe_text, save
from sdm.report.pictures import Picture, read_picture
from sdm.types import Array

PIXELS = 900
SIDE_PIXELS = 500  # of maps side by side
LONGEST = 28  # letters of a class in a legend
NOTHING = np.nextafter(np.float32(0), np.float32(1))  # values below it are exactly zero


@dataclass(frozen=True)
class Shades:
    """How the values of a map become colours: what they are called, from where to where, and by which colours."""

    label: str
    high: float | None = None
    low: float = 0.0
    colours: str = "viridis"


def suitability(scale: str) -> Shades:
    """Return the shades of a species' map on one of the scales."""
    return Shades(SCALES[scale], 1.0 if TOP.get(scale) == 1.0 else None)


def probability(subject: str) -> Shades:
    """Return the shades of the probability of a class, from zero to one."""
    return Shades(safe_text(f"Probability of {subject}", 50), 1.0)


def entropy(classes: int) -> Shades:
    """Return the shades of how undecided classes are: from zero to the logarithm of their number."""
    return Shades("Entropy of the classes (nats)", float(np.log(classes)), colours="magma")


def draw_map(
    raster: Path,
    path: Path,
    *,
    title: str,
    shades: Shades | None = None,
    band: int = 1,
    x: Array | None = None,
    y: Array | None = None,
    test: tuple[Array, Array] | None = None,
    area: StudyArea | None = None,
    edges: bool = False,
) -> Path:
    """Draw a map with the records (and `test` records) and the outline of the study area, from the raster's overviews.

    A map of classes has its own colours, and a legend. With `edges`, cells of exactly zero are pale, and the range has
    a line around it.
    """
    picture = read_picture(raster, PIXELS, band)
    left, bottom, right, top = picture.bounds
    tall = (top - bottom) * picture.stretch / max(right - left, 1e-12)
    width = 8.0 if tall < 1.2 else max(4.5, 9.6 / tall)
    words = max((len(label) for label, _ in picture.legend.values()), default=0)
    beside = 0.8 + 0.08 * min(words, LONGEST) if words else 0.0  # inches for the legend
    figure, axes = one_plot(width + beside, min(max(width * tall * 0.84, 3.0), 12.0))
    shades = shades or Shades("")
    image = paint(axes, picture, shades, edges=edges)
    if area is not None:
        axes.plot(*_outline(area), color=ACCENT, lw=1.2, label="study area")
    known = None if x is None or y is None else (x, y)
    for places, face, noun in ((known, "white", "record"), (test, ACCENT, "test record")):
        if places is not None:
            said = f"{len(places[0]):,} {noun}{'' if len(places[0]) == 1 else 's'}"
            axes.plot(*places, "o", ms=3.5, mfc=face, mec="black", mew=0.7, label=said, ls="none")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_title(safe_text(title, 70), fontsize=11)
    axes.tick_params(labelsize=8)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left", fontsize=8, framealpha=0.9)
    if picture.legend:
        labels, colours = zip(*picture.legend.values())
        amounts = [float(np.count_nonzero(picture.values == code)) for code in picture.legend]
        keys = class_keys(labels, colours, amounts)
        figure.legend(handles=keys, loc="outside right upper", fontsize=8, frameon=False)
    else:
        figure.colorbar(image, ax=axes, label=shades.label, shrink=0.75)
    return save(figure, path)


def paint(axes: Axes, picture: Picture, shades: Shades, *, edges: bool = False) -> AxesImage:
    """Put a map on axes, in its proportions; the colours of classes are those of the raster."""
    left, bottom, right, top = picture.bounds
    extent = (left, right, bottom, top)
    values: Any = picture.values
    colours: Any = shades.colours
    low, high = shades.low, shades.high
    if picture.legend:
        codes = list(picture.legend)
        values = np.select([values == code for code in codes], np.arange(float(len(codes))), np.nan)
        colours, low, high = ListedColormap([colour for _, colour in picture.legend.values()]), -0.5, len(codes) - 0.5
    image = axes.imshow(
        values, extent=extent, cmap=colours, vmin=low, vmax=high, interpolation="nearest", aspect=picture.stretch
    )
    if edges:
        image.set_cmap(colormaps[shades.colours].with_extremes(under=PALE))
        image.set_clim(NOTHING, high)
        inside = np.nan_to_num(values) > 0
        axes.contour(inside, [0.5], extent=extent, origin="upper", colors=ACCENT, linewidths=0.9)
        axes.plot([], [], color=ACCENT, lw=0.9, label="range")
    axes.set_facecolor(NOWHERE)
    return image


def class_keys(labels: Sequence[str], colours: Sequence[str], amounts: Sequence[float]) -> list[Patch]:
    """Return the legend of classes: those there is most of, and how many others there are."""
    there, more = most_frequent(amounts)
    keys = [Patch(color=colours[k], label=safe_text(labels[k], LONGEST)) for k in there]
    return [*keys, Patch(alpha=0.0, label=more)] if more else keys


def draw_richness(maps: Mapping[str, Path], path: Path, x: Array, y: Array) -> Path:
    """Draw rasters of richness, the difference in its own colours, sites (if any) on the first; four are two rows."""
    pictures = {title: read_picture(raster, SIDE_PIXELS) for title, raster in maps.items()}
    first = next(iter(pictures.values()))
    left, bottom, right, top = first.bounds
    tall = (top - bottom) / max(right - left, 1e-12) * first.stretch
    wide = 4.4 if tall < 1.3 else max(2.6, 5.6 / tall)
    down, across = (2, 2) if len(pictures) == 4 else (1, len(pictures))
    figure = new_figure(wide * across + 0.4, down * min(max(0.86 * wide * tall + 1.1, 3.0), 9.0))
    common = Shades("", max(float(np.nanmax(p.values)) for title, p in pictures.items() if "difference" not in title))
    for axes, (title, picture) in zip(figure.subplots(down, across, squeeze=False).ravel(), pictures.items()):
        most = float(np.nanmax(np.abs(picture.values))) or 1.0
        apart = replace(common, low=-most, high=most, colours="RdBu_r")
        image = paint(axes, picture, apart if "difference" in title else common)
        axes.tick_params(labelsize=7)
        axes.set_title(_TITLES.get(title, title), fontsize=10)
        figure.colorbar(image, ax=axes, shrink=0.8, orientation="horizontal", pad=0.03).ax.tick_params(labelsize=7)
        if picture is first:
            axes.plot(x, y, "o", ms=1.8, mfc="white", mec="black", mew=0.3, ls="none")
            axes.set_xlim(left, right)
            axes.set_ylim(bottom, top)
    return save(figure, path)


_TITLES = {
    "richness": "Expected number of species (joint)",
    "labeled richness": "Species in the best joint labeling",
    "stacked richness": "Stacked single models",
    "richness difference": "Joint less stacked",
    "sum": "Sum of suitabilities",
    "threshold": "Species above their cutoff",
}


def _outline(area: StudyArea) -> tuple[Array, Array]:
    """Return the edges of a study area as one line, with gaps between its rings."""
    import shapely

    rings = [ring for part in area.geometries for ring in shapely.get_rings(shapely.get_parts(part))]
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([piece for ring in rings for piece in (shapely.get_coordinates(ring), gap)])
    return points[:, 0], points[:, 1]
