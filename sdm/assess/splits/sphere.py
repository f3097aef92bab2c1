"""Distances along great circles."""

import numpy as np

from sdm.data.rasters.distance import EARTH_KM
from sdm.types import Array


def great_circle(one: Array, other: Array) -> Array:
    """Return the distances of points in degrees `(n, 2)` in km, pair by pair; one point `(1, 2)` pairs with all."""
    (lon, lat), (lon0, lat0) = np.radians(one).T, np.radians(other).T
    half = np.sin((lat - lat0) / 2) ** 2 + np.cos(lat) * np.cos(lat0) * np.sin((lon - lon0) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0))))
