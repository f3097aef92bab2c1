"""`sdm classify`: habitats, vegetation types or species from points with a class, or from a raster of classes."""

from functools import partial
from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm_cli.options import with_run_options
from sdm_cli.runs import do_run


@partial(
    with_run_options,
    sections=["classes"],
    kinds=["classes"],
    short="classes",
    needs="sites with their class, and layers",
)
def classify(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A file of points and a folder of layers; with --classes, layers alone; a table of points with their "
            "values; or a run file.",
            metavar="POINTS [LAYERS] | LAYERS | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Model classes from the environment, and write probabilities, the class map, its entropy, tests and the model.

    **Examples**

    sdm classify plots.csv layers/ --class-column habitat -o results

    sdm classify plots.gpkg layers/ --class-column vegetation --features l,q,trees:8 --folds 5 -o results

    sdm classify layers/ --classes landcover.tif --points 5000 --test-percent 25 -o results

    sdm classify cover.csv layers/ --proportions forest,meadow,bog --entropy 2 -o results   (cover fractions)
    """
    do_run(console, inputs, given, kind="classes")
