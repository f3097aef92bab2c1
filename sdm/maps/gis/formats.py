"""The format of a raster, from the extension of its file name."""

from pathlib import Path

import rasterio
import rasterio.shutil
from rasterio.drivers import raster_driver_extensions

from sdm.errors import OptionError

COG = "COG"
ASCII = "AAIGrid"
SINGLE = (ASCII, "ZMap", "XYZ", "PCRaster", "SAGA")  # formats of one band
# GDAL writes pictures without georeference, and creates some formats only from scratch.
_NOT = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "VRT", "MEM", "PDF", "GPKG", "MBTiles", "KMLSUPEROVERLAY", "MFF")


def map_format(path: Path, bands: int = 1) -> str:
    """Return the name of the GDAL driver for an extension. GeoTIFFs are cloud-optimised.

    Raises
    ------
    OptionError
        If GDAL does not write such files as maps, or they cannot have this number of bands.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending in ("tif", "tiff", ""):
        return COG
    drivers = raster_driver_extensions()
    driver: str | None = drivers.get(ending)
    if driver is None or driver in _NOT:
        good = ", ".join(f".{name}" for name in ("tif", "asc", "img", "nc", "bil", "grd", "sdat") if name in drivers)
        raise OptionError(f"{path.name} cannot be a map: expected the ending {good}")
    if bands > 1 and driver in SINGLE:
        raise OptionError(f"{path.name} can have one band ({driver}), and the map has {bands}: use a .tif")
    return driver


def copy_map(source: Path, target: Path, driver: str) -> None:
    """Write a map in another format of GDAL, with its coordinate system in a file next to it if the format cannot store
    it. Nine digits store a 32-bit number exactly."""
    digits = {"SIGNIFICANT_DIGITS": 9} if driver == ASCII else {}
    with rasterio.Env(GDAL_PAM_ENABLED=driver != ASCII):  # tags of an ASCII grid would be another file
        rasterio.shutil.copy(source, target, driver=driver, **digits)
