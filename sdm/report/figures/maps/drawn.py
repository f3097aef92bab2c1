"""Figures of maps: suitability, probability, classes, entropy and richness, with records, outlines and scale bar."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.font_manager import FontProperties
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar
from numpy.typing import NDArray

from sdm.report.charts import LEGEND, most_frequent
from sdm.report.figures.maps.plan import (
    TALLEST,
    UNMARKED,
    UNNAMED,
    MapFrame,
    Marks,
    Shades,
    degrees,
    emptiest,
)
from sdm.report.figures.style import ACCENT, PALE, few_ticks, new_figure, one_plot, own_axes, safe_text, save, tidy
from sdm.report.paper import COLUMN, NOWHERE, PAGE, PLAIN, SMALL, TEXT, TITLE, Paper
from sdm.report.pictures import Picture, read_picture
from sdm.types import AnyArray, Array

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea

PIXELS = 900  # of a single map
SIDE_PIXELS = 500  # of several maps
LONGEST = 28  # characters of a class in a legend
NOTHING = np.nextafter(np.float32(0), np.float32(1))  # smallest value that is not exactly zero


def draw_map(
    raster: Path,
    path: Path,
    *,
    title: str,
    species: bool = False,
    shades: Shades = UNNAMED,
    band: int = 1,
    marks: Marks = UNMARKED,
    paper: Paper = PLAIN,
) -> Path:
    """Draw a map with its marks, from the overviews of the raster. A map of classes has its own colours and a legend.
    The title is in italics for a `species`."""
    picture = read_picture(raster, PIXELS if paper.width in (None, COLUMN) else 2 * PIXELS, band)
    frame = MapFrame.of(picture, list(marks.records.values()))
    width = paper.width or (PAGE if frame.tall < 0.6 else COLUMN)
    lines = len(marks.records) + (marks.area is not None) + marks.edges
    height = min(0.68 * width * frame.tall, TALLEST) + 18.0 + 4.0 * -(-lines // 2)
    height = max(height, 14.0 + 4.0 * min(len(picture.legend), LEGEND + 1))
    figure, axes = one_plot(width, height, replace(paper, width=None))
    plot_map(picture, shades, axes, marks)
    letters = max(12, int(0.55 * width))
    axes.set_title(safe_text(title, letters), fontsize=TITLE, fontstyle="italic" if species else None, pad=3)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        look: dict[str, Any] = {"ncols": 2, "fontsize": SMALL, "frameon": False, "handletextpad": 0.4}
        figure.legend(handles, labels, loc="outside lower center", **look)
    return save(figure, path)


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


def add_scale_bar(axes: Axes, frame: MapFrame, mask: NDArray[np.bool_] | None = None) -> None:
    """Draw a scale bar in the corner with the fewest data, if distances are known."""
    if frame.scale_bar is not None:
        letters = FontProperties(size=SMALL)
        bar = AnchoredSizeBar(axes.transData, *frame.scale_bar, emptiest(mask), borderpad=0.3, fontproperties=letters)
        bar.patch.set(alpha=0.6, lw=0)
        bar.set_in_layout(False)
        axes.add_artist(bar)


def plot_map(picture: Picture, shades: Shades, ax: Axes | None = None, marks: Marks = UNMARKED) -> Axes:
    """Plot a map on axes, cropped to its data, with coordinates, a scale bar and marks."""
    frame = MapFrame.of(picture, list(marks.records.values()))
    axes = own_axes(ax, COLUMN, min(COLUMN * frame.tall, TALLEST))
    image = paint(axes, picture, shades, edges=marks.edges)
    if marks.area is not None:
        axes.plot(*_outline(marks.area), color=ACCENT, lw=0.9, label="study area")
    for (noun, places), face in zip(marks.records.items(), ("white", ACCENT)):
        label = f"{len(places[0]):,} {noun}{'' if len(places[0]) == 1 else 's'}"
        size = 2.6 if len(places[0]) < 2000 else 1.2
        axes.plot(*places, "o", ms=size, mfc=face, mec="black", mew=0.4, label=label, ls="none")
    label_axes(axes, frame)
    add_scale_bar(axes, frame, np.isfinite(picture.values))
    if picture.legend:
        labels, tints = zip(*picture.legend.values())
        keys = class_keys(labels, tints, [float(np.count_nonzero(picture.values == code)) for code in picture.legend])
        axes.legend(handles=keys, fontsize=SMALL, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    else:
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.8)
        tidy(bar.ax, y=safe_text(shades.label, 60))
    return axes


def paint(axes: Axes, picture: Picture, shades: Shades, *, edges: bool = False) -> AxesImage:
    """Plot a map on axes with the correct aspect; classes have the colours of the raster."""
    values: Any = picture.values
    ramp = shades.colours
    colours: Any = ramp if isinstance(ramp, str) else LinearSegmentedColormap.from_list("ramp", [f"#{c}" for c in ramp])
    low, high = shades.low, shades.high
    if picture.legend:
        codes = list(picture.legend)
        values = np.select([values == code for code in codes], np.arange(float(len(codes))), np.nan)
        colours, low, high = ListedColormap([colour for _, colour in picture.legend.values()]), -0.5, len(codes) - 0.5
    image = show(axes, values, picture, cmap=colours, vmin=low, vmax=high)
    if edges:
        image.set_cmap(image.get_cmap().with_extremes(under=PALE))
        image.set_clim(NOTHING, high)
        inside = np.nan_to_num(values) > 0
        axes.contour(inside, [0.5], extent=image.get_extent(), origin="upper", colors=ACCENT, linewidths=0.9)
        axes.plot([], [], color=ACCENT, lw=0.9, label="range")
    axes.set_facecolor("white" if picture.legend else NOWHERE)  # classes can be grey
    return image


def show(axes: Axes, values: AnyArray, picture: Picture, **settings: Any) -> AxesImage:
    """Show values or colours in the extent of a picture, with the correct aspect; cells are not smoothed by default."""
    left, bottom, right, top = picture.bounds
    place: dict[str, Any] = {"extent": (left, right, bottom, top), "interpolation": "nearest"}
    return axes.imshow(values, aspect=picture.stretch, **{**place, **settings})


def class_keys(
    labels: Sequence[str], colours: Sequence[str], amounts: Sequence[float], longest: int = LONGEST
) -> list[Patch]:
    """Return the legend of the most frequent classes, with the number of others."""
    codes, more = most_frequent(amounts)
    keys = [Patch(color=colours[k], label=safe_text(labels[k], longest)) for k in codes]
    return [*keys, Patch(alpha=0.0, label=more)] if more else keys


def draw_richness(maps: Mapping[str, Path], path: Path, x: Array, y: Array, paper: Paper = PLAIN) -> Path:
    """Draw rasters of richness, with sites on the first map; the difference has a diverging palette. Four maps are in
    two rows."""
    pictures = {title: read_picture(raster, SIDE_PIXELS) for title, raster in maps.items()}
    highest = max(float(np.nanmax(p.values)) for title, p in pictures.items() if "difference" not in title)
    panels = [
        (_TITLES.get(title, title), picture, around_zero(picture) if "difference" in title else Shades("", highest))
        for title, picture in pictures.items()
    ]
    return draw_side_by_side(panels, path, paper, sites=(x, y))


def around_zero(picture: Picture, percentile: float = 100.0) -> Shades:
    """Return diverging colours around zero; the last colour is a percentile of the absolute values."""
    most = float(np.nanpercentile(np.abs(picture.values), percentile)) or 1.0
    return Shades("", most, -most, "RdBu_r")


def draw_side_by_side(
    panels: Sequence[tuple[str, Picture, Shades]],
    path: Path,
    paper: Paper = PLAIN,
    *,
    sites: tuple[Array, Array] | None = None,
    extend: str = "neither",
) -> Path:
    """Draw maps of one extent with their titles, up to three per row, with sites on the first; four maps are in two
    rows."""
    frame = MapFrame.of(panels[0][1])
    across = 2 if len(panels) == 4 else min(3, len(panels))
    down = -(-len(panels) // across)
    wide = (PAGE if across > 1 else COLUMN) / across
    high = min(max(0.86 * wide * frame.tall + 24.0, 50.0), 200.0 / down)
    figure = new_figure(wide * across, down * high, paper)
    for k, (title, picture, shades) in enumerate(panels):
        axes = figure.add_subplot(down, across, k + 1)
        image = paint(axes, picture, shades)
        if sites is not None and k == 0:
            axes.plot(*sites, "o", ms=1.6, mfc="white", mec="black", mew=0.3, ls="none")
        label_axes(axes, frame, names=False)
        axes.set_title(title, fontsize=TEXT)
        few_ticks(figure.colorbar(image, ax=axes, shrink=0.8, orientation="horizontal", pad=0.03, extend=extend))
    return save(figure, path)


_TITLES = {
    "richness": "Expected number of species (joint)",
    "labeled richness": "Species in the best joint labelling",
    "stacked richness": "Stacked single-species models",
    "richness difference": "Joint minus stacked",
    "sum": "Sum of suitabilities",
    "threshold": "Species above their threshold",
}


def _outline(area: "StudyArea") -> tuple[Array, Array]:
    """Return the boundary of a study area as one line, with gaps between its rings."""
    import shapely

    rings = [ring for part in area.geometries for ring in shapely.get_rings(shapely.get_parts(part))]
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([piece for ring in rings for piece in (shapely.get_coordinates(ring), gap)])
    return points[:, 0], points[:, 1]


PRIMARIES = ("#d62728", "#2ca02c", "#1f5fd6")  # legend colours


def draw_axes(maps: Mapping[str, Path], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the maps of axes side by side. White is the mean of the sites, and the last colours are the 99th percentile
    of the deviations."""
    pictures = {title: read_picture(raster, SIDE_PIXELS) for title, raster in maps.items()}
    panels = [(title, picture, around_zero(picture, 99)) for title, picture in pictures.items()]
    return draw_side_by_side(panels, path, paper, extend="both")


def draw_colours(raster: Path, titles: Sequence[str], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the composite of up to three axes in red, green and blue, with a legend."""
    bands = [read_picture(raster, PIXELS, band) for band in (1, 2, 3)]
    first = bands[0]
    frame = MapFrame.of(first)
    figure, axes = one_plot(COLUMN, min(max(COLUMN * frame.tall * 0.86 + 14.0, 40.0), 220.0), paper)
    values = np.stack([np.nan_to_num(band.values) / 255.0 for band in bands], axis=-1)
    mask = np.isfinite(first.values)
    image = np.concatenate([values, mask[..., None].astype(values.dtype)], axis=-1)
    show(axes, image, first)
    axes.set_facecolor(NOWHERE)
    label_axes(axes, frame)
    add_scale_bar(axes, frame, mask)
    keys = [Patch(color=colour, label=safe_text(title, 50)) for colour, title in zip(PRIMARIES, titles)]
    figure.legend(handles=keys, loc="outside upper center", ncols=1, fontsize=SMALL, frameon=False)
    return save(figure, path)
