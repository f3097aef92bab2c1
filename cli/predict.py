"""`sdm predict`: a model on other layers."""

from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Align, Debug, Json, Nodata, Overwrite, Quiet, Verbose


def predict(
    model: Annotated[Path, typer.Argument(help="A model file (.npz).")],
    layers: Annotated[list[str], typer.Argument(help="A folder, a pattern or files with the model's variables.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The GeoTIFF to write.")],
    scale: Annotated[
        str, typer.Option("--scale", "--outputformat", help="cloglog, raw, cumulative or logistic.")
    ] = "cloglog",
    clamp: Annotated[bool, typer.Option(help="Hold variables at the limits of their training ranges.")] = True,
    threshold: Annotated[
        str | None, typer.Option(help="Write presence and absence instead: mtp, 10p, maxsss, equal, or a value.")
    ] = None,
    area: Annotated[
        Path | None, typer.Option("--study-area", "--area", help="Polygons outside which nothing is drawn.")
    ] = None,
    nodata: Nodata = None,
    align: Align = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads for reading and predicting.")] = 2,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Map a model on layers that have its variables: another time, another place.

    **Examples**

    sdm predict results/sp.npz future_layers/ -o future.tif

    sdm predict results/sp.npz layers/ --threshold 10p -o range.tif
    """
    console = Console(quiet=quiet, verbose=verbose, as_json=as_json, debug=debug)
    with console.guard():
        from sdm.run.predicting import predict_files

        with console.progress() as progress:
            summary, notices = predict_files(
                model,
                layers,
                output,
                scale=scale,
                clamp=clamp,
                threshold=threshold,
                area=area,
                nodata=nodata,
                align=align,
                threads=threads,
                overwrite=overwrite,
                progress=progress,
            )
        for notice in notices:
            console.log.info(notice)
        values = f"{summary.minimum:.4g} to {summary.maximum:.4g}"
        console.say(f"written: {summary.path} ({summary.cells:,} cells, {values})")
        console.result(
            {
                "file": str(summary.path),
                "cells": summary.cells,
                "min": summary.minimum,
                "max": summary.maximum,
                "mean": summary.mean,
                "notices": notices,
            }
        )
