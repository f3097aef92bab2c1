"""Commands that apply models: `sdm predict`, `sdm evaluate` and `sdm project`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm.options.applies import PROJECTING, READING
from sdm_cli.console import Console, command_line
from sdm_cli.options import Given, from_words, with_run_options

KINDS = ("species", "classes", "community")
PREDICTING = (
    "predict.scale", "predict.extrapolation", "predict.clamp", "predict.threshold", "layers.nodata", "layers.align",
    "layers.rename", "occurrences.x_column", "occurrences.y_column", "occurrences.crs", "threads", "output.overwrite",
)  # fmt: skip
"""Options of a run that apply to predictions."""

ModelFile = Annotated[
    Path,
    typer.Argument(help="A model file (.npz) of sdm fit, sdm classify or sdm joint; or .lambdas of Java Maxent."),
]
_one = partial(typer.Option, rich_help_panel="Models of one species")
_of_classes = partial(typer.Option, rich_help_panel="Class models")
_joint = partial(typer.Option, rich_help_panel="Joint models")
_table = partial(typer.Option, rich_help_panel="Tables of points")


@partial(with_run_options, kinds=KINDS, only=PREDICTING, short="predict")
def predict(
    console: Console,
    given: Given,
    model: ModelFile,
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
        _joint(help="Survey sites with labels of some species (1, 0 or blank): the others are predicted given them."),
    ] = None,
    communities: Annotated[
        bool,
        _joint(
            "--communities",
            help="For a table of points: also write a few possible communities per row, with their probabilities.",
        ),
    ] = False,
    area: Annotated[
        Path | None, typer.Option("--study-area", "--area", help="Polygons outside which nothing is drawn.")
    ] = None,
    values_from: Annotated[
        list[str] | None,
        _table("--layers", help="Layers with the values at the coordinates (default: columns)."),
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
    from sdm.run.projecting.tables import PredictionSettings

    named = {dotted.rpartition(".")[2]: value for dotted, value in given.items()}
    named["threads"] = make_options({"threads": given.get("threads")}).threads
    with console.progress(output) as progress:
        settings = PredictionSettings(
            novelty=novelty, known=known, communities=communities, area=area, values_from=values_from or (),
            progress=progress, **named,
        )  # fmt: skip
        found = predict_files(model, layers, output, settings)
    files = {what: str(path) for what, path in found.files.items()}
    answer = {"name": model.stem, "kind": found.kind, "numbers": found.numbers, "files": files}
    console.result(found.lines, found.notices, models=[answer])


@partial(with_run_options, kinds=KINDS, only=READING)
def evaluate(
    console: Console,
    given: Given,
    model: ModelFile,
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
    absences: Annotated[Path | None, _one(help="Sites where the species was not found.")] = None,
    background: Annotated[
        str | None,
        _one(help="A file of background points, or how many to draw (default: 10000)."),
    ] = None,
    species: Annotated[str | None, _one(help="Use only this species of the file.")] = None,
    truth: Annotated[
        Path | None,
        _one(help="A raster of the true suitability, where it is known (see 'sdm simulate')."),
    ] = None,
    seed: Annotated[int | None, _one(min=0, help="Seed of the background (default: 1).")] = None,
    class_column: Annotated[
        str | None,
        _of_classes(help="Column with the classes (default: as the model was fitted)."),
    ] = None,
    proportions: Annotated[
        list[str] | None,
        _of_classes(help="Columns with the proportions of the classes, in place of one with classes."),
    ] = None,
    select: Annotated[
        list[str] | None,
        _of_classes(
            help="Use only records with this value in a column: column=value (default: as the model was fitted)."
        ),
    ] = None,
    site_column: Annotated[
        str | None,
        _joint(help="With --layers TABLE: the column that names sites in both tables."),
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
    options = dict(locals())
    for name in ("console", "given", "model", "presences", "layers"):
        del options[name]
    from sdm.run.evaluating import evaluate_files

    options |= {dotted.rpartition(".")[2]: value for dotted, value in given.items()}
    found = evaluate_files(model, presences, layers, options)
    answer = {"name": model.stem, "kind": found.kind, "numbers": found.numbers}
    console.result(found.lines, found.notices, found.warnings, models=[answer])


@partial(
    with_run_options,
    sections=("project",),
    kinds=KINDS,
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
    from sdm.run.projecting.projection import run_projection

    options = from_words(models, given, "project.models")
    with console.progress(options.output.folder) as progress:
        found = run_projection(options, command=command_line(), progress=progress)
    console.warn(found.warnings)
    console.lines([*found.lines, f"\nresults: {found.folder}"])
    if options.output.report:
        console.say(f"page: {found.index or found.folder / f'{found.species[0].page}.html'}")
    folder = str(found.folder)
    common = {"kind": "projection", "folder": folder}
    answers = [{"name": one.name, **common, "numbers": one.numbers, "files": one.files} for one in found.species]
    console.answer(folder=folder, models=answers, notices=found.notices, warnings=found.warnings)
