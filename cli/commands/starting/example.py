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
    folder: Annotated[
        Path | None,
        typer.Argument(
            show_default=False,
            help="Where to put the sample data: a new or an empty folder. Without one they are put into this folder, "
            "beside what is there.",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Copy the sample data and a run file into a folder, to try everything without data of your own.

    The species are virtual: where they really live is known, so you can see how well a model finds it.

    **Examples**

    sdm example, then  sdm fit run.yaml

    sdm example first, then  sdm fit first/run.yaml
    """
    from sdm.storage.commit import claim, staging

    here = folder is None
    place = Path() if folder is None else folder
    if here and not overwrite:
        _refuse_taken(place)
    replace = overwrite or here
    with claim(place, overwrite=replace), staging(place, overwrite=replace, keep=here) as stage:
        shutil.copytree(shipped(SAMPLE), stage, dirs_exist_ok=True)
    files = sorted(path for each in _names() for path in (place / each, *(place / each).rglob("*")) if path.is_file())
    console.say(f"records      {place / 'occurrences.csv'} (three species)")
    console.say(f"layers       {place / 'layers'} (today), {place / 'warmer'} (two degrees warmer)")
    console.say(f"survey       {place / 'presence_absence.csv'} (where each species was found and not found)")
    console.say(f"read first   {place / 'README.md'}, or: sdm help first_model")
    console.say(f"\nnow: sdm fit {place / 'run.yaml'}")
    console.result(folder=str(place), files=[str(path) for path in files])


def _names() -> list[str]:
    """Return the files and folders of the sample data."""
    return sorted(path.name for path in shipped(SAMPLE).iterdir() if not path.name.startswith(("__", ".")))


def _refuse_taken(place: Path) -> None:
    """Raise if this folder has something under one of the names already: nothing is replaced, nothing is mixed."""
    from sdm.errors import OutputError

    taken = [name for name in _names() if (place / name).exists()]
    if taken:
        raise OutputError(
            f"this folder has {taken[0]} already, which the sample data would replace: name a new folder, "
            "as in 'sdm example first'"
        )
