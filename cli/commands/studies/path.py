"""`sdm path`: the answer for every amount of regularisation, and the one that held-out records choose."""

from functools import partial
from typing import Any

from sdm_cli.console import Console
from sdm_cli.options import Inputs, with_run_options
from sdm_cli.runs import do_run


@partial(with_run_options, sections=["path"], kinds=["species"], short="path")
def path(console: Console, given: dict[str, Any], inputs: Inputs = None) -> None:
    """Follow the whole path: every multiplier of a model, or every tolerance over strata, chosen by held-out loss.

    Without --strata: fits from the empty model down, with a gap that is proved between them too; coefficients, gain and
    held-out loss against the multiplier; and the fit of the chosen one, as by 'sdm fit'.

    With --strata: the exact path from the prior (area, or effort by --bias) to what was recorded, its breakpoints, and
    the map of the chosen distribution.

    **Examples**

    sdm path records.csv layers/ --fc LQH -o results

    sdm path records.csv layers/ --epsilon 0.01 --smallest 0.5 --folds 10 --choice one_se -o results

    sdm path records.csv --strata ecoregions.tif -o results

    sdm path records.csv layers/ --strata grid:50km --bias effort.tif -o results
    """
    from sdm.run.studies.paths import run_path

    do_run(console, inputs, given, run_path)
