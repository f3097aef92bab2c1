"""Short help and all of it: `--help` shows the options that most people use, `--help-all` shows every one."""

import inspect
import os
from collections.abc import Collection
from typing import Annotated, Any

import typer

USED_MOST = (
    "occurrences.species", "layers.categorical", "background.bias", "fit.features", "fit.multiplier",
    "test.folds", "test.split", "predict.threshold", "project.scenarios", "output.folder", "output.overwrite",
    "processes",
)  # fmt: skip
"""Options that the short help of a command shows, where they apply, besides those of its own section."""

COMPLETING = "_SDM_COMPLETE" in os.environ
"""Whether a shell asks how a word can be completed: it is offered every option, also those that `--help` leaves out."""


def help_all(more: Collection[str]) -> inspect.Parameter:
    """Make the option `--help-all` of a command: it shows the parameters of these names too."""

    def show(context: typer.Context, wanted: bool) -> None:
        if not wanted:
            return
        others: list[Any] = [parameter for parameter in context.command.params if parameter.name in more]
        for parameter in others:
            parameter.hidden = False
        typer.echo(context.get_help())
        for parameter in others:
            parameter.hidden = True
        raise typer.Exit

    text = f"Show all options: {len(more)} more."
    option: Any = typer.Option("--help-all", help=text, is_eager=True, callback=show, show_default=False)
    return inspect.Parameter(
        "help_all", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[bool, option], default=False
    )
