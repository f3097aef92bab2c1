"""`sdm fit`: from records and layers to a map, curves, numbers and a model."""

from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm_cli.options import INPUTS, with_run_options
from sdm_cli.runs import do_run


@with_run_options
def fit(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="An occurrence file and a folder of layers; or a run file (run.yaml).", metavar=INPUTS),
    ] = None,
) -> None:
    """Fit a model, and write its map, curves, numbers and model file.

    **Examples**

    sdm fit records.csv layers/ -o results

    sdm fit gbif.csv layers/ --categorical landcover --fc LQH --rm 2 -o results

    sdm fit records.gpkg "climate/bio*.tif" --crs EPSG:25833 --test-percent 25 --threshold maxsss -o results

    sdm fit records.csv layers/ --model structural --families l,q,p,h,trees:8 -o results   (trees inside maxent)

    sdm fit survey.csv layers/ --response presence -o results   (presence and absence: one model per species)

    sdm fit run.yaml --fit.multiplier 2 -o results2

    sdm fit presences_swd.csv background_swd.csv -o results   (tables of samples with data)

    sdm fit points.csv --bounds 0,0,1000,800 --model structural -o results   (a density of points, without layers)

    Every option can also be written as in a run file (--fit.multiplier 2) or as in Maxent (--betamultiplier 2).
    """
    do_run(console, inputs, given)
