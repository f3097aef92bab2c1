"""Open untrusted rasters, so that GDAL opens no other files and contacts no other servers.

Some GDAL formats only refer to files or servers with the values, and GDAL recognizes them by content, not by name.
Therefore rasters are opened with a list of formats that contain their values. The exception is a local virtual raster
(VRT), such as ``gdalbuildvrt`` writes: it may refer to rasters in its folder and below.

One risk remains: local HDF5 and netCDF-4 files may store their values in other files (external storage), which GDAL
has no option to refuse.
"""

import os
import threading
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from rasterio.env import ensure_env_with_credentials
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.io import DatasetReader

from sdm.data.opening.virtual import is_virtual, rasters_of, refused, text_head
from sdm.data.rasters import remote
from sdm.errors import DataError, LayerError
from sdm.storage.addresses import gdal_place, is_remote, place_name, place_suffix
from sdm.storage.reading import refuse_special

WARNING_FILTERS = threading.Lock()  # Python has one set of filters for all threads
# Formats with their own values, in one file or in files of the same name. Excluded since they refer to others: VRT,
# GTI, STACIT, STACTA, WMS, WMTS, WCS, HTTP, EEDAI, ERS, ILWIS, MRF, PCIDSK, PDS4, ISIS3, RPFTOC, TIL, Zarr and others.
DRIVERS = [
    *("GTiff", "AAIGrid", "netCDF", "HFA", "EHdr", "ENVI", "SAGA", "RST", "PCRaster", "RRASTER", "KEA", "GRIB"),
    *("GSAG", "GSBG", "GS7BG", "NWT_GRD", "NWT_GRC", "GRASSASCIIGrid", "AIG", "XYZ", "ZMap", "GXF", "ISG", "BYN"),
    *("JP2OpenJPEG", "JP2ECW", "JP2KAK", "JP2MrSID", "PNG", "JPEG", "GIF", "BIGGIF", "BMP", "WEBP", "PNM", "XPM"),
    *("HDF4", "HDF4Image", "HDF5", "HDF5Image", "GPKG", "MBTiles", "R", "SGI", "NITF", "CALS", "BLX", "KRO", "LAN"),
    *("SRTMHGT", "USGSDEM", "DTED", "BT", "HF2", "GTX", "NTv2", "LCP", "Terragen", "SIGDEM", "RMF", "ACE2", "BAG"),
]
# Rasters in a VRT, which GDAL opens without a list, have formats that it recognizes by their first bytes.
SOURCE_DRIVERS = ["GTiff", "HFA", "AAIGrid"]
_read = ensure_env_with_credentials(DatasetReader)  # rasterio.open accepts at most one driver


def open_raster(path: str | Path) -> DatasetReader:
    """Open a raster of the user, without warnings; raise LayerError if it cannot be opened or refers to other files."""
    path = str(path)
    if is_remote(path):
        return _open_remote(path)
    refuse_special(path)
    try:
        return open_local(path)
    except (RasterioError, OSError) as problem:
        raise LayerError(
            f"layer '{Path(path).name}' cannot be opened: {reason_of(problem)}; expected a raster that GDAL reads and "
            "that contains its own values, such as a GeoTIFF"
        ) from problem


def open_local(path: str | Path) -> DatasetReader:
    """Open a local raster; raise errors of rasterio, and LayerError for a raster that refers to other files."""
    drivers = DRIVERS
    if is_virtual(path):
        state = os.stat(path)
        _check_virtual(Path(path).absolute(), state.st_mtime_ns, state.st_size)
        drivers = ["VRT"]
    return _open(str(path), drivers)


def _open(place: str, drivers: list[str]) -> DatasetReader:
    # GDAL reads an ASCII grid as integers if its first 100 kB contain no point, and then truncates all decimals.
    options = {"datatype": "Float32"} if place_suffix(place) == ".asc" else {}
    with WARNING_FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        data = _read(place, driver=drivers, **options)
    name = place_name(place)
    try:
        if "OVERVIEW_FILE" in data.tags(ns="OVERVIEWS"):
            raise LayerError(f"raster '{name}' refers to another file: write it again with gdal_translate -of GTiff")
        for beside in [] if is_remote(place) else _overviews_and_masks(Path(place)):
            try:
                _open(str(beside), ["GTiff"]).close()  # GDAL would open it in any format
            except (RasterioError, OSError):
                raise LayerError(f"the overviews or mask '{beside.name}' are not a GeoTIFF: remove that file") from None
    except BaseException:
        data.close()
        raise
    return data


def _overviews_and_masks(path: Path) -> list[Path]:
    """Return the files that GDAL uses as overviews or mask of a raster, in any case."""
    names = {f"{path.name}{suffix}".lower() for suffix in (".ovr", ".msk")}
    return [path.with_name(name) for name in os.listdir(path.parent) if name.lower() in names] if path.is_file() else []


def _open_remote(path: str) -> DatasetReader:
    """Open a raster over the network; retry after lost connections."""
    remote.be_patient()
    attempts = remote.Attempts(path)
    while True:
        try:
            with remote.opening():
                return _open(gdal_place(path), DRIVERS)
        except (RasterioError, OSError) as problem:
            attempts.failed(reason_of(problem))
        forget(path)


def forget(path: str) -> None:
    """Clear GDAL's cache of a remote raster, which may contain a part of an answer after a lost connection."""
    name = gdal_place(path)
    with suppress(RasterioError, OSError, DataError), remote.opening(CPL_VSIL_CURL_NON_CACHED=name):
        _open(name, DRIVERS).close()  # the cache is cleared on closing


def reason_of(problem: BaseException) -> str:
    """Return GDAL's reason in one line."""
    return " ".join(str(problem.__cause__ or problem).split()).rstrip(".")


@lru_cache(maxsize=1024)
def _check_virtual(path: Path, *_: int) -> None:
    """Raise LayerError unless all rasters of a virtual raster, of this size and time, contain their values."""
    for source in rasters_of(path):
        try:
            if set(b"<{") & set(text_head(source)):
                raise OSError("its text refers to other data")
            _open(str(source), SOURCE_DRIVERS).close()
        except (RasterioError, OSError) as problem:
            raise refused(path.name, f"its '{source}' cannot be opened ({reason_of(problem)})") from None
