"""Figures of change between scenarios: suitable area, and shift of its centroid."""

from collections.abc import Sequence
from math import dist
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from sdm.maps.projection.change import GAIN, LOSS, OUT_OF_REACH, STABLE_PRESENT, TITLES
from sdm.report.charts import COLOURS
from sdm.report.figures.maps.drawn import label_axes, show
from sdm.report.figures.maps.plan import MapFrame
from sdm.report.figures.projection.scenarios import draw_scenarios
from sdm.report.figures.style import INK, new_figure, safe_text, save, tidy
from sdm.report.paper import PAGE, PLAIN, SMALL, TEXT, TITLE, Paper
from sdm.report.pictures import Picture, read_picture
from sdm.report.projection import CHANGE_COLOURS, StoredCase, StoredProjection
from sdm.types import Numbers

MOST_BARS = 40
BESIDE = 6  # largest number of scenarios with bars next to the map of centroids


def draw_projection(folder: Path, numbers: Numbers, target: Path, name: str, paper: Paper = PLAIN) -> dict[str, str]:
    """Draw the maps of all scenarios, change and novelty into a folder; return the names of the files."""
    ends = {"maps": ("scenarios", "suitability"), "change maps": ("change_maps", "change"), "novelty": ("novelty",) * 2}
    drawn = {
        key: draw_scenarios(folder, numbers, target / f"{name}_{end}.png", kind, paper)
        for key, (end, kind) in ends.items()
    }
    drawn["change"] = draw_change(folder, numbers, target / f"{name}_change.png", paper)
    return {key: path.name for key, path in drawn.items() if path is not None}


def draw_change(folder: Path, numbers: Numbers, path: Path, paper: Paper = PLAIN) -> Path | None:
    """Draw gain and loss of every scenario in km², and arrows from the centroid of the reference to theirs.

    Without a reference, draw the suitable areas and their centroids; return None without a threshold.
    """
    projection = StoredProjection(Path(folder), numbers)
    with_area = [case for case in projection.scenarios if case.km2 is not None or case.tree("change")]
    cases = with_area[:MOST_BARS]
    if not cases:
        return None
    has_map = len(cases) <= BESIDE
    figure = new_figure(PAGE, 95.0 if has_map else 200.0, paper)
    named = [f"{k} {case.title}" for k, case in enumerate(cases, start=1)]
    shape = (1, 2) if has_map else (2, 1)
    bars, arrows = figure.subfigures(*shape, squeeze=False, height_ratios=None if has_map else (1.15, 1)).ravel()
    if projection.has_change:
        high, low = bars.subplots(2, 1, sharex=True, height_ratios=(3, 1.6))
        _gains(high, cases)
    else:
        low = bars.subplots()
    _areas(low, cases, projection.reference)
    low.set_xticks(range(len(cases)), [safe_text(text, 24) for text in named], rotation=90, size=SMALL)
    _arrows(arrows.subplots(), projection, cases)
    omitted = len(with_area) - len(cases)
    if omitted:
        bars.suptitle(f"the first {len(cases)} of {len(with_area)} scenarios", fontsize=TEXT)
    figure.suptitle(safe_text(projection.species, 60), fontsize=TITLE, fontstyle=projection.title_style)
    return save(figure, path)


