"""Commands on stored results: `sdm info`, `status`, `report` and `convert`; and `sdm maxent`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console, command_line
from sdm_cli.flags import java_flags
from sdm_cli.options import BRIEF, Overwrite, with_console


@partial(with_console, common=BRIEF)
def info(
    console: Console,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file (.npz, .lambdas).")],
    weights: Annotated[
        int, typer.Option("--weights", "--features", metavar="N", help="Number of features to list, by weight.")
    ] = 15,
) -> None:
    """Show the contents of a model file: data, settings, features, weights, certificate, seed, versions.

    Examples:

      sdm info results/Virtualis_montanus.npz
      sdm info results/Virtualis_montanus.npz --weights 30
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
        raise ModelFileError(f"{model} contains invalid values ({kind}): copy it again, or fit again") from error


@partial(with_console, common=BRIEF)
def status(
    console: Console,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Results of a run over several species.")],
) -> None:
    """Show the progress of a run over several species: done, failed, running, and the time left.

    The command reads the journal of the run. It can be used on another machine, during the run and after it.

    Examples:

      sdm status species
      watch -n 10 sdm status species
    """
    from sdm.run.status import read_status

    state = read_status(folder)
    answer = {"name": str(folder), "kind": "batch", "numbers": state.numbers}
    console.result(state.lines, folder=str(folder), models=[answer])


@partial(with_console, common=BRIEF)
def report(
    console: Console,
    places: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Folders of results, model files in them, or .lambdas of Java Maxent."),
    ],
    metadata: Annotated[
        bool,
        typer.Option("--metadata", help="Also write the ODMAP protocol (CSV, JSON) and RMM metadata (CSV)."),
    ] = False,
    figures: Annotated[
        str | None,
        typer.Option("--figures", help="Also draw the figures for print: png, pdf, svg, or several.", metavar="NAME,…"),
    ] = None,
) -> None:
    """Write the HTML report again from stored results, without fitting.

    Existing reports are replaced. A folder of several species also gets index.html, and summary.csv is written again
    from the journal. Projections in the folder scenarios are included. The report of a model of Java Maxent uses its
    tables and maps, and is called sp_sdm.html; the HTML page of Java Maxent is kept.

    Examples:

      sdm report results
      sdm report results/Virtualis_montanus.npz --metadata
      sdm report results --figures pdf
      sdm report habitats community
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


_SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}  # -h with others is Java Maxent's hinge


@partial(with_console, common=["debug"], settings=_SETTINGS)
def maxent(
    console: Console,
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Flags of maxent.jar: key=value, words, and short forms such as -e.", metavar="FLAGS"),
    ] = None,
    shim: Annotated[
        Path | None,
        typer.Option(
            "--shim",
            metavar="FOLDER",
            help="Folder for a program 'java' that passes calls of maxent.jar to sdm. It passes all other calls to the "
            "real java. The folder must be first in your PATH.",
        ),
    ] = None,
) -> None:
    """Run the command line of maxent.jar with sdm, and write files with the same names.

    Results of sdm, with the model (.npz), are in the subfolder sdm of the output folder. 'sdm help maxent' explains
    each flag. Flag -h is hinge, as in Java Maxent; alone, it shows this help.

    Examples:

      sdm maxent -e layers -s occurrences.csv -o out -t landcover
      sdm maxent environmentallayers=layers samplesfile=occurrences.csv outputdirectory=out2 betamultiplier=2
      sdm maxent -e layers -s occurrences.csv -o out3 -j warmer -r replicates=4 logistic
      sdm maxent --shim .
    """
    console.flags = java_flags()
    if words == ["-h"]:
        console.say(context.get_help())
        return
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
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file: .npz, or .lambdas.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write: .lambdas, or .npz.")],
    overwrite: Overwrite = False,
) -> None:
    """Convert a model of one species to Java Maxent (.lambdas), or from Java Maxent to sdm (.npz).

    Java Maxent stores the cumulative scale in another file: sp_omission.csv next to sp.lambdas is read and written too.
    All commands with a model file accept .lambdas directly.

    Examples:

      sdm convert results/Virtualis_montanus.npz montanus.lambdas
      sdm convert montanus.lambdas montanus.npz
    """
    from sdm.models.file import convert_model

    notices = convert_model(model, output, overwrite=overwrite)
    console.result([f"written: {output}"], notices, files=[str(output)])
