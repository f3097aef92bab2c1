"""Commands on stored results: `sdm info`, `status`, `report`, `convert`; and `sdm maxent`, which does as maxent.jar."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console, command_line
from sdm_cli.options import BRIEF, Overwrite, with_console


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


_SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}  # -h and others are Java Maxent's


@partial(with_console, common=["debug"], settings=_SETTINGS)
def maxent(
    console: Console,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Flags of maxent.jar: key=value, words, and short forms such as -e.", metavar="FLAGS"),
    ] = None,
    shim: Annotated[
        Path | None,
        typer.Option(
            "--shim",
            metavar="FOLDER",
            help="Write a program 'java' into this folder, which passes calls of maxent.jar to sdm and all others to "
            "the real java; put the folder first on your PATH.",
        ),
    ] = None,
) -> None:
    """Do what maxent.jar does, from its own command line, and write files with its names.

    Results of sdm, with the model (.npz), are in the folder `sdm` of the output folder. What every flag does:
    sdm help maxent.

    **Examples**

    sdm maxent environmentallayers=layers samplesfile=bradypus.csv outputdirectory=out -t ecoreg autorun nowarnings

    sdm maxent -e layers -s bradypus.csv -o out -j future -a -z -r betamultiplier=2 replicates=4 logistic

    sdm maxent --shim bin, then  PATH=$PWD/bin:$PATH java -jar maxent.jar -e layers -s bradypus.csv -o out -a
    """
    if shim is not None:
        from sdm.java.flags import write_shim

        console.say(
            f"written: {write_shim(shim)}; put its folder first on your PATH: export PATH={shim.resolve()}:$PATH"
        )
        return
    from sdm._version import __version__
    from sdm.java.flags import read_command

    command = read_command(words or [])
    if command["printversion"]:
        console.say(f"sdm {__version__}, for MaxEnt version 3.4.4")
        return
    from sdm.java.run import run_java

    if command.ignored:
        console.log.info("flags that change nothing here: %s", ", ".join(command.ignored))
    with console.progress(command["outputdirectory"] or None) as progress:
        done = run_java(command, command_line(), progress)
    console.warn(done.warnings)
    console.lines(done.lines)
    for line in done.failed:
        console.log.error("error: %s", line)
    console.answer(folder=str(done.folder), models=[{"name": name, "kind": "species"} for name in done.names])
    if done.failed:
        raise typer.Exit(1)


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
    console.result([f"written: {output}"], notices, files=[str(output)])