def _gains(axes: Axes, cases: Sequence[StoredCase]) -> None:
    """Plot gain above and loss below zero, with the net change as a marker and in percent."""
    places = np.arange(len(cases))
    gain, loss, reach = ([case.changed(key) or 0.0 for case in cases] for key in ("gain", "loss", "out_of_reach"))
    axes.bar(places, gain, 0.72, color=CHANGE_COLOURS["gain"], label=TITLES[GAIN])
    axes.bar(places, [-v for v in loss], 0.72, color=CHANGE_COLOURS["loss"], label=TITLES[LOSS])
    if any(reach):
        axes.bar(places, reach, 0.72, gain, color=CHANGE_COLOURS["out_of_reach"], label=TITLES[OUT_OF_REACH])
    net = [a - b for a, b in zip(gain, loss)]
    axes.plot(places, net, "D", ms=5, mfc="white", mec="black", mew=1, ls="none", label="net change")
    for x, (case, high) in enumerate(zip(cases, (a + b for a, b in zip(gain, reach)))):
        if case.net_percent is not None:
            percent = f"{case.net_percent:+.0f}%".replace("-", "−")
            spot: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": SMALL}
            axes.annotate(percent, (x, max(high, 0.0)), (0, 3), **spot)
    axes.axhline(0, color="black", lw=0.8)
    ends = (-max(loss), max(a + b for a, b in zip(gain, reach)))
    room = 0.14 * ((ends[1] - ends[0]) or 1.0)  # space for the percentages
    axes.set_ylim(ends[0] - room, ends[1] + room)
    axes.set_ylabel("km²", fontsize=TEXT)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}".replace("-", "−"))
    axes.tick_params(labelsize=SMALL, bottom=False)
    axes.legend(fontsize=SMALL, frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _areas(axes: Axes, cases: Sequence[StoredCase], reference: StoredCase | None) -> None:
    """Plot the suitable area of every scenario as bars, with the present suitable area below and the reference as a
    line."""
    places = np.arange(len(cases))
    stable = np.array([case.changed("stable_present") or 0.0 for case in cases])
    gain = np.array([case.changed("gain") or 0.0 if case.tree("change") else case.km2 or 0.0 for case in cases])
    if stable.any():
        axes.bar(places, stable, 0.72, color=CHANGE_COLOURS["stable_present"], label=TITLES[STABLE_PRESENT])
    axes.bar(places, gain, 0.72, stable, color=CHANGE_COLOURS["gain"] if reference else INK)
    if reference is not None and reference.km2 is not None:
        axes.axhline(reference.km2, color="black", lw=1, ls="--", label="suitable in the reference")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=SMALL, frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    tidy(axes, y="Suitable, km²")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    room = max(0.0, (4 - len(cases)) / 2)  # limits the width of few bars
    axes.set_xlim(-0.6 - room, len(cases) - 0.4 + room)


def _arrows(axes: Axes, projection: StoredProjection, cases: Sequence[StoredCase]) -> None:
    """Plot one arrow per scenario from the centroid of the reference over a pale map; enlarge short arrows."""
    reference = projection.reference
    shown = reference if reference is not None and reference.raster("suitability") else cases[0]
    picture = _pale(axes, shown)
    start = reference.centroid if reference else None
    ends = [(k, case, case.centroid) for k, case in enumerate(cases, start=1) if case.centroid is not None]
    field, levels = _coloured_by(projection, cases)
    labelled = set()
    for _, case, end in sorted(ends, key=lambda one: -dist(one[2], start or one[2])):  # short arrows over long ones
        value = case.fields.get(field, "") if field else case.title
        tint = COLOURS[levels.index(value) % len(COLOURS)] if value in levels else INK
        label = None if value in labelled or not field else safe_text(value, 24)
        labelled.add(value)
        if start is not None:
            way = {"arrowstyle": "-|>", "color": tint, "lw": 1.4, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
            axes.annotate("", end, start, arrowprops=way, zorder=3)
        axes.plot(*end, "o", ms=3, color=tint, label=label, ls="none", zorder=3)
    if start is not None:
        axes.plot(*start, "s", ms=6, mfc="white", mec="black", label="reference", ls="none", zorder=5)
    words = f"Centroid of the suitable area{' and its shift' if start else ''}"
    words += f"\nblue: suitable in {safe_text(shown.title, 24)}" if shown.raster("presence") else ""
    if picture is not None and _enlarge(axes, picture, [*([start] if start else []), *(end for *_, end in ends)]):
        words += " (part of the map)"
    _number(axes, [(str(k), end) for k, _, end in ends], start)
    axes.set_title(words if ends else "No scenario has a suitable area", fontsize=TEXT)
    tidy(axes)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            title=safe_text(field, 24) or None, fontsize=SMALL, title_fontsize=SMALL, framealpha=0.9, loc="best"
        )


def _number(axes: Axes, ends: Sequence[tuple[str, tuple[float, float]]], start: tuple[float, float] | None) -> None:
    """Write numbers at the tips of arrows; omit numbers that would overlap."""
    taken: list[NDArray[np.float64]] = []
    away = 6.5 * axes.figure.dpi / 72  # pixels
    before = axes.transData.transform(start) if start is not None else None
    for text, end in ends:
        tip = axes.transData.transform(end)
        way = tip - before if before is not None else np.array([1.0, 1.0])
        way = way / (float(np.hypot(*way)) or 1.0)
        place = tip + away * way
        if all(float(np.hypot(*(place - other))) > 1.2 * away for other in taken):
            taken.append(place)
            spot: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": SMALL}
            halo = [withStroke(linewidth=2, foreground="white")]
            axes.annotate(text, end, tuple(6.5 * way), path_effects=halo, zorder=4, **spot)


def _coloured_by(projection: StoredProjection, cases: Sequence[StoredCase]) -> tuple[str, list[str]]:
    """Return the field that defines the colours, and its values; no field if every scenario can have its own colour."""
    if len(cases) <= len(COLOURS):
        return "", [case.title for case in cases]
    fitting = {name: values for name, values in projection.varying().items() if len(values) <= len(COLOURS)}
    name = min(fitting, key=lambda key: len(fitting[key]), default="")
    return name, fitting.get(name, [])


def _pale(axes: Axes, case: StoredCase) -> Picture | None:
    """Plot the suitable area of a case in pale colours; all its cells without a threshold."""
    path = case.raster("presence") or case.raster("suitability")
    if path is None:
        return None
    picture = read_picture(path, 700)
    values = picture.values if case.raster("presence") else np.where(np.isfinite(picture.values), 0.0, np.nan)
    colours = ListedColormap(["#f0eee6", "#c9dcec"])
    show(axes, values, picture, cmap=colours, vmin=0, vmax=1)
    axes.set_facecolor("white")
    return picture


def _enlarge(axes: Axes, picture: Picture, points: Sequence[tuple[float, float]]) -> bool:
    """Zoom to the points if they cover a small part of the map; return whether it was done."""
    frame = MapFrame.of(picture)
    left, bottom, right, top = frame.limits
    label_axes(axes, frame, names=False)
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
