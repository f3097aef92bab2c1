"""Coordinate reference systems: comparison, transformation of coordinates, and the size of the earth."""

from typing import Any

import numpy as np
from rasterio.crs import CRS
from rasterio.errors import CRSError

from sdm.errors import CrsError, UnknownCrsError
from sdm.types import Array

WGS84 = "EPSG:4326"
EARTH_KM = 6371.0088  # mean radius
DEGREE_KM = float(np.deg2rad(EARTH_KM))


def crs_name(crs: CRS | None) -> str:
    """Return a short name of a reference system."""
    return "no known coordinate reference system" if crs is None else crs.to_string()[:60]


def same_crs(one: CRS | None, other: CRS | None) -> bool:
    """Whether two reference systems are the same, in any dialect of WKT."""
    if one is None or other is None:
        return one is other
    return bool(one == other) or bool(one.to_dict() and one.to_dict() == other.to_dict())


def reproject(x: np.ndarray, y: np.ndarray, source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates in another CRS, inf if that is impossible; unchanged if the CRS is the same or unknown."""
    if target is None or same_crs(as_crs(source), as_crs(target)):
        return x, y
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    one, two = as_crs(source), as_crs(target)
    try:
        new_x, new_y = Transformer.from_crs(one.to_wkt(), two.to_wkt(), always_xy=True).transform(x, y)
    except (ProjError, CRSError) as problem:
        names = f"from '{crs_name(one)}' to '{crs_name(two)}'"
        raise CrsError(f"coordinates cannot be transformed {names}: check --crs and the layers") from problem
    return np.asarray(new_x, dtype=np.float64), np.asarray(new_y, dtype=np.float64)


def as_crs(crs: Any) -> CRS:
    """Return a CRS object; raise UnknownCrsError if it is invalid."""
    try:
        return CRS.from_user_input(crs)
    except (CRSError, ValueError, TypeError) as problem:
        raise UnknownCrsError(
            f"unknown crs '{str(crs)[:80]}': expected an EPSG code, a PROJ string or WKT"
        ) from problem


def great_circle(one: Array, other: Array) -> Array:
    """Return the pairwise distances in km of points in degrees `(n, 2)`; one point `(1, 2)` pairs with all."""
    (lon, lat), (lon0, lat0) = np.radians(one).T, np.radians(other).T
    half = np.sin((lat - lat0) / 2) ** 2 + np.cos(lat) * np.cos(lat0) * np.sin((lon - lon0) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0))))
