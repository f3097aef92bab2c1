"""The kinds of models that there are: the one place where their tasks are listed."""

from functools import cache
from importlib import import_module

from sdm.options.definitions import RunOptions
from sdm.workflow.task import Task

HOMES = {
    "classes": ("sdm.workflow.classes.task", "ClassTask"),
    "community": ("sdm.workflow.community.task", "CommunityTask"),
    "group": ("sdm.workflow.group.task", "GroupTask"),
    "species": ("sdm.workflow.species.task", "SpeciesTask"),
}
"""Where the task of every kind is; options that name no kind go to the first that recognises them."""


@cache
def task_for(kind: str) -> Task:
    """Return the task of a kind of model."""
    module, name = HOMES[kind]
    task: Task = getattr(import_module(module), name)()
    return task


def task_of(options: RunOptions) -> Task:
    """Return the task of the kind of model that options ask for."""
    if options.kind is not None:
        return task_for(options.kind)
    return next(task for task in map(task_for, HOMES) if task.recognises(options))
