"""Who does the work of a run: this process, several processes of this machine, or a cluster."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from sdm.errors import WorkerDied
from sdm.executors.local import LocalProcesses

if TYPE_CHECKING:
    from sdm.executors.cluster import Addressed


class Wanted(Protocol):
    """Who is to do the work; the options of a run say it."""

    @property
    def processes(self) -> int:
        """How many processes of this machine."""

    @property
    def cluster(self) -> "Addressed":
        """Where a cluster is, or how it is started."""


class Here(Executor):
    """An executor that calls every function at once, in this thread."""

    size, ahead = 1, 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call a function; what it raises is in the future, but for what ends a program."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def check_workers(wanted: Wanted) -> None:
    """Raise for a cluster that cannot be meant, or for which something is not installed, before any work."""
    if wanted.cluster.address is not None:
        from sdm.executors.cluster import check_cluster

        check_cluster(wanted.cluster.address)


@contextmanager
def workers(wanted: Wanted) -> Iterator[Executor]:
    """Give the executor that the options of a run ask for. Results do not depend on which it is. Its processes end with
    the block; after an error or a signal what they were at is not waited for."""
    if wanted.cluster.address is not None:
        from sdm.executors.cluster import open_cluster

        with open_cluster(wanted.cluster) as executor:
            yield executor
    elif wanted.processes < 2:
        yield Here()
    else:
        pool = LocalProcesses(wanted.processes)
        try:
            yield pool
        except BrokenExecutor as error:
            raise WorkerDied(
                f"one of {wanted.processes} workers was killed, probably by a lack of memory: use --processes 1"
            ) from error
        finally:
            pool.kill()


def as_done(
    executor: Executor | None, fn: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[int, "Future[Any]"]]:
    """Have a function called with every tuple of arguments; yield the number of each and its future as it is done. No
    more calls are handed over than the executor is about to begin, so that memory stays bounded."""
    executor = Here() if executor is None else executor
    pending: dict[Future[Any], int] = {}
    todo, last = enumerate(calls), False
    try:
        while pending or not last:
            while not last and len(pending) < getattr(executor, "ahead", 64):  # of a cluster it changes
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
