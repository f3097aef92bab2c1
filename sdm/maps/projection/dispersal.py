"""Dispersal: which cells that become suitable lie within reach of where the species was before."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.crs import EARTH_KM
from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import Grid
from sdm.errors import DataError
from sdm.maps.gis.tags import describe_raster
from sdm.maps.moments import Moments
from sdm.maps.projection.change import GAIN, LOSS, OUT_OF_REACH, STABLE_PRESENT, TITLES, UNKNOWN, Ground
from sdm.maps.projection.scenario import PRESENT, change_raster
from sdm.maps.rasters import writing_cogs
from sdm.types import Array

CELLS = 8 << 20  # that are held at once
_OF_FILE = ("AREA_OR_POINT", "OVR_RESAMPLING_ALG")  # tags that GDAL writes itself


def limit_change(
    change: Path, occupied: Path, codes: tuple[int, ...], km: float, grid: Grid, threads: int = 2
) -> Array:
    """Write a raster of change again, with what lies further than `km` from the cells that were occupied out of reach.

    `occupied` is a raster on the same grid; cells with one of the `codes` are occupied in it. A cell is within reach of
    another if their centres are at most `km` apart. What was suitable before, and now is but cannot be reached, is
    lost. Returns the tally of `Ground.tally` of the new codes.
    """
    ground = Ground(grid)
    reach = Reach(ground.grid, km)
    width, height = grid.width, grid.height
    step = max(1, min(height, CELLS // width - 2 * reach.rows))
    total: Any = 0.0
    moments = Moments(UNKNOWN)
    near, first, last = np.zeros((0, width), dtype=np.float32), 0, 0  # of these rows; each is read once
    with (
        writing_cogs(grid, [change_raster(change)], threads) as (file,),
        open_local(change) as old,
        open_local(occupied) as past,
    ):
        for top in range(0, height, step):
            low, high = max(0, top - reach.rows), min(height, top + step + reach.rows)
            if high > last:
                there = np.isin(past.read(1, window=Window(0, last, width, high - last)), codes)
                near = np.concatenate([near[low - first :], reach.nearest(there)])
                first, last = low, high
            window = Window(0, top, width, min(step, height - top))
            now = old.read(1, window=window)
            limited = reach.limit(now, near, top, first)
            file.write(limited, 1, window=window)
            moments.add(limited)
            total = total + ground.tally(window, limited.ravel(), PRESENT)
        kept = {key: value for key, value in old.tags().items() if key not in _OF_FILE}
        about = {**kept, "class_4": TITLES[OUT_OF_REACH], "dispersal_km": f"{km:g}"}
        describe_raster(file, [moments.summary(change, empty=True)], about)
    return np.asarray(total)


class Reach:
    """How far a distance over the ground goes on a grid: in rows, and for each row and its neighbours in columns.

    In degrees distances are those of great circles on the sphere of the Earth's mean radius.
    """

    def __init__(self, grid: Grid, km: float) -> None:
        if grid.crs is None and km > 0:
            raise DataError(
                "dispersal needs distances, and the layers have no coordinate reference system: give them one"
            )
        self.grid, self.km = grid, km
        degrees = grid.crs is not None and grid.crs.is_geographic
        self.turn = 360.0 / abs(grid.transform.a) if degrees else np.inf  # columns once round the globe
        unit = 1.0 if degrees or grid.crs is None else float(grid.crs.linear_units_factor[1]) / 1000
        self.cell = np.deg2rad(abs(grid.transform.e)) * EARTH_KM if degrees else abs(grid.transform.e) * unit
        self.rows = min(int(km / self.cell * (1 + 1e-12)), grid.height)

    def columns(self, row: int) -> Array:
        """Return, for the rows from `row - rows` to `row + rows`, how many columns further cells are still in reach of
        a cell of `row`, not rounded; -1 where none is."""
        near = row + np.arange(-self.rows, self.rows + 1)
        t, crs = self.grid.transform, self.grid.crs
        if crs is not None and crs.is_geographic:
            _, here = self.grid.xy(row, 0)
            _, there = self.grid.xy(near, np.zeros(len(near)))
            a, b = np.deg2rad(float(here)), np.deg2rad(np.clip(there, -90.0, 90.0))
            angle = self.km / EARTH_KM
            with np.errstate(divide="ignore", invalid="ignore"):
                cosine = (np.cos(angle) - np.sin(a) * np.sin(b)) / (np.cos(a) * np.cos(b))
            wide = np.arccos(np.clip(cosine, -1.0, 1.0))
            in_reach = np.abs(b - a) <= angle * (1 + 1e-12)
            cells = np.rad2deg(wide) / abs(t.a)
        else:
            unit = float(crs.linear_units_factor[1]) / 1000 if crs is not None else 1.0
            up = (near - row) * self.cell
            in_reach = np.abs(up) <= self.km * (1 + 1e-12)
            cells = np.sqrt(np.maximum(self.km**2 - up**2, 0.0)) / (abs(t.a) * unit)
        return np.where(in_reach, cells * (1 + 1e-12), -1.0)

    def nearest(self, there: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return how many columns away the nearest occupied cell of the same row is, over the end of the row too where
        `turn` columns go once round the globe, whether the grid has all of them or not."""
        columns = np.arange(there.shape[1], dtype=np.float64)
        before = np.maximum.accumulate(np.where(there, columns, -np.inf), axis=1)
        after = np.minimum.accumulate(np.where(there, columns, np.inf)[:, ::-1], axis=1)[:, ::-1]
        first, last = after[:, :1], before[:, -1:]
        round_left, round_right = first + self.turn - columns, columns + self.turn - last
        nearest: Array = np.minimum.reduce([columns - before, after - columns, round_left, round_right])
        return nearest.astype(np.float32)

    def limit(self, codes: NDArray[np.uint8], near: NDArray[np.float32], top: int, low: int) -> NDArray[np.uint8]:
        """Return the codes of some rows (the first is `top`), limited by what is `nearest` in rows from `low` on."""
        out = codes.copy()
        for k, row in enumerate(out):
            suitable = np.flatnonzero((row == GAIN) | (row == STABLE_PRESENT))
            first = top + k - self.rows - low
            inside = slice(max(first, 0), max(first + 2 * self.rows + 1, 0))
            reach = self.columns(top + k)[max(-first, 0) :][: len(near[inside])]
            gone = suitable[~(near[inside, suitable] <= reach[:, None]).any(axis=0)]
            row[gone] = np.where(row[gone] == GAIN, OUT_OF_REACH, LOSS)
        return out
