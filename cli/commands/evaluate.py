"""`sdm evaluate`: a model on records that it has not seen."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm.options.applies import READING
from sdm_cli.console import Console
from sdm_cli.options import Given, with_run_options

_ONE, _CLASSES, _JOINT = "Models of one species", "Class models", "Joint models"


@partial(with_run_options, kinds=("species", "classes", "community"), only=READING)
def evaluate(
    console: Console,
    given: Given,
    model: Annotated[
        Path,
        typer.Argument(help="A model file (.npz) of sdm fit, sdm classify or sdm joint; or .lambdas of Java Maxent."),
    ],
    presences: Annotated[
        Path,
        typer.Option(
            "--presences",
            "--sites",
            help="Records of the species (with a 0/1 column, absences too); points with a class or proportions; or "
            "sites with one 0/1 column per species.",
        ),
    ],
    layers: Annotated[
        list[str] | None, typer.Option(help="The model's layers; not needed if the files have its variables.")
    ] = None,
    absences: Annotated[
        Path | None, typer.Option(help="Sites where the species was not found.", rich_help_panel=_ONE)
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(help="A file of background points, or how many to draw (default: 10000).", rich_help_panel=_ONE),
    ] = None,
    species: Annotated[
        str | None, typer.Option(help="Use only this species of the file.", rich_help_panel=_ONE)
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="A raster of the true suitability, where it is known (see 'sdm simulate').", rich_help_panel=_ONE
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the background (default: 1).", rich_help_panel=_ONE)
    ] = None,
    class_column: Annotated[
        str | None,
        typer.Option(help="Column with the classes (default: as the model was fitted).", rich_help_panel=_CLASSES),
    ] = None,
    proportions: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns with the proportions of the classes, in place of one with classes.", rich_help_panel=_CLASSES
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="Use only records with this value in a column: column=value (default: as the model was fitted).",
            rich_help_panel=_CLASSES,
        ),
    ] = None,
    site_column: Annotated[
        str | None,
        typer.Option(help="With --layers TABLE: the column that names sites in both tables.", rich_help_panel=_JOINT),
    ] = None,
) -> None:
    """Measure a model on other records: AUC, log loss, Boyce index, omission; with absences also correlation, Brier
    score, precision-recall-gain, skill and calibration.

    A class model is measured as `sdm classify` tests it: log loss, accuracy, kappa, AUC of every class, confusion
    matrix. A joint model is measured as `sdm joint` tests it: Hamming errors, joint log loss, AUC of every species,
    error of the richness.

    **Examples**

    sdm evaluate results/sp.npz --presences new.csv --layers layers/

    sdm evaluate results/sp.npz --presences found.csv --absences not_found.csv --layers layers/

    sdm evaluate results/sp.npz --presences survey.csv --layers layers/   (a column 'presence' says 1 or 0)

    sdm evaluate results/habitat.npz --sites new_plots.csv --class-column habitat --layers layers/

    sdm evaluate results/joint.npz --sites new_sites.csv --layers layers/   (one 0/1 column per species)
    """
    own = {name: value for name, value in locals().items() if name not in ("console", "given")}
    from sdm.run.evaluating import evaluate_files

    found = evaluate_files(**own, **{dotted.rpartition(".")[2]: value for dotted, value in given.items()})
    for notice in found.notices:
        console.log.info(notice)
    console.lines(found.lines)
    for text in found.warnings:
        console.log.warning("warning: %s", text)
    answer = {"name": model.stem, "kind": found.kind, "numbers": found.numbers}
    console.result(models=[answer], notices=found.notices, warnings=found.warnings)
