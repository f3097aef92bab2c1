"""Work that is done here and now, in the shape of an executor."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


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
