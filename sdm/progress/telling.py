"""How long work says how far it is: `progress(done, total, text)`, where the text names the stage.

A stage begins with `done` = 0 and ends with `done` = `total`; one that needs fewer steps than planned lowers its total.
A stage of one step has no count: it is going on, or done. A stage is told from one thread; several threads may each
tell their own.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # it imports numpy, which the help of a command does not need
    from sdm.types import Progress

SPECIES = "species"
"""The stage above all others: models that are finished, of a run of several."""

T = TypeVar("T")


def species_stage(failed: int = 0) -> str:
    """Return the text of the stage above all others, with the number of models that failed.

    Examples
    --------
    >>> species_stage(), species_stage(3)
    ('species', 'species, 3 failed')
    """
    return f"{SPECIES}, {failed:,} failed" if failed else SPECIES


def step_by_step(items: Collection[T], progress: "Progress | None", text: str) -> Iterator[T]:
    """Yield items, and tell after each how many are done.

    Examples
    --------
    >>> told = []
    >>> list(step_by_step("ab", lambda *step: told.append(step), "letters"))
    ['a', 'b']
    >>> told
    [(0, 2, 'letters'), (1, 2, 'letters'), (2, 2, 'letters')]
    """
    if progress is None or not items:
        yield from items
        return
    progress(0, len(items), text)
    for done, item in enumerate(items, start=1):
        yield item
        progress(done, len(items), text)


class StepCount:
    """The steps of a stage that may need fewer than planned.

    Examples
    --------
    >>> told = []
    >>> count = StepCount(lambda *step: told.append(step), "search", planned=10)
    >>> count.step()
    >>> count.end()
    >>> told
    [(0, 10, 'search'), (1, 10, 'search'), (1, 1, 'search')]
    """

    def __init__(self, progress: "Progress | None", text: str, planned: int) -> None:
        self.progress, self.text, self.done, self.total = progress, text, 0, planned
        self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(self.done, self.total, self.text)

    def step(self) -> None:
        """Tell that one more step is done."""
        self.done += 1
        self._tell()

    def remain(self, steps: int) -> None:
        """Plan anew: this number of steps remains."""
        self.total = self.done + steps

    def end(self) -> None:
        """Tell that no step remains."""
        self.total = self.done
        self._tell()


@contextmanager
def going_on(progress: "Progress | None", text: str) -> Iterator[None]:
    """Tell that a stage goes on whose steps cannot be step_by_step, and that it is done."""
    if progress is not None:
        progress(0, 1, text)
    yield
    if progress is not None:
        progress(1, 1, text)
