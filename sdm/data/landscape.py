"""A virtual landscape: fractal terrain, and the climate, soil and land cover that follow from it.

Every value is a function of the seed and of the place alone: gradient noise on lattices whose gradients are
hashes, so a landscape is made strip by strip, in any order, in bounded memory, with the same bits each time.
What needs a wide view (rain shadow, distance to the coast, relief) is computed on a coarse grid and interpolated.

The world is a square of 400 km; ``size`` is how finely it is looked at. Terrain uses only ``+ - * / sqrt``, which
IEEE 754 fixes to the last bit, and what is derived from it is rounded, so that machines agree.
"""

import hashlib
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
from sdm.errors import OptionError

Array = NDArray[np.float64]
Codes = NDArray[np.uint64]
SIDE = 400_000.0  # metres: the longer side of every landscape
DEGREES = 4.0  # the same in a geographic CRS: a degree counts as 100 km
CENTRE = (-15.0, 40.0)  # longitude, latitude: open sea, where no real land is
SEA = 0.22  # the share of cells below sea level
_COARSE = 160  # cells along the longer side of the coarse grid
_MARGIN = 8  # coarse cells around it: splines need neighbours, the west wind needs a sea to come from


@dataclass(frozen=True)
class Layer:
    """One layer of the landscape: its unit, the step its values are rounded to, and what it is."""

    name: str
    unit: str
    step: float
    text: str


#: The continuous layers, in the order in which ``layers=n`` takes them.
LAYERS = (
    Layer("temperature", "°C", 0.01, "annual mean temperature"),
    Layer("precipitation", "mm", 1.0, "annual precipitation"),
    Layer("elevation", "m", 1.0, "height above sea level"),
    Layer("slope", "degrees", 0.1, "steepness"),
    Layer("seasonality", "°C", 0.01, "standard deviation of the monthly temperatures"),
    Layer("wetness", "index", 0.01, "topographic wetness: 0 dry crest, 10 wet hollow"),
    Layer("insolation", "%", 0.1, "sunlight on the slope, flat ground 100"),
    Layer("coast_distance", "km", 0.1, "distance to the sea"),
    Layer("dry_quarter", "mm", 1.0, "precipitation of the driest quarter"),
    Layer("soil_ph", "pH", 0.01, "acidity of the soil"),
    Layer("sand", "%", 0.1, "sand in the soil"),
    Layer("soil_carbon", "g/kg", 0.1, "organic carbon in the soil"),
    Layer("relief", "m", 1.0, "difference between the highest and the lowest place within 6 km"),
)
#: The classes of the layer ``landcover``; 0 is the sea.
CLASSES = {
    1: "broadleaf forest",
    2: "conifer forest",
    3: "grassland",
    4: "shrubland",
    5: "wetland",
    6: "bare rock",
    7: "cropland",
}


def key(seed: int, name: str) -> np.uint64:
    """Return the 64-bit key of one stream of randomness: the same for one seed and name, unrelated for others."""
    digest = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@jit
def _hash(i: np.int64, j: np.int64, code: np.uint64) -> np.uint64:
    """Mix two integers and a key to 64 bits (the finaliser of MurmurHash 3)."""
    h = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F) + code
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@jit
def _gradient(i: np.int64, j: np.int64, code: np.uint64) -> tuple[float, float]:
    """Return the gradient of a lattice corner, each part in [-1, 1), taken from the corner's hash."""
    h = _hash(i, j, code)
    gx = np.float64(np.int64(h & np.uint64(0xFFFFFF))) / 8388608.0 - 1.0
    return gx, np.float64(np.int64((h >> np.uint64(24)) & np.uint64(0xFFFFFF))) / 8388608.0 - 1.0


