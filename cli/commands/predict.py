"""`sdm predict`: a model on other layers."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Given, with_run_options

_TABLE = "Tables of points"
_JOINT = "Joint models"
PREDICTING = (
    "predict.scale", "predict.extrapolation", "predict.clamp", "predict.threshold", "layers.nodata", "layers.align",
    "layers.rename", "occurrences.x_column", "occurrences.y_column", "occurrences.crs", "threads", "output.overwrite",
)  # fmt: skip
"""Options of a run that apply to predictions."""


@partial(with_run_options, kinds=("species", "classes", "community"), only=PREDICTING, short="predict")
def predict(
    console: Console,
    given: Given,
    model: Annotated[
        Path,
        typer.Argument(help="A model file (.npz) of sdm fit, sdm classify or sdm joint; or .lambdas of Java Maxent."),
    ],
    layers: Annotated[
        list[str],
        typer.Argument(help="Layers (a folder, a pattern, files) with the model's variables, or a table of points."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The GeoTIFF to write; of a joint model or a group, the folder of its maps; of a table, a table.",
        ),
    ],
    novelty: Annotated[
        list[str] | None,
        typer.Option(
            help="Also map how novel the environment is: mess (and the most dissimilar variable), exdet, mop, clamping "
            "(its effect), limiting (the variable that keeps suitability low); several with commas.",
            metavar="MEASURES",
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Survey sites with labels of some species (1, 0 or blank): the others are predicted given them.",
            rich_help_panel=_JOINT,
        ),
    ] = None,
    communities: Annotated[
        bool,
        typer.Option(
            "--communities",
            help="For a table of points: also write a few possible communities per row, with their probabilities.",
            rich_help_panel=_JOINT,
        ),
    ] = False,
    area: Annotated[
        Path | None, typer.Option("--study-area", "--area", help="Polygons outside which nothing is drawn.")
    ] = None,
    values_from: Annotated[
        list[str] | None,
        typer.Option(
            "--layers", help="Layers with the values at the coordinates (default: columns).", rich_help_panel=_TABLE
        ),
    ] = None,
) -> None:
    """Map a model on layers that have its variables: another time, another place.

    A class model gives a GeoTIFF with the probability of every class in a band of its own, and beside it the most
    probable class (`_class.tif`) and how undecided the classes are (`_entropy.tif`). A joint model gives a folder with
    a map of every species (`maps/`) and of their richness; a group of species on shared axes gives one with a map of
    every species.

    How much of the map is outside the environment that the model was trained on is said first; `--novelty` maps it.

    **Examples**

    sdm predict results/sp.npz future_layers/ -o future.tif

    sdm predict results/sp.npz layers/ --threshold 10p -o range.tif

    sdm predict results/sp.npz future_layers/ --novelty mess -o future.tif   (also future_mess.tif, future_mod.tif)

    sdm predict results/sp.npz sites.csv -o sites_predicted.csv   (variables are columns; or --layers future_layers/)

    sdm predict results/habitat.npz future_layers/ -o future.tif   (classes: also future_class.tif, future_entropy.tif)

    sdm predict results/joint.npz future_layers/ -o future   (several species: future/maps/, future/richness.tif)

    sdm predict results/joint.npz layers/ --known survey.csv -o given   (species that were seen inform the others)

    sdm predict results/group/group.npz future_layers/ -o future   (species on shared axes: future/<species>.tif)
    """
    from sdm.options.reading import make_options
    from sdm.run.predicting import predict_files

    named = {dotted.rpartition(".")[2]: value for dotted, value in given.items()}
    named["threads"] = make_options({"threads": given.get("threads")}).threads
    with console.progress(output) as progress:
        found = predict_files(
            model,
            layers,
            output,
            novelty=novelty,
            known=known,
            communities=communities,
            area=area,
            values_from=values_from or (),
            progress=progress,
            **named,
        )
    for notice in found.notices:
        console.log.info(notice)
    console.lines(found.lines)
    files = {what: str(path) for what, path in found.files.items()}
    answer = {"name": model.stem, "kind": found.kind, "numbers": found.numbers, "files": files}
    console.result(models=[answer], notices=found.notices)
