"""Imported at the start of a process that tests hold at a certain moment, whatever the speed of the machine.

`SDM_TEST_HOLD` names the moment, an audit event of Python and a pattern of its first argument (`import numba`,
`open *.csv`); `SDM_TEST_HELD` a file to make when the main thread is there. It stays there until a signal comes.
"""

import os
import sys
import threading
import time
from fnmatch import fnmatch
from typing import Any

EVENT, _, PATTERN = os.environ.pop("SDM_TEST_HOLD", "none").partition(" ")
HELD = os.environ.pop("SDM_TEST_HELD", "")


def hold(event: str, arguments: tuple[Any, ...]) -> None:
    """Wait for a signal, once, at the moment that is meant."""
    global EVENT
    if event != EVENT or not fnmatch(str(arguments[0]), PATTERN):
        return
    if threading.current_thread() is not threading.main_thread():
        return
    EVENT = "over"
    with open(HELD, "w"):
        pass
    while True:
        time.sleep(60)


sys.addaudithook(hold)
