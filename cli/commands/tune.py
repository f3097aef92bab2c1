"""`sdm tune`: settings chosen by cross-validation, and the model that they give."""

from typing import Annotated, Any

import typer

from sdm_cli.commands.fit import finish
from sdm_cli.console import Console, command_line
from sdm_cli.options import INPUTS, from_words, with_run_options


@with_run_options
def tune(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="As for 'sdm fit': an occurrence file and layers, or a run file.", metavar=INPUTS),
    ] = None,
) -> None:
    """Try settings by cross-validation, choose one, and fit it; what was tried is in tune.csv.

    **Examples**

    sdm tune records.csv layers/ --feature-sets l,lq,lqh --multipliers 0.5,1,2,4 --processes 2 -o results

    sdm tune records.csv layers/ --split block --block-size 100 --choose-by or.10p.avg,auc.val.avg -o results

    sdm tune records.csv layers/ --budget 20 --entropies 1,2 --choose-rule one_se -o results

    sdm tune records.csv layers/ --model structural --lambdas 0.01,0.1 --betas 0.01,0.1 -o results
    """
    options = from_words(inputs, given)
    from sdm.workflow.tuning import tune as run_tuning

    with console.progress() as progress:
        result = run_tuning(options, command=command_line(), progress=progress)
    finish(console, result)
