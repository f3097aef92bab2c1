"""The registry of the kinds of models.

The folder of a kind has `kind.py` with its `TASK`, and `page.py` with its `PAGE` and the class of its stored results,
`RESULTS`. Each is loaded on demand.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from sdm.errors import ResultsError
from sdm.options.definitions import RunOptions
from sdm.options.several import JointOptions

if TYPE_CHECKING:
    from sdm.kinds.model_task import AnyModelTask
    from sdm.kinds.task import AnyTask
    from sdm.report.pages.frame import Page
    from sdm.report.results import Results

HOMES = {
    "species": "sdm.kinds.species",
    "classes": "sdm.kinds.classes",
    "community": "sdm.kinds.community",
    "group": "sdm.kinds.group",
    "strata": "sdm.kinds.strata",
    "projection": "sdm.kinds.projection",
}


@cache
def model_task(kind: str) -> "AnyModelTask":
    """Return the model task of a kind."""
    task: AnyModelTask = _part(kind, "kind").TASK()
    return task


def task_for(kind: str) -> "AnyTask":
    """Return the run task of a kind."""
    return cast("AnyTask", model_task(kind))


def results_class(kind: str) -> "type[Results]":
    """Return the class of the stored results of a kind; `Results` for an unknown kind."""
    from sdm.report.results import Results

    results: type[Results] = _part(kind, "page").RESULTS if kind in HOMES else Results
    return results


def page_of(results: "Results") -> "Page":
    """Return the page of some results."""
    if results.kind not in HOMES:
        file, kinds = f"{results.folder / results.name}.json", ", ".join(HOMES)
        raise ResultsError(f"{file} has the unknown kind '{results.kind}': expected one of {kinds}; update sdm")
    page: Page = _part(results.kind, "page").PAGE
    return page


def _part(kind: str, module: str) -> ModuleType:
    return import_module(f"{HOMES[kind]}.{module}")


def task_of(options: RunOptions) -> "AnyTask":
    """Return the task of the kind that options request."""
    return task_for(kind_of_model(options))


def kind_of_model(options: RunOptions) -> str:
    """Return the kind that options request; the default is a run over species."""
    if options.kind:
        return options.kind
    classes = options.classes
    if options.occurrences.response or classes.column or classes.proportions or classes.raster:
        return "classes"
    return "species" if options.joint == JointOptions() else "community"


def read_results(place: Path) -> "Results":
    """Read the results of one model: from its folder, its model (`.npz`, `.lambdas`), or its numbers (`.json`)."""
    from sdm.report.results import read_stored

    return read_stored(place, results_class)
