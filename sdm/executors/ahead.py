"""Work in threads, a few steps ahead of whoever takes its results."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def ahead(work: Callable[[T], U], items: Iterable[T], threads: int) -> Generator[U]:
    """Yield the results of items in their order; a few are at work at a time, so that memory stays bounded."""
    pool, waiting = ThreadPoolExecutor(max(1, threads)), deque[Future[U]]()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
