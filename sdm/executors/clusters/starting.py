"""Clusters that are started for a run, and end with it: workers of this machine."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any

from sdm.errors import ClusterError
from sdm.executors.clusters.quiet import CALM
from sdm.executors.local import APART, WORKER_SETTINGS

Fail = Callable[[ClusterError], None]


@asynccontextmanager
async def local_cluster(workers: int, fail: Fail) -> AsyncIterator[str]:
    """Give the address of a scheduler in this process, with workers that are processes of this machine; `fail` is told
    why they cannot be started."""
    import dask
    from distributed import Scheduler

    # Workers come over the loopback address, this process without a detour.
    doors: dict[str, Any] = {"protocol": ["tcp", "inproc"], "host": ["127.0.0.1", None], "port": [0, None]}
    with dask.config.set(CALM):
        scheduler = Scheduler(**doors, dashboard=False)
    async with scheduler:
        with TemporaryDirectory(prefix="sdm-cluster-", ignore_cleanup_errors=True) as scratch:
            staff = _Staff(scheduler.address, scratch, fail)
            try:
                staff.employ(workers)
                yield scheduler.listeners[1].contact_address
            finally:
                staff.dismiss()


class _Staff:
    """Worker processes; another takes the place of one that dies. That they end with this process, whatever ends it,
    and do not get the Ctrl-C of a terminal, is as with `LocalProcesses`, and is why Dask does not start them."""

    def __init__(self, address: str, scratch: str, fail: Fail) -> None:
        self._order = json.dumps({"address": address, "scratch": scratch, "path": sys.path}).encode() + b"\n"
        self._fail = fail
        self._lock, self._ended = Lock(), False
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._keepers: list[Thread] = []

    def employ(self, workers: int) -> None:
        """Start workers."""
        for k in range(workers):
            self._keepers.append(Thread(target=self._keep, args=(k,), daemon=True))
            self._keepers[-1].start()

    def dismiss(self) -> None:
        """End all workers, whatever they are at."""
        with self._lock:
            self._ended = True
        for worker in self._workers.values():
            worker.kill()
        for keeper in self._keepers:
            keeper.join()

    def _keep(self, k: int) -> None:
        """Have one worker at work, until all are to end."""
        while self._start(k):
            worker = self._workers[k]
            with worker:  # closes the pipes, and waits
                began = _greet(worker.stdin, worker.stdout, self._order)
                if began:
                    worker.wait()
            if not began and not self._ended:
                self._fail(ClusterError("a worker of --cluster local ended before it had begun: use --processes"))
                return

    def _start(self, k: int) -> bool:
        with self._lock:
            if not self._ended:
                self._workers[k] = subprocess.Popen(  # noqa: S603 - Python itself, and a file of ours
                    [sys.executable, "-P", str(Path(__file__).with_name("dask_process.py"))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**WORKER_SETTINGS, **os.environ},
                    **APART,
                )
            return not self._ended


def _greet(orders: Any, answers: Any, order: bytes) -> bool:
    """Tell a worker what to do, and wait until it has begun."""
    with suppress(OSError):
        orders.write(order)
        orders.flush()
    return bool(answers.readline())
