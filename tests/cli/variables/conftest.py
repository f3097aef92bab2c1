"""A virtual world with layers that say the same as others."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import rasterio
from terminal import change_raster
from zoo import once

POINTS = ("--background-points", 600)


@dataclass(frozen=True)
class Redundant:
    """The world with three more layers: one like the elevation, one the sum of two others, one of one value."""

    folder: Path
    records: Path
    both: Path
    survey: Path
    layers: Path
    warmer: Path


@pytest.fixture(scope="session")
def redundant(world, tmp_path_factory: pytest.TempPathFactory) -> Redundant:
    def make(folder: Path) -> None:
        for name in ("layers", "warmer"):
            shutil.copytree(world.folder / name, folder / name)
            add_redundant(folder / name)

    folder = once(tmp_path_factory, "redundant", make)
    return Redundant(folder, world.records, world.both, world.survey, folder / "layers", folder / "warmer")


def add_redundant(place: Path) -> None:
    """Write the three more layers beside those of a folder."""
    rng = np.random.default_rng(3)
    elevation = place / "elevation.tif"
    kind = {"dtype": "float32"}

    def noisy(band: np.ndarray) -> np.ndarray:
        return band + 0.1 * float(np.std(band)) * rng.normal(size=band.shape)

    change_raster(elevation, place / "height.tif", noisy, **kind)
    with rasterio.open(place / "precipitation.tif") as source:
        rain = source.read(1)
    change_raster(elevation, place / "total.tif", lambda band: band + rain, **kind)
    change_raster(elevation, place / "flat.tif", lambda band: np.full_like(band, 7.0), **kind)
