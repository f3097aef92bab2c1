"""`sdm example`: the sample data and a run file, to start without data of one's own."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Overwrite, with_console
from sdm_cli.shipped import SAMPLE, shipped


@with_console
def example(
    console: Console,
    folder: Annotated[Path, typer.Argument(help="Where to put the sample data: a new or an empty folder.")] = Path(
        "example"
    ),
    overwrite: Overwrite = False,
) -> None:
    """Copy the sample data and a run file into a folder, to try everything without data of your own.

    The species are virtual: where they really live is known, so you can see how well a model finds it.

    **Example**:  sdm example, then  sdm fit example/run.yaml
    """
    from sdm.commit import claim, staging

    with claim(folder, overwrite=overwrite), staging(folder, overwrite=overwrite) as stage:
        shutil.copytree(shipped(SAMPLE), stage, dirs_exist_ok=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    console.say(f"records      {folder / 'occurrences.csv'} (three species)")
    console.say(f"layers       {folder / 'layers'} (today), {folder / 'warmer'} (two degrees warmer)")
    console.say(f"survey       {folder / 'presence_absence.csv'} (where each species was found and not found)")
    console.say(f"read first   {folder / 'README.md'}, or: sdm help first_model")
    console.say(f"\nnow: sdm fit {folder / 'run.yaml'}")
    console.result(folder=str(folder), files=[str(path) for path in files])
