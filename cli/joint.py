"""`sdm joint`: several species at the same sites, learned together."""

from functools import partial
from typing import Annotated, Any

import typer

from sdm.config import JOINT_USES
from sdm_cli.console import Console, command_line
from sdm_cli.options import from_words, with_run_options


@partial(with_run_options, only=JOINT_USES)
def joint(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A table of sites with one 0/1 column a species (blank: nobody looked), or one row a species and "
            "site with a column 'presence'; then layers, or a table of the environment, unless the sites' own columns "
            "are the environment. Or a run file.",
            metavar="SITES [LAYERS | TABLE] | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Learn several species at the same sites together: what each asks of the environment, and who is found with whom.

    Features are linear and quadratic unless --features says otherwise. Every measure is given for the joint model and
    for stacked single models. Max-margin learners (laplace, m3n) give weight to an association only where that saves
    wrong labels, so it can be almost zero for species that are found together: --learner crf-l2 shows associations
    better.

    **Examples**

    sdm joint sites.csv layers/ --categorical landcover --folds 5 -o results

    sdm joint species.csv environment.csv --learner crf-l2 --split block --block-size 50 -o results

    sdm joint survey.csv --species "sp_*" --environment heat,rain --graph edges.csv --cost cv -o results
    """
    options = from_words(inputs, given)
    from sdm.run.joining import join

    with console.progress() as progress:
        result = join(options, command=command_line(), progress=progress)
    _tell(console, result.numbers)
    for what, name in result.files.items():
        if isinstance(name, str):
            console.say(f"written      {result.folder / name} ({what})")
        else:
            console.say(f"written      {result.folder / name['richness']} and {len(name['species'])} species' ({what})")
    console.result({"folder": str(result.folder), "numbers": result.numbers})


def _tell(console: Console, numbers: dict[str, Any]) -> None:
    from sdm.run.site_testing import MEASURES

    species, edges = len(numbers["species"]), numbers["associations"]
    console.say(f"community    {species} species, {numbers['sites']:,} sites, {len(numbers['variables'])} variables")
    settings = f"C {numbers['C']:g}" + (f", lambda {numbers['lambda']:g}" if numbers["learner"] == "laplace" else "")
    console.say(f"model        {numbers['learner']} ({settings}), graph {numbers['graph']}: {len(edges)} edges")
    unit = "nats" if numbers["learner"].startswith("crf") else "wrong labels"
    console.say(f"certificate  {numbers['status']}: within {numbers['gap']:.1e} {unit} a label of the optimum")
    tested = numbers["test"]
    both = numbers["training"] if tested is None else tested["mean"]
    where = "training sites: not tested" if tested is None else f"held out, {len(tested['folds'])} folds"
    console.say(f"\n{where:<44}  joint  stacked")
    for key, text in MEASURES.items():
        console.say(f"  {text:<40}{both['joint'][key]:9.4f}{both['stacked'][key]:9.4f}")
    if edges:
        console.say("\nstrongest associations")
        for row in sorted(edges, key=lambda row: -abs(row["weight"]))[:5]:
            spread = f" ± {row['sd']:.3f}" if row["sd"] == row["sd"] else ""
            console.say(f"  {row['weight']:+.3f}{spread}  {row['first']} – {row['second']}")
    console.say("")
