"""Work in threads: results in their order, and as many threads as are wanted and allowed."""

import threading
import time
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest

from sdm.executors import ahead
from sdm.executors.ahead import MANY, in_parts, over_cells, run_threads, threads_for


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDM_THREADS", raising=False)


def threads_at_work(cells: int) -> int:
    """How many threads a computation over so many cells was done by, at the same time."""
    meeting, most = threading.Barrier(8), []

    def work(_: int) -> None:
        try:
            meeting.wait(0.1)
        except threading.BrokenBarrierError:
            most.append(threading.get_ident())

    list(over_cells(work, range(8), cells))
    return len(set(most))


def test_few_cells_have_no_thread_and_many_as_many_as_the_run_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    assert threads_for(MANY - 1) == 1
    assert threads_for(MANY) == 2
    with run_threads(3):
        assert (threads_for(MANY), threads_at_work(MANY), threads_at_work(10)) == (3, 3, 1)
        with run_threads(1):
            assert (threads_for(MANY), threads_at_work(MANY)) == (1, 1)
        monkeypatch.setenv("SDM_THREADS", "1")  # a worker's process
        assert (threads_for(MANY), threads_at_work(MANY)) == (1, 1)
        monkeypatch.delenv("SDM_THREADS")
    assert threads_for(MANY) == 2


def test_runs_in_threads_of_their_own_do_not_mix() -> None:
    found = []
    with run_threads(3):
        other = threading.Thread(target=lambda: found.append(threads_for(MANY)))
        other.start()
        other.join()
        found.append(threads_for(MANY))
    assert found == [2, 3]


def test_results_come_in_the_order_of_their_items() -> None:
    def slow_at_first(k: int) -> int:
        time.sleep(0.02 if k == 0 else 0.0)
        return k

    with run_threads(4):
        assert list(over_cells(slow_at_first, range(20), MANY)) == list(range(20))


@pytest.mark.parametrize("count", [0, 1, 5, 16, 17, 1001])
@pytest.mark.parametrize("cells", [10, MANY])
def test_parts_are_all_of_it_once(count: int, cells: int) -> None:
    parts = in_parts(lambda some: np.arange(count)[some].tolist(), count, cells)
    assert list(chain.from_iterable(parts)) == list(range(count))
    assert len(parts) <= (1 if cells < MANY else 8)


def test_an_error_in_a_thread_is_an_error_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MANY", 1)
    with pytest.raises(ZeroDivisionError):
        in_parts(lambda some: 1 // (some.start - some.start), 5, 5)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_items_are_taken_ahead_of_their_use(threads: int) -> None:
    """Windows of a raster of any size would fill the memory otherwise."""
    taken: list[int] = []

    def items() -> Iterator[int]:
        for k in range(100):
            taken.append(k)
            yield k

    for used, _ in enumerate(ahead.ahead(lambda item: item, items(), threads)):
        assert len(taken) <= used + threads + 1
    assert len(taken) == 100
