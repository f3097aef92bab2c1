"""`sdm report`: the page of a model, made again from stored results."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import BRIEF, with_console


@partial(with_console, common=BRIEF)
def report(
    console: Console,
    places: Annotated[
        list[Path],
        typer.Argument(
            help="Results folders of `sdm fit` (one species or many), `sdm classify`, `sdm joint` or `sdm project`; or "
            "model files in them."
        ),
    ],
) -> None:
    """Make the page of a model again from its stored results, without fitting: `sp.html`, which opens offline.

    A page that is there already is replaced. A folder of many species also gets an `index.html`, and its `summary.csv`
    is made again from the journal, so that both are right after a run was killed. Projections in the folder
    `scenarios` of results are made with them.

    **Examples**

    sdm report results

    sdm report results/Bradypus_variegatus.npz

    sdm report habitats community   (folders of sdm classify and sdm joint)
    """
    from sdm.report.pages.index import make_pages
    from sdm.workflow.running.journal import Journal
    from sdm.workflow.running.summary import renew_summary

    for folder in filter(Path.is_dir, places):
        renew_summary(folder)
    pages = [str(page) for page in make_pages(places, lambda folder: len(Journal(folder).read().planned) or None)]
    console.lines(pages)
    console.result(files=pages)
