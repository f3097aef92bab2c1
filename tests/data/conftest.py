"""Small rasters and the real data, for the tests of sdm/data."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.windows import Window

from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack

WriteRaster = Callable[..., Path]


def write_raster_file(path: Path, array: np.ndarray, *, origin=(10.0, 50.0), cell=0.5, crs="EPSG:4326", **options):
    """Write a GeoTIFF of one (h, w) or several (b, h, w) bands."""
    bands = array if array.ndim == 3 else array[None]
    profile = {
        "driver": "GTiff",
        "count": len(bands),
        "height": bands.shape[1],
        "width": bands.shape[2],
        "dtype": bands.dtype.name,
        "crs": crs,
        "transform": Affine(cell, 0, origin[0], 0, -cell, origin[1]),
        **options,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with rasterio.open(path, "w", **profile) as data:
        data.write(bands)
    return path


@pytest.fixture
def write_raster() -> WriteRaster:
    return write_raster_file


@pytest.fixture(scope="session")
def landscape(tmp_path_factory) -> Path:
    """A folder of three layers, 60 × 90 cells in blocks of 16 × 16: two continuous with nodata, one categorical."""
    folder = tmp_path_factory.mktemp("landscape")
    rng = np.random.default_rng(7)
    tiled = {"tiled": True, "blockxsize": 16, "blockysize": 16, "nodata": -9999}
    heat = rng.normal(20, 5, (60, 90)).astype("float32")
    heat[:10, :10] = -9999
    rain = rng.integers(0, 3000, (60, 90)).astype("int16")
    rain[50:, 80:] = -9999
    cover = rng.integers(1, 6, (60, 90)).astype("uint8")
    write_raster_file(folder / "heat.tif", heat, **tiled)
    write_raster_file(folder / "rain.tif", rain, **tiled)
    write_raster_file(folder / "cover.tif", cover, **(tiled | {"nodata": 255}))
    (folder / "heat.tif.aux.xml").write_text("<PAMDataset/>")
    (folder / "readme.txt").write_text("not a raster")
    return folder


@pytest.fixture(scope="session")
def whole() -> Callable[[Stack], np.ndarray]:
    """Read all of a stack at once, as (V, h, w)."""

    def read(stack: Stack) -> np.ndarray:
        with stack.reader() as reader:
            return reader.read(Window(0, 0, stack.width, stack.height))

    return read


@pytest.fixture(scope="session")
def naive() -> Callable[[Path, Sequence[str]], np.ndarray]:
    """Read all layers of a folder with rasterio's own masks, as (V, h, w)."""

    def read(folder: Path, names: Sequence[str]) -> np.ndarray:
        planes = []
        for name in names:
            with rasterio.open(folder / f"{name}.tif") as data:
                planes.append(data.read(1, masked=True).astype("float32").filled(np.nan))
        return np.array(planes)

    return read


@pytest.fixture
def stack(landscape: Path) -> Stack:
    return open_stack(landscape, categorical=["cover"])


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real data sets; tests that need them are skipped where they are not."""
    root = Path(os.environ.get("SDM_SHARED", Path(__file__).parents[3] / "shared")) / "data"
    if not (root / "phillips2006").is_dir():
        pytest.skip(f"the real data are not at {root} (set SDM_SHARED)")
    return root
