"""Vector files: GeoPackages that a GIS opens."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sdm.data.records.frames import pd
from sdm.errors import OutputError

DATE = "2000-01-01T00:00:00.000Z"  # GeoPackages hold a date of their own; a fixed one keeps equal runs equal


def write_points(table: pd.DataFrame, path: Path, layer: str, crs: Any) -> Path:
    """Write a table with columns x and y as points, in a GeoPackage; rows without coordinates have no point."""
    import geopandas
    import shapely

    x, y = (table[name].to_numpy(dtype=np.float64) for name in ("x", "y"))
    known = np.isfinite(x) & np.isfinite(y)
    points = np.full(len(table), None, dtype=object)
    points[known] = shapely.points(x[known], y[known])
    write_geopackage(geopandas.GeoDataFrame(table, geometry=points, crs=crs), path, layer)
    return path


def write_geopackage(frame: Any, path: Path, layer: str) -> None:
    """Write a layer of a GeoPackage, which may have others already; its bytes depend on its content alone."""
    import pyogrio

    earlier = pyogrio.get_gdal_config_option("OGR_CURRENT_DATE")
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": DATE})
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "'crs' was not provided", UserWarning)  # the layers have none either
            pyogrio.write_dataframe(frame, path, driver="GPKG", layer=layer, append=path.exists())
    except pyogrio.errors.DataSourceError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": earlier})
