"""What the commands that fit models share: the run, and what is said of it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from sdm.errors import OptionError
from sdm_cli.console import Console, command_line
from sdm_cli.options import from_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdm.options.definitions import RunOptions
    from sdm.run.run import RunResult


def do_run(
    console: Console,
    inputs: list[str] | None,
    given: dict[str, Any],
    run: "Callable[..., RunResult] | None" = None,
    **chosen: Any,
) -> None:
    """Do a run of the command's words and options, of which some are `chosen` by the command; say what it did. `run`
    does it, if that is not a fit.

    Fails if a model does.
    """
    for name, value in chosen.items():
        if given.get(name, value) != value:
            raise OptionError(f"{name}={given[name]!r} does not apply to 'sdm {console.command}': leave it out")
    options: RunOptions = from_words(inputs, {**given, **chosen})
    if run is None:
        from sdm.run.run import run as fit_all

        run = fit_all
    with console.progress(options.output.folder) as progress:
        result = run(options, command=command_line(), progress=progress)
    warnings: dict[str, None] = {}  # what is wrong with the inputs is the same for all models, and said once
    several = len(result.models) > 1
    for model in result.models:
        console.lines(model.lines)
        for note in model.notes:
            console.log.info("  note        %s", note)
        for text in model.warnings:
            if text not in warnings:
                console.log.warning("warning: %s", text)
            warnings[text] = None
    if result.projection is not None:
        for text in result.projection.warnings:
            if text not in warnings:
                console.log.warning("warning: %s", text)
            warnings[text] = None
        console.lines(result.projection.lines)
        console.say(f"scenarios: {result.projection.folder}")
    for model in result.failed:
        reason = str(model.error)
        console.log.error("error: %s", reason if reason.startswith(model.name) else f"{model.name}: {reason}")
    console.lines(result.lines)
    if several:
        good = len(result.models) - len(result.failed)
        console.say(f"\n{good} of {len(result.models)} species fitted; summary: {result.folder / 'summary.csv'}")
        if result.index is not None:
            console.say(f"index: {result.index}")
    answers: list[dict[str, Any]] = []
    for model in result.models if console.as_json else ():
        fields = {key: value for key, value in asdict(model.whole()).items() if key not in ("lines", "warnings")}
        answers.append({**fields, "folder": None if model.folder is None else str(model.folder)})
    console.result(folder=str(result.folder), models=answers, notices=result.notices, warnings=[*warnings])
    if result.failed:
        raise typer.Exit(1)
