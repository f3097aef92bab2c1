"""Pictures of a projection: maps of all scenarios side by side, and the change of the suitable area."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, dist, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from sdm.report.charts import SCALES, TOP
from sdm.report.figures.maps import Shades, paint
from sdm.report.figures.style import COLOURS, DPI, INK, new_figure, safe_text, save
from sdm.report.pictures import Picture, read_picture, resized
from sdm.report.projection import CHANGE_COLOURS, NOVELTY, StoredCase, StoredProjection

MOST_MAPS = 24
MOST_COLUMNS = 9  # of a grid of fields
MOST_WRAPPED = 6
SHAPE = 1.3  # width over height that looks well on a page
MOST_BARS = 40
BESIDE = 6  # scenarios whose bars fit beside the map of centroids
FULL = 0.6  # share of the places of a grid that must have a scenario
PIXELS = 420
STRIPE = 12  # pixels of one stripe and the gap after it, at twice the resolution of the picture


@dataclass(frozen=True)
class Panel:
    """A map of the figure: its case, its reduced raster, and where the model extrapolates, if that is known."""

    case: StoredCase
    picture: Picture
    novel: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Places:
    """Where maps stand: row and column of each, and what is written over columns and beside rows, if fields say it."""

    rows: int
    columns: int
    of: list[tuple[int, int]]
    across: Sequence[str] = ()
    down: Sequence[str] = ()


def draw_scenarios(folder: Path, numbers: Mapping[str, Any], path: Path) -> Path | None:
    """Draw suitability of the reference and of every scenario with common colours; None where there is no map.

    Where two fields or more span a grid (such as climate model and period), rows and columns are those fields.
    """
    projection = StoredProjection(Path(folder), numbers)
    reference = _panels([projection.reference] if projection.reference else [])
    mapped = [case for case in projection.scenarios if case.raster("suitability")]
    scenarios = _panels(mapped[:MOST_MAPS])
    panels = [*reference, *scenarios]
    if not panels:
        return None
    aspect = min(max(panels[0].picture.aspect, 0.4), 3.0)
    found = spanned(projection, [panel.case for panel in scenarios], aspect)
    places = _below(found, len(reference)) if found else _wrapped(len(panels), aspect)
    wide = min(2.6, 11.0 / places.columns)
    high = max(wide / aspect, 0.9)
    scale = projection.scale
    top = TOP.get(scale) or max(panel.picture.highest for panel in panels)
    shades = Shades(SCALES.get(scale, scale), top)
    extra = 0.8 if found and reference else 1.3  # inches for what is written over and under the maps
    figure = new_figure(max(wide * places.columns + 0.3, 4.8), (high + (0.06 if found else 0.25)) * places.rows + extra)
    grid = figure.add_gridspec(places.rows, places.columns)
    drawn: list[Axes] = []
    letters = int(11 * wide)
    for panel, place in zip(panels, places.of):
        axes = figure.add_subplot(grid[place])
        image = _map(axes, panel, shades, (wide, high))
        if found is None or panel.case.is_reference:
            axes.set_title(safe_text(panel.case.title, letters), fontsize=8, pad=3)
        drawn.append(axes)
    if found is not None:
        drawn += _name_fields(figure, grid, places, dict(zip(places.of, drawn)), len(reference), letters)
    key = None
    if found is not None and reference:
        key = figure.add_subplot(grid[0, 1:])
        key.set_axis_off()
    _explain(figure, drawn, key, image, shades, projection, panels, len(mapped) - len(scenarios))
    return save(figure, path)


def _name_fields(
    figure: Figure, grid: GridSpec, places: Places, drawn: Mapping[tuple[int, int], Axes], first: int, letters: int
) -> list[Axes]:
    """Write the values of the fields over columns and beside rows; return axes of places without a map."""
    empty = []
    wanted = [*((first, k) for k in range(places.columns)), *((k, 0) for k in range(first, places.rows))]
    for row, column in dict.fromkeys(wanted):
        axes = drawn.get((row, column))
        if axes is None:
            axes = figure.add_subplot(grid[row, column], frameon=False, xticks=[], yticks=[])
            empty.append(axes)
        if row == first:
            axes.set_title(safe_text(places.across[column], letters), fontsize=9, pad=3)
        if column == 0:
            axes.set_ylabel(safe_text(places.down[row - first], letters), fontsize=9)
    return empty


def extrapolated_cells(case: StoredCase, like: Picture, pixels: int) -> NDArray[np.bool_] | None:
    """Return where a model extrapolates, in the pixels of a picture of the same extent; None where it is not known."""
    path = case.raster(case.novelty) if case.novelty else None
    if path is None or case.novelty is None:
        return None
    _, low, high = NOVELTY[case.novelty]
    values = read_picture(path, pixels).values
    return resized((values >= low) & (values < high), like.values.shape)


def hatch(axes: Axes, mask: NDArray[np.bool_], picture: Picture, inches: tuple[float, float]) -> None:
    """Put stripes, dark beside light so that they show on any colour, where a mask holds."""
    wide, high = (max(2, round(2 * DPI * side)) for side in inches)
    large = resized(mask, (high, wide))
    phase = np.add.outer(np.arange(high), np.arange(wide)) % STRIPE
    shown = np.zeros((high, wide, 4), dtype=np.uint8)
    shown[large & (phase < 3)] = (20, 20, 20, 215)
    shown[large & (phase >= 3) & (phase < 6)] = (255, 255, 255, 215)
    left, bottom, right, top = picture.bounds
    axes.imshow(shown, extent=(left, right, bottom, top), aspect=picture.stretch, interpolation="antialiased")


def spanned(projection: StoredProjection, cases: Sequence[StoredCase], aspect: float) -> Places | None:
    """Return the grid that two or more fields span, the first of them down and the others across.

    None where fewer than two fields vary, where two scenarios would have one place, or where the grid would be far
    from the shape of a page, or mostly empty.
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
    """Return a grid with the reference in a row of its own over it."""
    of = [*([(0, 0)] * first), *((row + first, column) for row, column in places.of)]
    return Places(places.rows + first, places.columns, of, places.across, places.down)


