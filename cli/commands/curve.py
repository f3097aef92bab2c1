"""`sdm curve`: how held-out loss falls with more records, and how it depends on the penalty."""

from functools import partial
from pathlib import Path
from typing import Any

import typer

from sdm_cli.console import Console, command_line
from sdm_cli.help_text import PlainCommand, PlainGroup
from sdm_cli.options import Given, Inputs, from_words, with_run_options

curve = typer.Typer(
    no_args_is_help=True,
    cls=PlainGroup,
    rich_markup_mode=None,
    help="Draw how good models are on held-out records: with more and more records, or with a growing penalty.",
)


@partial(with_run_options, sections=["curve"], kinds=["species"], short="curve", name="curve learning")
def learning(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Held-out loss against the number of training records, for several sets of feature classes.

    **Example**:  sdm curve learning records.csv layers/ --sets l:0.1,lq:0.1,t:1 --partitions 10 -o curves
    """
    _draw(console, given, inputs, "learning")


@partial(with_run_options, sections=["curve"], kinds=["species"], short="curve", name="curve sensitivity")
def sensitivity(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Held-out loss against the regularisation multiplier, for several sets of feature classes.

    **Example**:  sdm curve sensitivity records.csv layers/ --sets lq,t --strengths 0.1,0.3,1,3 -o curves
    """
    _draw(console, given, inputs, "sensitivity")


for command in (learning, sensitivity):
    curve.command(cls=PlainCommand, context_settings=command.settings)(command)


def _draw(console: Console, given: Given, inputs: list[str] | None, kind: str) -> None:
    options = from_words(inputs, given)
    from dataclasses import asdict

    from sdm.run.studies.curves import run_curve

    with console.progress(options.output.folder) as progress:
        result = run_curve(options, kind, command=command_line(), progress=progress)
    for notice in result.notices:
        console.log.info(notice)
    for warning in result.warnings:
        console.log.warning("warning: %s", warning)
    for species, points in result.points.items():
        console.say(f"\n{species}")
        for label in dict.fromkeys(point.label for point in points):
            own = [point for point in points if point.label == label]
            best = min(own, key=lambda point: point.loss)
            at = f"{best.presences} presences" if kind == "learning" else f"multiplier {best.multiplier:g}"
            console.say(f"  {label:<10} least loss {best.loss:.4f} nats, AUC {best.auc:.4f}, at {at}")
        for name in result.files[species]:
            console.say(f"  written     {result.folder / name}")
    for species, reason in result.failures.items():
        console.log.error("error: %s: %s", species, reason)
    models: list[dict[str, Any]] = [
        {
            "name": name,
            "kind": kind,
            "numbers": {"points": [asdict(point) for point in points]},
            "files": {Path(file).suffix[1:]: file for file in result.files[name]},
        }
        for name, points in result.points.items()
    ]
    models += [{"name": name, "kind": kind, "error": reason} for name, reason in result.failures.items()]
    console.result(folder=str(result.folder), models=models, notices=result.notices, warnings=result.warnings)
    if result.failures:
        raise typer.Exit(1)
