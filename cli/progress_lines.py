"""Progress as lines of text, for logs and the output of jobs."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sdm.progress.stages import SHORT, Stage, Stages

LONGEST = 16  # times the interval: longest wait between lines about a stage without progress
TICK = 0.5  # seconds


class ProgressLines:
    """Writes the progress of each stage, at most once per interval, and less often without progress.

    With `starts`, the start of a stage is written too; with `ends`, the end of each stage that has a line.
    """

    def __init__(self, write: Callable[[str], None], every: float, *, starts: bool = False, ends: bool = False) -> None:
        self.write, self.every, self.starts, self.ends = write, every, starts, ends
        self._lock = threading.Lock()
        self._last: dict[tuple[str, float], tuple[float, float, int]] = {}  # time, seconds to the next line, steps done

    def began(self, stage: Stage) -> None:
        """Write the start of a stage, except a stage of one of several models, which may be short."""
        with self._lock:
            if self.starts and not stage.inner:
                self._write(stage, stage.updated)

    def ended(self, stage: Stage) -> None:
        """Write the end of a stage."""
        with self._lock:
            last = self._last.pop((stage.name, stage.began), None)
            if self.ends and last is not None:
                self.write(stage.line(stage.updated))

    def tick(self, stages: Sequence[Stage], now: float) -> None:
        """Write the lines of active stages that are due."""
        with self._lock:
            active = {(stage.name, stage.began) for stage in stages}
            self._last = {key: last for key, last in self._last.items() if key in active}  # some stages have no end
            for stage in stages:
                last = self._last.get((stage.name, stage.began))
                if last is None:
                    due = stage.seconds(now) >= (SHORT if self.starts else self.every)
                else:
                    due = now - last[0] >= last[1]
                if due:
                    self._write(stage, now)

    def _write(self, stage: Stage, now: float) -> None:
        key = (stage.name, stage.began)
        last = self._last.get(key)
        wait = self.every
        if last is not None and last[2] == stage.done:
            wait = min(2 * last[1], LONGEST * self.every)
        self._last[key] = now, wait, stage.done
        self.write(stage.line(now))


@contextmanager
def ticking(stages: Stages, lines: Sequence[ProgressLines]) -> Iterator[None]:
    """Write lines in a thread, so that long work without a message has lines too."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(TICK):
            for one in lines:
                one.tick(stages.active(), stages.clock())

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
