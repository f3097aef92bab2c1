"""Work in threads, a few steps ahead of whoever takes its results."""

import os
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


def own_threads(threads: int) -> int:
    """Return how many threads to use: in the process of a worker as many as it may (SDM_THREADS)."""
    word = os.environ.get("SDM_THREADS", "")
    return min(threads, int(word)) if word.isdigit() and int(word) else threads
