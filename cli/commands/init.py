"""`sdm init`: a run file to begin with; `sdm schema`: what editors and scripts need to check files and answers."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import BRIEF, Overwrite, with_console


@partial(with_console, common=BRIEF)
def init(
    console: Console,
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("run.yaml"),
    overwrite: Overwrite = False,
) -> None:
    """Write a commented run file with every option and its default.

    **Example**:  sdm init run.yaml, fill in the first lines, then  sdm fit run.yaml
    """
    from sdm.options.reading import template
    from sdm.storage.files import write_text

    write_text(path, template(), overwrite=overwrite)
    console.say(f"written: {path}; fill in occurrences.file, layers.files and output.folder, then: sdm fit {path}")
    console.result(files=[str(path)])


@partial(with_console, common=["debug"])
def schema(
    console: Console,
    of: Annotated[
        str,
        typer.Argument(
            help="run: of run files, for editors. answer: of what commands print with --json.", metavar="run|answer"
        ),
    ] = "run",
) -> None:
    """Print a JSON Schema: of run files, or of the answers that all commands give with --json.

    **Examples**

    sdm schema > sdm.schema.json

    sdm schema answer
    """
    from sdm.errors import OptionError

    if of == "run":
        from sdm.options.reading import run_file_schema as made
    elif of == "answer":
        from sdm.run.outcome import outcome_schema as made
    else:
        raise OptionError(f"schema {of!r}: expected run or answer")
    console.say(json.dumps(made(), indent=1))
