"""What runs on the workers of a cluster: tasks, and the question whether a worker can do them."""

import asyncio
import os
import pickle
import platform
import socket
from functools import cache
from importlib.metadata import version
from threading import Lock
from time import monotonic

from sdm._version import __version__
from sdm.errors import ClusterError
from sdm.executors.ahead import run_threads
from sdm.executors.process import answer_task

Versions = dict[str, str]
_LINGERS = 5.0  # seconds until a new file is seen through a network file system
_ALONE = Lock()


@cache
def versions_here() -> Versions:
    """Return the versions on which results depend, and whether a task can be understood."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"sdm": __version__, "Python": python, "numpy": version("numpy"), "distributed": version("distributed")}


def version_fault(worker: str, there: Versions, here: Versions) -> str | None:
    """Say which version a worker should have, if it has another."""
    for name, wanted in here.items():
        if there.get(name) != wanted:
            return (
                f"worker {worker} has {name} {there.get(name)}, and this machine {name} {wanted}: "
                "install the same versions on all machines of the cluster"
            )
    return None


def work(task: bytes, wanted: Versions) -> bytes:
    """Answer a task as a process of this machine does, one at a time: drawing is not made for several threads."""
    if fault := version_fault(socket.gethostname(), versions_here(), wanted):
        return pickle.dumps((False, ClusterError(fault)))
    with _ALONE, run_threads(1):  # a worker beside others; what is sent may say more
        return answer_task(task)


async def look_around(path: str, content: str) -> tuple[str, Versions, str | None]:
    """Return the name and the versions of a worker's machine, and what is wrong with its view of a file's folder."""
    return socket.gethostname(), versions_here(), await _view_fault(path, content)


async def _view_fault(path: str, content: str) -> str | None:
    folder, until = os.path.dirname(path), monotonic() + _LINGERS
    while True:
        try:
            os.listdir(folder)  # has a network file system look again
            with open(path, encoding="utf-8") as file:
                if file.read() == content:
                    return None if os.access(folder, os.W_OK) else f"may not write in {folder}"
        except OSError:
            pass
        if monotonic() > until:
            return f"does not see the files of {folder}"
        await asyncio.sleep(0.2)
