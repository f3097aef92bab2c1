"""`sdm report`: the page of a model, made again from stored results."""

from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Debug, Json


def report(
    places: Annotated[
        list[Path],
        typer.Argument(
            help="Results folders of `sdm fit` (one species or many), `sdm classify` or `sdm joint`; or model files in "
            "them."
        ),
    ],
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Make the page of a model again from its stored results, without fitting: `sp.html`, which opens offline.

    A page that is there already is replaced. A folder of many species also gets an `index.html`.

    **Examples**

    sdm report results

    sdm report results/Bradypus_variegatus.npz

    sdm report habitats community   (folders of sdm classify and sdm joint)
    """
    console = Console("report", as_json=as_json, debug=debug)
    with console.guard():
        from sdm.report.pages.index import make_pages

        pages = make_pages(places)
        for page in pages:
            console.say(str(page))
        console.result(files=[str(page) for page in pages])
