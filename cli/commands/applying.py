"""Commands that apply models: `sdm predict`, `sdm evaluate` and `sdm project`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sdm.options.applies import PROJECTING, READING
from sdm_cli.console import Console, command_line
from sdm_cli.options import Typed, from_words, with_run_options

KINDS = ("species", "classes", "community")
PREDICTING = (
    "predict.scale", "predict.extrapolation", "predict.clamp", "predict.threshold", "layers.nodata", "layers.align",
    "layers.rename", "occurrences.x_column", "occurrences.y_column", "occurrences.crs", "threads", "output.overwrite",
)  # fmt: skip
"""Options of a run that apply to predictions."""

ModelFile = Annotated[
    Path,
    typer.Argument(help="Model file (.npz), or .lambdas of Java Maxent.", metavar="MODEL"),
]
_one = partial(typer.Option, rich_help_panel="Models of one species")
_of_classes = partial(typer.Option, rich_help_panel="Class models")
_joint = partial(typer.Option, rich_help_panel="Joint models")
_table = partial(typer.Option, rich_help_panel="Tables of points")


@partial(with_run_options, kinds=KINDS, only=PREDICTING, short="predict")
def predict(
    console: Console,
    typed: Typed,
    model: ModelFile,
    layers: Annotated[
        list[str],
        typer.Argument(help="Layers with the variables of the model, or a table of points.", metavar="LAYERS"),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="GeoTIFF to write. For a joint model or a group, a folder of maps. For a table, a table.",
        ),
    ],
    novelty: Annotated[
        list[str] | None,
        typer.Option(
            help="Also map novelty: mess, exdet, mop, clamping, limiting, or several. The map clamping "
            "shows the effect of clamping, and limiting the variable that limits suitability.",
            metavar="NAME,…",
        ),
    ] = None,
    known: Annotated[
        Path | None,
        _joint(metavar="FILE", help="Survey of some species (1, 0 or blank) that informs the others."),
    ] = None,
    communities: Annotated[
        bool,
        _joint(
            "--communities",
            help="Also write probable communities for each row of a table of points.",
        ),
    ] = False,
    area: Annotated[
        Path | None, typer.Option("--study-area", "--area", metavar="FILE", help="Polygons that limit the map.")
    ] = None,
    values_from: Annotated[
        list[str] | None,
        _table("--layers", metavar="FILE", help="Layers with the values at the points. Default: columns."),
    ] = None,
) -> None:
    """Map a model on other layers, for another time or another place.

    A class model gives a GeoTIFF with a band for the probability of each class, the class map (_class.tif) and its
    entropy (_entropy.tif). A joint model, or a group of species on shared axes, gives a folder of maps. The share of
    the map outside the training environment is printed first, and --novelty maps it.

    Examples:

      sdm predict results/Virtualis_montanus.npz warmer/ -o warm.tif
      sdm predict results/Virtualis_montanus.npz layers/ --threshold 10p -o range.tif
      sdm predict results/Virtualis_montanus.npz warmer/ --novelty mess -o novelty.tif
      sdm predict results/Virtualis_montanus.npz presence_absence.csv --layers layers/ -o sites.csv
      sdm predict habitats/landcover.npz warmer/ -o habitats.tif
      sdm predict community/joint.npz warmer/ -o warm_community
    """
    from sdm.options.reading import make_options
    from sdm.run.predicting import predict_files
    from sdm.run.projecting.tables import PredictionSettings

    named = {dotted.rpartition(".")[2]: value for dotted, value in typed.items()}
    named["threads"] = make_options({"threads": typed.get("threads")}).threads
    with console.progress(output) as progress:
        settings = PredictionSettings(
            novelty=novelty, known=known, communities=communities, area=area, values_from=values_from or (),
            progress=progress, **named,
        )  # fmt: skip
        prediction = predict_files(model, layers, output, settings)
    files = {kind: str(path) for kind, path in prediction.files.items()}
    answer = {"name": model.stem, "kind": prediction.kind, "numbers": prediction.numbers, "files": files}
    console.result(prediction.lines, prediction.notices, models=[answer])


@partial(with_run_options, kinds=KINDS, only=READING)
def evaluate(
    console: Console,
    typed: Typed,
    model: ModelFile,
    presences: Annotated[
        Path,
        typer.Option(
            "--presences",
            "--sites",
            metavar="FILE",
            help="Independent records, or sites. They are records of the species (with a 0/1 column, absences too), "
            "points with a class or proportions, or sites with a 0/1 column per species.",
        ),
    ],
    layers: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Layers of the model, unless the files have its variables.")
    ] = None,
    absences: Annotated[Path | None, _one(metavar="FILE", help="Sites where the species was not found.")] = None,
    background: Annotated[
        str | None,
        _one(metavar="FILE|N", help="File of background points, or their number. Default: 10000."),
    ] = None,
    species: Annotated[str | None, _one(metavar="NAME", help="Use only this species of the file.")] = None,
    truth: Annotated[
        Path | None,
        _one(metavar="FILE", help="Raster of the true suitability, as 'sdm simulate' writes."),
    ] = None,
    seed: Annotated[int | None, _one(metavar="N", help="Seed of the background. Default: 1.")] = None,
    class_column: Annotated[
        str | None,
        _of_classes(metavar="COLUMN", help="Column with the classes. Default: as in the fit."),
    ] = None,
    proportions: Annotated[
        list[str] | None,
        _of_classes(metavar="NAME,…", help="Columns with the proportions of the classes."),
    ] = None,
    select: Annotated[
        list[str] | None,
        _of_classes(metavar="NAME=VALUE", help="Use only records with a value in a column. Default: as in the fit."),
    ] = None,
    site_column: Annotated[
        str | None,
        _joint(metavar="COLUMN", help="Column with the sites, if --layers is a table."),
    ] = None,
) -> None:
    """Measure the accuracy of a model on independent records.

    The measures are AUC, log loss, Boyce index and omission. With absences, they are also correlation, Brier score,
    precision-recall-gain, skill and calibration. Class models and joint models have the measures of 'sdm classify' and
    'sdm joint'.

    Examples:

      sdm evaluate results/Virtualis_montanus.npz --presences presence_absence.csv --layers layers/
      sdm evaluate results/Virtualis_montanus.npz --presences found.csv --absences absent.csv --layers layers/
      sdm evaluate classes/presence.npz --sites presence_absence.csv --class-column presence --layers layers/
      sdm evaluate community/joint.npz --sites presence_absence.csv --layers layers/
    """
    options = dict(locals())
    for name in ("console", "typed", "model", "presences", "layers"):
        del options[name]
    from sdm.run.evaluating import evaluate_files

    options |= {dotted.rpartition(".")[2]: value for dotted, value in typed.items()}
    evaluation = evaluate_files(model, presences, layers, options)
    answer = {"name": model.stem, "kind": evaluation.kind, "numbers": evaluation.numbers}
    console.result(evaluation.lines, evaluation.notices, evaluation.warnings, models=[answer])


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
    typed: Typed,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Models, results, a pattern such as 'runs/{multiplier}/sp.npz', or a run file.",
            metavar="MODELS | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Project models to other climates, times and places, with extrapolation and change.

    Each scenario has a folder with maps of suitability, of presence by each threshold, of change against the reference
    (stable, gain, loss), and of novelty. Over all scenarios, there are mean, standard deviation, range and agreement,
    the variance by source, a table (scenarios.csv), figures and an HTML report.

    Fields in braces are read from the names of folders and files. The field {variable} is the variable, if one folder
    contains the files of several scenarios. The share of cells outside the training environment is printed first.

    Examples:

      sdm project results --scenarios warmer/ --reference layers/ -o future
      sdm project results/sp.npz --scenarios 'future/{gcm}_{ssp}_{period}/' --reference layers/ -o out
      sdm project results/sp.npz --scenarios 'wc2.1_10m_bioc_{gcm}_{ssp}_{period}.tif' -o out
      sdm project results/sp.npz --scenarios scenarios.csv --dispersal 20 --thresholds 10p,maxsss -o out
      sdm project 'runs/{multiplier}/sp.npz' --scenarios 'future/{gcm}/' --over gcm,multiplier -o out
    """
    from sdm.run.projecting.projection import run_projection

    options = from_words(models, typed, "project.models")
    with console.progress(options.output.folder) as progress:
        projection = run_projection(options, command=command_line(), progress=progress)
    console.warn(projection.warnings)
    console.lines([*projection.lines, f"\nresults: {projection.folder}"])
    if options.output.report:
        console.say(f"page: {projection.index or projection.folder / f'{projection.species[0].page}.html'}")
    folder = str(projection.folder)
    common = {"kind": "projection", "folder": folder}
    answers = [{"name": one.name, **common, "numbers": one.numbers, "files": one.files} for one in projection.species]
    console.answer(folder=folder, models=answers, notices=projection.notices, warnings=projection.warnings)