@jit
def _noise(out: Array, x: Array, y: Array, code: np.uint64) -> None:
    """Gradient noise along a path of points: ``g · d`` of the four corners, blended by ``6t⁵ - 15t⁴ + 10t³``.

    Mean 0, mostly within ±0.7. Neighbours on the path mostly share their corners, which are hashed only once.
    """
    i = j = -1e300
    ax = ay = bx = by = cx = cy = dx = dy = 0.0
    for n in range(x.size):
        r, s = x[n] - i, y[n] - j
        if r < 0.0 or r >= 1.0 or s < 0.0 or s >= 1.0:
            i, j = np.floor(x[n]), np.floor(y[n])
            row, column = np.int64(i), np.int64(j)
            ax, ay = _gradient(row, column, code)
            bx, by = _gradient(row + 1, column, code)
            cx, cy = _gradient(row, column + 1, code)
            dx, dy = _gradient(row + 1, column + 1, code)
            r, s = x[n] - i, y[n] - j
        u = r * r * r * (r * (r * 6.0 - 15.0) + 10.0)
        v = s * s * s * (s * (s * 6.0 - 15.0) + 10.0)
        top, end = ax * r + ay * s, bx * (r - 1.0) + by * s
        top += u * (end - top)
        low, end = cx * r + cy * (s - 1.0), dx * (r - 1.0) + dy * (s - 1.0)
        low += u * (end - low)
        out[n] = 1.6 * (top + v * (low - top))


@jit
def _scaled(x: Array, scale: float) -> Array:
    """Return ``scale * x``; loops compile in a tenth of the time of array expressions, here and below."""
    out = np.empty(x.size)
    for n in range(x.size):
        out[n] = scale * x[n]
    return out


@jit
def _turn(x: Array, y: Array) -> None:
    """Go to the next octave: lattices twice as fine, turned by 37° so that none shows through, and shifted."""
    for n in range(x.size):
        x[n], y[n] = 2.0 * (0.8 * x[n] - 0.6 * y[n]) + 17.25, 2.0 * (0.6 * x[n] + 0.8 * y[n]) + 5.75


@jit
def _fractal(x: Array, y: Array, scale: float, code: np.uint64, octaves: int, gain: float) -> Array:
    """Sum octaves of noise along a path, ``Σ gainᵏ noise(pₖ)``."""
    p, q, part, total, weight = _scaled(x, scale), _scaled(y, scale), np.empty(x.size), np.zeros(x.size), 1.0
    for k in range(octaves):
        _noise(part, p, q, code + np.uint64(k))
        for n in range(x.size):
            total[n] += weight * part[n]
        _turn(p, q)
        weight *= gain
    return total


@jit
def _ridged(x: Array, y: Array, scale: float, code: np.uint64, octaves: int, gain: float) -> Array:
    """Ridges and the valleys between them, ``Σ wₖ (1 - |noise|)²`` from 0 to ``Σ wₖ``; rougher where it is high."""
    p, q, part, total = _scaled(x, scale), _scaled(y, scale), np.empty(x.size), np.zeros(x.size)
    above, weight = np.ones(x.size), 1.0
    for k in range(octaves):
        _noise(part, p, q, code + np.uint64(k))
        for n in range(x.size):
            r = 1.0 - min(1.0, 1.6 * abs(part[n]))
            r = r * r * above[n]
            total[n] += weight * r
            above[n] = min(1.0, 0.25 + 1.5 * r)
        _turn(p, q)
        weight *= gain
    return total


@jit
def _terrain(shore: Array, height: Array, y: Array, x: Array, codes: Codes, octaves: int, sea: float) -> None:
    """Fill the shore function (land where it exceeds ``sea``) and the height in metres, on the lattice y × x."""
    for i in range(y.size):
        p, q = _scaled(x, 1.0), np.full(x.size, y[i])
        bend, warp = _fractal(p, q, 2.0, codes[0], 2, 0.4), _fractal(p, q, 2.0, codes[1], 2, 0.4)
        for j in range(x.size):
            p[j] += 0.1 * bend[j]
            q[j] += 0.1 * warp[j]
        coast = _fractal(p, q, 2.0, codes[2], octaves, 0.5)
        ridge = _ridged(p, q, 5.0, codes[3], octaves - 1, 0.55)
        belt = _fractal(p, q, 2.0, codes[4], 2, 0.5)
        hills = _fractal(p, q, 8.0, codes[5], octaves - 2, 0.6)
        for j in range(x.size):
            dx, dy = x[j] - 0.58, y[i] - 0.5
            shore[i, j] = coast[j] - 1.6 * max(0.0, np.sqrt(dx * dx + dy * dy) - 0.25)
            t = min(1.0, max(0.0, 1.4 * (shore[i, j] - sea)))
            peaks = 2700.0 * min(1.0, max(0.0, 0.55 + 1.1 * belt[j])) * ridge[j]
            height[i, j] = 350.0 * t * (1.0 + 0.5 * hills[j]) + peaks * t / (t + 0.4)


