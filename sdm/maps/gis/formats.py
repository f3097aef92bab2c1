"""Which format a raster is written in: by the ending of its name, as GDAL knows them; and ASCII grids."""

from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
from rasterio.drivers import raster_driver_extensions
from rasterio.windows import Window

from sdm.data.opening.rasters import open_local
from sdm.errors import OptionError

COG = "COG"
ASCII = "AAIGrid"
SINGLE = (ASCII, "ZMap", "XYZ", "PCRaster", "SAGA")  # formats of one band
_ROWS = 1 << 20  # cells of a text grid that are written at a time, about
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
        raise OptionError(f"{path.name} cannot be a map: expected one of the endings {good}")
    if bands > 1 and driver in SINGLE:
        raise OptionError(f"{path.name} has room for one band ({driver}), and the map has {bands}: write a .tif")
    return driver


def copy_map(source: Path, target: Path, driver: str) -> None:
    """Write a map that lies on disk in another of GDAL's formats; what the format has beside it lies beside it."""
    if driver == ASCII:
        with open_local(source) as opened:
            if _fits_text(opened):
                _write_text(opened, target)
                return
    rasterio.shutil.copy(source, target, driver=driver)


def _fits_text(source: rasterio.DatasetReader) -> bool:
    """Tell whether an open map can be an ASCII grid: one band, north at the top, square cells."""
    place = source.transform
    turned = place.b != 0 or place.d != 0 or place.a <= 0 or place.e >= 0
    return source.count == 1 and not turned and abs(place.a + place.e) <= 1e-9 * place.a


def _write_text(source: rasterio.DatasetReader, target: Path) -> None:
    """Write an open map as an ASCII grid, with its coordinate system in a `.prj` file; a few rows at a time.

    Nine digits are all that a map of 32 bits holds: reading them gives back the same map. GDAL writes twenty, in a file
    twice as large. The first number of a map of 32 bits has a point: otherwise GDAL may read whole numbers.
    """
    place, nodata = source.transform, -9999.0 if source.nodata is None else float(source.nodata)
    head = {
        "ncols": source.width,
        "nrows": source.height,
        "xllcorner": f"{place.c:.12f}",
        "yllcorner": f"{place.f + place.e * source.height:.12f}",
        "cellsize": f"{place.a:.12f}",
        "NODATA_value": f"{nodata:.9g}",
    }
    first = "%#.9g" if source.dtypes[0].startswith("float") else "%.9g"
    step = max(1, _ROWS // source.width)
    with target.open("w", encoding="ascii") as out:
        out.write("".join(f"{key:<13}{value}\n" for key, value in head.items()))
        for top in range(0, source.height, step):
            window = Window(0, top, source.width, min(step, source.height - top))
            values = np.nan_to_num(source.read(1, window=window).astype(np.float64), nan=nodata) + 0.0
            if top == 0:
                np.savetxt(out, values[:1], fmt=[first, *["%.9g"] * (source.width - 1)])
                values = values[1:]
            np.savetxt(out, values, fmt="%.9g")
    if source.crs is not None:
        wkt = source.crs.to_wkt(version="WKT1_ESRI")
        target.with_suffix(".prj").write_text(wkt + "\n", encoding="utf-8")
