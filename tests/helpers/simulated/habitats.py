"""Points with a habitat in the small virtual world."""

from typing import Any

import numpy as np
import rasterio

NAMES = ("bare", "forest", "meadow")


def draw_levels(world: Any, count: int = 240, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates of points on land, and which of three classes each is in: by temperature, and by chance."""
    rng = np.random.default_rng(seed)
    with rasterio.open(world.layers / "temperature.tif") as source:
        band = source.read(1, masked=True)
        cells = np.argwhere(~np.ma.getmaskarray(band))
        cells = cells[rng.permutation(len(cells))[:count]]
        x, y = rasterio.transform.xy(source.transform, cells[:, 0], cells[:, 1])
        heat = band[cells[:, 0], cells[:, 1]].data
    level = np.digitize(heat + 0.3 * heat.std() * rng.normal(size=len(heat)), np.quantile(heat, [0.4, 0.7]))
    return np.asarray(x), np.asarray(y), level


def draw_plots(world: Any, count: int = 240, seed: int = 3) -> list[tuple[float, float, str]]:
    """Return such points with the names of their classes."""
    return [(float(x), float(y), NAMES[c]) for x, y, c in zip(*draw_levels(world, count, seed))]
