"""Change against a reference: codes of cells, their areas, centroids, and dispersal to newly suitable cells."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.crs import EARTH_KM
from sdm.data.opening.rasters import open_local
from sdm.data.rasters.grid import ASSIGN_CRS, Grid
from sdm.errors import CrsError
from sdm.maps.gis.tags import Moments, describe_raster
from sdm.maps.rasters import Raster, writing_cogs
from sdm.types import AnyArray, Array, Colour, Numbers

CODES = ("stable_absent", "stable_present", "gain", "loss", "out_of_reach")
STABLE_ABSENT, STABLE_PRESENT, GAIN, LOSS, OUT_OF_REACH = range(5)
TITLES = ("stable absent", "stable present", "gain", "loss", "suitable, out of reach")
COLOURS: dict[int, Colour] = {
    STABLE_ABSENT: (225, 225, 225), STABLE_PRESENT: (100, 160, 210), GAIN: (20, 75, 110), LOSS: (213, 94, 0),
    OUT_OF_REACH: (240, 215, 90),
}  # fmt: skip  # that people tell apart who do not see red, green or blue
UNKNOWN = 255
PRESENT = (STABLE_PRESENT, GAIN)
_POINTS = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")


def change_codes(before: AnyArray, now: NDArray[np.uint8], dispersal: bool = True) -> NDArray[np.uint8]:
    """Return the change of every cell between presence (1), absence (0) or unknown (255) before and now. Without
    dispersal, newly suitable cells are out of reach."""
    gained = GAIN if dispersal else OUT_OF_REACH
    after = np.where(now == 1, np.uint8(STABLE_PRESENT), np.uint8(LOSS))
    without = np.where(now == 1, np.uint8(gained), np.uint8(STABLE_ABSENT))
    codes = np.where(before == 1, after, without)
    codes[(now > 1) | ~((before == 0) | (before == 1))] = UNKNOWN
    return codes


def change_raster(path: Path) -> Raster:
    """Return the raster of change, with its colours."""
    return Raster(path, "uint8", UNKNOWN, colours=COLOURS)


def change_tags(reached: bool = True) -> dict[str, str]:
    """Return the tags of a raster of change, with the meaning of its values."""
    shown = range(len(CODES)) if not reached else range(len(CODES) - 1)
    return {"what": "change", **{f"class_{code}": TITLES[code] for code in shown}}


class Ground:
    """Areas and coordinates of the cells of a grid, on the globe or in the plane of a projection."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid.located
        self.round = self.grid.crs is not None and self.grid.crs.is_geographic
        x, _ = self.grid.xy(0, np.arange(grid.width))
        self.x = np.vstack([np.cos(np.deg2rad(x)), np.sin(np.deg2rad(x))] if self.round else [x, np.zeros_like(x)])

    def tally(self, window: Window, codes: NDArray[np.uint8], present: tuple[int, ...]) -> Array:
        """Return sums over a window: cells and km² for every code, and three sums for the centroid of the codes in
        `present`."""
        rows = np.arange(int(window.row_off), int(window.row_off) + int(window.height))
        cols = slice(int(window.col_off), int(window.col_off) + int(window.width))
        _, y = self.grid.xy(rows, 0)
        cells = codes.reshape(len(rows), -1)
        counts = np.stack([np.count_nonzero(cells == code, axis=1) for code in range(len(CODES))], axis=1)
        chosen = np.logical_or.reduce([cells == code for code in present])
        sums = np.column_stack([chosen @ self.x[0, cols], chosen @ self.x[1, cols], np.count_nonzero(chosen, axis=1)])
        area = self.grid.cell_km2(rows)
        middle = [area @ sums[:, 0], (area * y) @ sums[:, 2], 0.0]
        if self.round:
            flat, north = area * np.cos(np.deg2rad(y)), area * np.sin(np.deg2rad(y))
            middle = [flat @ sums[:, 0], flat @ sums[:, 1], north @ sums[:, 2]]
        return np.concatenate([counts.sum(axis=0), area @ counts, middle, [area @ sums[:, 2]]])

    def centroid(self, total: Array) -> dict[str, float] | None:
        """Return the centroid of the present cells of a tally, in coordinates of the grid and in degrees; None without
        such cells."""
        a, b, c, weight = total[-4:].tolist()
        if not weight:
            return None
        if self.round:
            lon, lat = np.rad2deg(np.arctan2(b, a)), np.rad2deg(np.arctan2(c, np.hypot(a, b)))
            x = float(self.grid.turned(np.array([lon]))[0])
            return {"x": x, "y": float(lat), "lon": float((lon + 180) % 360 - 180), "lat": float(lat)}
        x, y = a / weight, b / weight
        if self.grid.crs is None:
            return {"x": x, "y": y}
        t = self.grid.transform
        place = self.grid.lonlat(np.array([(y - t.f) / t.e]), np.array([(x - t.c) / t.a]))
        return {"x": x, "y": y, "lon": float(place[0][0]), "lat": float(place[1][0])}


