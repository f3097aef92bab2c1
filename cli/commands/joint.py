"""`sdm joint`: several species at the same sites, learned together."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sdm.options.definitions import JOINT_USES
from sdm_cli.console import Console, command_line
from sdm_cli.options import from_words, with_run_options


@partial(with_run_options, only=JOINT_USES)
def joint(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A table of sites with one 0/1 column per species (blank: nobody looked), or one row per species "
            "and site with a column 'presence'; then layers, or a table of the environment, unless the sites' own "
            "columns are the environment. Or a run file.",
            metavar="SITES [LAYERS | TABLE] | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Learn several species at the same sites together: what each asks of the environment, and who is found with whom.

    Features are linear and quadratic unless --features says otherwise, and the strength of regularisation (--cost) is
    chosen by cross-validation. Every measure is given for the joint model, for stacked single models, and for a
    logistic regression per species (GLM). Max-margin learners (laplace, m3n) give weight to an association only where
    that saves wrong labels, so it can be almost zero for species that are found together: a conditional random field
    shows associations better.

    **Examples**

    sdm joint sites.csv layers/ --categorical landcover --folds 5 -o results

    sdm joint species.csv environment.csv --split block --block-size 50 -o results

    sdm joint survey.csv --species "sp_*" --environment heat,rain --graph edges.csv --cost 1 -o results
    """
    options = from_words(inputs, given)
    from sdm.workflow.community.fitting import join

    with console.progress() as progress:
        result = join(options, command=command_line(), progress=progress)
    _tell(console, result.numbers)
    for what, name in result.files.items():
        if isinstance(name, str):
            console.say(f"written      {result.folder / name} ({what})")
        else:
            number = len(name["species"])
            listed = f"{result.folder / name['richness']} and {number} species' probability and presence"
            console.say(f"written      {listed} ({what})")
    console.result({"folder": str(result.folder), "numbers": result.numbers})


def tell_joint(console: Console, path: Path, features: int) -> None:
    """Say what is in a file of a joint model, with so many of its weights."""
    from sdm.models.community import FittedJoint

    model = FittedJoint.load(path)
    meta, edges = model.meta, model.associations()
    console.say(f"joint model  {len(model.species)} species: {', '.join(model.species)}")
    console.say(f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}")
    missing = f", {meta['missing']:,} labels missing" if meta.get("missing") else ""
    console.say(f"data         {meta.get('sites', '?')} sites of {meta.get('source', '?')}{missing}")
    console.say(f"learner      {_settings(meta)}, graph {meta.get('graph', '?')}")
    console.say(f"certificate  {_certificate(meta)}")
    console.say(f"variables    {', '.join(model.encoder.names)}")
    _tell_edges(console, edges, features)
    effects = sorted(model.effects(), key=lambda row: -abs(row["weight"]))
    shown = [row for row in effects if row["feature"] != "bias"][:features]
    console.say("\nlargest effects (features are standardised)")
    for row in shown:
        console.say(f"  {row['weight']:+.3f}{_spread(row)}  {row['species']}: {row['feature']}")
    console.result(
        {
            "kind": "joint",
            "meta": meta,
            "species": list(model.species),
            "variables": list(model.encoder.names),
            "categorical": list(model.encoder.categorical),
            "associations": edges,
            "effects": model.effects(),
        }
    )


def _settings(meta: dict[str, Any]) -> str:
    prior = f", lambda {meta['lambda']:g}" if meta["learner"] == "laplace" else ""
    return f"{meta['learner']} (C {meta['C']:g}{prior})"


def _certificate(meta: dict[str, Any]) -> str:
    unit = "nats" if meta["learner"].startswith("crf") else "wrong labels"
    return f"{meta['status']}: within {meta['gap']:.1e} {unit} per site of the optimum"


def _spread(row: dict[str, Any]) -> str:
    return f" ± {row['sd']:.3f}" if row["sd"] == row["sd"] else ""


def _tell_edges(console: Console, edges: list[dict[str, Any]], most: int) -> None:
    if edges:
        console.say(f"\nstrongest of {len(edges)} associations")
    for row in sorted(edges, key=lambda row: -abs(row["weight"]))[:most]:
        console.say(f"  {row['weight']:+.3f}{_spread(row)}  {row['first']} – {row['second']}")


def _tell(console: Console, numbers: dict[str, Any]) -> None:
    from sdm.workflow.community.testing import MEASURES, WHAT

    species, edges = len(numbers["species"]), numbers["associations"]
    console.say(f"community    {species} species, {numbers['sites']:,} sites, {len(numbers['variables'])} variables")
    console.say(f"model        {_settings(numbers)}, graph {numbers['graph']}: {len(edges)} edges")
    console.say(f"certificate  {_certificate(numbers)}")
    tested = numbers["test"]
    models = numbers["training"] if tested is None else tested["mean"]
    where = "training sites: not tested" if tested is None else f"held out, {_folds(len(tested['folds']))}"
    console.say(f"\n{where:<44}    joint  stacked      GLM")
    for key, text in MEASURES.items():
        console.say(f"  {text:<42}{''.join(f'{figure(models[name][key]):>9}' for name in WHAT)}")
    _tell_edges(console, edges, 5)
    console.say("")


def figure(value: float) -> str:
    """Return a measure, or a dash where it is not defined."""
    return f"{value:.4f}" if value == value else "–"


def _folds(count: int) -> str:
    return "1 part" if count == 1 else f"mean of {count} folds"
