"""Rasters that GDAL reads over a network: timeouts, retries after lost connections, and plain error messages."""

import logging
import os
import re
from time import monotonic

import rasterio
from rasterio.env import get_gdal_config, set_gdal_config

from sdm.errors import HIDDEN, LayerError, hide_secrets
from sdm.storage.addresses import place_name, without_secrets

TRIES = 3  # number of attempts to open or read a file after lost connections
_PATIENCE = {
    "GDAL_HTTP_CONNECTTIMEOUT": 10,  # seconds
    "GDAL_HTTP_TIMEOUT": 120,
    "GDAL_HTTP_LOW_SPEED_TIME": 15,  # seconds below the limit (bytes per second) before giving up
    "GDAL_HTTP_LOW_SPEED_LIMIT": 1000,
    "GDAL_HTTP_MAX_RETRY": 3,  # after 429, 500, 502, 503, 504 and timeouts
    "GDAL_HTTP_RETRY_DELAY": 1,
    "CPL_VSIL_CURL_CACHE_SIZE": 64 << 20,  # for all files: headers remain while tiles are replaced
}
_LOGGERS = ("rasterio", "rasterio._base", "rasterio._env", "rasterio._err", "rasterio._io", "rasterio.env")
_KINDS = (
    (
        r"AWS_|access.key|credential|authenti",
        "the store needs credentials ({reason}): set its keys, or for public data AWS_NO_SIGN_REQUEST=YES",
    ),
    (r"response code: 40[13]", "the server refuses it ({reason}): check the user, password, token or signature"),
    (r"response code: 4(?:04|10)", "the file does not exist on the server ({reason}): check the address"),
    (r"response code: 429", "the server received too many requests ({reason}): try again later, or with --threads 1"),
    (r"response code: 5", "the server failed several times ({reason}): try again later"),
    (
        r"timed? ?out|too slow",
        "the server did not answer in time ({reason}): try again later, or set GDAL_HTTP_TIMEOUT",
    ),
    (r"resolve|connect", "the server cannot be reached ({reason}): check the address and the network"),
)


class _Discreet(logging.Filter):
    """Removes the secrets of addresses from GDAL's log."""

    def filter(self, record: logging.LogRecord) -> bool:
        # GDAL names a file by the last part of its address, with the query.
        record.msg, record.args = re.sub(r"\?\S+=\S*", f"?{HIDDEN}", hide_secrets(record.getMessage())), ()
        return True


_DISCREET = _Discreet()
_ours: dict[str, str] = {}  # values set here, which may be set again when the environment has changed


def be_patient() -> None:
    """Set timeouts and retries of GDAL, unless the user has set them, and remove secrets from its log."""
    for name, value in _PATIENCE.items():
        if str(get_gdal_config(name)) in ("None", _ours.get(name)):
            _ours[name] = os.environ.get(name, str(value))
            set_gdal_config(name, _ours[name])
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_DISCREET)  # added only once


def opening(**options: str) -> "rasterio.Env":
    """Let GDAL open a file without searching for others, which would cause requests to the server."""
    if get_gdal_config("GDAL_DISABLE_READDIR_ON_OPEN") is None:
        options["GDAL_DISABLE_READDIR_ON_OPEN"] = "EMPTY_DIR"
    return rasterio.Env(**options)


class Attempts:
    """Attempts to open or read a file: another one is made only if a connection may have been lost.

    If the server or the network has given a reason, or after a timeout, GDAL has already retried.
    """

    def __init__(self, place: str, doing: str = "opened") -> None:
        self.place, self.doing = place, doing
        self.began, self.done, self.reason = monotonic(), 0, ""

    def failed(self, reason: str) -> None:
        """Store the reason of a failed attempt; raise if another one would not help."""
        self.reason, self.done = reason, self.done + 1
        waited = monotonic() - self.began
        if any(0 < limit <= waited for limit in map(_seconds, ("GDAL_HTTP_TIMEOUT", "GDAL_HTTP_LOW_SPEED_TIME"))):
            self.reason = f"timed out: no data for {waited:.0f} s"
        answered = any(re.search(pattern, self.reason, re.IGNORECASE) for pattern, _ in _KINDS)
        if answered or self.done == TRIES:
            raise network_error(self.place, self.reason, self.doing) from None
        self.began = monotonic()


def _seconds(name: str) -> float:
    """Return a time limit of GDAL; 0 without one."""
    try:
        return float(get_gdal_config(name) or 0)
    except (TypeError, ValueError):
        return 0.0


def network_error(place: str, reason: str, doing: str = "opened") -> LayerError:
    """Return the error for a file that cannot be opened or read, with reason and advice."""
    reason = without_secrets(reason, place)
    text = next((text for pattern, text in _KINDS if re.search(pattern, reason, re.IGNORECASE)), None)
    if text is None:
        text = f"the connection was lost, or the file is not a raster that GDAL reads ({{reason}}; {TRIES} attempts)"
    sentence = text.format(reason=reason.replace("response code: ", ""))
    return LayerError(f"layer '{place_name(place)}' at '{without_secrets(place)}' cannot be {doing}: {sentence}")
