"""Pictures: the map with its points, and response curves. They draw what `assess` and `predict` computed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sdm.assess.profiles import Profile
from sdm.features.domain import Array

DPI = 100
MAP_PIXELS = 900
INK = "#1f3b4d"
ACCENT = "#c8553d"
LABELS = {
    "cloglog": "Suitability (cloglog)",
    "logistic": "Suitability (logistic)",
    "cumulative": "Cumulative (%)",
    "raw": "Raw density",
}


def _save(figure: Figure, path: Path) -> None:
    """Write a PNG without the date or version that would make two equal pictures differ."""
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})


def draw_map(
    raster: Path, path: Path, *, title: str, scale: str, x: Array, y: Array, test: tuple[Array, Array] | None = None
) -> Path:
    """Draw a map with the records on it, from the raster's overviews."""
    with rasterio.open(raster) as source:
        shrink = max(1.0, max(source.width, source.height) / MAP_PIXELS)
        shape = (max(1, round(source.height / shrink)), max(1, round(source.width / shrink)))
        band = source.read(1, out_shape=shape, masked=True).astype(np.float32).filled(np.nan)
        bounds = source.bounds
        geographic = bool(source.crs and source.crs.is_geographic)
    middle = np.radians(np.clip(0.5 * (bounds.bottom + bounds.top), -85, 85))
    aspect = 1.0 / np.cos(middle) if geographic else 1.0
    tall = (bounds.top - bounds.bottom) * aspect / max(bounds.right - bounds.left, 1e-12)
    width = 8.0 if tall < 1.2 else max(4.5, 9.6 / tall)
    figure = Figure(figsize=(width, min(max(width * tall * 0.84, 3.0), 12.0)), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    extent = (bounds.left, bounds.right, bounds.bottom, bounds.top)
    top = 1.0 if scale in ("cloglog", "logistic") else None
    image = axes.imshow(band, extent=extent, cmap="viridis", vmin=0, vmax=top, interpolation="nearest", aspect=aspect)
    axes.plot(x, y, "o", ms=3.5, mfc="white", mec="black", mew=0.7, label=f"{len(x):,} records", ls="none")
    if test is not None:
        axes.plot(*test, "o", ms=3.5, mfc=ACCENT, mec="black", mew=0.7, label=f"{len(test[0]):,} test records", ls="none")
    axes.set_xlim(bounds.left, bounds.right)
    axes.set_ylim(bounds.bottom, bounds.top)
    axes.set_facecolor("#e8e8e8")
    axes.set_title(title, fontsize=11)
    axes.tick_params(labelsize=8)
    axes.legend(loc="lower left", fontsize=8, framealpha=0.9)
    figure.colorbar(image, ax=axes, label=LABELS[scale], shrink=0.75)
    _save(figure, path)
    return path


def draw_profiles(profiles: Sequence[Profile], folder: Path, scale: str, names: dict[str, str]) -> list[Path]:
    """Draw every profile to `<folder>/<name>[_only|_additive].png`, on one figure used again and again."""
    figure = Figure(figsize=(4.0, 2.8), dpi=80)
    figure.subplots_adjust(left=0.17, right=0.97, bottom=0.19, top=0.9)
    suffix = {"marginal": "", "only": "_only", "additive": "_additive"}
    written = []
    for profile in profiles:
        figure.clear()
        axes = figure.add_subplot()
        _draw_profile(axes, profile, scale)
        path = folder / f"{names[profile.variable]}{suffix[profile.kind]}.png"
        _save(figure, path)
        written.append(path)
    return written


def _draw_profile(axes: Any, profile: Profile, scale: str) -> None:
    """Draw one curve, or bars for classes."""
    titles = {"marginal": "others at the presences' mean", "only": "this variable alone", "additive": "additive effect"}
    additive = profile.kind == "additive"
    if profile.classes is None:
        axes.axvspan(profile.lo, profile.hi, color="#eef3f5", lw=0)
        axes.plot(profile.x, profile.y, color=INK, lw=1.6)
        axes.set_xlim(profile.x[0], profile.x[-1])
    else:
        places = np.arange(len(profile.classes))
        axes.bar(places, profile.y, color=INK, width=0.7)
        step = max(1, len(places) // 12)
        axes.set_xticks(places[::step], [name[:10] for name in profile.classes[::step]], fontsize=7)
    if not additive and scale in ("cloglog", "logistic"):
        axes.set_ylim(0, 1)
    axes.set_xlabel(_short(profile.variable), fontsize=8)
    axes.set_ylabel("Contribution to the score" if additive else LABELS[scale], fontsize=8)
    axes.set_title(titles[profile.kind], fontsize=8, color="#555555")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _short(text: str) -> str:
    """Keep a name from being read as mathematics, and from running out of the picture."""
    return (text if len(text) <= 40 else text[:39] + "…").replace("$", r"\$")
