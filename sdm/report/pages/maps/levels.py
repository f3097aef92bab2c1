"""Finer levels of a map inside a page: tiles of its cells, as many as a budget of letters allows, or all."""

from collections.abc import Callable, Iterator
from math import ceil, sqrt
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm.data.opening.rasters import open_local
from sdm.errors import DataError
from sdm.executors.ahead import ahead, own_threads
from sdm.report.pictures import PIXELS, Picture
from sdm.types import Numbers

BUDGET = 1_000_000  # letters of all layers of a map together, so that a page has less than 2 MB
TILE = 256  # cells on the side of a tile
DENSE = 1.3  # letters that a cell takes, at most
WORTH = 1.3  # times as many cells on a side, or the overview will do


def reduced_pixels(picture: Picture, letters: float) -> int:
    """Return how many pixels the long side of an overview may have, so that it takes about this number of letters."""
    high, wide = picture.cells
    cells = max(letters, 1.0) / DENSE
    return max(64, min(PIXELS, int(sqrt(cells * max(high, wide) / max(min(high, wide), 1)))))


def fine_level(
    path: Path,
    band: int,
    overview: Picture,
    packed: Callable[[NDArray[np.float32]], str],
    budget: int | None,
) -> Numbers | None:
    """Return a finer level of a map as tiles, from north to south and west to east; None where the overview is as fine.

    Parameters
    ----------
    overview
        The map as it is shown first.
    packed
        Returns some of its cells as text.
    budget
        How many letters all tiles together may take; None for all cells, whatever they take.
    """
    high, wide = overview.cells
    if overview.values.shape == overview.cells:
        return None
    shrink = 1.0
    if budget is not None:
        density = len(packed(overview.values)) / max(overview.values.size, 1)
        shrink = max(1.0, sqrt(high * wide * density * 1.1 / max(budget, 1)))
    shape = max(1, round(high / shrink)), max(1, round(wide / shrink))
    if max(shape) < WORTH * max(overview.values.shape):
        return None

    def cut(source: rasterio.DatasetReader) -> Iterator[NDArray[np.float32]]:
        for k in range(ceil(shape[0] / TILE)):
            rows = range(k * TILE, min((k + 1) * TILE, shape[0]))
            ends = [round(row * high / shape[0]) for row in (rows[0], rows[-1] + 1)]
            window = Window(0, ends[0], wide, max(ends[1] - ends[0], 1))
            strip = source.read(band, window=window, out_shape=(len(rows), shape[1]), masked=True)
            values = strip.astype(np.float32).filled(np.nan)
            yield from (values[:, c : c + TILE] for c in range(0, shape[1], TILE))

    try:
        with open_local(path) as source:
            if source.transform.e > 0:  # its rows run from south to north: no run writes that
                return None
            tiles = list(ahead(packed, cut(source), own_threads(2)))
    except RasterioError as error:
        raise DataError(f"{path} cannot be read as a raster ({error}): make the results again") from error
    return {"width": shape[1], "height": shape[0], "tile": TILE, "tiles": tiles}
