"""Calls that are sent to a cluster together: a task costs Dask some milliseconds, however short it is."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from itertools import groupby
from typing import Any

SECONDS = 0.25
"""What a bundle of calls should take; a worker that has been at one for longer sends back what it has done."""
_MOST = 16
_KNOWN = 8  # calls of a function that tell how long it takes


class Call(Future[Any]):
    """The future of a call, and what is sent."""

    def __init__(self, function: str, body: bytes, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.function, self.body = function, body
        self.dropped: Callable[[], object] = lambda: None
        self._loop = loop

    def cancel(self) -> bool:
        """Cancel it; a bundle of which all calls are cancelled is not begun."""
        cancelled = super().cancel()
        if cancelled:
            with suppress(RuntimeError):  # nothing is sent any more
                self._loop.call_soon_threadsafe(self.dropped)
        return cancelled

    def settle(self, went_well: bool, answer: Any) -> bool:
        """Set the result, or what was raised; return whether anybody waits for it."""
        wanted = not self.done() and self.set_running_or_notify_cancel()
        if wanted and went_well:
            self.set_result(answer)
        elif wanted:
            self.set_exception(answer)
        return wanted

    def fail(self, error: Exception) -> bool:
        """Set what was raised; return whether anybody waits for it."""
        return self.settle(False, error)


class Bundles:
    """How many calls are sent together: one, until it is known that calls of a function are short."""

    def __init__(self) -> None:
        self.most = 1
        self._recent: dict[str, deque[float]] = {}

    def learn(self, bundle: list[Call], seconds: list[float]) -> None:
        """Note how long calls took."""
        for call, taken in zip(bundle, seconds):
            self._recent.setdefault(call.function, deque(maxlen=4 * _KNOWN)).append(taken)
            self.most = self._fitting(call.function)

    def divide(self, calls: list[Call]) -> Iterator[list[Call]]:
        """Yield bundles of calls of one function, without those that were cancelled."""
        wanted = [call for call in calls if not call.cancelled()]
        for function, group in groupby(wanted, key=lambda call: call.function):
            same, size = list(group), self._fitting(function)
            for k in range(0, len(same), size):
                yield same[k : k + size]

    def _fitting(self, function: str) -> int:
        recent = self._recent.get(function, ())
        if len(recent) < _KNOWN:
            return 1
        return max(1, min(_MOST, int(SECONDS / max(sum(recent) / len(recent), 1e-3))))
