"""`sdm check`: everything that would go wrong, before an hour is spent."""

from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm_cli.options import INPUTS, from_words, with_run_options


@with_run_options
def check(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="As for 'sdm fit': an occurrence file and layers, or a run file.", metavar=INPUTS),
    ] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Check a run of 'sdm joint'; so does any option that is its own.")
    ] = False,
) -> None:
    """Look for everything that would go wrong in `sdm fit`, and list it all at once; nothing is fitted or written.

    With --joint, or an option of `sdm joint` such as --learner or --graph, it is a run of `sdm joint` that is checked.

    **Examples**

    sdm check records.csv layers/ --categorical landcover

    sdm check run.yaml

    sdm check sites.csv layers/ --joint --folds 5
    """
    options = from_words(inputs, given)
    # The run file of a joint model has a section for it, and none for a background.
    own = "joint" in options.model_fields_set and "background" not in options.model_fields_set
    if joint or own or options.joint != type(options.joint)():
        from sdm.workflow.community.checking import check_joint_run

        found = check_joint_run(options)
    else:
        from sdm.workflow.checking import check_run

        found = check_run(options)
    for line in found.facts:
        console.say(f"ok       {line}")
    for line in found.warnings:
        console.say(f"warning  {line}")
    for line in found.problems:
        console.say(f"problem  {line}")
        if console.quiet or console.as_json:
            console.log.error("error: %s", line)
    console.say(f"\n{len(found.problems)} problems, {len(found.warnings)} warnings")
    console.result({"problems": found.problems, "warnings": found.warnings, "facts": found.facts})
    if found.problems:
        raise typer.Exit(1)
