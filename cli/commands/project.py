"""`sdm project`: models on scenarios, how far that extrapolates, and what changes."""

from functools import partial
from typing import Annotated

import typer

from sdm.options.applies import PROJECTING
from sdm_cli.console import Console, command_line
from sdm_cli.options import Given, with_run_options


@partial(
    with_run_options,
    sections=("project",),
    kinds=("species", "classes", "community"),
    only=[name for name in PROJECTING if name != "project.models"],
    short="project",
    needs="models and the layers of scenarios",
)
def project(
    console: Console,
    given: Given,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Models (.npz, .lambdas), results of a run or of a batch, or a pattern such as "
            "'runs/{multiplier}/sp.npz'; or a run file (.yaml).",
            metavar="MODELS | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Project models to other climates, times and places: where it will be, how far that extrapolates, what changes.

    Every scenario gets a folder with the map of suitability, of presence by every cutoff, of change against the
    reference (stable, gain, loss), and of novelty. Over scenarios there are the mean, deviation, range and agreement,
    the variance by source, a table (`scenarios.csv`), figures and a page. All models are mapped in one pass over the
    layers of a scenario.

    Fields in braces are read from the names of folders and files; {variable} stands for the variable, where one folder
    has the files of several scenarios. How much lies outside the environment that a model was fitted to is said first.

    **Examples**

    `sdm project results/sp.npz --scenarios 'future/{gcm}_{ssp}_{period}/' --reference layers/ -o out`

    `sdm project batch/ --scenarios 'wc2.1_10m_bioc_{gcm}_{ssp}_{period}.tif' --reference wc2.1_10m/ -o out`

    `sdm project sp.npz --scenarios 'CHELSA_{variable}_{period}_{gcm}_{ssp}_V.2.1.tif' --novelty mess,exdet,mop -o out`

    `sdm project sp.npz --scenarios scenarios.csv --reference layers/ --dispersal 20 --thresholds 10p,maxsss -o out`

    `sdm project 'runs/{multiplier}/sp.npz' --scenarios 'future/{gcm}/' --over gcm,multiplier -o out --resume`
    """
    from sdm.options.reading import make_options, read_yaml
    from sdm.run.projecting.projection import run_projection

    words, sources = list(models or []), list[Given]()
    if words and words[0].lower().endswith((".yaml", ".yml")):
        sources.append(read_yaml(words.pop(0)))
    if words:
        sources.append({"project.models": words})
    options = make_options(*sources, given)
    with console.progress(options.output.folder) as progress:
        found = run_projection(options, command=command_line(), progress=progress)
    for text in found.warnings:
        console.log.warning("warning: %s", text)
    console.lines(found.lines)
    console.say(f"\nresults: {found.folder}")
    if options.output.report:
        page = found.index or found.folder / f"{found.species[0].page}.html"
        console.say(f"page: {page}")
    answers = [
        {
            "name": one.name,
            "kind": "projection",
            "folder": str(found.folder),
            "numbers": one.numbers,
            "files": one.files,
        }
        for one in found.species
    ]
    console.result(folder=str(found.folder), models=answers, notices=found.notices, warnings=found.warnings)
