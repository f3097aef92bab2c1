"""Maps as text: ASCII grids, as Java Maxent and old GIS programs read them.

Numbers have nine digits, which is all that a map of 32 bits holds: reading them gives back the same map. GDAL writes
twenty, at three times the size and eight times the time.
"""

from pathlib import Path
from typing import Any

import numpy as np
from rasterio.windows import Window

from sdm._jit import jit

DIGITS = 9
_LONGEST = DIGITS + 8  # sign, point, leading zeros or exponent, and the space after it
_ROWS = 1 << 20  # cells that are written at a time, about
_POWERS = 10.0 ** np.arange(-60, 61)


def fits_grid(source: Any) -> bool:
    """Tell whether an open map can be an ASCII grid: one band, north at the top, square cells."""
    place = source.transform
    turned = place.b != 0 or place.d != 0 or place.a <= 0 or place.e >= 0
    return source.count == 1 and not turned and abs(place.a + place.e) <= 1e-9 * place.a


def write_grid(source: Any, target: Path) -> None:
    """Write an open map as an ASCII grid, its system of coordinates beside it as `.prj`; a few rows at a time."""
    place, nodata = source.transform, -9999.0 if source.nodata is None else float(source.nodata)
    lower = place.f + place.e * source.height
    head = {
        "ncols": source.width,
        "nrows": source.height,
        "xllcorner": f"{place.c:.12f}",
        "yllcorner": f"{lower:.12f}",
        "cellsize": f"{place.a:.12f}",
        "NODATA_value": f"{nodata:.9g}",
    }
    rows = max(1, _ROWS // source.width)
    room = np.empty(rows * source.width * _LONGEST, np.uint8)
    missing = np.frombuffer(f"{nodata:.9g} ".encode(), np.uint8)
    with target.open("wb") as out:
        out.write("".join(f"{key:<13}{value}\n" for key, value in head.items()).encode())
        for first in range(0, source.height, rows):
            window = Window(0, first, source.width, min(rows, source.height - first))
            values = source.read(1, window=window).astype(np.float64)
            text = room[: _as_text(values, nodata, missing, _POWERS, room)]
            if first == 0 and source.dtypes[0].startswith("float"):
                out.write(_with_point(text.tobytes()))
            else:
                out.write(text.data)
    if source.crs is not None:
        wkt = source.crs.to_wkt(version="WKT1_ESRI")
        target.with_suffix(".prj").write_text(wkt + "\n", encoding="utf-8")


def _with_point(text: bytes) -> bytes:
    """Give the first number a point: readers take the numbers for whole ones if there is none far and wide."""
    number, space, rest = text.partition(b" ")
    if b"." not in number:
        number = number.replace(b"E", b".0E") if b"E" in number else number + b".0"
    return number + space + rest


@jit
def _as_text(values, nodata, missing, powers, out):  # type: ignore[no-untyped-def]
    """Fill `out` with rows of numbers, a space between two and a new line after a row; return how long the text is."""
    at, middle = 0, powers.size // 2
    digits = np.empty(DIGITS, np.uint8)
    for row in range(values.shape[0]):
        for col in range(values.shape[1]):
            x = values[row, col]
            if x != x or x == nodata:
                for k in range(missing.size):
                    out[at] = missing[k]
                    at += 1
                continue
            if x < 0.0:
                out[at] = 45  # -
                at, x = at + 1, -x
            if x == 0.0:
                out[at], out[at + 1] = 48, 32  # 0 and a space
                at += 2
                continue
            power = int(np.floor(np.log10(x)))
            whole = int(np.floor(x * powers[middle + DIGITS - 1 - power] + 0.5))
            if whole >= 10**DIGITS:
                power, whole = power + 1, int(np.floor(x * powers[middle + DIGITS - 2 - power] + 0.5))
            elif whole < 10 ** (DIGITS - 1):
                power, whole = power - 1, int(np.floor(x * powers[middle + DIGITS - power] + 0.5))
            last = 0
            for k in range(DIGITS - 1, -1, -1):
                digits[k] = whole % 10
                whole //= 10
                if digits[k] != 0 and last == 0:
                    last = k
            plain = -5 <= power < DIGITS
            place = power if plain else 0  # of the last digit before the point
            if place < 0:
                out[at], out[at + 1] = 48, 46  # 0.
                at += 2
                for _ in range(-place - 1):
                    out[at] = 48
                    at += 1
            for k in range(max(last, place) + 1):
                if place >= 0 and k == place + 1:
                    out[at] = 46
                    at += 1
                out[at] = 48 + digits[k]
                at += 1
            if not plain:
                out[at] = 69  # E
                at += 1
                if power < 0:
                    out[at] = 45
                    at, power = at + 1, -power
                out[at], out[at + 1] = 48 + power // 10, 48 + power % 10
                at += 2
            out[at] = 32
            at += 1
        out[at - 1] = 10
    return at
