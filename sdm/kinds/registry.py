"""The kinds of models that there are: the one place where their tasks are listed."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from sdm.options.definitions import RunOptions
from sdm.options.several import JointOptions

if TYPE_CHECKING:
    from sdm.kinds.task import Task

HOMES = {
    "classes": ("sdm.kinds.classes.kind", "ClassTask"),
    "community": ("sdm.kinds.community.kind", "CommunityTask"),
    "group": ("sdm.kinds.group.kind", "GroupTask"),
    "species": ("sdm.kinds.species.kind", "SpeciesTask"),
}
"""Where the task of every kind is. A task is loaded when it is asked for."""


@cache
def task_for(kind: str) -> "Task":
    """Return the task of a kind of model."""
    module, name = HOMES[kind]
    task: Task = getattr(import_module(module), name)()
    return task


def task_of(options: RunOptions) -> "Task":
    """Return the task of the kind of model that options ask for."""
    return task_for(kind_of_model(options))


def kind_of_model(options: RunOptions) -> str:
    """Return the kind of model that options ask for: what belongs to no other kind is a run over species."""
    if options.kind:
        return options.kind
    classes = options.classes
    if options.occurrences.response or classes.column or classes.proportions or classes.raster:
        return "classes"
    return "species" if options.joint == JointOptions() else "community"
