"""Functions on the workers of a cluster: tasks, and the check of a worker."""

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
_LINGERS = 5.0  # seconds until a new file is visible in a network file system
_ALONE = Lock()


@cache
def local_versions() -> Versions:
    """Return the versions on which results and the exchange of tasks depend."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"sdm": __version__, "Python": python, "numpy": version("numpy"), "distributed": version("distributed")}


def version_fault(worker: str, installed: Versions, expected: Versions) -> str | None:
    """Return the message about a version of a worker that differs; None if all are equal."""
    for name, required in expected.items():
        if installed.get(name) != required:
            return (
                f"worker {worker} has {name} {installed.get(name)}, and this machine {name} {required}: "
                "install the same versions on all machines of the cluster"
            )
    return None


def work(task: bytes, required: Versions) -> bytes:
    """Answer a task as a local process, one at a time: drawing is not thread-safe."""
    if fault := version_fault(socket.gethostname(), local_versions(), required):
        return pickle.dumps((False, ClusterError(fault)))
    with _ALONE, run_threads(1):  # the worker shares its machine; the task may set more threads
        return answer_task(task)


async def describe_worker(path: str, content: str) -> tuple[str, Versions, str | None]:
    """Return host name and versions of a worker, and the fault of its view of a file's folder, if any."""
    return socket.gethostname(), local_versions(), await _view_fault(path, content)


async def _view_fault(path: str, content: str) -> str | None:
    folder, until = os.path.dirname(path), monotonic() + _LINGERS
    while True:
        try:
            os.listdir(folder)  # a network file system then reads the folder again
            with open(path, encoding="utf-8") as file:
                if file.read() == content:
                    return None if os.access(folder, os.W_OK) else f"may not write in {folder}"
        except OSError:
            pass
        if monotonic() > until:
            return f"does not see the files of {folder}"
        await asyncio.sleep(0.2)
