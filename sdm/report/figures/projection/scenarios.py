"""Maps of all scenarios side by side with common colours: suitability, change and novelty."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from numpy.typing import NDArray

from sdm.models.colours import RED_TO_BLUE
from sdm.report.charts import SCALES, TOP
from sdm.report.figures.maps.drawn import add_scale_bar, class_keys, label_axes, paint, show
from sdm.report.figures.maps.plan import MapFrame, Shades
from sdm.report.figures.style import new_figure, safe_text, save
from sdm.report.paper import COLUMN, INCH, PAGE, PLAIN, SMALL, TEXT, TITLE, Paper
from sdm.report.pictures import Picture, read_picture, resized
from sdm.report.projection import (
    MESS_LABEL,
    NOVELTY,
    NOVELTY_LABELS,
    StoredCase,
    StoredProjection,
    novelty_picture,
)
from sdm.types import Numbers

MOST_MAPS = 24
MOST_COLUMNS = 9  # of a grid of fields
MOST_WRAPPED = 6
SHAPE = 1.3  # best ratio of width to height on a page
FULL = 0.6  # smallest share of occupied cells of a grid
PIXELS = 500
HATCHED = ("suitability", "change")  # kinds of maps with hatched extrapolation
STRIPE = 12  # pixels of one stripe and the gap after it, at twice the resolution of the picture


@dataclass(frozen=True)
class Panel:
    """A map of the figure: its case, its reduced raster, and its mask of extrapolation, if known."""

    case: StoredCase
    picture: Picture
    novel: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Places:
    """Layout of the maps: row and column of each, and the headings of columns and rows."""

    rows: int
    columns: int
    of: list[tuple[int, int]]
    across: Sequence[str] = ()
    down: Sequence[str] = ()


def draw_scenarios(
    folder: Path, numbers: Numbers, path: Path, kind: str = "suitability", paper: Paper = PLAIN
) -> Path | None:
    """Draw one kind of map of the reference and all scenarios with common colours: `suitability`, `change`, or
    `novelty` (the first available of MESS, ExDet and MOP). Return None if there is no such map.

    If two or more fields span a grid, such as climate model and period, rows and columns are those fields.
    """
    projection = StoredProjection(Path(folder), numbers)
    if kind == "novelty":
        kind = next((one for case in projection.scenarios if (one := case.novelty)), "")
    reference = _panels([projection.reference] if projection.reference else [], kind)
    mapped = [case for case in projection.scenarios if case.raster(kind)]
    scenarios = _panels(mapped[:MOST_MAPS], kind)
    panels = [*reference, *scenarios]
    if not scenarios and not (reference and kind == "suitability"):
        return None
    frame = MapFrame.of(panels[0].picture)
    aspect = min(max(1 / frame.tall, 0.4), 3.0)
    layout = spanned(projection, [panel.case for panel in scenarios], aspect)
    places = _below(layout, len(reference)) if layout else _wrapped(len(panels), aspect)
    width = paper.width or (COLUMN if len(panels) == 1 else PAGE)
    wide = min(width / places.columns, 85.0)
    high = min(max(wide / aspect, 22.0), 215.0 / places.rows)
    shades = _shades(projection, panels, kind)
    # space for the headings and the caption
    extra = 20.0 if (layout and reference) or len(panels) == 1 else 31.0
    figure = new_figure(width, (high + (1.5 if layout else 5.5)) * places.rows + extra, paper)
    grid = figure.add_gridspec(places.rows, places.columns)
    drawn: list[Axes] = []
    letters = max(8, int(wide / 1.9))
    for panel, place in zip(panels, places.of):
        axes = figure.add_subplot(grid[place])
        image = _map(axes, panel, shades, frame, (wide / INCH, high / INCH))
        if layout is None or panel.case.is_reference:
            axes.set_title(safe_text(panel.case.title, letters), fontsize=SMALL, pad=3)
        drawn.append(axes)
    if layout is not None:
        drawn += _name_fields(figure, grid, places, dict(zip(places.of, drawn)), len(reference), letters)
    key = None
    if layout is not None and reference:
        key = figure.add_subplot(grid[0, 1:])
        key.set_axis_off()
    _explain(figure, drawn, key, image, shades, projection, panels, len(mapped) - len(scenarios))
    add_scale_bar(drawn[0], frame, np.isfinite(panels[0].picture.values))
    return save(figure, path)


def _shades(projection: StoredProjection, panels: Sequence[Panel], kind: str) -> Shades:
    """Return the common colour scale of the maps of a figure."""
    if kind == "suitability":
        scale = projection.scale
        top = TOP.get(scale) or max(panel.picture.highest for panel in panels)
        return Shades(SCALES.get(scale, scale), top)
    if kind == "mess":
        return Shades(MESS_LABEL, projection.mess_reach, -projection.mess_reach, RED_TO_BLUE)
    return Shades(NOVELTY_LABELS.get(kind, ""))


def _name_fields(
    figure: Figure, grid: GridSpec, places: Places, drawn: Mapping[tuple[int, int], Axes], first: int, letters: int
) -> list[Axes]:
    """Write the headings of columns and rows; return axes of cells without a map."""
    empty = []
    cells = [*((first, k) for k in range(places.columns)), *((k, 0) for k in range(first, places.rows))]
    for row, column in dict.fromkeys(cells):
        axes = drawn.get((row, column))
        if axes is None:
            axes = figure.add_subplot(grid[row, column], frameon=False, xticks=[], yticks=[])
            empty.append(axes)
        if row == first:
            axes.set_title(safe_text(places.across[column], letters), fontsize=TEXT, pad=3)
        if column == 0:
            axes.set_ylabel(safe_text(places.down[row - first], letters), fontsize=TEXT)
    return empty


def extrapolated_cells(case: StoredCase, like: Picture, pixels: int) -> NDArray[np.bool_] | None:
    """Return the mask of extrapolation in the pixels of a picture of the same extent; None if it is unknown."""
    path = case.raster(case.novelty) if case.novelty else None
    if path is None or case.novelty is None:
        return None
    _, low, high = NOVELTY[case.novelty]
    values = read_picture(path, pixels).values
    return resized((values >= low) & (values < high), like.values.shape)


def hatch(axes: Axes, mask: NDArray[np.bool_], picture: Picture, inches: tuple[float, float]) -> None:
    """Draw stripes, dark next to light so that they are visible on any colour, inside a mask."""
    wide, high = (max(2, round(200 * side)) for side in inches)
    large = resized(mask, (high, wide))
    phase = np.add.outer(np.arange(high), np.arange(wide)) % STRIPE
    shown = np.zeros((high, wide, 4), dtype=np.uint8)
    shown[large & (phase < 3)] = (20, 20, 20, 215)
    shown[large & (phase >= 3) & (phase < 6)] = (255, 255, 255, 215)
    show(axes, shown, picture, interpolation="antialiased")


def spanned(projection: StoredProjection, cases: Sequence[StoredCase], aspect: float) -> Places | None:
    """Return the grid spanned by two or more fields, the first vertical and the others horizontal.

    Return None if fewer than two fields vary, two scenarios share a cell, the aspect of the grid does not fit a page,
    or the grid is mostly empty.
    """
    names = list(projection.varying())
    best: tuple[float, Places] | None = None
    for cut in range(1, len(names)):
        down, across = (_labels(cases, part) for part in (names[:cut], names[cut:]))
        of = [(down.index(_label(case, names[:cut])), across.index(_label(case, names[cut:]))) for case in cases]
        shape = abs(log(len(across) / (len(down) + 1) * aspect / SHAPE))
        clash = len(set(of)) < len(of) or len(of) < FULL * len(down) * len(across)
        if clash or len(across) > MOST_COLUMNS or min(len(down), len(across)) < 2 or shape > log(3.5):
            continue
        if best is None or shape < best[0]:
            best = (shape, Places(len(down), len(across), of, across, down))
    return best[1] if best else None


def _label(case: StoredCase, names: Sequence[str]) -> str:
    return ", ".join(case.fields.get(name, "") for name in names)


def _labels(cases: Iterable[StoredCase], names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(_label(case, names) for case in cases))


def _below(places: Places, first: int) -> Places:
    """Return a grid with the reference in an additional first row."""
    of = [*([(0, 0)] * first), *((row + first, column) for row, column in places.of)]
    return Places(places.rows + first, places.columns, of, places.across, places.down)


def _wrapped(count: int, aspect: float) -> Places:
    columns = min(count, MOST_WRAPPED, max(1, ceil(sqrt(SHAPE * count / aspect))))
    return Places(ceil(count / columns), columns, [divmod(k, columns) for k in range(count)])


def _panels(cases: Sequence[StoredCase], kind: str) -> list[Panel]:
    panels = []
    for case in cases:
        if path := case.raster(kind):
            picture = novelty_picture(path, kind, PIXELS)
            novel = extrapolated_cells(case, picture, PIXELS) if kind in HATCHED else None
            panels.append(Panel(case, picture, novel))
    return panels


def _map(axes: Axes, panel: Panel, shades: Shades, frame: MapFrame, inches: tuple[float, float]) -> AxesImage:
    image = paint(axes, panel.picture, shades)
    if panel.novel is not None and panel.novel.any():
        hatch(axes, panel.novel, panel.picture, inches)
    label_axes(axes, frame, names=False)
    axes.set(xticks=[], yticks=[])
    return image


def _explain(
    figure: Figure,
    drawn: Sequence[Axes],
    key: Axes | None,
    image: AxesImage,
    shades: Shades,
    projection: StoredProjection,
    panels: Sequence[Panel],
    left_out: int,
) -> None:
    """Write the legend of colours and stripes, and the number of omitted maps."""
    figure.suptitle(safe_text(projection.species, 60), fontsize=TITLE, fontstyle=projection.title_style)
    legend, keys = panels[-1].picture.legend, list[Patch]()
    if legend:
        classes, colours = zip(*legend.values())
        amounts = [float(sum(np.count_nonzero(p.picture.values == code) for p in panels)) for code in legend]
        keys = class_keys(classes, colours, amounts, 40)
    else:
        if key is None:
            strip = figure.colorbar(image, ax=drawn, location="bottom", shrink=0.6, aspect=35, pad=0.02)
        else:
            strip = figure.colorbar(image, cax=key.inset_axes((0.08, 0.42, 0.84, 0.1)), orientation="horizontal")
        strip.set_label(shades.label, fontsize=TEXT)
        strip.ax.tick_params(labelsize=SMALL)
    if legend or not shades.low:
        keys += _hatch_key(panels, short=bool(legend))
    if left_out > 0:
        keys.append(Patch(alpha=0, label=f"{left_out} more scenario{'s are' if left_out > 1 else ' is'} not shown"))
    if keys:
        wordy = max(len(str(key.get_label())) for key in keys) > 28
        most = (1 if wordy else 2) if len(panels) == 1 else 3 if wordy else 5
        columns = min(len(keys), most) if legend else 1
        figure.legend(handles=keys, loc="outside lower center", fontsize=SMALL, frameon=False, ncols=columns)


def _hatch_key(panels: Sequence[Panel], short: bool) -> list[Patch]:
    """Return the legend of the stripes, or the reason why there are none."""
    measure = " or ".join(dict.fromkeys(NOVELTY[one][0] for panel in panels if (one := panel.case.novelty)))
    if any(panel.novel is not None and panel.novel.any() for panel in panels):
        text = f"hatched: extrapolation (outside the training range: {measure})"
        text = f"outside the training range ({measure})" if short else text
        return [Patch(facecolor="white", edgecolor="#141414", hatch="//////", lw=0.5, label=text)]
    if short:
        return []
    if all(panel.novel is not None for panel in panels if not panel.case.is_reference):
        text = f"no cell of a scenario is outside the training range ({measure})"
    else:
        text = "extrapolation is not marked: there is no map of MESS, ExDet or MOP"
    return [Patch(alpha=0, label=text)]
