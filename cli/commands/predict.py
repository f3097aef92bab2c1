"""`sdm predict`: a model on other layers."""

from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Align, Extrapolation, Nodata, NoveltyMeasures, Overwrite, Rename, with_console

_TABLE = "Tables of points"
_JOINT = "Joint models"
_ONE = "Models of one species, or of presence and absence"


@with_console
def predict(
    console: Console,
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
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            "--outputformat",
            help="cloglog (the default), raw, cumulative or logistic.",
            rich_help_panel=_ONE,
        ),
    ] = None,
    extrapolation: Extrapolation = None,
    novelty: NoveltyMeasures = None,
    clamp: Annotated[bool | None, typer.Option("--clamp/--no-clamp", "--doclamp/--no-doclamp", hidden=True)] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            help="Write presence and absence by this cutoff: mtp, 10p, maxsss, equal, or a value.", rich_help_panel=_ONE
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
    x_column: Annotated[
        str | None, typer.Option(help="Column with the longitude or easting.", rich_help_panel=_TABLE)
    ] = None,
    y_column: Annotated[
        str | None, typer.Option(help="Column with the latitude or northing.", rich_help_panel=_TABLE)
    ] = None,
    crs: Annotated[
        str | None, typer.Option(help="Coordinate system (default: WGS 84).", rich_help_panel=_TABLE)
    ] = None,
    nodata: Nodata = None,
    align: Align = None,
    rename: Rename = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads for reading and predicting.")] = 2,
    overwrite: Overwrite = False,
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
    given = {name: value for name, value in locals().items() if name != "console"} | {"values_from": values_from or ()}
    from sdm.run.predicting import predict_files

    with console.progress(output) as progress:
        found = predict_files(**given, progress=progress)
    for notice in found.notices:
        console.log.info(notice)
    console.lines(found.lines)
    files = {what: str(path) for what, path in found.files.items()}
    answer = {"name": model.stem, "kind": found.kind, "numbers": found.numbers, "files": files}
    console.result(models=[answer], notices=found.notices)