@jit
def _field(out: Array, y: Array, x: Array, code: np.uint64, scale: float, octaves: int, gain: float) -> None:
    """Fill one fractal field with ``scale`` lattice cells a side in its first octave."""
    for i in range(y.size):
        row = _fractal(x, np.full(x.size, y[i]), scale, code, octaves, gain)
        for j in range(x.size):
            out[i, j] = row[j]


@jit
def _white(out: Array, rows: NDArray[np.int64], cols: NDArray[np.int64], code: np.uint64) -> None:
    """Fill a vector with independent uniform numbers in (0, 1), one a cell: what a cell gets depends on it alone."""
    for n in range(out.size):
        out[n] = (np.float64(_hash(rows[n], cols[n], code) >> np.uint64(12)) + 0.5) / 4503599627370496.0


@jit
def _spline(out: Array, grid: Array, y: Array, x: Array) -> None:
    """Interpolate a coarse grid by cubic B-splines (smooth to the second derivative) at fractional rows × columns."""
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


@jit
def _coast(out: Array, land: NDArray[np.bool_]) -> None:
    """Euclidean distance, in cells, from each cell to the nearest sea: along columns, then along rows."""
    rows, cols = land.shape
    column = np.full((rows, cols), 1e9)
    for j in range(cols):
        for i in range(rows):
            column[i, j] = 0.0 if not land[i, j] else (column[i - 1, j] + 1.0 if i else 1e9)
        for i in range(rows - 2, -1, -1):
            column[i, j] = min(column[i, j], column[i + 1, j] + 1.0)
    for i in range(rows):
        for j in range(cols):
            best = 1e18
            for k in range(cols):
                best = min(best, column[i, k] * column[i, k] + float((j - k) * (j - k)))
            out[i, j] = np.sqrt(best)


def _blur(grid: Array, times: int) -> Array:
    """Smooth with the weights ¼ ½ ¼ along both axes, so many times."""
    for _ in range(times):
        wide = np.pad(grid, 1, mode="edge")
        wide = (wide[:-2] + 2.0 * wide[1:-1] + wide[2:]) / 4.0
        grid = (wide[:, :-2] + 2.0 * wide[:, 1:-1] + wide[:, 2:]) / 4.0
    return grid


