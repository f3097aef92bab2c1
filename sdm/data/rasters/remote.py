"""Rasters that GDAL reads over a network: patience, another try where a connection was cut, and plain words."""

import logging
import os
import re
from time import monotonic

import rasterio
from rasterio.env import get_gdal_config, set_gdal_config

from sdm.errors import HIDDEN, LayerError, hide_secrets
from sdm.storage.addresses import place_name, without_secrets

TRIES = 3  # how often a file is opened or read, where a connection was cut
_PATIENCE = {
    "GDAL_HTTP_CONNECTTIMEOUT": 10,  # seconds
    "GDAL_HTTP_TIMEOUT": 120,
    "GDAL_HTTP_LOW_SPEED_TIME": 15,  # a server that sends so few bytes per second for so long is not waited for
    "GDAL_HTTP_LOW_SPEED_LIMIT": 1000,
    "GDAL_HTTP_MAX_RETRY": 3,  # after 429, 500, 502, 503, 504 and where time is up
    "GDAL_HTTP_RETRY_DELAY": 1,
    "CPL_VSIL_CURL_CACHE_SIZE": 64 << 20,  # of all files together: headers stay while tiles go by
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
    """Keeps the secrets of addresses out of what GDAL logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        # GDAL calls a file by the last part of its address, with what it asks of the server.
        record.msg, record.args = re.sub(r"\?\S+=\S*", f"?{HIDDEN}", hide_secrets(record.getMessage())), ()
        return True


_DISCREET = _Discreet()
_ours: dict[str, str] = {}  # what was set here, and may be set anew when the environment has changed


def be_patient() -> None:
    """Give GDAL timeouts and further tries, unless the user has set some, and keep secrets out of its log."""
    for name, value in _PATIENCE.items():
        if str(get_gdal_config(name)) in ("None", _ours.get(name)):
            _ours[name] = os.environ.get(name, str(value))
            set_gdal_config(name, _ours[name])
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_DISCREET)  # once, however often it is asked


def opening(**options: str) -> "rasterio.Env":
    """Let GDAL open a file without looking for others beside it, which would each be asked of the server."""
    if get_gdal_config("GDAL_DISABLE_READDIR_ON_OPEN") is None:
        options["GDAL_DISABLE_READDIR_ON_OPEN"] = "EMPTY_DIR"
    return rasterio.Env(**options)


class Attempts:
    """Tries to open or read a file: another one is made only where a connection may have been cut. Where the server or
    the network has said why, or time was up, GDAL has asked again already."""

    def __init__(self, place: str, doing: str = "opened") -> None:
        self.place, self.doing = place, doing
        self.began, self.done, self.reason = monotonic(), 0, ""

    def failed(self, reason: str) -> None:
        """Note why a try failed; raise if another one would not help."""
        self.reason, self.done = reason, self.done + 1
        waited = monotonic() - self.began
        if any(0 < limit <= waited for limit in map(_seconds, ("GDAL_HTTP_TIMEOUT", "GDAL_HTTP_LOW_SPEED_TIME"))):
            self.reason = f"timed out: no data for {waited:.0f} s"
        answered = any(re.search(pattern, self.reason, re.IGNORECASE) for pattern, _ in _KINDS)
        if answered or self.done == TRIES:
            raise network_error(self.place, self.reason, self.doing) from None
        self.began = monotonic()


def _seconds(name: str) -> float:
    """Return a time that GDAL is set to; 0 if it is none."""
    try:
        return float(get_gdal_config(name) or 0)
    except (TypeError, ValueError):
        return 0.0


def network_error(place: str, reason: str, doing: str = "opened") -> LayerError:
    """Return what to raise for a file that cannot be opened or read: what happened, and what to do."""
    reason = without_secrets(reason, place)
    text = next((text for pattern, text in _KINDS if re.search(pattern, reason, re.IGNORECASE)), None)
    if text is None:
        text = f"the connection was lost, or the file is not a raster that GDAL reads ({{reason}}; {TRIES} attempts)"
    said = text.format(reason=reason.replace("response code: ", ""))
    return LayerError(f"layer '{place_name(place)}' at '{without_secrets(place)}' cannot be {doing}: {said}")
