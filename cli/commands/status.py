"""`sdm status`: how far a run over many species is."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import BRIEF, with_console


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
    console.lines(found.lines)
    console.result(folder=str(folder), models=[{"name": str(folder), "kind": "batch", "numbers": found.numbers}])
