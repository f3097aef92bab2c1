"""Slow, obvious versions of what a projection counts, and random layers on all sorts of grids to count on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from pyproj import CRS, Geod, Transformer
from rasterio import Affine

from sdm import Maxent
from sdm.data.crs import EARTH_KM
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.models.species import Model

GONE = 5  # a category that training does not have
NAMES = ("heat", "rain", "soil")
TIE = (0.3, 0.4, 1.0)  # what many cells have
CODES = ("stable_absent", "stable_present", "gain", "loss", "out_of_reach")


@dataclass(frozen=True)
class Place:
    """Where a grid lies."""

    crs: str | None
    transform: Affine
    height: int
    width: int

    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates of all cells, row by row."""
        rows, cols = np.divmod(np.arange(self.height * self.width), self.width)
        t = self.transform
        return t.c + (cols + 0.5) * t.a, t.f + (rows + 0.5) * t.e

    @property
    def degrees(self) -> bool:
        return self.crs is None or CRS(self.crs).is_geographic

    def areas(self) -> np.ndarray:
        """The km² of all cells: of degrees, those of polygons with many corners on the ellipsoid."""
        t = self.transform
        if not self.degrees:
            unit = CRS(self.crs).axis_info[0].unit_conversion_factor / 1000
            return np.full(self.height * self.width, abs(t.a * t.e) * unit**2)
        geod, out = Geod(ellps="WGS84"), []
        for row in range(self.height):
            y0, y1 = np.clip([t.f + row * t.e, t.f + (row + 1) * t.e], -90, 90)
            x = np.linspace(0, t.a, 100)  # edges along parallels are no shortest lines
            area, _ = geod.polygon_area_perimeter([*x, *x[::-1]], [*[y0] * 100, *[y1] * 100])
            out += [abs(area) / 1e6] * self.width
        return np.array(out)


GRIDS = {
    "north": Place("EPSG:4326", Affine(0.5, 0, 3, 0, -0.5, 60), 40, 33),
    "south-up": Place("EPSG:4326", Affine(0.5, 0, 3, 0, 0.5, -40), 31, 40),
    "globe": Place("EPSG:4326", Affine(5, 0, -180, 0, -5, 90), 36, 72),
    "from 0 to 360": Place("EPSG:4326", Affine(5, 0, 0, 0, -5, 90), 36, 72),
    "over the date line": Place("EPSG:4326", Affine(1, 0, 150, 0, -1, 20), 40, 60),
    "wide": Place("EPSG:4326", Affine(0.5, 0, -150, 0, -0.5, 80), 14, 600),  # more than one block
    "metres": Place("EPSG:3035", Affine(10000, 0, 4e6, 0, -10000, 3e6), 37, 41),
    "feet": Place("EPSG:2263", Affine(5000, 0, 900000, 0, -4000, 300000), 30, 31),
    "degrees without a system": Place(None, Affine(0.25, 0, 3, 0, -0.25, 60), 33, 30),
}


