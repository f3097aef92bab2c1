"""`sdm init`: a run file to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Debug, Overwrite


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("run.yaml"),
    overwrite: Overwrite = False,
    debug: Debug = False,
) -> None:
    """Write a commented run file with every option and its default.

    **Example**:  sdm init run.yaml, fill in the first lines, then  sdm fit run.yaml
    """
    console = Console(debug=debug)
    with console.guard():
        from sdm.files import write_text
        from sdm.options.reading import template

        write_text(path, template(), overwrite=overwrite)
        console.say(f"written: {path}; fill in occurrences.file, layers.files and output.folder, then: sdm fit {path}")
