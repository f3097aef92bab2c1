"""Executors of a run: this process, several processes of this machine, or a cluster."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from sdm.errors import WorkerDied
from sdm.executors.local import LocalProcesses

if TYPE_CHECKING:
    from sdm.executors.cluster import Addressed


class WorkerOptions(Protocol):
    """Options that select the executor of a run."""

    @property
    def processes(self) -> int:
        """The number of processes of this machine."""

    @property
    def cluster(self) -> "Addressed":
        """The cluster, or the settings for starting one."""


class SerialExecutor(Executor):
    """An executor that calls every function at once, in the same thread."""

    size, ahead = 1, 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call a function; its exceptions are in the future, except signals."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def check_workers(options: WorkerOptions) -> None:
    """Raise for an invalid cluster, or a missing package of it, before any work."""
    if options.cluster.address is not None:
        from sdm.executors.cluster import check_cluster

        check_cluster(options.cluster.address)


@contextmanager
def workers(options: WorkerOptions) -> Iterator[Executor]:
    """Yield the executor that the options select; results do not depend on it.

    Its processes end with the block. After an error or a signal, running tasks are not awaited.
    """
    if options.cluster.address is not None:
        from sdm.executors.cluster import open_cluster

        with open_cluster(options.cluster) as executor:
            yield executor
    elif options.processes < 2:
        yield SerialExecutor()
    else:
        pool = LocalProcesses(options.processes)
        try:
            yield pool
        except BrokenExecutor as error:
            raise WorkerDied(
                f"one of {options.processes} workers was killed, probably by a lack of memory: use --processes 1"
            ) from error
        finally:
            pool.kill()


def as_done(
    executor: Executor | None, fn: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[int, "Future[Any]"]]:
    """Call a function with every tuple of arguments; yield the index and future of each as it completes.

    Calls are submitted only a little in advance, so that memory stays bounded.
    """
    executor = SerialExecutor() if executor is None else executor
    pending: dict[Future[Any], int] = {}
    todo, last = enumerate(calls), False
    try:
        while pending or not last:
            while not last and len(pending) < getattr(executor, "ahead", 64):  # a cluster may grow
                if (item := next(todo, None)) is None:
                    last = True
                else:
                    pending[executor.submit(fn, *item[1])] = item[0]
            done = sorted(wait(pending, return_when=FIRST_COMPLETED).done, key=pending.__getitem__)
            for future in done:
                yield pending.pop(future), future
    finally:
        for future in pending:
            future.cancel()
