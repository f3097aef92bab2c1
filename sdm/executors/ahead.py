"""Work in threads, a few steps ahead of whoever takes its results, which come in the order of their items: they are the
same with any number of threads."""

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

MANY = 100_000  # cells from which threads are worth their start
_run: ContextVar[int] = ContextVar("_run", default=2)  # how many threads the run wants


def ahead(work: Callable[[T], U], items: Iterable[T], threads: int) -> Generator[U]:
    """Yield the results of items in their order; a few are at work at a time, so that memory stays bounded."""
    from concurrent.futures import ThreadPoolExecutor  # later than a model that needs no threads

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
    """Yield the results of items, for each of which all or some of the cells are looked at: several at a time where
    there are many cells."""
    threads = threads_for(cells)
    return map(work, items) if threads == 1 else ahead(work, items, threads)


def in_parts(work: Callable[[slice], U], count: int, cells: int) -> list[U]:
    """Have the work on `count` things done, in parts where there are many cells; return the results of the parts in
    their order."""
    threads = threads_for(cells)
    size = max(1, -(-count // (1 if threads == 1 else 4 * threads)))
    parts = [slice(k, min(k + size, count)) for k in range(0, count, size)]
    return list(over_cells(work, parts, cells if len(parts) > 1 else 0))


def threads_for(cells: int) -> int:
    """Return how many threads are worth their start for a computation over cells."""
    return own_threads(_run.get()) if cells >= MANY else 1


@contextmanager
def run_threads(threads: int) -> Iterator[None]:
    """Let what is computed here use so many threads."""
    before = _run.set(threads)
    try:
        yield
    finally:
        _run.reset(before)


def own_threads(threads: int) -> int:
    """Return how many threads to use: in the process of a worker as many as it may (SDM_THREADS)."""
    word = os.environ.get("SDM_THREADS", "")
    return min(threads, int(word)) if word.isdigit() and int(word) else threads
