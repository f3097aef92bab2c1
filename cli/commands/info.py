"""`sdm info`: what is in a model file."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import BRIEF, with_console


@partial(with_console, common=BRIEF)
def info(
    console: Console,
    model: Annotated[Path, typer.Argument(help="A model file (.npz, .lambdas).")],
    weights: Annotated[
        int, typer.Option("--weights", "--features", help="List N features, those with the largest weights first.")
    ] = 15,
) -> None:
    """Show what is in a model file: data, settings, features, weights, certificate, seed, versions.

    **Example**:  sdm info results/Bradypus_variegatus.npz
    """
    from sdm.errors import ModelFileError
    from sdm.kinds.registry import model_task
    from sdm.models.file import load_model

    loaded = load_model(model)
    try:
        console.lines(model_task(loaded.kind).info_lines(loaded, weights))
        numbers = {"meta": loaded.meta, **loaded.description()}
        console.result(models=[{"name": model.stem, "kind": loaded.kind, "numbers": numbers}])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        kind = type(error).__name__
        raise ModelFileError(f"{model} says of itself what no fit writes ({kind}): copy or fit it again") from error
