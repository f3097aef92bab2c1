"""Commands on stored results: `sdm info`, `sdm status` and `sdm report`."""

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
        lines, numbers = (
            model_task(loaded.kind).info_lines(loaded, weights),
            {"meta": loaded.meta, **loaded.description()},
        )
        console.result(lines, models=[{"name": model.stem, "kind": loaded.kind, "numbers": numbers}])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        kind = type(error).__name__
        raise ModelFileError(f"{model} says of itself what no fit writes ({kind}): copy or fit it again") from error


@partial(with_console, common=BRIEF)
def status(
    console: Console,
    folder: Annotated[Path, typer.Argument(help="The output folder of a run over several species.")],
) -> None:
    """Say how far a run over several species is: done, failed and why, running, seconds per species, time left.

    It reads the journal in the folder, and can be used from another terminal or machine while the run is at work, and
    after it has ended. Nothing is changed.

    **Examples**

    sdm status results

    watch -n 10 sdm status results   (again every 10 seconds)
    """
    from sdm.run.status import read_status

    found = read_status(folder)
    answer = {"name": str(folder), "kind": "batch", "numbers": found.numbers}
    console.result(found.lines, folder=str(folder), models=[answer])


@partial(with_console, common=BRIEF)
def report(
    console: Console,
    places: Annotated[
        list[Path],
        typer.Argument(
            help="Results folders of `sdm fit` (one species or many), `sdm classify`, `sdm joint` or `sdm project`; or "
            "model files in them; or a .lambdas of Java Maxent."
        ),
    ],
    metadata: Annotated[
        bool,
        typer.Option(
            "--metadata", help="Also write the ODMAP protocol (CSV, JSON) and RMM metadata (CSV) of each model."
        ),
    ] = False,
    figures: Annotated[
        str | None,
        typer.Option(
            "--figures", help="Also draw the figures again, for print: png, pdf, svg, or several.", metavar="TEXT"
        ),
    ] = None,
) -> None:
    """Make the page of a model again from its stored results, without fitting: `sp.html`, which opens offline.

    A page that is there already is replaced. A folder of many species also gets an `index.html`, and its `summary.csv`
    is made again from the journal, so that both are right after a run was killed. Projections in the folder
    `scenarios` of results are made with them. The page of a model file of Java Maxent is made of the tables and maps
    beside it, and is called `sp_sdm.html`: Java Maxent's own page stays.

    **Examples**

    sdm report results

    sdm report results/Bradypus_variegatus.npz

    sdm report old/Bradypus_variegatus.lambdas --metadata

    sdm report results --figures pdf

    sdm report habitats community   (folders of sdm classify and sdm joint)
    """
    from sdm.java.page import is_bare_lambdas, write_lambdas_page
    from sdm.kinds.pages import draw_figures, make_pages, write_all_metadata
    from sdm.options.kinds import read_formats
    from sdm.run.journal import Journal
    from sdm.run.status import renew_summary

    formats = [] if figures is None else read_formats(figures)
    for folder in filter(Path.is_dir, places):
        renew_summary(folder)
    models = [place for place in places if is_bare_lambdas(place)]
    pages = [str(page) for place in models for page in write_lambdas_page(place, metadata=metadata)]
    places = [place for place in places if place not in models]
    if metadata:
        pages += [str(file) for place in places for file in write_all_metadata(place)]
    pages += [str(page) for page in make_pages(places, lambda folder: len(Journal(folder).read().planned) or None)]
    if formats:
        pages += [str(file) for file in draw_figures(places, formats)]
    console.result(pages, files=pages)
