"""Layers that are larger than what a map may hold in memory."""

import numpy as np
import pytest
import rasterio
from rasterio import Affine

from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack

SIDE = 320


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """Two layers, heat and rain, of `SIDE` × `SIDE` cells in tiles, of which 30 × 40 have no data."""
    folder = tmp_path_factory.mktemp("layers")
    rng = np.random.default_rng(1)
    for name in ("heat", "rain"):
        values = rng.normal(size=(SIDE, SIDE)).astype("float32")
        values[:30, :40] = -9999
        profile = {"width": SIDE, "height": SIDE, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
        profile |= {"tiled": True, "blockxsize": 64, "blockysize": 64}
        with rasterio.open(
            folder / f"{name}.tif", "w", driver="GTiff", transform=Affine(0.01, 0, 0, 0, -0.01, 50), **profile
        ) as out:
            out.write(values, 1)
    return open_stack(folder)