def _wrapped(count: int, aspect: float) -> Places:
    columns = min(count, MOST_WRAPPED, max(1, ceil(sqrt(SHAPE * count / aspect))))
    return Places(ceil(count / columns), columns, [divmod(k, columns) for k in range(count)])


def _panels(cases: Sequence[StoredCase]) -> list[Panel]:
    panels = []
    for case in cases:
        if path := case.raster("suitability"):
            picture = read_picture(path, PIXELS)
            panels.append(Panel(case, picture, extrapolated_cells(case, picture, PIXELS)))
    return panels


def _map(axes: Axes, panel: Panel, shades: Shades, inches: tuple[float, float]) -> AxesImage:
    image = paint(axes, panel.picture, shades)
    if panel.novel is not None and panel.novel.any():
        hatch(axes, panel.novel, panel.picture, inches)
    axes.set_xticks([])
    axes.set_yticks([])
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
    """Say what the colours and the stripes are, and how many maps are not there."""
    figure.suptitle(safe_text(projection.species, 60), fontsize=11, fontstyle="italic")
    if key is None:
        strip = figure.colorbar(image, ax=drawn, location="bottom", shrink=0.6, aspect=35, pad=0.02)
    else:
        strip = figure.colorbar(image, cax=key.inset_axes((0.08, 0.42, 0.84, 0.1)), orientation="horizontal")
    strip.set_label(shades.label, fontsize=9)
    strip.ax.tick_params(labelsize=8)
    hatched = any(panel.novel is not None and panel.novel.any() for panel in panels)
    measure = " or ".join(dict.fromkeys(NOVELTY[one][0] for panel in panels if (one := panel.case.novelty)))
    if hatched:
        said = f"hatched: outside the training range ({measure}), where the map is a guess"
    elif all(panel.novel is not None for panel in panels if not panel.case.is_reference):
        said = f"no cell of a scenario is outside the training range ({measure})"
    else:
        said = "where the model extrapolates is not known: there is no map of MESS, ExDet or MOP"
    more = f"{left_out} more scenario{'s are' if left_out > 1 else ' is'} not shown" if left_out > 0 else ""
    key_of = Patch(facecolor="white", edgecolor="#141414", hatch="//////", lw=0.5) if hatched else Patch(alpha=0)
    labels, handles = ([said, more], [key_of, Patch(alpha=0)]) if more else ([said], [key_of])
    figure.legend(handles, labels, loc="outside lower center", fontsize=8, frameon=False, ncols=1)


