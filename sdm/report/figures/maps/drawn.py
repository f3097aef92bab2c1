"""Maps as pictures: suitability, probability, classes, entropy and richness, with records and outlines on them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.image import AxesImage
from matplotlib.patches import Patch

from sdm.report.charts import most_frequent
from sdm.report.figures.maps.axes import label_axes, scale_bar
from sdm.report.figures.maps.plan import TALLEST, UNMARKED, UNNAMED, MapFrame, MapPlan, Marks, Shades, dot_size
from sdm.report.figures.style import ACCENT, PALE, Sheet, few_ticks, new_figure, own_axes, safe_text, save, tidy
from sdm.report.paper import COLUMN, NOWHERE, PAGE, PLAIN, SMALL, TEXT, TITLE, Paper
from sdm.report.pictures import Picture, read_picture
from sdm.types import Array

if TYPE_CHECKING:
    from sdm.data.rasters.area import StudyArea

PIXELS = 900  # of a map alone
SIDE_PIXELS = 500  # of maps side by side
LONGEST = 28  # letters of a class in a legend
NOTHING = np.nextafter(np.float32(0), np.float32(1))  # values below it are exactly zero


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
    """Draw a map with what lies on it, from the raster's overviews. A map of classes has its own colours, and a legend.
    The title is in italics if it is that of a `species`."""
    picture = read_picture(raster, PIXELS if paper.width in (None, COLUMN) else 2 * PIXELS, band)
    return save(_map_figure(picture, shades, marks, title, species, paper), path)


def _map_figure(picture: Picture, shades: Shades, marks: Marks, title: str, species: bool, paper: Paper) -> Sheet:
    """Return the figure of a map, with its title, colours and legend."""
    frame = MapFrame.of(picture, list(marks.records.values()))
    words = max((len(label) for label, _ in picture.legend.values()), default=0)
    lines = len(marks.records) + (marks.area is not None) + marks.edges
    plan = MapPlan.of(frame, min(words, LONGEST), lines, paper)
    figure = new_figure(plan.width, plan.height, replace(paper, width=None), layout=None)
    axes = figure.add_axes(plan.axes)
    image = plot_map(picture, shades, axes, marks, legend=False).images[0]
    axes.set_title(safe_text(title, plan.letters), fontsize=TITLE, fontstyle="italic" if species else None, pad=3)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        low = plan.axes[1] - plan.below / plan.height
        box: dict[str, Any] = {
            "bbox_to_anchor": (plan.axes[0] + plan.axes[2] / 2, low),
            "loc": "upper center",
            "borderpad": 0.1,
        }
        figure.legend(handles, labels, ncols=2, fontsize=SMALL, frameon=False, handletextpad=0.4, **box)
    right = plan.axes[0] + plan.axes[2]
    if picture.legend:
        place = (right + 1.0 / plan.width, plan.axes[1] + plan.axes[3])
        keys = _legend_of(picture)
        figure.legend(handles=keys, loc="upper left", bbox_to_anchor=place, fontsize=SMALL, frameon=False, borderpad=0)
    else:
        high = min(plan.axes[3], 60.0 / plan.height)
        side = (right + 2.0 / plan.width, plan.axes[1] + (plan.axes[3] - high) / 2, 3.0 / plan.width, high)
        strip = figure.colorbar(image, cax=figure.add_axes(side))
        tidy(strip.ax, y=safe_text(shades.label, 60))
        strip.outline.set_linewidth(0.6)
    return figure


def plot_map(
    picture: Picture, shades: Shades, ax: Axes | None = None, marks: Marks = UNMARKED, *, legend: bool = True
) -> Axes:
    """Put a map on axes, cropped to its data, with degrees or kilometres, a scale bar, and what lies on it."""
    frame = MapFrame.of(picture, list(marks.records.values()))
    axes = own_axes(ax, COLUMN, min(COLUMN * frame.tall, TALLEST))
    image = paint(axes, picture, shades, edges=marks.edges)
    if marks.area is not None:
        axes.plot(*_outline(marks.area), color=ACCENT, lw=0.9, label="study area")
    for (noun, places), face in zip(marks.records.items(), ("white", ACCENT)):
        label = f"{len(places[0]):,} {noun}{'' if len(places[0]) == 1 else 's'}"
        axes.plot(*places, "o", ms=dot_size(len(places[0])), mfc=face, mec="black", mew=0.4, label=label, ls="none")
    label_axes(axes, frame)
    scale_bar(axes, frame, np.isfinite(picture.values))
    if legend and picture.legend:
        axes.legend(handles=_legend_of(picture), fontsize=SMALL, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    elif legend:
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.8)
        tidy(bar.ax, y=safe_text(shades.label, 60))
    return axes


def _legend_of(picture: Picture) -> list[Patch]:
    """Return the legend of a map of classes."""
    labels, colours = zip(*picture.legend.values())
    amounts = [float(np.count_nonzero(picture.values == code)) for code in picture.legend]
    return class_keys(labels, colours, amounts)


def paint(axes: Axes, picture: Picture, shades: Shades, *, edges: bool = False) -> AxesImage:
    """Put a map on axes, in its proportions; the colours of classes are those of the raster."""
    left, bottom, right, top = picture.bounds
    extent = (left, right, bottom, top)
    values: Any = picture.values
    ramp = shades.colours
    colours: Any = ramp if isinstance(ramp, str) else LinearSegmentedColormap.from_list("ramp", [f"#{c}" for c in ramp])
    low, high = shades.low, shades.high
    if picture.legend:
        codes = list(picture.legend)
        values = np.select([values == code for code in codes], np.arange(float(len(codes))), np.nan)
        colours, low, high = ListedColormap([colour for _, colour in picture.legend.values()]), -0.5, len(codes) - 0.5
    ways: dict[str, Any] = {"vmin": low, "vmax": high, "interpolation": "nearest"}
    image = axes.imshow(values, extent=extent, cmap=colours, aspect=picture.stretch, **ways)
    if edges:
        image.set_cmap(image.get_cmap().with_extremes(under=PALE))
        image.set_clim(NOTHING, high)
        inside = np.nan_to_num(values) > 0
        axes.contour(inside, [0.5], extent=extent, origin="upper", colors=ACCENT, linewidths=0.9)
        axes.plot([], [], color=ACCENT, lw=0.9, label="range")
    axes.set_facecolor("white" if picture.legend else NOWHERE)  # classes may be grey themselves
    return image


def class_keys(
    labels: Sequence[str], colours: Sequence[str], amounts: Sequence[float], longest: int = LONGEST
) -> list[Patch]:
    """Return the legend of classes: those there is most of, and how many others there are."""
    there, more = most_frequent(amounts)
    keys = [Patch(color=colours[k], label=safe_text(labels[k], longest)) for k in there]
    return [*keys, Patch(alpha=0.0, label=more)] if more else keys


def draw_richness(maps: Mapping[str, Path], path: Path, x: Array, y: Array, paper: Paper = PLAIN) -> Path:
    """Draw rasters of richness, the difference in its own colours, sites (if any) on the first; four are two rows."""
    pictures = {title: read_picture(raster, SIDE_PIXELS) for title, raster in maps.items()}
    first = next(iter(pictures.values()))
    frame = MapFrame.of(first)
    down, across = (2, 2) if len(pictures) == 4 else (1, len(pictures))
    width = PAGE if across > 1 else COLUMN
    high = min(max(0.86 * width / across * frame.tall + 24, 50.0), 200.0 / down)
    figure = new_figure(width, down * high, paper)
    common = Shades("", max(float(np.nanmax(p.values)) for title, p in pictures.items() if "difference" not in title))
    for axes, (title, picture) in zip(figure.subplots(down, across, squeeze=False).ravel(), pictures.items()):
        most = float(np.nanmax(np.abs(picture.values))) or 1.0
        apart = replace(common, low=-most, high=most, colours="RdBu_r")
        image = paint(axes, picture, apart if "difference" in title else common)
        if picture is first:
            axes.plot(x, y, "o", ms=1.6, mfc="white", mec="black", mew=0.3, ls="none")
        label_axes(axes, frame, names=False)
        axes.set_title(_TITLES.get(title, title), fontsize=TEXT)
        few_ticks(figure.colorbar(image, ax=axes, shrink=0.8, orientation="horizontal", pad=0.03))
    return save(figure, path)


_TITLES = {
    "richness": "Expected number of species (joint)",
    "labeled richness": "Species in the best joint labeling",
    "stacked richness": "Stacked single models",
    "richness difference": "Joint less stacked",
    "sum": "Sum of suitabilities",
    "threshold": "Species above their cutoff",
}


def _outline(area: "StudyArea") -> tuple[Array, Array]:
    """Return the edges of a study area as one line, with gaps between its rings."""
    import shapely

    rings = [ring for part in area.geometries for ring in shapely.get_rings(shapely.get_parts(part))]
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([piece for ring in rings for piece in (shapely.get_coordinates(ring), gap)])
    return points[:, 0], points[:, 1]
