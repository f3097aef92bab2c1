"""Pictures of a model of classes: the map of classes, how undecided they are, confusion, profiles, importance."""

import colorsys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rasterio
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray
from rasterio.coords import BoundingBox

from sdm.assess.importance import Permutation
from sdm.assess.measures.classes import ClassProfile
from sdm.maps.classes import hex_colour, recorded_colours
from sdm.models.classes import ClassModel
from sdm.report.figures.species import DPI, INK, MAP_PIXELS, save, short
from sdm.types import Array, Colour

# Colours that most people can tell apart, then hues at equal distances.
FIRST = (
    *("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#8c564b", "#e69f00", "#332288", "#88ccee"),
    *("#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255"),
)
LEGEND = 24  # classes in a legend at most


def class_colours(count: int) -> list[Colour]:
    """Return a colour for each of so many classes."""
    out = [(int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)) for text in FIRST[:count]]
    for k in range(count - len(out)):
        red, green, blue = colorsys.hsv_to_rgb((k * 0.618034) % 1.0, 0.55 + 0.3 * (k % 2), 0.85 - 0.25 * (k % 3 == 1))
        out.append((round(255 * red), round(255 * green), round(255 * blue)))
    return out


def model_colours(model: ClassModel) -> list[Colour]:
    """Return the colour of every class of a model: of the raster that it was fitted to, or else ours."""
    known = recorded_colours(model)
    return [known.get(label, colour) for label, colour in zip(model.labels, class_colours(len(model.labels)))]


def _overview(raster: Path, band: int = 1) -> tuple[np.ma.MaskedArray, tuple[float, float, float, float], float]:
    """Return a small version of a map, where it lies, and how much taller than wide a unit is to be drawn."""
    with rasterio.open(raster) as source:
        shrink = max(1.0, max(source.width, source.height) / MAP_PIXELS)
        shape = (max(1, round(source.height / shrink)), max(1, round(source.width / shrink)))
        cells, bounds = source.read(band, out_shape=shape, masked=True), source.bounds
        if source.transform.e > 0:  # its rows run from south to north
            cells, bounds = cells[::-1], BoundingBox(bounds.left, bounds.top, bounds.right, bounds.bottom)
        geographic = bool(source.crs and source.crs.is_geographic)
    middle = np.radians(np.clip(0.5 * (bounds.bottom + bounds.top), -85, 85))
    extent = (bounds.left, bounds.right, bounds.bottom, bounds.top)
    return cells, extent, float(1.0 / np.cos(middle)) if geographic else 1.0


def _canvas(extent: tuple[float, float, float, float], aspect: float) -> Figure:
    tall = (extent[3] - extent[2]) * aspect / max(extent[1] - extent[0], 1e-12)
    width = 8.5 if tall < 1.2 else max(5.0, 10.0 / tall)
    return Figure(figsize=(width, min(max(width * tall * 0.8, 3.2), 12.0)), dpi=DPI, layout="constrained")


def draw_class_map(
    raster: Path, path: Path, *, title: str, labels: Sequence[str], codes: Sequence[int], colours: Sequence[Colour]
) -> Path:
    """Draw the map of the most probable class, with the classes that are on it in the legend."""
    band, extent, aspect = _overview(raster)
    place = np.zeros(256, dtype=np.int64)
    place[list(codes)] = np.arange(len(codes))
    shown = np.ma.masked_array(place[band.filled(0)], np.ma.getmaskarray(band))
    figure = _canvas(extent, aspect)
    axes = figure.add_subplot()
    table = ListedColormap([hex_colour(colour) for colour in colours])
    axes.imshow(
        shown, extent=extent, cmap=table, vmin=-0.5, vmax=len(codes) - 0.5, interpolation="nearest", aspect=aspect
    )
    axes.set_facecolor("#e8e8e8")
    axes.set_title(short(title, 70).replace("$", r"\$"), fontsize=11)
    axes.tick_params(labelsize=8)
    cells = np.bincount(shown.compressed(), minlength=len(codes))
    there, more = most_frequent(cells)
    handles = [Patch(color=hex_colour(colours[k]), label=short(labels[k], 28).replace("$", r"\$")) for k in there]
    handles += [Patch(alpha=0.0, label=more)] if more else []
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, frameon=False)
    save(figure, path)
    return path


def most_frequent(amount: Array | NDArray[np.int64]) -> tuple[list[int], str]:
    """Return the classes of a legend, in their order: those there is most of; and what is said of the others there."""
    ranked = [int(k) for k in np.argsort(-amount, kind="stable") if amount[k] > 0]
    left = len(ranked) - LEGEND
    return sorted(ranked[:LEGEND]), f"and {left} more" if left > 0 else ""