def draw_change(folder: Path, numbers: Mapping[str, Any], path: Path) -> Path | None:
    """Draw gain and loss of every scenario in km², and arrows from the reference's centroid to theirs.

    Without a reference the suitable areas are drawn, and where their centroids are; None without a cutoff.
    """
    projection = StoredProjection(Path(folder), numbers)
    known = [case for case in projection.scenarios if case.km2 is not None or case.tree("change")]
    cases = known[:MOST_BARS]
    if not cases:
        return None
    beside = len(cases) <= BESIDE
    figure = new_figure(10.0, 5.0 if beside else 10.0)
    named = [f"{k} {case.title}" for k, case in enumerate(cases, start=1)]
    shape = (1, 2) if beside else (2, 1)
    bars, arrows = figure.subfigures(*shape, squeeze=False, height_ratios=None if beside else (1.15, 1)).ravel()
    if projection.has_change:
        high, low = bars.subplots(2, 1, sharex=True, height_ratios=(3, 1.6))
        _gains(high, cases)
        _areas(low, cases, projection.reference)
    else:
        low = bars.subplots()
        _areas(low, cases, projection.reference)
    low.set_xticks(range(len(cases)), [safe_text(text, 30) for text in named], rotation=90, size=8)
    _arrows(arrows.subplots(), projection, cases)
    title = f"{safe_text(projection.species, 60)}: " + (
        "change of the suitable area" if projection.has_change else "area"
    )
    left = len(known) - len(cases)
    more = f" (the first {len(cases)} of {len(known)} scenarios)" if left else ""
    figure.suptitle(title + more, fontsize=11)
    return save(figure, path)


