"""Layers under the names that providers give them: WorldClim 2.1, CHELSA 2.1, NetCDF with months; of any content."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import rasterio
from scipy.io import netcdf_file

GCM, SCENARIO = "ACCESS-CM2", "ssp245"


def worldclim(folder: Path, variables: Mapping[int, Path]) -> Path:
    """Write rasters as WorldClim's present: one file per variable, wc2.1_10m_bio_1.tif and so on."""
    return _copies(folder, {f"wc2.1_10m_bio_{n}": path for n, path in variables.items()})


def worldclim_future(folder: Path, variables: Mapping[int, Path], described: bool = True) -> Path:
    """Write rasters as WorldClim's future: one file of 19 bands, which newer ones call bio01, bio02, ...; bands of
    variables that are not given hold zeros."""
    with rasterio.open(next(iter(variables.values()))) as first:
        profile = {**first.profile, "count": 19, "dtype": "float32", "driver": "GTiff", "nodata": -9999}
        nothing = np.zeros(first.shape, dtype="float32")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"wc2.1_10m_bioc_{GCM}_{SCENARIO}_2041-2060.tif"
    with rasterio.open(path, "w", **profile) as data:
        for n in range(1, 20):
            data.write(_values(variables[n]) if n in variables else nothing, n)
            if described:
                data.set_band_description(n, f"bio{n:02d}")
    return path


def chelsa(folder: Path, variables: Mapping[int, Path], when: str = "1981-2010") -> Path:
    """Write rasters as CHELSA's; of a future `when` is such as 2041-2070_gfdl-esm4_ssp126."""
    return _copies(folder, {f"CHELSA_bio{n}_{when}_V.2.1": path for n, path in variables.items()})


def netcdf(
    path: Path,
    variables: Mapping[str, np.ndarray],
    *,
    times: Sequence[float] = (),
    units: str = "days since 1850-01-01",
    calendar: str = "standard",
    x0: float = 0.0,
    y0: float = 0.0,
    cell: float = 1.0,
) -> Path:
    """Write variables, (h, w) or (times, h, w) from the north, to a NetCDF file as climate models do."""
    height, width = next(iter(variables.values())).shape[-2:]
    with netcdf_file(str(path), "w") as file:
        file.Conventions = b"CF-1.7"
        for name, size, start, unit in (("lat", height, y0, "degrees_north"), ("lon", width, x0, "degrees_east")):
            file.createDimension(name, size)
            axis = file.createVariable(name, "d", (name,))
            axis[:] = start + cell * (np.arange(size) + 0.5)
            axis.units = unit
        if times:
            file.createDimension("time", len(times))
            file.createDimension("bnds", 2)
            axis = file.createVariable("time", "d", ("time",))
            axis[:] = times
            axis.units, axis.calendar, axis.bounds = units, calendar, "time_bnds"
            file.createVariable("time_bnds", "d", ("time", "bnds"))[:] = 0
        for name, values in variables.items():
            dimensions = ("time", "lat", "lon") if times else ("lat", "lon")
            data = file.createVariable(name, "f", dimensions)
            data[:] = values[..., ::-1, :]
            data.long_name = f"long name of {name}"
    return path


def _copies(folder: Path, files: Mapping[str, Path]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in files.items():
        (folder / f"{name}.tif").write_bytes(path.read_bytes())
    return folder


def _values(path: Path) -> np.ndarray:
    with rasterio.open(path) as data:
        return data.read(1, masked=True).astype("float32").filled(-9999)
