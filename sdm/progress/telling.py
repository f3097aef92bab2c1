"""Progress of work: `progress(done, total, text)`, where the text names the stage.

A stage begins with `done` = 0 and ends with `done` = `total`. A stage that needs fewer steps than planned lowers its
total. A stage of one step has no count. Each stage is reported from one thread; threads may report different stages.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # it imports numpy, which the help of a command does not need
    from sdm.types import Progress

SPECIES = "species"
"""The stage above all others: the completed models of a run of several."""

T = TypeVar("T")


def species_stage(failed: int = 0) -> str:
    """Return the text of the stage of models, with the number of models that failed.

    Examples
    --------
    >>> species_stage(), species_stage(3)
    ('species', 'species, 3 failed')
    """
    return f"{SPECIES}, {failed:,} failed" if failed else SPECIES


def step_by_step(items: Collection[T], progress: "Progress | None", text: str) -> Iterator[T]:
    """Yield items, and report the number of completed ones after each.

    Examples
    --------
    >>> reports = []
    >>> list(step_by_step("ab", lambda *step: reports.append(step), "letters"))
    ['a', 'b']
    >>> reports
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
    >>> reports = []
    >>> count = StepCount(lambda *step: reports.append(step), "search", planned=10)
    >>> count.step()
    >>> count.end()
    >>> reports
    [(0, 10, 'search'), (1, 10, 'search'), (1, 1, 'search')]
    """

    def __init__(self, progress: "Progress | None", text: str, planned: int) -> None:
        self.progress, self.text, self.done, self.total = progress, text, 0, planned
        self._report()

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(self.done, self.total, self.text)

    def step(self) -> None:
        """Report one more completed step."""
        self.done += 1
        self._report()

    def remain(self, steps: int) -> None:
        """Set the number of remaining steps."""
        self.total = self.done + steps

    def end(self) -> None:
        """Report that no step remains."""
        self.total = self.done
        self._report()


@contextmanager
def going_on(progress: "Progress | None", text: str) -> Iterator[None]:
    """Report the start and end of a stage without steps."""
    if progress is not None:
        progress(0, 1, text)
    yield
    if progress is not None:
        progress(1, 1, text)
