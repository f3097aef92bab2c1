"""A virtual landscape: fractal terrain with climate, soil and land cover derived from it.

Every value is a function of the seed and the place: gradient noise on lattices with hashed gradients. So strips can be
made in any order, in bounded memory, with identical bits. Variables that need a wide view (rain shadow, distance to the
coast, relief) are computed on a coarse grid and interpolated.

The world is a square of 400 km, and ``size`` is its resolution. Terrain uses only ``+ - * / sqrt``, which IEEE 754
defines to the last bit. Derived values are rounded, so that machines agree.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import floor

import numpy as np
import rasterio
from affine import Affine
from numpy.typing import ArrayLike, NDArray
from rasterio.crs import CRS
from rasterio.errors import RasterioError
from rasterio.warp import transform as reproject

from sdm._jit import jit
from sdm.data.rasters.grid import Grid
from sdm.errors import UnknownCrsError
from sdm.simulate import noise
from sdm.types import AnyArray, Array

Codes = NDArray[np.uint64]
SIDE = 400_000.0  # metres: the longer side of every landscape
DEGREES = 4.0  # the same in a geographic CRS: a degree counts as 100 km
CENTRE = (-15.0, 40.0)  # longitude, latitude: open sea, without real land
SEA = 0.22  # the share of cells below sea level
_COARSE = 160  # cells along the longer side of the coarse grid
_MARGIN = 8  # margin of the coarse grid in cells, for splines and for the sea in the west


@dataclass(frozen=True)
class LandscapeLayer:
    """One layer of the landscape: its unit, the step its values are rounded to, and its description."""

    name: str
    unit: str
    step: float
    text: str


#: The continuous layers, in the order in which ``layers=n`` takes them.
LAYERS = (
    LandscapeLayer("temperature", "°C", 0.01, "annual mean temperature"),
    LandscapeLayer("precipitation", "mm", 1.0, "annual precipitation"),
    LandscapeLayer("elevation", "m", 1.0, "height above sea level"),
    LandscapeLayer("slope", "degrees", 0.1, "steepness"),
    LandscapeLayer("seasonality", "°C", 0.01, "standard deviation of the monthly temperatures"),
    LandscapeLayer("wetness", "index", 0.01, "topographic wetness: 0 dry crest, 10 wet hollow"),
    LandscapeLayer("insolation", "%", 0.1, "sunlight on the slope, flat ground 100"),
    LandscapeLayer("coast_distance", "km", 0.1, "distance to the sea"),
    LandscapeLayer("dry_quarter", "mm", 1.0, "precipitation of the driest quarter"),
    LandscapeLayer("soil_ph", "pH", 0.01, "acidity of the soil"),
    LandscapeLayer("sand", "%", 0.1, "sand in the soil"),
    LandscapeLayer("soil_carbon", "g/kg", 0.1, "organic carbon in the soil"),
    LandscapeLayer("relief", "m", 1.0, "difference between the highest and the lowest place within 6 km"),
    LandscapeLayer("warm_quarter", "°C", 0.01, "mean temperature of the warmest quarter"),
    LandscapeLayer("cold_quarter", "°C", 0.01, "mean temperature of the coldest quarter"),
    LandscapeLayer("wind", "m/s", 0.01, "mean wind speed"),
    LandscapeLayer("cloud", "%", 0.1, "cloud cover"),
    LandscapeLayer("soil_depth", "cm", 1.0, "depth of the soil above the rock"),
    LandscapeLayer("clay", "%", 0.1, "clay in the soil"),
)
#: The layers that a warmer climate raises.
WARMED = ("temperature", "warm_quarter", "cold_quarter")
_SOIL = {"soil_ph", "sand", "soil_carbon", "clay"}
_FURTHER = {"warm_quarter", "cold_quarter", "wind", "cloud", "soil_depth", "clay"}
#: The classes of the layer ``landcover``; 0 is the sea.
_COVERS = ("broadleaf forest", "conifer forest", "grassland", "shrubland", "wetland", "bare rock", "cropland")
CLASSES = dict(enumerate(_COVERS, start=1))


@jit
def _terrain(shore: Array, height: Array, y: Array, x: Array, codes: Codes, octaves: int, sea: float) -> None:
    """Fill the shore function (land where it exceeds ``sea``) and the height in metres, on the lattice y × x."""
    for i in range(y.size):
        p, q = noise.scaled(x, 1.0), np.full(x.size, y[i])
        bend, warp = noise.fractal(p, q, 2.0, codes[0], 2, 0.4), noise.fractal(p, q, 2.0, codes[1], 2, 0.4)
        for j in range(x.size):
            p[j] += 0.1 * bend[j]
            q[j] += 0.1 * warp[j]
        coast = noise.fractal(p, q, 2.0, codes[2], octaves, 0.5)
        ridge = noise.ridged(p, q, 5.0, codes[3], octaves - 1, 0.55)
        belt = noise.fractal(p, q, 2.0, codes[4], 2, 0.5)
        hills = noise.fractal(p, q, 8.0, codes[5], octaves - 2, 0.6)
        for j in range(x.size):
            dx, dy = x[j] - 0.58, y[i] - 0.5
            shore[i, j] = coast[j] - 1.6 * max(0.0, np.sqrt(dx * dx + dy * dy) - 0.25)
            t = min(1.0, max(0.0, 1.4 * (shore[i, j] - sea)))
            peaks = 2700.0 * min(1.0, max(0.0, 0.55 + 1.1 * belt[j])) * ridge[j]
            height[i, j] = 350.0 * t * (1.0 + 0.5 * hills[j]) + peaks * t / (t + 0.4)


@jit
def _spline(out: Array, grid: Array, y: Array, x: Array) -> None:
    """Interpolate a coarse grid by cubic B-splines at fractional rows × columns."""
    w = np.empty((x.size, 4))
    for j in range(x.size):
        _weights(w[j], x[j] - floor(x[j]))
    v = np.empty(4)
    for i in range(y.size):
        row = floor(y[i])
        _weights(v, y[i] - row)
        for j in range(x.size):
            column, total = floor(x[j]), 0.0
            for a in range(4):
                for b in range(4):
                    total += v[a] * w[j, b] * grid[row - 1 + a, column - 1 + b]
            out[i, j] = total


@jit
def _weights(w: Array, t: float) -> None:
    """Weights of the four neighbours in a cubic B-spline at the fraction ``t``."""
    w[0] = (1.0 - t) * (1.0 - t) * (1.0 - t) / 6.0
    w[1] = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0
    w[2] = (1.0 + 3.0 * t + 3.0 * t * t - 3.0 * t * t * t) / 6.0
    w[3] = t * t * t / 6.0


def _blur(grid: Array, times: int) -> Array:
    """Smooth with the weights ¼ ½ ¼ along both axes, `times` times."""
    for _ in range(times):
        wide = np.pad(grid, 1, mode="edge")
        wide = (wide[:-2] + 2.0 * wide[1:-1] + wide[2:]) / 4.0
        grid = (wide[:, :-2] + 2.0 * wide[:, 1:-1] + wide[:, 2:]) / 4.0
    return grid


def _rain(height: Array, land: NDArray[np.bool_], step: float) -> Array:
    """Simulate rain from a west wind: air takes up water over the sea, loses it on rising ground, and is dry behind
    it."""
    smooth = _blur(height, 8)
    uplift = np.maximum(0.0, np.diff(smooth, axis=1, prepend=smooth[:, :1])) / (0.02 * step)
    air, rain = np.full(len(height), 0.9), np.empty_like(height)
    for j in range(height.shape[1]):
        fall = air * (0.009 + 0.008 * uplift[:, j])
        source = np.where(land[:, j], 0.004, 0.03) * (1.0 - air)
        rain[:, j] = fall
        air = _blur((air - fall + source)[:, None], 2)[:, 0]
    return _blur(rain, 10)


class Landscape:
    """A landscape of ``rows`` × ``cols`` cells by seed, with a longer side of 400 km. The same seed with more cells is
    the same world in more detail."""

    def __init__(self, rows: int, cols: int, seed: int) -> None:
        self.rows, self.cols, self.seed = rows, cols, seed
        self.side = max(rows, cols)
        self.cell = SIDE / self.side
        self._octaves = max(3, (self.side // 2).bit_length() - 1)
        self._codes = np.array([noise.key(seed, f"terrain {k}") for k in range(6)])
        n = np.arange(128)
        y, x = (n + 0.5) / 128 * (rows / self.side), (n + 0.5) / 128 * (cols / self.side)
        self._sea = 0.0
        self._sea = float(np.sort(self._terrain(y, x, 6)[0], axis=None)[int(SEA * n.size**2)])
        self._coarse = self._survey()

    def _terrain(self, y: Array, x: Array, octaves: int) -> tuple[Array, Array]:
        """Return shore function and height (m) at the places y × x, given as fractions of the longer side."""
        shore, height = np.empty((y.size, x.size)), np.empty((y.size, x.size))
        _terrain(shore, height, y, x, self._codes, octaves, self._sea)
        return shore, height

    def _survey(self) -> dict[str, Array]:
        """Return a coarse view of the whole world with a margin, for strips."""
        from scipy.ndimage import distance_transform_edt

        rows, cols = (-(-n * _COARSE // self.side) + 2 * _MARGIN for n in (self.rows, self.cols))
        y, x = ((np.arange(n) - _MARGIN + 0.5) / _COARSE for n in (rows, cols))
        shore, height = self._terrain(y, x, 6)
        land = shore > self._sea
        step = SIDE / _COARSE
        near = np.lib.stride_tricks.sliding_window_view(np.pad(height, 2, mode="edge"), (5, 5))
        return {
            "rain": _rain(height, land, step),
            "coast": distance_transform_edt(land) * (step / 1000.0),
            "relief": near.max(axis=(2, 3)) - near.min(axis=(2, 3)),
            "mean": _blur(height, 3),
        }

    def _wide(self, name: str, y: Array, x: Array) -> Array:
        """Return one of the coarse grids, interpolated at y × x."""
        out = np.empty((y.size, x.size))
        _spline(out, self._coarse[name], y * _COARSE + (_MARGIN - 0.5), x * _COARSE + (_MARGIN - 0.5))
        return out

    def _noise(self, name: str, y: Array, x: Array, scale: float, octaves: int = 0, gain: float = 0.5) -> Array:
        """Return a fractal field with mean 0, mostly within ±1; ``octaves=0`` continues to the size of a cell."""
        out = np.empty((y.size, x.size))
        finest = int(self.side / (2.0 * scale)).bit_length()
        noise.field(out, y, x, noise.key(self.seed, name), scale, octaves or max(2, finest), gain)
        return out

    def strip(self, top: int, bottom: int, names: Collection[str]) -> tuple[dict[str, AnyArray], NDArray[np.bool_]]:
        """Return the layers ``names`` in the rows ``top`` … ``bottom`` - 1 (float32, rounded to the step of each layer;
        ``landcover`` uint8), and a mask of land cells. Values of sea cells have no meaning."""
        y = (np.arange(top - 1, bottom + 1) + 0.5) / self.side
        x = (np.arange(-1, self.cols + 1) + 0.5) / self.side
        shore, height = self._terrain(y, x, self._octaves)
        y, x = y[1:-1], x[1:-1]
        values = self._relief(height, y, x)
        self._climate(values, y, x)
        if not _SOIL.isdisjoint(names):
            self._soil(values, y, x)
        if not _FURTHER.isdisjoint(names):
            self._further(values, y, x)
        out: dict[str, AnyArray] = {k.name: round_to(values[k.name], k.step) for k in LAYERS if k.name in names}
        if "landcover" in names:
            out["landcover"] = self._landcover(values, y, x)
        for name in names:
            if name.startswith("noise"):
                cells = np.arange(top, bottom)[:, None], np.arange(self.cols)
                out[name] = round_to(self.white(name, *cells) * 10.0, 0.01)
        return out, shore[1:-1, 1:-1] > self._sea

    def white(self, name: str, rows: ArrayLike, cols: ArrayLike) -> Array:
        """Return independent uniform numbers in (0, 1), one per cell, of the stream ``name``."""
        i, j = (np.array(part, np.int64) for part in np.broadcast_arrays(rows, cols))
        out = np.empty(i.size)
        noise.white(out, i.ravel(), j.ravel(), noise.key(self.seed, name))
        return out.reshape(i.shape)

    def sample(self, names: Collection[str]) -> dict[str, AnyArray]:
        """Return layers, ``row`` and ``col`` at the land cells of up to 64 rows spread over the landscape."""
        parts: dict[str, list[AnyArray]] = {name: [] for name in (*names, "row", "col")}
        for row in np.unique(np.linspace(0, self.rows - 1, 64).astype(int)):
            strip, land = self.strip(row, row + 1, names)
            cols = np.flatnonzero(land)
            for name in names:
                parts[name].append(strip[name][0, cols])
            parts["row"].append(np.full(cols.size, row))
            parts["col"].append(cols)
        return {name: np.concatenate(part) for name, part in parts.items()}

    def towns(self) -> list[dict[str, float]]:
        """Return five towns in the lowlands as row, column and weight, where observers live."""
        look = self.sample(["elevation"])
        rank = -np.log(self.white("towns", look["row"], look["col"])) * (1.0 + (look["elevation"] / 200.0) ** 2)
        best = enumerate(np.argsort(rank, kind="stable")[:5])
        return [{"row": int(look["row"][n]), "col": int(look["col"][n]), "weight": round(0.8**k, 3)} for k, n in best]

    def effort(self, towns: Collection[Mapping[str, float]], top: int, bottom: int) -> NDArray[np.float32]:
        """Return the sampling effort, 0 … 1: it decreases by 1/e per 40 km from a town, and is never zero."""
        total = np.full((bottom - top, self.cols), 0.01)
        for town in towns:
            down, right = np.arange(top, bottom)[:, None] - town["row"], np.arange(self.cols) - town["col"]
            total += town["weight"] * np.exp(-np.sqrt(down * down + right * right) * (self.cell / 40_000.0))
        return round_to(np.minimum(1.0, total), 0.001)

    def _relief(self, height: Array, y: Array, x: Array) -> dict[str, Array]:
        """Compute slope, sunlight and wetness from the height (with a margin of one cell)."""
        east = (height[1:-1, 2:] - height[1:-1, :-2]) / (2.0 * self.cell)
        south = (height[2:, 1:-1] - height[:-2, 1:-1]) / (2.0 * self.cell)
        steep = np.sqrt(east * east + south * south)
        centre = height[1:-1, 1:-1]
        above = (centre - self._wide("mean", y, x)) / 150.0
        hollow = 1.0 - above / (1.0 + np.abs(above))
        return {
            "elevation": centre,
            "slope": np.degrees(np.arctan(steep)),
            "insolation": 100.0 * np.maximum(0.0, (1.0 - south) / np.sqrt(1.0 + steep * steep)),
            "wetness": 16.0 * hollow / (1.0 + hollow + 12.0 * steep),
            "relief": np.maximum(0.0, self._wide("relief", y, x)),
        }

    def _climate(self, values: dict[str, Array], y: Array, x: Array) -> None:
        """Add the climate: warmer in the south, 6 °C colder per 1000 m, wetter where the west wind rises."""
        height, sun = values["elevation"], values["insolation"]
        coast = np.maximum(0.0, self._wide("coast", y, x))
        inland = coast / (coast + 60.0)
        weather = self._noise("weather", y, x, 3.0, 4)
        values["coast_distance"] = coast
        values["temperature"] = (
            12.5 + 7.0 * y[:, None] - 0.006 * height + 0.02 * (sun - 100.0) - 1.5 * inland + 0.6 * weather
        )
        values["seasonality"] = 3.2 + 6.0 * inland - 0.0006 * height + 1.4 * (1.0 - y[:, None]) - 0.35 * weather
        showers = self._noise("showers", y, x, 4.0, 5)
        rain = np.maximum(0.0, self._wide("rain", y, x))
        values["precipitation"] = (5600.0 * rain / (rain + 0.035) + 0.2 * height) * (1.0 + 0.16 * showers)
        share = np.clip(0.19 - 0.13 * y[:, None] + 0.03 * weather, 0.02, 0.24)
        values["dry_quarter"] = values["precipitation"] * share

    def _soil(self, values: dict[str, Array], y: Array, x: Array) -> None:
        """Add the soil: rock with its own pattern, leached by rain, rich where it is cold and wet."""
        rock, grain = self._noise("rock", y, x, 5.0, gain=0.6), self._noise("grain", y, x, 8.0, gain=0.6)
        wet = values["precipitation"] / (values["precipitation"] + 900.0)
        values["soil_ph"] = np.clip(7.9 - 3.2 * wet + 0.9 * rock, 3.5, 9.0)
        values["sand"] = np.clip(45.0 + 24.0 * grain - 6.0 * rock + 0.4 * values["slope"], 2.0, 96.0)
        cold = 1.0 / (1.0 + np.maximum(0.0, values["temperature"] + 2.0) / 8.0)
        values["soil_carbon"] = (12.0 + 130.0 * cold * wet + 3.0 * values["wetness"]) * (1.2 - 0.4 * grain)

    def _further(self, values: dict[str, Array], y: Array, x: Array) -> None:
        """Add quarters of the year, windy crests, clouds where it rains, and deep soil in hollows."""
        gusts, haze = self._noise("gusts", y, x, 4.0, 5), self._noise("haze", y, x, 3.0, 4)
        cover = self._noise("cover", y, x, 9.0, gain=0.6)
        swing = values["seasonality"] * (1.0 + 0.05 * haze)
        values["warm_quarter"] = values["temperature"] + 1.25 * swing
        values["cold_quarter"] = values["temperature"] - 1.2 * swing
        open_sea = 20.0 / (20.0 + values["coast_distance"])
        values["wind"] = (3.0 + 0.0012 * values["elevation"] + 2.0 * open_sea) * (1.0 + 0.2 * gusts)
        wet = values["precipitation"] / (values["precipitation"] + 900.0)
        values["cloud"] = np.clip(25.0 + 60.0 * wet + 8.0 * haze, 0.0, 100.0)
        values["soil_depth"] = np.maximum(2.0, (25.0 + 14.0 * values["wetness"]) * (1.0 + 0.4 * cover))
        if "sand" in values:
            values["clay"] = np.clip((100.0 - values["sand"]) * (0.42 + 0.2 * cover), 1.0, 80.0)

    def _landcover(self, values: dict[str, Array], y: Array, x: Array) -> NDArray[np.uint8]:
        """Assign land cover by warmth, moisture, slope and a patchwork; later rules override earlier ones."""
        patch, field = self._noise("patch", y, x, 10.0, gain=0.7), self._noise("field", y, x, 14.0, gain=0.6)
        warm = values["temperature"] + 1.2 * patch
        moist = values["precipitation"] / (24.0 * (np.maximum(warm, -5.0) + 14.0)) + 0.25 * patch
        slope, wet = values["slope"], values["wetness"]
        cover = np.full(warm.shape, 3, dtype=np.uint8)
        cover[moist < 1.0] = 4
        cover[moist > 1.5] = 1
        cover[(moist > 1.3) & (warm < 9.0)] = 2
        cover[(warm > 9.5) & (moist > 0.85) & (slope < 4.0) & (field > 0.1)] = 7
        cover[(wet + 1.5 * field > 8.4) & (moist > 1.1)] = 5
        cover[warm < 3.5] = 3
        cover[(warm < 0.8) | (slope + 4.0 * patch > 28.0)] = 6
        return cover


def round_to(values: Array, step: float) -> NDArray[np.float32]:
    """Round to multiples of ``step``, so that machines agree and files compress well."""
    per = round(1.0 / step)
    return (np.rint(values * per) / per).astype(np.float32)


def place(rows: int, cols: int, name: str) -> Grid:
    """Place a landscape around its centre in the Atlantic: 4 degrees, or 400 km in the units of a projected CRS."""
    try:
        with rasterio.Env():  # prevents PROJ from printing errors
            crs = CRS.from_user_input(name)
            (x, y), side = CENTRE, DEGREES
            if not crs.is_geographic:
                side = SIDE / crs.linear_units_factor[1]
                x, y = (float(np.rint(v[0])) for v in reproject(CRS.from_epsg(4326), crs, [x], [y]))
        cell = side / max(rows, cols)
        corner = Affine(cell, 0.0, x - cell * cols / 2, 0.0, -cell, y + cell * rows / 2)
        grid = Grid(width=cols, height=rows, transform=corner, crs=crs)
        valid = bool(np.isfinite(grid.lonlat(np.array([0.0, 0.0, rows, rows]), np.array([0.0, cols, 0.0, cols]))).all())
    except (RasterioError, ValueError, OverflowError):
        valid = False
    if not valid:
        want = "expected a coordinate system that covers longitude -15, latitude 40"
        raise UnknownCrsError(f"crs={name!r}: {want}, such as EPSG:4326")
    return grid
