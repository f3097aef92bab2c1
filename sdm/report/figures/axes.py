"""Pictures of a group on shared axes: the path of strengths, maps of the axes, and the axes as colours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter

from sdm.report.figures.maps.axes import label_axes, scale_bar
from sdm.report.figures.maps.drawn import PIXELS, SIDE_PIXELS, paint
from sdm.report.figures.maps.plan import MapFrame, Shades
from sdm.report.figures.style import ACCENT, GREY, INK, few_ticks, new_figure, one_plot, safe_text, save
from sdm.report.paper import COLUMN, NOWHERE, PAGE, PLAIN, SMALL, TEXT, Paper
from sdm.report.pictures import read_picture
from sdm.report.results import number
from sdm.types import Row

PRIMARIES = ("#d62728", "#2ca02c", "#1f5fd6")  # red, green and blue of a legend


def draw_strengths(rows: Sequence[Row], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the loss of held-out records with its standard error (of a path without, the training loss) and the number
    of axes against the strength of the penalty; the chosen strength is marked."""
    strength = [number(row["strength"]) or np.nan for row in rows]
    held = [number(row.get("held_out")) for row in rows]
    figure = new_figure(COLUMN, 75.0, paper)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.0, 1.0])
    if any(value is not None for value in held):
        error = [number(row.get("held_out_se")) or 0.0 for row in rows]
        values = [np.nan if value is None else value for value in held]
        label = "Held-out loss (nats)"
        top.errorbar(strength, values, yerr=error, color=INK, fmt="o-", ms=4, lw=1.2, ecolor=GREY, capsize=2)
    else:
        label = "Training loss (nats)"
        loss = [number(row.get("loss")) for row in rows]
        top.plot(strength, [np.nan if v is None else v for v in loss], "o-", color=INK, ms=4, lw=1.2)
    top.set_ylabel(label, fontsize=TEXT)
    bottom.plot(strength, [number(row.get("rank")) or 0.0 for row in rows], "o-", color=INK, ms=4, lw=1.2)
    bottom.set_ylabel("Axes", fontsize=TEXT)
    bottom.set_ylim(bottom=0)
    bottom.yaxis.set_major_locator(MaxNLocator(integer=True))
    chosen = [x for x, row in zip(strength, rows) if str(row.get("chosen")) == "True"]
    for axes in (top, bottom):
        for x in chosen:
            axes.axvline(x, color=ACCENT, lw=1.0, ls="--", label=f"chosen: {x:g}")
        axes.tick_params(labelsize=SMALL)
    if chosen:
        top.legend(fontsize=SMALL, frameon=False)
    bottom.set_xscale("log")
    bottom.set_xticks(strength, minor=False)
    bottom.xaxis.set_major_formatter(ScalarFormatter())
    bottom.xaxis.set_minor_formatter(NullFormatter())
    bottom.set_xlabel("Strength of the penalty on axes", fontsize=TEXT)
    return save(figure, path)


def draw_axes(maps: Mapping[str, Path], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the maps of axes side by side: white is the mean of the sites, and the one cell in a hundred that is
    farthest from it has the last colour."""
    pictures = {title: read_picture(raster, SIDE_PIXELS) for title, raster in maps.items()}
    first = next(iter(pictures.values()))
    frame = MapFrame.of(first)
    across = min(3, len(pictures))
    down = -(-len(pictures) // across)
    wide = (PAGE if across > 1 else COLUMN) / across
    figure = new_figure(wide * across, down * min(max(0.86 * wide * frame.tall + 22.0, 45.0), 200.0), paper)
    for k, (title, picture) in enumerate(pictures.items()):
        axes = figure.add_subplot(down, across, k + 1)
        most = float(np.nanpercentile(np.abs(picture.values), 99)) or 1.0
        image = paint(axes, picture, Shades("", most, -most, "RdBu_r"))
        label_axes(axes, frame, names=False)
        axes.set_title(title, fontsize=TEXT)
        ways: dict[str, Any] = {"shrink": 0.8, "orientation": "horizontal", "pad": 0.03, "extend": "both"}
        few_ticks(figure.colorbar(image, ax=axes, **ways))
    return save(figure, path)


def draw_colours(raster: Path, titles: Sequence[str], path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the composite of up to three axes in red, green and blue, with what each colour is."""
    bands = [read_picture(raster, PIXELS, band) for band in (1, 2, 3)]
    first = bands[0]
    left, bottom, right, top = first.bounds
    frame = MapFrame.of(first)
    figure, axes = one_plot(COLUMN, min(max(COLUMN * frame.tall * 0.86 + 14.0, 40.0), 220.0), paper)
    values = np.stack([np.nan_to_num(band.values) / 255.0 for band in bands], axis=-1)
    there = np.isfinite(first.values)
    image = np.concatenate([values, there[..., None].astype(values.dtype)], axis=-1)
    axes.imshow(image, extent=(left, right, bottom, top), interpolation="nearest", aspect=first.stretch)
    axes.set_facecolor(NOWHERE)
    label_axes(axes, frame)
    scale_bar(axes, frame, there)
    keys = [Patch(color=colour, label=safe_text(title, 50)) for colour, title in zip(PRIMARIES, titles)]
    figure.legend(handles=keys, loc="outside upper center", ncols=1, fontsize=SMALL, frameon=False)
    return save(figure, path)
