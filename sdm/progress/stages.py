"""What is going on in a run: its stages, told from any thread, with counts, rates and the time that is left."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sdm.progress.telling import SPECIES

SHORT = 0.5
"""Seconds that a stage takes at least to be shown."""


@dataclass(frozen=True)
class Stage:
    """A stage at some moment: how far it is, since when, and when that was told. Times are those of one clock."""

    text: str
    done: int
    total: int
    first: int  # steps that were done when it began, as in a run that is resumed
    began: float
    told: float
    upper: bool = False  # the models of a run, whose own stages are below
    inner: bool = False  # a stage of one of several models

    @property
    def name(self) -> str:
        """What it is called, without what failed."""
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
        """The steps that are done, of all, and what failed."""
        failed = self.text.removeprefix(SPECIES) if self.upper else ""
        return f"{self.done:,} of {self.total:,}{failed}" if self.counts else ""

    def seconds(self, now: float) -> float:
        """Return how long it has been going on."""
        return max(0.0, now - self.began)

    def per_step(self, now: float) -> float | None:
        """Return the seconds that a step takes: no less than if the one that is going on ended now; None if unknown."""
        steps = self.done - self.first
        if not self.counts or steps < 1 or self.told <= self.began:
            return None
        return max((self.told - self.began) / steps, (now - self.began) / (steps + 1))

    def left(self, now: float) -> float | None:
        """Return the seconds that are left, at the rate so far; None if unknown, or if the last step takes longer than
        the others did."""
        each = self.per_step(now)
        if each is None or self.ended:
            return None
        left = each * (self.total - self.done) - (now - self.told)
        return left if left > 0 else None

    def pace(self, now: float) -> tuple[str, str]:
        """Return rate and time left in words; while they are unknown, how long it has been going on."""
        each, left, seconds = self.per_step(now), self.left(now), self.seconds(now)
        if each is None:
            return f"{duration_text(round(seconds))} so far" if seconds >= 1.0 else "", ""
        return rate_text(1.0 / each), "" if left is None else left_text(left)

    def line(self, now: float) -> str:
        """Return one line of a log: ``cross-validation: 3 of 10, 1.2 per second, 6 s left``."""
        if self.ended:
            took = f"in {duration_text(self.seconds(self.told))}"
            return f"{self.name}: {self.count} {took}" if self.counts else f"{self.name}: done {took}"
        known = [self.count, *(self.pace(now) if self.seconds(now) >= SHORT else ())]
        return f"{self.name}: {', '.join(part for part in known if part) or 'begins'}"


class Listener(Protocol):
    """Hears of stages; called from any thread."""

    def began(self, stage: Stage) -> None:
        """Hear that a stage begins."""

    def ended(self, stage: Stage) -> None:
        """Hear that a stage is done."""


class Stages:
    """The function that work calls with steps done, steps in all and the name of the stage; it keeps what is going on.

    Listeners are called outside the lock, so that they may write to a terminal whose refresh asks for the stages.
    """

    def __init__(self, listeners: Sequence[Listener] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.listeners, self.clock = listeners, clock
        self._lock = threading.Lock()
        self._stages: dict[tuple[int, str], Stage] = {}

    def __call__(self, done: int, total: int, text: str) -> None:
        """Tell how far a stage is."""
        upper = text == SPECIES or text.startswith(f"{SPECIES}, ")
        key = (0, SPECIES) if upper else (threading.get_ident(), text)
        with self._lock:
            now = self.clock()
            earlier = self._stages.get(key)
            begins = earlier is None or done < earlier.done or (done == 0 and not upper)
            if begins:
                if done >= total:
                    return  # it had ended before, or takes no time at all
                inner = not upper and (0, SPECIES) in self._stages
                stage = Stage(text, done, total, done, now, now, upper, inner)
            else:
                assert earlier is not None  # noqa: S101 - for the type checker
                stage = replace(earlier, text=text, done=done, total=total, told=now)
            if upper and earlier is not None and done != earlier.done:
                self._stages = {key: stage}  # stages of a model that failed do not end by themselves
            self._stages[key] = stage
            if stage.ended:  # and with it what began inside of it and did not end, as where something failed
                inside = [k for k, other in self._stages.items() if k[0] == key[0] and other.began > stage.began]
                for one in (key, *inside):
                    del self._stages[one]
        for listener in self.listeners:
            if begins:
                listener.began(stage)
            if stage.ended:
                listener.ended(stage)

    def active(self) -> list[Stage]:
        """Return what is going on, the models of a run first, then in the order in which it began."""
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
    """Return a rate as steps per second, or slow ones as the time of each.

    Examples
    --------
    >>> [rate_text(rate) for rate in (1234, 12.3, 1.23, 0.25, 0.002)]
    ['1,234 per second', '12 per second', '1.2 per second', '4 s each', '8 min each']
    """
    if per_second < 1.0:
        return f"{duration_text(1.0 / per_second)} each"
    return f"{per_second:,.0f} per second" if per_second >= 9.95 else f"{per_second:.1f} per second"


def left_text(seconds: float) -> str:
    """Return how long it will take, in whole seconds.

    Examples
    --------
    >>> left_text(0.2), left_text(6.4), left_text(4000)
    ('1 s left', '6 s left', '66 min left')
    """
    return f"{duration_text(max(1.0, round(seconds)))} left"