def _gains(axes: Axes, cases: Sequence[StoredCase]) -> None:
    """Put gain above and loss below zero, with the net change as a mark and in percent."""
    places = np.arange(len(cases))
    gain, loss, reach = ([case.changed(key) or 0.0 for case in cases] for key in ("gain", "loss", "out_of_reach"))
    axes.bar(places, gain, 0.72, color=CHANGE_COLOURS["gain"], label="gain")
    axes.bar(places, [-v for v in loss], 0.72, color=CHANGE_COLOURS["loss"], label="loss")
    if any(reach):
        axes.bar(places, reach, 0.72, gain, color=CHANGE_COLOURS["out_of_reach"], label="suitable, out of reach")
    net = [a - b for a, b in zip(gain, loss)]
    axes.plot(places, net, "D", ms=5, mfc="white", mec="black", mew=1, ls="none", label="net change")
    for x, (case, high) in enumerate(zip(cases, (a + b for a, b in zip(gain, reach)))):
        if case.net_percent is not None:
            said = f"{case.net_percent:+.0f}%".replace("-", "−")
            spot: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 7}
            axes.annotate(said, (x, max(high, 0.0)), (0, 3), **spot)
    axes.axhline(0, color="black", lw=0.8)
    ends = (-max(loss), max(a + b for a, b in zip(gain, reach)))
    room = 0.14 * ((ends[1] - ends[0]) or 1.0)  # for the percentages
    axes.set_ylim(ends[0] - room, ends[1] + room)
    axes.set_ylabel("km²", fontsize=9)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}".replace("-", "−"))
    axes.tick_params(labelsize=8, bottom=False)
    axes.legend(fontsize=8, frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _areas(axes: Axes, cases: Sequence[StoredCase], reference: StoredCase | None) -> None:
    """Put the suitable area of every scenario as bars, what is suitable today below, the reference as a line."""
    places = np.arange(len(cases))
    stable = np.array([case.changed("stable_present") or 0.0 for case in cases])
    gain = np.array([case.changed("gain") or 0.0 if case.tree("change") else case.km2 or 0.0 for case in cases])
    if stable.any():
        axes.bar(places, stable, 0.72, color=CHANGE_COLOURS["stable_present"], label="suitable in both")
    axes.bar(places, gain, 0.72, stable, color=CHANGE_COLOURS["gain"] if reference else INK)
    if reference is not None and reference.km2 is not None:
        axes.axhline(reference.km2, color="black", lw=1, ls="--", label="suitable in the reference")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.set_ylabel("Suitable, km²", fontsize=9)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(labelsize=8)
    room = max(0.0, (4 - len(cases)) / 2)  # few bars need not fill the width
    axes.set_xlim(-0.6 - room, len(cases) - 0.4 + room)


def _arrows(axes: Axes, projection: StoredProjection, cases: Sequence[StoredCase]) -> None:
    """Put an arrow per scenario from the reference's centroid over a pale map; near ones are shown enlarged."""
    reference = projection.reference
    shown = reference if reference is not None and reference.raster("suitability") else cases[0]
    picture = _pale(axes, shown)
    start = reference.centroid if reference else None
    ends = [(k, case, case.centroid) for k, case in enumerate(cases, start=1) if case.centroid is not None]
    field, levels = _coloured_by(projection, cases)
    told = set()
    for _, case, end in sorted(ends, key=lambda one: -dist(one[2], start or one[2])):  # short arrows over long ones
        value = case.fields.get(field, "") if field else case.title
        tint = COLOURS[levels.index(value) % len(COLOURS)] if value in levels else INK
        label = None if value in told or not field else safe_text(value, 24)
        told.add(value)
        if start is not None:
            way = {"arrowstyle": "-|>", "color": tint, "lw": 1.4, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
            axes.annotate("", end, start, arrowprops=way, zorder=3)
        axes.plot(*end, "o", ms=3, color=tint, label=label, ls="none", zorder=3)
    if start is not None:
        axes.plot(*start, "s", ms=6, mfc="white", mec="black", label="reference", ls="none", zorder=5)
    words = f"Centroid of the suitable area{' and its shift' if start else ''}; numbers are scenarios"
    words += f"\nblue: suitable in {safe_text(shown.title, 30)}" if shown.raster("presence") else ""
    if picture is not None and _enlarge(axes, picture, [*([start] if start else []), *(end for *_, end in ends)]):
        words += " (part of the map)"
    _number(axes, [(str(k), end) for k, _, end in ends], start)
    axes.set_title(words if ends else "No scenario has a suitable area with a centroid", fontsize=9)
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=7)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(title=safe_text(field, 24) or None, fontsize=8, title_fontsize=8, framealpha=0.9, loc="best")


def _number(axes: Axes, ends: Sequence[tuple[str, tuple[float, float]]], start: tuple[float, float] | None) -> None:
    """Write numbers beyond the tips of arrows; one that would lie on another is left out."""
    taken: list[NDArray[np.float64]] = []
    before = axes.transData.transform(start) if start is not None else None
    for text, end in ends:
        tip = axes.transData.transform(end)
        way = tip - before if before is not None else np.array([1.0, 1.0])
        way = way / (float(np.hypot(*way)) or 1.0)
        place = tip + 9 * way
        if all(float(np.hypot(*(place - other))) > 11 for other in taken):
            taken.append(place)
            spot: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": 8}
            halo = [withStroke(linewidth=2, foreground="white")]
            axes.annotate(text, end, tuple(9 * 72 / DPI * way), path_effects=halo, zorder=4, **spot)


def _coloured_by(projection: StoredProjection, cases: Sequence[StoredCase]) -> tuple[str, list[str]]:
    """Return the field that colours go by, and its values; no field where every scenario can have its own."""
    if len(cases) <= len(COLOURS):
        return "", [case.title for case in cases]
    fitting = {name: found for name, found in projection.varying().items() if len(found) <= len(COLOURS)}
    name = min(fitting, key=lambda key: len(fitting[key]), default="")
    return name, fitting.get(name, [])


def _pale(axes: Axes, case: StoredCase) -> Picture | None:
    """Put the suitable area of a case on axes, pale; or all its cells where there is no cutoff."""
    path = case.raster("presence") or case.raster("suitability")
    if path is None:
        return None
    picture = read_picture(path, 700)
    values = picture.values if case.raster("presence") else np.where(np.isfinite(picture.values), 0.0, np.nan)
    colours = ListedColormap(["#f0eee6", "#c9dcec"])
    left, bottom, right, top = picture.bounds
    extent = (left, right, bottom, top)
    axes.imshow(values, extent=extent, cmap=colours, vmin=0, vmax=1, interpolation="nearest", aspect=picture.stretch)
    axes.set_facecolor("white")
    return picture


def _enlarge(axes: Axes, picture: Picture, points: Sequence[tuple[float, float]]) -> bool:
    """Show the part of a map where points are, if that is small; return whether it was."""
    left, bottom, right, top = picture.bounds
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    if not points:
        return False
    x, y = np.array(points).T
    side = max(np.ptp(x) / (right - left), np.ptp(y) / (top - bottom))
    share = max(4 * float(side), 0.12)
    if share > 0.6:
        return False
    for middle, (low, high), limit in ((x, (left, right), axes.set_xlim), (y, (bottom, top), axes.set_ylim)):
        half, centre = share * (high - low) / 2, 0.5 * (middle.min() + middle.max())
        centre = min(max(centre, low + half), high - half)
        limit(centre - half, centre + half)
    return True
