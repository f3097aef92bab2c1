"""Before a run: `sdm check`, everything that would go wrong; `sdm variables`, which variables to keep."""

from functools import partial
from typing import Annotated

import typer

from sdm_cli.console import Console, command_line
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
    console.lines([*(f"ok       {line}" for line in found.facts), *(f"warning  {line}" for line in found.warnings)])
    for line in found.problems:
        console.say(f"problem  {line}")
        if console.quiet or console.as_json:
            console.log.error("error: %s", line)
    console.say(f"\n{len(found.problems)} problems, {len(found.warnings)} warnings")
    console.answer(problems=found.problems, warnings=found.warnings, notices=found.facts)
    if found.problems:
        raise typer.Exit(1)


@partial(with_run_options, sections=["classes", "joint"], kinds=["species", "classes", "community"])
def variables(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Correlate the variables over the background (or the sites), and suggest which to keep.

    With an output folder: the correlation matrices (Pearson, Spearman), one row per variable (VIF, gain alone, group,
    suggestion), and a heat map with a dendrogram. Nothing is left out here: `--drop-correlated` and `--drop-vif` do
    that in a run.

    **Examples**

    sdm variables records.csv layers/ -o variables

    sdm variables records.csv layers/ --categorical landcover --drop-correlated 0.8   (another limit, no files)

    sdm variables survey.csv layers/ --response presence -o variables   (over the sites of a survey)

    sdm variables sites.csv layers/ --kind community -o variables
    """
    from sdm.run.screening import screen_variables

    options = from_words(inputs, given)
    with console.progress(options.output.folder) as progress:
        found = screen_variables(options, command=command_line(), progress=progress)
    folder = None if found.folder is None else str(found.folder)
    written = [f"written      {folder}/{name}" for name in found.files.values()]
    answer = {"name": "variables", "kind": "variables", "folder": folder, "numbers": found.numbers()}
    console.result([*found.lines(), *written], found.notices, folder=folder, models=[answer | {"files": found.files}])
