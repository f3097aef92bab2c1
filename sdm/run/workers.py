"""Processes that share the fits of a run; they end with it, whatever ends it."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from typing import Any

from sdm.errors import SdmError


@contextmanager
def workers(processes: int) -> Iterator[Executor | None]:
    """Give an executor of so many processes; None for one, which needs none.

    Processes are started afresh, not forked, since threads read rasters and draw pictures meanwhile; they start with
    the first task. Results do not depend on how many there are. After an error or a signal what they were at is not
    waited for.

    Raises
    ------
    SdmError
        If one of them was killed.
    """
    if processes < 2:
        yield None
        return
    _start_tracker()
    context = _Context()
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_parent)
    try:
        yield pool
    except BaseException as error:
        # In this order: the pool must know that it ends before it sees its workers die.
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in context.started:
            if worker.pid is not None:
                worker.kill()
        if isinstance(error, BrokenProcessPool):
            raise SdmError(
                f"one of {processes} worker processes was killed, as systems do when memory runs out: use --processes 1"
            ) from error
        raise
    pool.shutdown()


class _Worker(SpawnProcess):
    """A process that does not hear the Ctrl-C that is meant for its parent, from its first moment on."""

    def start(self) -> None:
        if not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()  # it inherits what is blocked
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    """How a pool makes its processes; remembers them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Worker] = []

    def Process(self, *args: Any, **options: Any) -> _Worker:  # type: ignore[override]
        self.started.append(_Worker(*args, **options))
        return self.started[-1]


def _start_tracker() -> None:
    """Start the process that tidies up semaphores after a killed run, and keep it from talking of it.

    Unless it runs already, starting a worker would start it, and let Ctrl-C through again.
    """
    if os.name != "posix":
        return
    from multiprocessing.resource_tracker import ensure_running

    quiet = "ignore:resource_tracker"
    sys.warnoptions.append(quiet)
    try:
        ensure_running()
    finally:
        sys.warnoptions.remove(quiet)


def _follow_parent() -> None:
    """End with the process that started this one, even if that is killed; leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
