"""Recognize network addresses that GDAL reads, name them by their files, and hide their secrets.

The user before an ``@`` and the values after a ``?`` may be secrets (passwords, tokens, signatures), so neither is ever
shown or stored. A secret may be an environment variable: ``https://host/bio1.tif?token=${TOKEN}`` is stored
unchanged, and the variable is read when the file is opened.
"""

import os
import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from sdm.errors import HIDDEN, MissingInputError, hide_secrets

_SCHEMES = {"http": "/vsicurl/http://", "https": "/vsicurl/https://", "ftp": "/vsicurl/ftp://", "s3": "/vsis3/"}
_SCHEMES |= {"gs": "/vsigs/", "az": "/vsiaz/", "abfs": "/vsiadls/", "oss": "/vsioss/"}
_REMOTE = re.compile(
    rf"(?:[a-z]+\+)?(?:{'|'.join(_SCHEMES)})://|.*/vsi(?:curl|s3|gs|az|adls|oss|swift|hdfs|webhdfs)", re.IGNORECASE
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def is_remote(place: str) -> bool:
    """Whether a place is an address of a network rather than a file of this machine.

    Examples
    --------
    >>> [is_remote(place) for place in ("https://host/x.tif", "/vsis3/bucket/x.tif", "layers/x.tif", "C:/x.tif")]
    [True, True, False, False]
    """
    return _REMOTE.match(place) is not None


def place_name(place: str) -> str:
    """Return the file name of a path or address, without folders and query.

    Examples
    --------
    >>> place_name("https://bob:secret@host/a/bio1.tif?token=x.y/z"), place_name("layers/bio1.tif")
    ('bio1.tif', 'bio1.tif')
    """
    if not is_remote(place):
        return PurePosixPath(place.replace(os.sep, "/")).name
    # GDAL's syntax for options: /vsicurl?max_retry=3&url=https%3A%2F%2Fhost%2Fx.tif
    _, prefix, options = place.partition("/vsicurl?")
    if inner := [text for text in options.split("&") if prefix and text.startswith("url=")]:
        return place_name(unquote(inner[-1].removeprefix("url=")))
    bare, _, rest = place.partition("?")
    variable = re.search(r"\"?:([^:/\"]+)$", rest or bare)  # in a NetCDF file: NETCDF:"/vsicurl/https://host/x.nc":tas
    name = PurePosixPath(bare).name.strip('"')
    return f"{name}:{variable[1]}" if rest and variable else name.replace('":', ":")


def place_stem(place: str) -> str:
    """Return the file name of a path or address without its suffix."""
    return PurePosixPath(place_name(place)).stem


def place_suffix(place: str) -> str:
    """Return the suffix of a path or address in lower case, such as ``.tif``."""
    return PurePosixPath(place_name(place)).suffix.lower()


def gdal_place(place: str) -> str:
    """Return a path or address in GDAL's syntax, with environment variables substituted."""
    if not is_remote(place):
        return place
    if HIDDEN in place:
        raise MissingInputError(
            f"the secret of '{place}' was not stored: give the layers again, with the secret or an environment "
            f"variable such as ${{TOKEN}}"
        )
    for name in _VARIABLE.findall(place):
        if name not in os.environ:
            raise MissingInputError(f"'{place}' needs the environment variable {name}: set it first")
    return _VARIABLE.sub(lambda match: os.environ[match[1]], _gdal_spelling(place))


def part_place(place: str, variable: str) -> str:
    """Return the place of one variable of a NetCDF file at an address."""
    return f'NETCDF:"{_gdal_spelling(place)}":{variable}'


def _gdal_spelling(place: str) -> str:
    scheme, _, rest = place.partition("://")
    return _SCHEMES[scheme.lower()] + rest if scheme.lower() in _SCHEMES else place


def without_secrets(text: str, place: str = "") -> str:
    """Hide the secrets of all addresses in a text, and of `place`, the address that the text is about."""
    secrets = {place, gdal_place(place)} if place and HIDDEN not in place else set()
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, hide_secrets(secret))
        bare, _, query = secret.partition("?")
        user = re.search(r"://([^/]*)@", bare)
        for part in (query, unquote(query), user[1] if user else ""):
            if part and not _VARIABLE.fullmatch(part):
                text = text.replace(part, HIDDEN)
    return hide_secrets(text)
