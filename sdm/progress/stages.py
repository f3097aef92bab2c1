"""Stages of a run, reported from any thread, with counts, rates and the remaining time."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sdm.progress.telling import SPECIES

SHORT = 0.5
"""Minimum duration in seconds of a stage that is shown."""


@dataclass(frozen=True)
class Stage:
    """State of a stage at the time of its last report. Times are from one clock."""

    text: str
    done: int
    total: int
    first: int  # completed steps at the start, as in a resumed run
    began: float
    updated: float
    upper: bool = False  # the models of a run, with the stages of each below
    inner: bool = False  # a stage of one of several models

    @property
    def name(self) -> str:
        """The name, without failures."""
        return SPECIES if self.upper else self.text

    @property
    def counts(self) -> bool:
        """Whether it has steps to count."""
        return self.total > 1 or self.upper

    @property
    def ended(self) -> bool:
        """Whether all steps are done."""
        return self.done >= self.total

    @property
    def count(self) -> str:
        """The number of completed steps of all, and of failures."""
        failed = self.text.removeprefix(SPECIES) if self.upper else ""
        return f"{self.done:,} of {self.total:,}{failed}" if self.counts else ""

    def seconds(self, now: float) -> float:
        """Return the duration so far."""
        return max(0.0, now - self.began)

    def per_step(self, now: float) -> float | None:
        """Return the seconds per step, as if the current step ended now; None if unknown."""
        steps = self.done - self.first
        if not self.counts or steps < 1 or self.updated <= self.began:
            return None
        return max((self.updated - self.began) / steps, (now - self.began) / (steps + 1))

    def seconds_left(self, now: float) -> float | None:
        """Return the remaining seconds at the rate so far; None if unknown, or if the last step is too slow."""
        each = self.per_step(now)
        if each is None or self.ended:
            return None
        rest = each * (self.total - self.done) - (now - self.updated)
        return rest if rest > 0 else None

    def pace(self, now: float) -> tuple[str, str]:
        """Return rate and remaining time as text; while they are unknown, the duration so far."""
        each, rest, seconds = self.per_step(now), self.seconds_left(now), self.seconds(now)
        if each is None:
            return f"{duration_text(round(seconds))} so far" if seconds >= 1.0 else "", ""
        return rate_text(1.0 / each), "" if rest is None else left_text(rest)

    def line(self, now: float) -> str:
        """Return one line of a log: ``cross-validation: 3 of 10, 1.2 per second, 6 s left``."""
        if self.ended:
            took = f"in {duration_text(self.seconds(self.updated))}"
            return f"{self.name}: {self.count} {took}" if self.counts else f"{self.name}: done {took}"
        parts = [self.count, *(self.pace(now) if self.seconds(now) >= SHORT else ())]
        return f"{self.name}: {', '.join(part for part in parts if part) or 'begins'}"


class Listener(Protocol):
    """Receives the start and end of stages; called from any thread."""

    def began(self, stage: Stage) -> None:
        """Handle the start of a stage."""

    def ended(self, stage: Stage) -> None:
        """Handle the end of a stage."""


class Stages:
    """Progress function, called with completed steps, all steps and the name of a stage; it stores the active stages.

    Listeners are called outside the lock, so that they may write to a terminal whose refresh reads the stages.
    """

    def __init__(self, listeners: Sequence[Listener] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.listeners, self.clock = listeners, clock
        self._lock = threading.Lock()
        self._stages: dict[tuple[int, str], Stage] = {}

    def __call__(self, done: int, total: int, text: str) -> None:
        """Report the progress of a stage."""
        upper = text == SPECIES or text.startswith(f"{SPECIES}, ")
        key = (0, SPECIES) if upper else (threading.get_ident(), text)
        with self._lock:
            now = self.clock()
            earlier = self._stages.get(key)
            begins = earlier is None or done < earlier.done or (done == 0 and not upper)
            if begins:
                if done >= total:
                    return  # it has already ended, or takes no time
                inner = not upper and (0, SPECIES) in self._stages
                stage = Stage(text, done, total, done, now, now, upper, inner)
            else:
                assert earlier is not None  # noqa: S101 - for the type checker
                stage = replace(earlier, text=text, done=done, total=total, updated=now)
            if upper and earlier is not None and done != earlier.done:
                self._stages = {key: stage}  # stages of a failed model have no end
            self._stages[key] = stage
            if stage.ended:  # also the stages inside it that failed before their end
                inside = [k for k, other in self._stages.items() if k[0] == key[0] and other.began > stage.began]
                for one in (key, *inside):
                    del self._stages[one]
        for listener in self.listeners:
            if begins:
                listener.began(stage)
            if stage.ended:
                listener.ended(stage)

    def active(self) -> list[Stage]:
        """Return the active stages, the models of a run first, then by start."""
        with self._lock:
            return sorted(self._stages.values(), key=lambda stage: (not stage.upper, stage.began))


MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def duration_text(seconds: float) -> str:
    """Return a duration to about two digits.

    Examples
    --------
    >>> [duration_text(s) for s in (0.04, 6, 99, 750, 12_000, 400_000)]
    ['0.04 s', '6 s', '99 s', '12 min', '3 h 20 min', '4.6 days']
    """
    if seconds < 9.95:
        digits = 2 if seconds < 0.095 else 1
        return f"{seconds:.{digits}f}".removesuffix(".0").removesuffix(".00") + " s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 100 * MINUTE:
        return f"{seconds // MINUTE:.0f} min"
    if seconds < 2 * DAY:
        hours, rest = divmod(seconds, HOUR)
        return f"{hours:.0f} h {rest // MINUTE:.0f} min"
    return f"{seconds / DAY:.1f} days"


def rate_text(per_second: float) -> str:
    """Return a rate as steps per second, or a low rate as the time per step.

    Examples
    --------
    >>> [rate_text(rate) for rate in (1234, 12.3, 1.23, 0.25, 0.002)]
    ['1,234 per second', '12 per second', '1.2 per second', '4 s each', '8 min each']
    """
    if per_second < 1.0:
        return f"{duration_text(1.0 / per_second)} each"
    return f"{per_second:,.0f} per second" if per_second >= 9.95 else f"{per_second:.1f} per second"


def left_text(seconds: float) -> str:
    """Return the remaining time, in whole seconds.

    Examples
    --------
    >>> left_text(0.2), left_text(6.4), left_text(4000)
    ('1 s left', '6 s left', '66 min left')
    """
    return f"{duration_text(max(1.0, round(seconds)))} left"
