"""Two tasks at the same time: one in a thread, and one here, whose progress is shown."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import TypeVar

from sdm.types import Progress

T = TypeVar("T")
U = TypeVar("U")


class _Ended(BaseException):
    """The other task failed."""


def side_by_side(
    in_thread: Callable[[Progress], T], here: Callable[[Progress], U], progress: Progress | None
) -> tuple[T, U]:
    """Call two functions at the same time, one of them in a thread, each with its progress; return both results.

    The progress of the thread is shown only while it is waited for. An error in one of the functions ends the other
    when it next reports progress, and is raised.
    """
    waited_for, failed, begun = Event(), Event(), set[str]()

    def quiet(done: int, total: int, text: str) -> None:
        if failed.is_set():
            raise _Ended
        if progress is None or not waited_for.is_set():
            return
        if done and text not in begun:  # the stage began before anybody looked
            progress(0, total, text)
        begun.add(text)
        progress(done, total, text)

    def shown(done: int, total: int, text: str) -> None:
        if future.done() and future.exception() is not None:
            raise _Ended
        if progress is not None:
            progress(done, total, text)

    with ThreadPoolExecutor(1) as pool:
        future: Future[T] = pool.submit(copy_context().run, in_thread, quiet)
        try:
            result = here(shown)
            waited_for.set()
            return future.result(), result
        except _Ended:
            raise (future.exception() or _Ended()) from None
        except BaseException:
            failed.set()
            raise
