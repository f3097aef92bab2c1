"""Processes that share the fits of a run."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(processes: int) -> Iterator[Executor | None]:
    """Give an executor of so many processes; None for one, which needs none.

    Processes are started afresh, not forked, since threads read rasters and draw pictures meanwhile; they start with
    the first task. Results do not depend on how many there are.
    """
    if processes < 2:
        yield None
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
