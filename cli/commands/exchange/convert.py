"""`sdm convert`: a model file as another program has it."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import BRIEF, Overwrite, with_console


@partial(with_console, common=BRIEF)
def convert(
    console: Console,
    model: Annotated[Path, typer.Argument(help="A model file: .npz of sdm, or .lambdas of Java Maxent.")],
    output: Annotated[Path, typer.Argument(help="The file to write; its ending says of which program.")],
    overwrite: Overwrite = False,
) -> None:
    """Write a model of one species for Java Maxent (`.lambdas`), or a model of Java Maxent for sdm (`.npz`).

    Java Maxent keeps the cumulative scale in another file: `sp_omission.csv` beside `sp.lambdas` is read and written
    too. All commands that take a model file take `.lambdas` as it is.

    **Examples**

    sdm convert old/Bradypus.lambdas Bradypus.npz

    sdm convert results/Bradypus_variegatus.npz Bradypus.lambdas
    """
    from sdm.models.file import convert_model

    notices = convert_model(model, output, overwrite=overwrite)
    for notice in notices:
        console.log.info(notice)
    console.say(f"written: {output}")
    console.result(files=[str(output)], notices=notices)
