"""Distances over the ground, in any coordinate reference system."""

import numpy as np
from rasterio.crs import CRS

from sdm.data.rasters.grid import Grid
from sdm.data.records.occurrences import WGS84, reproject
from sdm.errors import DataError

EARTH_KM = 6371.0088  # mean radius
DEGREE_KM = float(np.deg2rad(EARTH_KM))


def to_lonlat(x: np.ndarray, y: np.ndarray, grid: Grid, purpose: str) -> tuple[np.ndarray, np.ndarray]:
    """Return longitude and latitude of points in the coordinates of a grid; `purpose` says what needs its CRS."""
    return reproject(x, y, _known(grid, purpose), WGS84)


def cell_km(grid: Grid, rows: np.ndarray, purpose: str) -> tuple[np.ndarray, float]:
    """Return the width of the cells of each row, and the height of all cells, in km."""
    crs = _known(grid, purpose)
    if crs.is_geographic:
        _, lat = grid.xy(rows, np.zeros_like(rows))
        return abs(grid.transform.a) * DEGREE_KM * np.cos(np.deg2rad(lat)), abs(grid.transform.e) * DEGREE_KM
    unit = float(crs.linear_units_factor[1]) / 1000
    return np.full(len(rows), abs(grid.transform.a) * unit), abs(grid.transform.e) * unit


def _known(grid: Grid, purpose: str) -> CRS:
    """Return the coordinate reference system of a grid, or raise the user's error."""
    if grid.crs is None:
        raise DataError(f"{purpose} needs distances, and the layers have no coordinate reference system: give them one")
    return grid.crs
