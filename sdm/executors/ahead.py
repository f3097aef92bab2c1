"""Run work in threads, a few steps ahead of the consumer. Results are in the order of the items, so that they do not
depend on the number of threads."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
U = TypeVar("U")

MANY = 100_000  # minimum number of cells for which threads save time
_run: ContextVar[int] = ContextVar("_run", default=2)  # number of threads of the run


def ahead(work: Callable[[T], U], items: Iterable[T], threads: int) -> Generator[U]:
    """Yield the results of items in order, with a few pending, so that memory stays bounded."""
    from concurrent.futures import ThreadPoolExecutor  # imported only if threads are used

    pool, waiting = ThreadPoolExecutor(max(1, threads)), deque["Future[U]"]()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def over_cells(work: Callable[[T], U], items: Iterable[T], cells: int) -> Iterator[U]:
    """Yield the results of items, each a pass over cells; use threads if there are many cells."""
    threads = threads_for(cells)
    return map(work, items) if threads == 1 else ahead(work, items, threads)


def in_parts(work: Callable[[slice], U], count: int, cells: int) -> list[U]:
    """Run the work on `count` items, divided into parts if there are many cells; return the results of the parts."""
    threads = threads_for(cells)
    size = max(1, -(-count // (1 if threads == 1 else 4 * threads)))
    parts = [slice(k, min(k + size, count)) for k in range(0, count, size)]
    return list(over_cells(work, parts, cells if len(parts) > 1 else 0))


def threads_for(cells: int) -> int:
    """Return the number of threads for a computation over cells."""
    return allowed_threads(_run.get()) if cells >= MANY else 1


@contextmanager
def run_threads(threads: int) -> Iterator[None]:
    """Set the number of threads for computations in this context."""
    before = _run.set(threads)
    try:
        yield
    finally:
        _run.reset(before)


def allowed_threads(threads: int) -> int:
    """Return the number of threads to use, in a worker process at most its limit (SDM_THREADS)."""
    word = os.environ.get("SDM_THREADS", "")
    return min(threads, int(word)) if word.isdigit() and int(word) else threads
