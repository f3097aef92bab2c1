"""`sdm joint`: several species at the same sites, learned together."""

from functools import partial
from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm_cli.options import with_run_options
from sdm_cli.runs import do_run


@partial(with_run_options, sections=["joint"], kinds=["community"], short="joint", needs="sites with their species")
def joint(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A table of sites with one 0/1 column per species (blank: nobody looked), or one row per species "
            "and site with a column 'presence'; then layers, or a table of the environment, unless the sites' own "
            "columns are the environment. Or a run file.",
            metavar="SITES [LAYERS | TABLE] | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Learn several species at the same sites together: what each asks of the environment, and who is found with whom.

    Features are linear and quadratic unless --features says otherwise, and the strength of regularisation (--cost) is
    chosen by cross-validation. Every measure is given for the joint model, for stacked single models, and for a
    logistic regression per species (GLM). Max-margin learners (laplace, m3n) give weight to an association only where
    that saves wrong labels, so it can be almost zero for species that are found together: a conditional random field
    shows associations better.

    **Examples**

    sdm joint sites.csv layers/ --categorical landcover --folds 5 -o results

    sdm joint species.csv environment.csv --split block --block-size 50 -o results

    sdm joint survey.csv --species "sp_*" --environment heat,rain --graph edges.csv --cost 1 -o results
    """
    do_run(console, inputs, given, kind="community")
