"""Change against a reference: codes of cells, their areas, and where the middle of the suitable area lies."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.rasters.grid import Grid
from sdm.types import AnyArray, Array, Colour, Numbers

CODES = ("stable_absent", "stable_present", "gain", "loss", "out_of_reach")
STABLE_ABSENT, STABLE_PRESENT, GAIN, LOSS, OUT_OF_REACH = range(5)
TITLES = ("stable absent", "stable present", "gain", "loss", "suitable, out of reach")
COLOURS: dict[int, Colour] = {
    STABLE_ABSENT: (225, 225, 225), STABLE_PRESENT: (100, 160, 210), GAIN: (20, 75, 110), LOSS: (213, 94, 0),
    OUT_OF_REACH: (240, 215, 90),
}  # fmt: skip  # that people tell apart who do not see red, green or blue
UNKNOWN = 255
_POINTS = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")


def change_codes(before: AnyArray, now: NDArray[np.uint8], dispersal: bool = True) -> NDArray[np.uint8]:
    """Return the change of every cell that was present (1), absent (0) or unknown (255) before and is now; without
    dispersal, what was absent and becomes suitable is out of reach."""
    gained = GAIN if dispersal else OUT_OF_REACH
    after = np.where(now == 1, np.uint8(STABLE_PRESENT), np.uint8(LOSS))
    without = np.where(now == 1, np.uint8(gained), np.uint8(STABLE_ABSENT))
    codes = np.where(before == 1, after, without)
    codes[(now > 1) | ~((before == 0) | (before == 1))] = UNKNOWN
    return codes


class Ground:
    """Cells of a grid on the ground: their areas, and where they lie on the globe, or in the plane of a projection."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid.located
        self.round = self.grid.crs is not None and self.grid.crs.is_geographic
        x, _ = self.grid.xy(0, np.arange(grid.width))
        self.x = np.vstack([np.cos(np.deg2rad(x)), np.sin(np.deg2rad(x))] if self.round else [x, np.zeros_like(x)])

    def tally(self, window: Window, codes: NDArray[np.uint8], present: tuple[int, ...]) -> Array:
        """Return numbers of a window that can be added up: for every code its cells and km², and three sums that give
        the middle of the cells with a code that is `present`."""
        rows = np.arange(int(window.row_off), int(window.row_off) + int(window.height))
        cols = slice(int(window.col_off), int(window.col_off) + int(window.width))
        _, y = self.grid.xy(rows, 0)
        cells = codes.reshape(len(rows), -1)
        counts = np.stack([np.count_nonzero(cells == code, axis=1) for code in range(len(CODES))], axis=1)
        chosen = np.logical_or.reduce([cells == code for code in present])
        sums = np.column_stack([chosen @ self.x[0, cols], chosen @ self.x[1, cols], np.count_nonzero(chosen, axis=1)])
        area = self.grid.cell_km2(rows)
        out = np.zeros(2 * len(CODES) + 4)
        out[: len(CODES)], out[len(CODES) : 2 * len(CODES)] = counts.sum(axis=0), area @ counts
        if self.round:
            north = np.deg2rad(y)
            out[-4:] = [(area * np.cos(north)) @ sums[:, 0], (area * np.cos(north)) @ sums[:, 1],
                        (area * np.sin(north)) @ sums[:, 2], area @ sums[:, 2]]  # fmt: skip
        else:
            out[-4:] = [area @ sums[:, 0], (area * y) @ sums[:, 2], 0.0, area @ sums[:, 2]]
        return out

    def centroid(self, total: Array) -> dict[str, float] | None:
        """Return the middle of the present cells of a tally, in the grid's coordinates and in degrees; None if there
        is no such cell."""
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
    """Return the change of the suitable area from a tally: cells and km² of every code, and percentages of what was
    suitable before, None where that is nothing."""
    cells, km2 = total[: len(CODES)].tolist(), total[len(CODES) : 2 * len(CODES)].tolist()
    parts: Numbers = {name: {"cells": int(count), "km2": area} for name, count, area in zip(CODES, cells, km2)}
    before, gain, loss = km2[STABLE_PRESENT] + km2[LOSS], km2[GAIN], km2[LOSS]
    shares = {"gain_percent": gain, "loss_percent": loss, "net_percent": gain - loss}
    return parts | {name: 100 * area / before if before else None for name, area in shares.items()}


def shift(before: Mapping[str, float] | None, now: Mapping[str, float] | None) -> Numbers | None:
    """Return how far and where to a centroid moved, along the shortest line on the ellipsoid; None if not known."""
    if before is None or now is None or "lon" not in before or "lon" not in now:
        return None
    from pyproj import Geod

    bearing, _, metres = Geod(ellps="WGS84").inv(before["lon"], before["lat"], now["lon"], now["lat"])
    bearing = bearing % 360
    word = _POINTS[round(bearing / 22.5) % 16] if metres else None
    return {"km": metres / 1000, "bearing": bearing if metres else None, "direction": word}
