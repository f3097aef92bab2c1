"""Who draws the pictures of a run: a process beside it, which loads the plotting library (half a second) while the run
loads and computes other things; or a thread, where no such process was started."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sdm.executors.local import LocalProcesses

log = logging.getLogger("sdm")

_waiting: list[LocalProcesses] = []  # the process that was started and has nothing to draw yet


def start_painter(get_ready: Callable[[], None]) -> None:
    """Start a process that will draw the next pictures, and have it get ready. Nothing happens where the plotting
    library is loaded already, or there is no second processor."""
    if _waiting or "matplotlib" in sys.modules or (os.cpu_count() or 1) < 2:
        return
    process = LocalProcesses(1)
    process.submit(get_ready)
    _waiting.append(process)


def has_painter() -> bool:
    """Tell whether a process was started that has nothing to draw yet."""
    return bool(_waiting)


def dismiss_painter() -> None:
    """End the process that was started, if it has nothing to draw."""
    while _waiting:
        _waiting.pop().kill()


@dataclass(frozen=True)
class DrawnPicture:
    """A picture that is being drawn, and how to draw it again."""

    drawn: "Future[dict[str, Any]]"
    function: Callable[..., None]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def names(self) -> dict[str, Any]:
        """Wait for it; return the names of its files."""
        try:
            return self.drawn.result()
        except BrokenExecutor:
            log.debug("the process that draws was ended from outside: its picture is drawn without it")
            return draw_and_name(self.function, self.arguments, self.options)


class Painter:
    """Draws what it is given, one after the other: functions, which get a dictionary `files` for the names of the files
    that they make."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._now: list[DrawnPicture] = []
        self._later: list[DrawnPicture] = []

    def draw(self, function: Callable[..., None], *arguments: Any, **options: Any) -> None:
        """Have a picture drawn that the page shows."""
        self._now.append(self._begin(function, arguments, options))

    def draw_later(self, function: Callable[..., None], *arguments: Any, **options: Any) -> None:
        """Have a picture drawn that the page does not show, and whose names are known: nobody waits for it before the
        end."""
        self._later.append(self._begin(function, arguments, options))

    def names(self) -> dict[str, Any]:
        """Wait for the pictures that the page shows; return the names of their files."""
        return {key: value for picture in self._now for key, value in picture.names().items()}

    def finish(self) -> None:
        """Wait for all."""
        for picture in [*self._now, *self._later]:
            picture.names()

    def _begin(
        self, function: Callable[..., None], arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> DrawnPicture:
        return DrawnPicture(
            self._executor.submit(draw_and_name, function, arguments, options), function, arguments, options
        )


def draw_and_name(function: Callable[..., None], arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Draw a picture; return the names of its files."""
    files: dict[str, Any] = {}
    function(*arguments, files=files, **options)
    return files


@contextmanager
def painting() -> Iterator[Painter]:
    """Give a painter: the process that was started, or a thread. At the end all is drawn; if something fails, the
    process is ended at once."""
    if not _waiting:
        with ThreadPoolExecutor(1) as thread:
            painter = Painter(thread)
            yield painter
            painter.finish()
        return
    process = _waiting.pop()
    try:
        painter = Painter(process)
        yield painter
        painter.finish()
    finally:
        process.kill()
