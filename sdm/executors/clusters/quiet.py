"""Dask without its log: what a user must know is said in sentences of ours."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_LOUD = ("distributed", "tornado")
_MUTE = logging.CRITICAL + 1


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Keep Dask from writing to standard error. Whoever used Dask before gets its log back afterwards."""
    known = "distributed" in sys.modules
    import distributed  # noqa: F401 - sets up its log

    loggers = [log for name, log in logging.root.manager.loggerDict.items() if name.split(".")[0] in _LOUD]
    levels = [(log, log.level) for log in loggers if isinstance(log, logging.Logger) and log.level]
    for log, _ in levels:
        log.setLevel(_MUTE)
    with warnings.catch_warnings():
        for name in (*_LOUD, "dask", "dask_jobqueue"):
            warnings.filterwarnings("ignore", module=name)
        yield
    for log, level in levels if known else ():
        log.setLevel(level)
