"""`sdm check`: everything that would go wrong, before an hour is spent."""

from functools import partial
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Given, Inputs, from_words, with_run_options


@partial(with_run_options, sections=["classes", "joint"], kinds=["species", "classes", "community"])
def check(
    console: Console,
    given: Given,
    inputs: Inputs = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Check a run of 'sdm joint': the same as --kind community.")
    ] = False,
) -> None:
    """Look for everything that would go wrong in a run of any kind, and list it all at once, without fitting.

    The kind of model is what the options say: --response, --class-column or --classes are those of classes, --learner
    or --graph those of a community; a run file says it; and --kind says it in any case.

    **Examples**

    sdm check records.csv layers/ --categorical landcover

    sdm check run.yaml

    sdm check plots.csv layers/ --class-column habitat --folds 5

    sdm check sites.csv layers/ --kind community --folds 5
    """
    from sdm.run.checking import check_run

    found = check_run(from_words(inputs, {**given, **({"kind": "community"} if joint else {})}))
    for line in found.facts:
        console.say(f"ok       {line}")
    for line in found.warnings:
        console.say(f"warning  {line}")
    for line in found.problems:
        console.say(f"problem  {line}")
        if console.quiet or console.as_json:
            console.log.error("error: %s", line)
    console.say(f"\n{len(found.problems)} problems, {len(found.warnings)} warnings")
    console.result(problems=found.problems, warnings=found.warnings, notices=found.facts)
    if found.problems:
        raise typer.Exit(1)
