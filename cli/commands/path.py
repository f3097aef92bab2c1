"""`sdm path`: the answer for every amount of regularisation, and the one that held-out records choose."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdm_cli.commands.fit import finish, tell_records
from sdm_cli.console import Console, command_line
from sdm_cli.options import INPUTS, from_words, with_run_options

if TYPE_CHECKING:
    from sdm.workflow.run import SpeciesResult


@with_run_options
def path(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="As for 'sdm fit': an occurrence file and layers, or a run file.", metavar=INPUTS),
    ] = None,
) -> None:
    """Follow the whole path: every multiplier of a model, or every tolerance over strata, chosen by held-out loss.

    Without --strata: fits from the empty model down, with a gap that is proved between them too; coefficients, gain and
    held-out loss against the multiplier; and the fit of the chosen one, as by 'sdm fit'.

    With --strata: the exact path from the prior (area, or effort by --bias) to what was recorded, its breakpoints, and
    the map of the chosen distribution.

    **Examples**

    sdm path records.csv layers/ --fc LQH -o results

    sdm path records.csv layers/ --epsilon 0.01 --smallest 0.5 --folds 10 --choice one_se -o results

    sdm path records.csv --strata ecoregions.tif -o results

    sdm path records.csv layers/ --strata grid:50km --bias effort.tif -o results
    """
    options = from_words(inputs, given)
    from sdm.workflow.paths import run_path

    with console.progress() as progress:
        result = run_path(options, command=command_line(), progress=progress)
    finish(console, result, _tell_strata if options.path.strata is not None else None)


def _tell_strata(console: Console, species: "SpeciesResult", ledger: dict[str, int] | None) -> None:
    """Say what the path over strata is like, and what was chosen."""
    n = species.numbers["strata"]
    tell_records(console, species.species, ledger)
    counts = f"{n['strata']:,} ({n['strata_with_records']:,} with records) of {n['of']}, {n['cells']:,} cells"
    console.say(f"  strata      {counts}; prior by {n['prior']}")
    console.say(f"  path        exact, {n['segments']:,} segments; {n['folds']} folds ({n['method']})")
    for key, what in (("best", "least loss"), ("one_se", "simplest")):
        loss = f"held-out loss {n[key]['held_out_loss']:.4f} ± {n[key]['standard_error']:.4f} over the prior's"
        mapped = " (mapped)" if key == n["choice"] else ""
        console.say(f"  {what:<11} tolerance {n[key]['tolerance']:.4g}, {loss}{mapped}")
    for note in species.notes:
        console.log.info("  note        %s", note)
    console.say(f"  results     {species.folder}")
    for what in ("map", "picture", "breakpoints", "strata", "validation", "numbers"):
        if what in species.files:
            console.say(f"    {what:<11} {species.files[what]}")
