"""Models of other programs: `sdm maxent`, the command line of maxent.jar; `sdm convert`, its model files."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console, command_line
from sdm_cli.options import BRIEF, Overwrite, with_console

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
    docs/maxent.md.

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
    for line in done.warnings:
        console.log.warning("warning: %s", line)
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