def change_numbers(total: Array) -> Numbers:
    """Return the change of the suitable area from a tally: cells and km² of every code, and percentages of the area
    suitable before (None if it is zero)."""
    cells, km2 = total[: len(CODES)].tolist(), total[len(CODES) : 2 * len(CODES)].tolist()
    parts: Numbers = {name: {"cells": int(count), "km2": area} for name, count, area in zip(CODES, cells, km2)}
    before, gain, loss = km2[STABLE_PRESENT] + km2[LOSS], km2[GAIN], km2[LOSS]
    shares = {"gain_percent": gain, "loss_percent": loss, "net_percent": gain - loss}
    return parts | {name: 100 * area / before if before else None for name, area in shares.items()}


def shift(before: Mapping[str, float] | None, now: Mapping[str, float] | None) -> Numbers | None:
    """Return distance and direction between two centroids along the geodesic; None if one is unknown."""
    if before is None or now is None or "lon" not in before or "lon" not in now:
        return None
    from pyproj import Geod

    bearing, _, metres = Geod(ellps="WGS84").inv(before["lon"], before["lat"], now["lon"], now["lat"])
    bearing = bearing % 360
    word = _POINTS[round(bearing / 22.5) % 16] if metres else None
    return {"km": metres / 1000, "bearing": bearing if metres else None, "direction": word}


CELLS = 8 << 20  # in memory at once
_OF_FILE = ("AREA_OR_POINT", "OVR_RESAMPLING_ALG")  # tags that GDAL writes itself


