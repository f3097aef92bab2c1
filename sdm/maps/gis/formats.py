"""Which format a raster is written in: by the ending of its name, as GDAL knows them."""

from pathlib import Path

import rasterio
import rasterio.shutil
from rasterio.drivers import raster_driver_extensions

from sdm.errors import OptionError

COG = "COG"
ASCII = "AAIGrid"
SINGLE = (ASCII, "ZMap", "XYZ", "PCRaster", "SAGA")  # formats of one band
# Pictures hold neither numbers nor places, and some formats cannot be written from another file.
_NOT = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "VRT", "MEM", "PDF", "GPKG", "MBTiles", "KMLSUPEROVERLAY", "MFF")


def map_format(path: Path, bands: int = 1) -> str:
    """Return GDAL's name of the format that a file's ending means; GeoTIFFs are cloud-optimized.

    Raises
    ------
    OptionError
        If GDAL does not write such files as maps, or they cannot have this number of bands.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending in ("tif", "tiff", ""):
        return COG
    known = raster_driver_extensions()
    driver: str | None = known.get(ending)
    if driver is None or driver in _NOT:
        good = ", ".join(f".{name}" for name in ("tif", "asc", "img", "nc", "bil", "grd", "sdat") if name in known)
        raise OptionError(f"{path.name} cannot be a map: expected the ending {good}")
    if bands > 1 and driver in SINGLE:
        raise OptionError(f"{path.name} can have one band ({driver}), and the map has {bands}: use a .tif")
    return driver


def copy_map(source: Path, target: Path, driver: str) -> None:
    """Write a map that lies on disk in another of GDAL's formats; its coordinate system lies beside it where the format
    has no place for one. Nine digits are all that a map of 32 bits holds: reading them gives back the same map."""
    digits = {"SIGNIFICANT_DIGITS": 9} if driver == ASCII else {}
    with rasterio.Env(GDAL_PAM_ENABLED=driver != ASCII):  # tags of an ASCII grid would be a file of their own
        rasterio.shutil.copy(source, target, driver=driver, **digits)