def draw_values(place: Place, rng: np.random.Generator, warmer: float = 0.0) -> np.ndarray:
    """Heat, rain and soil, (3, h, w); some cells are missing, one row has nothing, and many values are equal."""
    shape = place.height, place.width
    heat, rain = rng.normal(0, 1.3, (2, *shape)).round(1)
    soil = rng.choice([1, 2, 3, GONE], shape, p=[0.5, 0.3, 0.15, 0.05]).astype(float)
    heat += warmer
    heat[rng.random(shape) < 0.05] = np.nan
    soil[rng.random(shape) < 0.05] = np.nan
    rain[shape[0] // 3] = np.nan
    for k, value in enumerate(TIE):
        (heat, rain, soil)[k][-2:, ::2] = value
    return np.stack([heat, rain, soil]).astype("float32")


def write_layers(folder: Path, place: Place, values: np.ndarray, names: tuple[str, ...] = NAMES, **more: Any) -> Path:
    """Write layers of one grid into a folder, tiled where they are large."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = {"width": place.width, "height": place.height, "count": 1, "dtype": "float32", "nodata": -9999, **more}
    for name, band in zip(names, values):
        with rasterio.open(
            folder / f"{name}.tif", "w", driver="GTiff", crs=place.crs, transform=place.transform, **profile
        ) as out:
            out.write(np.where(np.isnan(band), -9999, band).astype("float32"), 1)
    return folder


def open_layers(folder: Path) -> Stack:
    """Open them."""
    return open_stack(str(folder), categorical=["soil"], names=list(NAMES))


@dataclass(frozen=True)
class Trained:
    """A model, and the table that it was fitted to."""

    model: Model
    table: Mapping[str, np.ndarray]

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Which of some cells (V, n) have a value that training did not reach; of soil, one that it did not have."""
        heat, rain, soil = values.astype(np.float64)
        out = ~np.isin(soil, np.unique(self.table["soil"]))
        for column, name in ((heat, "heat"), (rain, "rain")):
            out |= (column < self.table[name].min()) | (column > self.table[name].max())
        return out


def train(seed: int = 8, classes: str = "lqp") -> Trained:
    """Fit a model of heat, rain and soil."""
    rng = np.random.default_rng(seed)
    n = 400
    columns = {
        "heat": rng.normal(size=n).round(1).astype("float32").astype(float),
        "rain": rng.normal(size=n).round(1).astype("float32").astype(float),
        "soil": rng.choice([1.0, 2.0, 3.0], n),
    }
    y = (rng.random(n) < 1 / (1 + np.exp(1 - columns["heat"] - columns["rain"] * columns["heat"]))).astype(int)
    return Trained(Maxent(classes, categorical=["soil"]).fit(columns, y).model_, columns)


# ------------------------------------------------------------------------------------------- what is counted


def code_of(before: int, now: int, dispersal: bool = True) -> int:
    """The change of one cell, as its definition says."""
    if before == 255 or now == 255:
        return 255
    return {(0, 0): 0, (1, 1): 1, (0, 1): 2 if dispersal else 4, (1, 0): 3}[before, now]


def count_codes(codes: np.ndarray, areas: np.ndarray) -> dict[str, dict[str, float]]:
    """Cells and km² of every code, cell by cell."""
    out = {name: {"cells": 0, "km2": 0.0} for name in CODES}
    for code, area in zip(codes.tolist(), areas.tolist()):
        if code != 255:
            out[CODES[code]]["cells"] += 1
            out[CODES[code]]["km2"] += area
    return out


def middle(place: Place, chosen: np.ndarray) -> dict[str, float] | None:
    """The middle of some cells: of the globe, along the mean of the vectors to them; else of their coordinates."""
    if not chosen.any():
        return None
    (x, y), areas = place.centres(), place.areas()
    if place.degrees:
        total = np.zeros(3)
        for lon, lat, area in zip(np.deg2rad(x[chosen]), np.deg2rad(y[chosen]), areas[chosen]):
            total += area * np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
        lon, lat = math.degrees(math.atan2(total[1], total[0])), math.degrees(math.asin(total[2] / math.hypot(*total)))
        return {"lon": lon, "lat": lat}
    mean = {"x": float(np.average(x[chosen], weights=areas[chosen])), "y": float(y[chosen].mean())}
    lon, lat = Transformer.from_crs(place.crs, "EPSG:4326", always_xy=True).transform(mean["x"], mean["y"])
    return {**mean, "lon": lon, "lat": lat}


def weighted_means(values: np.ndarray, chosen: np.ndarray, areas: np.ndarray) -> dict[str, float | None]:
    """The means over area of heat and rain at some cells."""
    if not chosen.any():
        return {"heat": None, "rain": None}
    return {
        name: float((values[k][chosen].astype(np.float64) * areas[chosen]).sum() / areas[chosen].sum())
        for k, name in enumerate(("heat", "rain"))
    }


def apart_km(place: Place) -> np.ndarray:
    """How far every cell's centre is from every other one's: along great circles, or in the plane."""
    x, y = place.centres()
    if not place.degrees:
        unit = CRS(place.crs).axis_info[0].unit_conversion_factor / 1000
        return np.hypot(x[:, None] - x, y[:, None] - y) * unit
    lon, lat = np.deg2rad(x), np.deg2rad(y)
    half = (
        np.sin((lat[:, None] - lat) / 2) ** 2
        + np.cos(lat[:, None]) * np.cos(lat) * np.sin((lon[:, None] - lon) / 2) ** 2
    )
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.minimum(half, 1.0)))


def limited(codes: np.ndarray, occupied: np.ndarray, apart: np.ndarray, km: float) -> np.ndarray:
    """Codes of change where cells further than `km` from all that were occupied cannot be reached."""
    out = codes.copy()
    reached = (apart[:, occupied] <= km).any(axis=1) if occupied.any() else np.zeros(len(codes), dtype=bool)
    out[(codes == 2) & ~reached] = 4
    out[(codes == 1) & ~reached] = 3
    return out


def flat(path: Path) -> np.ndarray:
    """The cells of a raster as they are stored, row by row."""
    with rasterio.open(path) as data:
        return data.read(1).ravel()


def write_codes(path: Path, place: Place, codes: np.ndarray) -> Path:
    """Write bytes as a raster."""
    profile = {"width": place.width, "height": place.height, "count": 1, "dtype": "uint8", "nodata": 255}
    with rasterio.open(path, "w", driver="GTiff", crs=place.crs, transform=place.transform, **profile) as out:
        out.write(codes.reshape(place.height, place.width).astype("uint8"), 1)
    return path
