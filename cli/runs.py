"""What the commands that fit models share: the run, and what is said of it."""

from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from sdm.errors import OptionError
from sdm_cli.console import Console, command_line
from sdm_cli.options import from_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdm.options.definitions import RunOptions
    from sdm.run.run import RunResult


@contextmanager
def helped(*, charts: bool) -> "Iterator[None]":
    """For a run over species, have a process beside this one load what draws `charts`, before this one loads what fits:
    both take about a second."""
    from sdm.executors.painter import dismiss_painter, start_painter

    if charts:
        from sdm.report.titled import get_ready

        start_painter(get_ready)
    try:
        yield
    finally:
        dismiss_painter()


def draws_charts(options: "RunOptions") -> bool:
    """Tell whether a run draws more than maps, which need no plotting library, as far as its options tell."""
    output, test = options.output, options.test
    measured = bool(test.folds or test.jackknife or output.uncertainty or output.surfaces or output.publication)
    for_print = any(kind != "png" for kind in output.figure_format)
    return output.curves or measured or (output.map and output.map_picture and for_print)


def do_run(
    console: Console,
    inputs: list[str] | None,
    given: dict[str, Any],
    run: "Callable[..., RunResult] | None" = None,
    **chosen: Any,
) -> None:
    """Do a run of the command's words and options, of which some are `chosen` by the command; say what it did. `run`
    does it, if that is not a fit, and loads what it needs: processes that help have been started by then.

    Fails if a model does.
    """
    for name, value in chosen.items():
        if given.get(name, value) != value:
            raise OptionError(f"{name}={given[name]!r} does not apply to 'sdm {console.command}': leave it out")
    options: RunOptions = from_words(inputs, {**given, **chosen})
    from sdm.executors.opening import kept_workers
    from sdm.kinds.registry import over_species

    output = options.output
    charts = run is not None or draws_charts(options)
    helpers = helped(charts=charts) if over_species(options) else nullcontext()
    with kept_workers(options), helpers:  # which load what they need while this process does
        if run is None:
            from sdm.run.run import run as fit_all

            run = fit_all
        with console.progress(output.folder) as progress:
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
