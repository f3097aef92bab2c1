"""A small virtual world, as files and as objects, and one run from objects that the tests of the library share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import rioxarray
import xarray as xr
from zoo import small_world

import sdm

QUICK: dict[str, Any] = {"features": "lq", "background_points": 400, "categorical": "landcover", "repeats": 2}


@dataclass(frozen=True)
class World:
    """A landscape of 48 × 48 cells with 5 layers and two species of 60 records each."""

    folder: Path

    @property
    def layers(self) -> Path:
        return self.folder / "layers"

    @property
    def records(self) -> Path:
        """Records of both species."""
        return self.folder / "occurrences.csv"

    def table(self) -> pd.DataFrame:
        return pd.read_csv(self.records)

    def first(self) -> pd.DataFrame:
        """Records of the first species."""
        table = self.table()
        return table[table["species"] == table["species"][0]].reset_index(drop=True)

    def points(self, crs: Any = 4326, **ways: Any) -> Any:
        import geopandas

        table = self.first()
        points = geopandas.points_from_xy(table["longitude"], table["latitude"])
        return geopandas.GeoDataFrame(table[["species"]], geometry=points, crs=4326).to_crs(crs)

    def dataset(self, folder: str = "layers") -> xr.Dataset:
        files = sorted((self.folder / folder).glob("*.tif"))
        return xr.Dataset({path.stem: rioxarray.open_rasterio(path).squeeze("band", drop=True) for path in files})


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(small_world(tmp_path_factory))


@pytest.fixture(scope="session")
def run(world: World) -> sdm.Run:
    """One species, from a DataFrame and an xarray Dataset, with everything that plots need."""
    folds = {"folds": 2, "split": "block", "block_size": 80}
    more = {"jackknife": True, "test_percent": 20, "threshold": "10p", "dpi": 50}
    return sdm.fit(world.first(), world.dataset(), **QUICK, **folds, **more)


@pytest.fixture(scope="session")
def both(world: World) -> sdm.Run:
    """Two species from files."""
    return sdm.fit(world.records, world.layers, **QUICK, curves=False, report=False, dpi=50)
