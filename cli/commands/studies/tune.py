"""`sdm tune`: settings chosen by cross-validation, and the model that they give."""

from functools import partial
from typing import Any

from sdm_cli.console import Console
from sdm_cli.options import Inputs, with_run_options
from sdm_cli.runs import do_run


@partial(with_run_options, sections=["tune", "classes"], short="tune")
def tune(console: Console, given: dict[str, Any], inputs: Inputs = None) -> None:
    """Try settings by cross-validation, choose one, and fit it; what was tried is in tune.csv.

    **Examples**

    sdm tune records.csv layers/ --feature-sets l,lq,lqh --multipliers 0.5,1,2,4 --processes 2 -o results

    sdm tune records.csv layers/ --split block --block-size 100 --choose-by or.10p.avg,auc.val.avg -o results

    sdm tune records.csv layers/ --budget 20 --entropies 1,2 --choose-rule one_se -o results

    sdm tune records.csv layers/ --model structural --lambdas 0.01,0.1 --betas 0.01,0.1 -o results

    sdm tune survey.csv layers/ --response presence --choose-by tss.val.avg -o results   (presence and absence)
    """

    from sdm.run.studies.tuning import run_tuning

    do_run(console, inputs, given, run_tuning)
