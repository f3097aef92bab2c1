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


def counted(items: Collection[T], progress: "Progress | None", text: str) -> Iterator[T]:
    """Yield items, and tell after each how many are done.

    Examples
    --------
    >>> told = []
    >>> list(counted("ab", lambda *step: told.append(step), "letters"))
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


@contextmanager
def going_on(progress: "Progress | None", text: str) -> Iterator[None]:
    """Tell that a stage goes on whose steps cannot be counted, and that it is done."""
    if progress is not None:
        progress(0, 1, text)
    yield
    if progress is not None:
        progress(1, 1, text)


def renamed(progress: "Progress | None", text: str) -> "Progress | None":
    """Return a progress that calls every stage by another name, for a part that does not know what it is a part of."""
    if progress is None:
        return None
    told = progress
    return lambda done, total, _: told(done, total, text)