def limit_change(
    change: Path, occupied: Path, codes: tuple[int, ...], km: float, grid: Grid, threads: int = 2
) -> Array:
    """Write a raster of change again, where newly suitable cells beyond `km` from occupied cells are out of reach.

    `occupied` is a raster on the same grid, in which cells with one of the `codes` are occupied. Cells are within reach
    if their centres are at most `km` apart. Cells that remain suitable and are out of reach are lost. Returns the tally
    of `Ground.tally` of the new codes.
    """
    ground = Ground(grid)
    reach = Reach(ground.grid, km)
    width, height = grid.width, grid.height
    step = max(1, min(height, CELLS // width - 2 * reach.rows))
    total: Any = 0.0
    moments = Moments(UNKNOWN)
    near, first, last = np.zeros((0, width), dtype=np.float32), 0, 0  # rows `first` to `last`; each row is read once
    with (
        writing_cogs(grid, [change_raster(change)], threads) as (file,),
        open_local(change) as old,
        open_local(occupied) as past,
    ):
        for top in range(0, height, step):
            low, high = max(0, top - reach.rows), min(height, top + step + reach.rows)
            if high > last:
                is_occupied = np.isin(past.read(1, window=Window(0, last, width, high - last)), codes)
                near = np.concatenate([near[low - first :], reach.nearest(is_occupied)])
                first, last = low, high
            window = Window(0, top, width, min(step, height - top))
            now = old.read(1, window=window)
            limited = reach.limit(now, near, top, first)
            file.write(limited, 1, window=window)
            moments.add(limited)
            total = total + ground.tally(window, limited.ravel(), PRESENT)
        tags = {key: value for key, value in old.tags().items() if key not in _OF_FILE}
        about = {**tags, "class_4": TITLES[OUT_OF_REACH], "dispersal_km": f"{km:g}"}
        describe_raster(file, [moments.summary(change, empty=True)], about)
    return np.asarray(total)


class Reach:
    """A distance over the ground in rows and columns of a grid.

    In degrees distances are those of great circles on the sphere of the Earth's mean radius.
    """

    def __init__(self, grid: Grid, km: float) -> None:
        if grid.crs is None and km > 0:
            raise CrsError(f"dispersal needs a coordinate reference system of the layers: {ASSIGN_CRS}")
        self.grid, self.km = grid, km
        self.round = grid.crs is not None and grid.crs.is_geographic
        self.turn = 360.0 / abs(grid.transform.a) if self.round else np.inf  # columns around the globe
        self.unit = 1.0 if self.round or grid.crs is None else float(grid.crs.linear_units_factor[1]) / 1000
        self.cell = np.deg2rad(abs(grid.transform.e)) * EARTH_KM if self.round else abs(grid.transform.e) * self.unit
        self.rows = min(int(km / self.cell * (1 + 1e-12)), grid.height)

    def columns(self, row: int) -> Array:
        """Return the number of columns within reach of a cell of `row` in the rows from `row - rows` to `row + rows`,
        not rounded; -1 for rows out of reach."""
        near = row + np.arange(-self.rows, self.rows + 1)
        wide_cell = abs(self.grid.transform.a)
        if self.round:
            _, latitude = self.grid.xy(row, 0)
            _, latitudes = self.grid.xy(near, np.zeros(len(near)))
            a, b = np.deg2rad(float(latitude)), np.deg2rad(np.clip(latitudes, -90.0, 90.0))
            angle = self.km / EARTH_KM
            with np.errstate(divide="ignore", invalid="ignore"):
                cosine = (np.cos(angle) - np.sin(a) * np.sin(b)) / (np.cos(a) * np.cos(b))
            wide = np.arccos(np.clip(cosine, -1.0, 1.0))
            in_reach = np.abs(b - a) <= angle * (1 + 1e-12)
            cells = np.rad2deg(wide) / wide_cell
        else:
            up = (near - row) * self.cell
            in_reach = np.abs(up) <= self.km * (1 + 1e-12)
            cells = np.sqrt(np.maximum(self.km**2 - up**2, 0.0)) / (wide_cell * self.unit)
        return np.where(in_reach, cells * (1 + 1e-12), -1.0)

    def nearest(self, occupied: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the distance in columns to the nearest occupied cell of the same row. On the globe, rows are circular
        with `turn` columns."""
        columns = np.arange(occupied.shape[1], dtype=np.float64)
        before = np.maximum.accumulate(np.where(occupied, columns, -np.inf), axis=1)
        after = np.minimum.accumulate(np.where(occupied, columns, np.inf)[:, ::-1], axis=1)[:, ::-1]
        first, last = after[:, :1], before[:, -1:]
        round_left, round_right = first + self.turn - columns, columns + self.turn - last
        nearest: Array = np.minimum.reduce([columns - before, after - columns, round_left, round_right])
        return nearest.astype(np.float32)

    def limit(self, codes: NDArray[np.uint8], near: NDArray[np.float32], top: int, low: int) -> NDArray[np.uint8]:
        """Return the codes of rows from `top`, limited by the distances to occupied cells in rows from `low`."""
        out = codes.copy()
        for k, row in enumerate(out):
            suitable = np.flatnonzero((row == GAIN) | (row == STABLE_PRESENT))
            first = top + k - self.rows - low
            inside = slice(max(first, 0), max(first + 2 * self.rows + 1, 0))
            reach = self.columns(top + k)[max(-first, 0) :][: len(near[inside])]
            unreachable = suitable[~(near[inside, suitable] <= reach[:, None]).any(axis=0)]
            row[unreachable] = np.where(row[unreachable] == GAIN, OUT_OF_REACH, LOSS)
        return out
