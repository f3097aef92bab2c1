"""Maps of the same species under several orders of the entropy, side by side."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import rasterio
from matplotlib import colormaps
from matplotlib.figure import Figure

from sdm.report.figures.species import ACCENT, DPI, PALE, save

PIXELS = 400


def draw_orders(maps: Mapping[float, Path], path: Path) -> Path:
    """Draw maps by order; cells of exactly zero are pale, with a line around the rest."""
    figure = Figure(figsize=(3.2 * len(maps), 4.2), dpi=DPI, layout="constrained")
    colours = colormaps["viridis"].with_extremes(under=PALE, bad="#dddddd")
    for axes, (order, raster) in zip(figure.subplots(1, len(maps), squeeze=False)[0], maps.items()):
        with rasterio.open(raster) as source:
            shrink = max(1.0, max(source.width, source.height) / PIXELS)
            shape = (max(1, round(source.height / shrink)), max(1, round(source.width / shrink)))
            band = source.read(1, out_shape=shape, masked=True).astype(np.float32).filled(np.nan)
        axes.imshow(band, cmap=colours, vmin=np.nextafter(np.float32(0), np.float32(1)), vmax=1.0)
        inside = np.nan_to_num(band) > 0
        if not inside[np.isfinite(band)].all():
            axes.contour(inside, [0.5], colors=ACCENT, linewidths=0.6)
        axes.set_title(
            f"order {order:g}{' (Shannon)' if order == 1 else ' (sparsemax)' if order == 2 else ''}", size=10
        )
        axes.set_axis_off()
    save(figure, path)
    return path
