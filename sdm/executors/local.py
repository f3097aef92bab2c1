"""Worker processes of this machine, which end with the run."""

import ctypes
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

# One thread of linear algebra per process: nested threads take ten times as long. Also one for rasters and models,
# which saves the memory of windows.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "SDM_THREADS": "1"}
# The C library of Linux keeps freed memory in one pool per thread: a worker would need twice as much memory.
LEAN_MEMORY = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1000000", "MALLOC_TRIM_THRESHOLD_": "8000000"}
_MALLOPT = {"MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_THRESHOLD_": -3, "MALLOC_ARENA_MAX": -8}  # constants of malloc.h
WORKER_SETTINGS = ONE_THREAD | LEAN_MEMORY  # environment of a worker, unless the user has set it


class LocalProcesses(Executor):
    """An executor whose processes can be killed at any moment.

    The executor of the standard library waits for running tasks, prints errors of killed workers, and leaves them
    running if its process is killed. Here, a worker ends with its standard input. It has its own process group, so that
    Ctrl-C in a terminal reaches only the run. Processes are spawned, not forked, since threads read rasters and draw
    figures at the same time; they start with the first tasks. If a process dies, its task fails with BrokenExecutor,
    and another process replaces it.
    """

    def __init__(self, processes: int) -> None:
        self.size = processes
        self.ahead = 2 * processes  # tasks to submit in advance: the running ones, and the next of each process
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._tasks: SimpleQueue[tuple[Future[Any], Any] | None] = SimpleQueue()
        self._lock, self.ended = Lock(), False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call a function in the next free process."""
        future: Future[Any] = Future()
        self._tasks.put((future, (fn, args, kwargs)))
        k = len(self._workers)
        if k < self.size:
            self._start(k)
            Thread(target=self._serve, args=(k,), daemon=True).start()
        return future

    def kill(self) -> None:
        """Kill all processes; pending tasks fail."""
        with self._lock:
            self.ended = True
        for worker in self._workers.values():
            worker.kill()
            worker.wait()
            self._tasks.put(None)

    def _start(self, k: int) -> bool:
        """Start a process, unless the executor has ended."""
        with self._lock:
            if self.ended:
                return False
            self._workers[k] = subprocess.Popen(  # noqa: S603 - Python itself, and a file of sdm
                [sys.executable, "-P", str(Path(__file__).with_name("process.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**WORKER_SETTINGS, **os.environ},
                **APART,
            )
        return True

    def _serve(self, k: int) -> None:
        """Send tasks to a process, one after the other."""
        while (item := self._tasks.get()) is not None:
            future, task = item
            if not future.set_running_or_notify_cancel():
                continue
            worker = self._workers[k]
            try:
                future.set_result(_carry_out(task, worker.stdin, worker.stdout))
            except BrokenExecutor as error:
                self._stop(worker)
                self._start(k)
                future.set_exception(error)
            except Exception as error:
                future.set_exception(error)
        self._stop(self._workers[k])

    def _stop(self, worker: "subprocess.Popen[bytes]") -> None:
        worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def give_memory_back() -> None:
    """Apply `LEAN_MEMORY` to this process, unless the user has set it.

    A batch fragments the memory, and the C library of Linux would keep the free parts.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        for name, parameter in _MALLOPT.items():
            if name not in os.environ:
                mallopt(parameter, int(LEAN_MEMORY[name]))


def _carry_out(task: Any, out: Any, back: Any) -> Any:
    """Send a task through a pipe, and return or raise the answer from another pipe."""
    body = pickle.dumps(task)
    try:
        pickle.dump((sys.path, body), out)
        out.flush()
        succeeded, answer = pickle.load(back)  # noqa: S301 - from a process that this one started
    except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise BrokenExecutor("a worker was killed") from error
    if not succeeded:
        raise answer
    return answer


APART: dict[str, Any] = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)} if os.name == "nt" else {"process_group": 0}
)