def _rain(height: Array, land: NDArray[np.bool_], step: float) -> Array:
    """Rain from a west wind: air takes water up over the sea, loses it where the ground rises, is dry behind."""
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
    """A landscape of ``rows`` × ``cols`` cells by seed; its longer side is 400 km, whatever the number of cells.

    Parameters
    ----------
    rows, cols : int
        Cells. The same seed with more cells is the same world seen in more detail.
    seed : int
        Everything random follows from it.

    Examples
    --------
    >>> strip, land = Landscape(64, 64, seed=1).strip(0, 8, ["temperature", "landcover"])
    >>> strip["temperature"].shape, strip["landcover"].dtype.name, land.shape
    ((8, 64), 'uint8', (8, 64))
    """

    def __init__(self, rows: int, cols: int, seed: int) -> None:
        self.rows, self.cols, self.seed = rows, cols, seed
        self.side = max(rows, cols)
        self.cell = SIDE / self.side
        self._octaves = max(3, (self.side // 2).bit_length() - 1)
        self._codes = np.array([key(seed, f"terrain {k}") for k in range(6)])
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
        """Look at the whole world coarsely: what a strip cannot know of its surroundings."""
        rows, cols = (-(-n * _COARSE // self.side) + 2 * _MARGIN for n in (self.rows, self.cols))
        y, x = ((np.arange(n) - _MARGIN + 0.5) / _COARSE for n in (rows, cols))
        shore, height = self._terrain(y, x, 6)
        land = shore > self._sea
        coast, step = np.empty_like(height), SIDE / _COARSE
        _coast(coast, land)
        near = np.lib.stride_tricks.sliding_window_view(np.pad(height, 2, mode="edge"), (5, 5))
        return {
            "rain": _rain(height, land, step),
            "coast": coast * (step / 1000.0),
            "relief": near.max(axis=(2, 3)) - near.min(axis=(2, 3)),
            "mean": _blur(height, 3),
        }

    def _wide(self, name: str, y: Array, x: Array) -> Array:
        """Return one of the coarse grids, interpolated at y × x."""
        out = np.empty((y.size, x.size))
        _spline(out, self._coarse[name], y * _COARSE + (_MARGIN - 0.5), x * _COARSE + (_MARGIN - 0.5))
        return out

    def _noise(self, name: str, y: Array, x: Array, scale: float, octaves: int = 0, gain: float = 0.5) -> Array:
        """Return a fractal field of its own, mean 0 and mostly within ±1; ``octaves=0`` goes down to the cell."""
        out = np.empty((y.size, x.size))
        finest = int(self.side / (2.0 * scale)).bit_length()
        _field(out, y, x, key(self.seed, name), scale, octaves or max(2, finest), gain)
        return out

    def strip(self, top: int, bottom: int, names: Collection[str]) -> tuple[dict[str, NDArray], NDArray[np.bool_]]:
        """Return the layers ``names`` in the rows ``top`` … ``bottom`` - 1, and which cells are land.

        Returns
        -------
        layers : dict of arrays (bottom - top, cols)
            float32, rounded to each layer's step; ``landcover`` uint8. Cells in the sea hold numbers without meaning.
        land : bool array (bottom - top, cols)
        """
        y = (np.arange(top - 1, bottom + 1) + 0.5) / self.side
        x = (np.arange(-1, self.cols + 1) + 0.5) / self.side
        shore, height = self._terrain(y, x, self._octaves)
        y, x = y[1:-1], x[1:-1]
        values = self._relief(height, y, x)
        self._climate(values, y, x)
        if not {"soil_ph", "sand", "soil_carbon"}.isdisjoint(names):
            self._soil(values, y, x)
        out: dict[str, NDArray] = {k.name: round_to(values[k.name], k.step) for k in LAYERS if k.name in names}
        if "landcover" in names:
            out["landcover"] = self._landcover(values, y, x)
        for name in names:
            if name.startswith("noise"):
                cells = np.arange(top, bottom)[:, None], np.arange(self.cols)
                out[name] = round_to(self.white(name, *cells) * 10.0, 0.01)
        return out, shore[1:-1, 1:-1] > self._sea

    def white(self, name: str, rows: ArrayLike, cols: ArrayLike) -> Array:
        """Return independent uniform numbers in (0, 1), one for each cell, of the stream ``name``."""
        i, j = (np.array(part, np.int64) for part in np.broadcast_arrays(rows, cols))
        out = np.empty(i.size)
        _white(out, i.ravel(), j.ravel(), key(self.seed, name))
        return out.reshape(i.shape)

    def sample(self, names: Collection[str]) -> dict[str, NDArray]:
        """Return layers, ``row`` and ``col`` at the land cells of up to 64 rows spread over the landscape."""
        parts: dict[str, list[NDArray]] = {name: [] for name in (*names, "row", "col")}
        for row in np.unique(np.linspace(0, self.rows - 1, 64).astype(int)):
            strip, land = self.strip(row, row + 1, names)
            cols = np.flatnonzero(land)
            for name in names:
                parts[name].append(strip[name][0, cols])
            parts["row"].append(np.full(cols.size, row))
            parts["col"].append(cols)
        return {name: np.concatenate(part) for name, part in parts.items()}

    def towns(self) -> list[dict[str, float]]:
        """Return five towns in the lowlands, as row, column and weight: observers come from there."""
        look = self.sample(["elevation"])
        rank = -np.log(self.white("towns", look["row"], look["col"])) * (1.0 + (look["elevation"] / 200.0) ** 2)
        best = enumerate(np.argsort(rank, kind="stable")[:5])
        return [{"row": int(look["row"][n]), "col": int(look["col"][n]), "weight": round(0.8**k, 3)} for k, n in best]

    def effort(self, towns: Collection[Mapping[str, float]], top: int, bottom: int) -> NDArray[np.float32]:
        """Return the observers' effort, 0 … 1: it falls by 1/e each 40 km from a town, and nowhere to zero."""
        total = np.full((bottom - top, self.cols), 0.01)
        for town in towns:
            down, right = np.arange(top, bottom)[:, None] - town["row"], np.arange(self.cols) - town["col"]
            total += town["weight"] * np.exp(-np.sqrt(down * down + right * right) * (self.cell / 40_000.0))
        return round_to(np.minimum(1.0, total), 0.001)

    def _relief(self, height: Array, y: Array, x: Array) -> dict[str, Array]:
        """Derive from the height (with one cell around) slope, sunlight and wetness."""
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
        """Add the climate: warmer to the south, 6 °C colder each 1000 m, wetter where the west wind rises."""
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
        """Add the soil: rock of its own pattern, leached by rain, rich where it is cold and wet."""
        rock, grain = self._noise("rock", y, x, 5.0, gain=0.6), self._noise("grain", y, x, 8.0, gain=0.6)
        wet = values["precipitation"] / (values["precipitation"] + 900.0)
        values["soil_ph"] = np.clip(7.9 - 3.2 * wet + 0.9 * rock, 3.5, 9.0)
        values["sand"] = np.clip(45.0 + 24.0 * grain - 6.0 * rock + 0.4 * values["slope"], 2.0, 96.0)
        cold = 1.0 / (1.0 + np.maximum(0.0, values["temperature"] + 2.0) / 8.0)
        values["soil_carbon"] = (12.0 + 130.0 * cold * wet + 3.0 * values["wetness"]) * (1.2 - 0.4 * grain)

    def _landcover(self, values: dict[str, Array], y: Array, x: Array) -> NDArray[np.uint8]:
        """Decide what grows where, by warmth, moisture, slope and a patchwork; later rules go over earlier ones."""
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
    """Round to multiples of ``step``: what differs in the last bit becomes equal, and files become small."""
    per = round(1.0 / step)
    return (np.rint(values * per) / per).astype(np.float32)


@dataclass(frozen=True)
class Grid:
    """Where the cells of a landscape lie on the map."""

    rows: int
    cols: int
    crs: CRS
    transform: Affine

    def lonlat(self, rows: Array, cols: Array) -> tuple[Array, Array]:
        """Return longitude and latitude (WGS 84) of fractional rows and columns; whole numbers are cell corners."""
        x, y = self.transform.c + self.transform.a * cols, self.transform.f + self.transform.e * rows
        if self.crs != CRS.from_epsg(4326):
            x, y = (np.asarray(values) for values in reproject(self.crs, CRS.from_epsg(4326), x, y))
        return x, y


def place(rows: int, cols: int, name: str) -> Grid:
    """Lay a landscape around its centre in the Atlantic: 4 degrees, or 400 km in the units of a projected CRS."""
    try:
        with rasterio.Env():  # within it, PROJ's complaints are exceptions and not lines on the terminal
            crs = CRS.from_user_input(name)
            (x, y), side = CENTRE, DEGREES
            if not crs.is_geographic:
                side = SIDE / crs.linear_units_factor[1]
                x, y = (float(np.rint(v[0])) for v in reproject(CRS.from_epsg(4326), crs, [x], [y]))
        cell = side / max(rows, cols)
        grid = Grid(rows, cols, crs, Affine(cell, 0.0, x - cell * cols / 2, 0.0, -cell, y + cell * rows / 2))
        known = bool(np.isfinite(grid.lonlat(np.array([0.0, 0.0, rows, rows]), np.array([0.0, cols, 0.0, cols]))).all())
    except (RasterioError, ValueError, OverflowError):
        known = False
    if not known:
        want = "expected a coordinate system that covers longitude -15, latitude 40"
        raise OptionError(f"crs is {name!r}, {want}: try EPSG:4326")
    return grid