def draw_probability(raster: Path, path: Path, *, band: int, title: str, label: str) -> Path:
    """Draw the probability of one class, from zero to one."""
    cells, extent, aspect = _overview(raster, band)
    figure = _canvas(extent, aspect)
    axes = figure.add_subplot()
    image = axes.imshow(cells, extent=extent, cmap="viridis", vmin=0, vmax=1, interpolation="nearest", aspect=aspect)
    axes.set_facecolor("#e8e8e8")
    axes.set_title(short(title, 70).replace("$", r"\$"), fontsize=11)
    axes.tick_params(labelsize=8)
    figure.colorbar(image, ax=axes, label=short(label, 50).replace("$", r"\$"), shrink=0.75)
    save(figure, path)
    return path


def draw_entropy(raster: Path, path: Path, *, title: str, classes: int) -> Path:
    """Draw how undecided the classes are: from zero to the logarithm of their number."""
    band, extent, aspect = _overview(raster)
    figure = _canvas(extent, aspect)
    axes = figure.add_subplot()
    image = axes.imshow(
        band, extent=extent, cmap="magma", vmin=0, vmax=np.log(classes), interpolation="nearest", aspect=aspect
    )
    axes.set_facecolor("#e8e8e8")
    axes.set_title(short(title, 70).replace("$", r"\$"), fontsize=11)
    axes.tick_params(labelsize=8)
    figure.colorbar(image, ax=axes, label="Entropy of the classes (nats)", shrink=0.75)
    save(figure, path)
    return path


def draw_confusion(confusion: Array, labels: Sequence[str], path: Path, *, title: str) -> Path:
    """Draw the confusion matrix: shares of each class, with counts where they can be read."""
    names = [short(label, 20).replace("$", r"\$") for label in labels]
    total = confusion.sum(axis=1, keepdims=True)
    share = np.divide(confusion, total, out=np.zeros_like(confusion), where=total > 0)
    side = 2.2 + 0.42 * min(len(names), 40)
    figure = Figure(figsize=(side + 1.0, side), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= 20:
        for (row, column), value in np.ndenumerate(confusion):
            if value:
                colour = "white" if share[row, column] > 0.55 else "black"
                axes.text(column, row, f"{value:.4g}", ha="center", va="center", size=7, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=90, size=8)
    axes.set_yticks(range(len(names)), names, size=8)
    axes.set_xlabel("Most probable class")
    axes.set_ylabel("Class on record")
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="Share of the class", shrink=0.75)
    save(figure, path)
    return path


def draw_class_profile(profile: ClassProfile, labels: Sequence[str], colours: Sequence[Colour], path: Path) -> Path:
    """Draw the classes' probabilities along one variable, one line a class (or bars over categories)."""
    figure = Figure(figsize=(6.4, 3.6), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    names = [short(label, 24).replace("$", r"\$") for label in labels]
    if profile.categories is None:
        axes.axvspan(profile.lo, profile.hi, color="#eef3f5", lw=0)
        for y, colour in zip(profile.y, colours):
            axes.plot(profile.x, y, color=hex_colour(colour), lw=1.5)
    else:
        bottom = np.zeros(profile.x.size)
        for y, colour in zip(profile.y, colours):
            axes.bar(range(profile.x.size), y, bottom=bottom, color=hex_colour(colour), width=0.8)
            bottom += y
        axes.set_xticks(range(profile.x.size), [short(text, 12) for text in profile.categories], size=8, rotation=45)
    axes.set_ylim(0, 1)
    axes.set_xlabel(short(profile.variable).replace("$", r"\$"))
    axes.set_ylabel("Probability, others at their mean")
    axes.tick_params(labelsize=8)
    shown, more = most_frequent(profile.y.sum(axis=1))
    handles = [Patch(color=hex_colour(colours[k]), label=names[k]) for k in shown]
    handles += [Patch(alpha=0.0, label=more)] if more else []
    figure.legend(handles=handles, loc="outside right upper", fontsize=7, frameon=False)
    save(figure, path)
    return path


def draw_class_importance(rows: Sequence[Permutation], path: Path) -> Path:
    """Draw by how much the log loss rises when each variable is shuffled."""
    ordered = sorted(rows, key=lambda row: -row.drop)[:40]
    figure = Figure(figsize=(6.4, 1.0 + 0.3 * len(ordered)), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    names = [short(row.variable, 32).replace("$", r"\$") for row in ordered]
    error = [row.drop_deviation if np.isfinite(row.drop_deviation) else 0.0 for row in ordered]
    axes.barh(range(len(ordered)), [row.drop for row in ordered], xerr=error, color=INK, ecolor="#888888")
    axes.set_yticks(range(len(ordered)), names, size=8)
    axes.invert_yaxis()
    axes.set_xlabel("Rise of the log loss when shuffled (nats)")
    save(figure, path)
    return path
