"""Processes that share the fits of a run; they end with it, whatever ends it."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from sdm.errors import SdmError


@contextmanager
def workers(processes: int) -> Iterator[Executor | None]:
    """Give an executor of N processes; None for one, which needs none. Processes are started afresh, not forked,
    since threads read rasters and draw pictures meanwhile; they start with the first tasks. Results do not depend on
    how many there are. After an error or a signal what they were at is not waited for."""
    if processes < 2:
        yield None
        return
    pool = _Pool(processes)
    try:
        yield pool
    except BrokenExecutor as error:
        raise SdmError(
            f"one of {processes} worker processes was killed, as systems do when memory runs out: use --processes 1"
        ) from error
    finally:
        pool.kill()


class _Pool(Executor):
    """An executor whose processes can be ended at any moment. That of the standard library waits for running tasks,
    complains of workers that die, and leaves them behind when its own process is killed. Here a worker is a program
    that ends with its standard input, in a process group of its own, so that the Ctrl-C of a terminal reaches the run
    alone."""

    def __init__(self, processes: int) -> None:
        self._most = processes
        self._workers: list[subprocess.Popen[bytes]] = []
        self._tasks: SimpleQueue[tuple[Future[Any], Any] | None] = SimpleQueue()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a function called by the next process that is free."""
        future: Future[Any] = Future()
        self._tasks.put((future, (fn, args, kwargs)))
        if len(self._workers) < self._most:
            worker = subprocess.Popen(  # noqa: S603 - Python itself, and a file of ours
                [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **_APART,
            )
            self._workers.append(worker)
            Thread(target=self._employ, args=(worker,), daemon=True).start()
        return future

    def kill(self) -> None:
        """End all processes; tasks that were not done fail."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
            self._tasks.put(None)

    def _employ(self, worker: "subprocess.Popen[bytes]") -> None:
        """Give tasks to a process, one after the other."""
        while (item := self._tasks.get()) is not None:
            future, task = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(_carry_out(task, worker.stdin, worker.stdout))
            except Exception as error:
                future.set_exception(error)
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def _carry_out(task: Any, out: Any, back: Any) -> Any:
    """Have a task done at the other end of two pipes, and return or raise what comes back."""
    body = pickle.dumps(task)
    try:
        pickle.dump((sys.path, body), out)
        out.flush()
        went_well, answer = pickle.load(back)  # noqa: S301 - from a process that we started
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        raise BrokenExecutor("a worker was killed") from error
    if not went_well:
        raise answer
    return answer


_APART: dict[str, Any] = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)} if os.name == "nt" else {"process_group": 0}
)
