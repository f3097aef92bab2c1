"""The commands of a run: `sdm fit`, `tune`, `path`, `classify`, `joint`, `curve`; before it `check` and `variables`."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdm.errors import OptionError, with_code
from sdm_cli.console import Console, command_line
from sdm_cli.help_text import PlainCommand, PlainGroup
from sdm_cli.options import INPUTS, Given, Inputs, from_words, with_run_options

if TYPE_CHECKING:
    from sdm.run.run import RunResult
    from sdm.types import Numbers


@with_run_options
def fit(
    console: Console,
    given: Given,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="An occurrence file and a folder of layers; or a run file (run.yaml).", metavar=INPUTS),
    ] = None,
) -> None:
    """Fit a model, and write its map, curves, numbers and model file.

    **Examples**

    sdm fit records.csv layers/ -o results

    sdm fit gbif.csv layers/ --categorical landcover --fc LQH --rm 2 -o results

    sdm fit records.gpkg "climate/bio*.tif" --crs EPSG:25833 --test-percent 25 --threshold maxsss -o results

    sdm fit records.csv layers/ --model structural --families l,q,p,h,trees:8 -o results   (trees inside maxent)

    sdm fit survey.csv layers/ --response presence -o results   (presence and absence: one model per species)

    sdm fit run.yaml --fit.multiplier 2 -o results2

    sdm fit presences_swd.csv background_swd.csv -o results   (tables of samples with data)

    sdm fit points.csv --bounds 0,0,1000,800 --model structural -o results   (a density of points, without layers)

    Every option can also be written as in a run file (--fit.multiplier 2) or as in Maxent (--betamultiplier 2).
    """
    do_run(console, inputs, given)


@partial(with_run_options, sections=["tune", "classes"], short="tune")
def tune(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Try settings by cross-validation, choose one, and fit it; what was tried is in tune.csv.

    **Examples**

    sdm tune records.csv layers/ --feature-sets l,lq,lqh --multipliers 0.5,1,2,4 --processes 2 -o results

    sdm tune records.csv layers/ --split block --block-size 100 --choose-by or.10p.avg,auc.val.avg -o results

    sdm tune records.csv layers/ --budget 20 --entropies 1,2 --choose-rule one_se -o results

    sdm tune records.csv layers/ --model structural --lambdas 0.01,0.1 --betas 0.01,0.1 -o results

    sdm tune survey.csv layers/ --response presence --choose-by tss.val.avg -o results   (presence and absence)
    """

    from sdm.run.studies.tuning import run_tuning

    do_run(console, inputs, given, run_tuning)


@partial(with_run_options, sections=["path"], kinds=["species"], short="path")
def path(console: Console, given: Given, inputs: Inputs = None) -> None:
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
    from sdm.run.studies.paths import run_path

    do_run(console, inputs, given, run_path)


@partial(
    with_run_options,
    sections=["classes"],
    kinds=["classes"],
    short="classes",
    needs="sites with their class, and layers",
)
def classify(
    console: Console,
    given: Given,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A file of points and a folder of layers; with --classes, layers alone; a table of points with their "
            "values; or a run file.",
            metavar="POINTS [LAYERS] | LAYERS | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Model classes from the environment, and write probabilities, the class map, its entropy, tests and the model.

    **Examples**

    sdm classify plots.csv layers/ --class-column habitat -o results

    sdm classify plots.gpkg layers/ --class-column vegetation --features l,q,trees:8 --folds 5 -o results

    sdm classify layers/ --classes landcover.tif --points 5000 --test-percent 25 -o results

    sdm classify cover.csv layers/ --proportions forest,meadow,bog --entropy 2 -o results   (cover fractions)
    """
    do_run(console, inputs, given, kind="classes")


@partial(with_run_options, sections=["joint"], kinds=["community"], short="joint", needs="sites with their species")
def joint(
    console: Console,
    given: Given,
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
    do_run(console, inputs, given, kind="community")


def do_run(
    console: Console,
    inputs: list[str] | None,
    given: Given,
    run: "Callable[..., RunResult] | None" = None,
    **chosen: str,
) -> None:
    """Do a run of the command's words and options, of which some are `chosen` by the command; say what it did. `run`
    does it, if that is not a fit.

    Fails if a model does.
    """
    for name, value in chosen.items():
        if given.get(name, value) != value:
            raise OptionError(f"{name}={given[name]!r} does not apply to 'sdm {console.command}': leave it out")
    options = from_words(inputs, {**given, **chosen})
    if run is None:
        from sdm.run.run import run as fit_all

        run = fit_all
    with console.progress(options.output.folder) as progress:
        result = run(options, command=command_line(), progress=progress)
    warnings: dict[str, None] = {}  # of the inputs: the same for all models, and shown once

    def warn(texts: list[str]) -> None:
        console.warn(text for text in dict.fromkeys(texts) if text not in warnings)
        warnings.update(dict.fromkeys(texts))

    for model in result.models:
        console.lines(model.lines)
        for note in model.notes:
            console.log.info("  note        %s", note)
        warn(model.warnings)
    if result.projection is not None:
        warn(result.projection.warnings)
        console.lines([*result.projection.lines, f"scenarios: {result.projection.folder}"])
    for model in result.failed:
        reason = f"{model.error} [{model.code}]"
        console.log.error("error: %s", reason if reason.startswith(model.name) else f"{model.name}: {reason}")
    console.lines(result.lines)
    if len(result.models) > 1:
        good = len(result.models) - len(result.failed)
        console.say(f"\n{good} of {len(result.models)} species fitted; summary: {result.folder / 'summary.csv'}")
        if result.index is not None:
            console.say(f"index: {result.index}")
    answers: list[Numbers] = []
    for model in result.models if console.as_json else ():
        fields = {key: value for key, value in asdict(model.whole()).items() if key not in ("lines", "warnings")}
        answers.append({**fields, "folder": None if model.folder is None else str(model.folder)})
    console.answer(folder=str(result.folder), models=answers, notices=result.notices, warnings=[*warnings])
    if result.failed:
        raise typer.Exit(1)


curve = typer.Typer(
    no_args_is_help=True,
    cls=PlainGroup,
    rich_markup_mode=None,
    help="Draw how good models are on held-out records: with more and more records, or with a growing penalty.",
)


@partial(with_run_options, sections=["curve"], kinds=["species"], short="curve", name="curve learning")
def learning(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Held-out loss against the number of training records, for several sets of feature classes.

    **Example**:  sdm curve learning records.csv layers/ --sets l:0.1,lq:0.1,t:1 --partitions 10 -o curves
    """
    _draw(console, given, inputs, "learning")


@partial(with_run_options, sections=["curve"], kinds=["species"], short="curve", name="curve sensitivity")
def sensitivity(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Held-out loss against the regularisation multiplier, for several sets of feature classes.

    **Example**:  sdm curve sensitivity records.csv layers/ --sets lq,t --strengths 0.1,0.3,1,3 -o curves
    """
    _draw(console, given, inputs, "sensitivity")


for command in (learning, sensitivity):
    curve.command(cls=PlainCommand, context_settings=command.settings)(command)


def _draw(console: Console, given: Given, inputs: list[str] | None, kind: str) -> None:
    options = from_words(inputs, given)
    from sdm.run.studies.curves import run_curve

    with console.progress(options.output.folder) as progress:
        result = run_curve(options, kind, command=command_line(), progress=progress)
    lines: list[str] = []
    for species, points in result.points.items():
        lines.append(f"\n{species}")
        for label in dict.fromkeys(point.label for point in points):
            own = [point for point in points if point.label == label]
            best = min(own, key=lambda point: point.loss)
            at = f"{best.presences} presences" if kind == "learning" else f"multiplier {best.multiplier:g}"
            lines.append(f"  {label:<10} least loss {best.loss:.4f} nats, AUC {best.auc:.4f}, at {at}")
        lines += [f"  written     {result.folder / name}" for name in result.files[species]]
    for species, error in result.failures.items():
        console.log.error("error: %s: %s", species, with_code(error))
    models: list[Numbers] = []
    for name, points in result.points.items():
        files = {Path(file).suffix[1:]: file for file in result.files[name]}
        numbers = {"points": [asdict(point) for point in points]}
        models.append({"name": name, "kind": kind, "numbers": numbers, "files": files})
    for name, error in result.failures.items():
        models.append({"name": name, "kind": kind, "error": str(error), "code": error.code})
    console.result(lines, result.notices, result.warnings, folder=str(result.folder), models=models)
    if result.failures:
        raise typer.Exit(1)


@partial(with_run_options, sections=["classes", "joint"], kinds=["species", "classes", "community"])
def check(
    console: Console,
    given: Given,
    inputs: Inputs = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Check a run of 'sdm joint': the same as --kind community.")
    ] = False,
) -> None:
    """Look for everything that would go wrong in a run of any kind, and list it all at once, without fitting.

    The kind of model is what the options say: --response, --class-column or --classes are those of classes, --learner
    or --graph those of a community; a run file says it; and --kind says it in any case.

    **Examples**

    sdm check records.csv layers/ --categorical landcover

    sdm check run.yaml

    sdm check plots.csv layers/ --class-column habitat --folds 5

    sdm check sites.csv layers/ --kind community --folds 5
    """
    from sdm.run.checking import check_run

    found = check_run(from_words(inputs, {**given, **({"kind": "community"} if joint else {})}))
    found.problems, found.warnings = ([*map(console.reworded, texts)] for texts in (found.problems, found.warnings))
    console.lines([*(f"ok       {line}" for line in found.facts), *(f"warning  {line}" for line in found.warnings)])
    for line in found.problems:
        console.say(f"problem  {line}")
        if console.quiet or console.as_json:
            console.log.error("error: %s", line)
    console.say(f"\n{len(found.problems)} problems, {len(found.warnings)} warnings")
    console.answer(problems=found.problems, warnings=found.warnings, notices=found.facts)
    if found.problems:
        raise typer.Exit(1)


@partial(with_run_options, sections=["classes", "joint"], kinds=["species", "classes", "community"])
def variables(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Correlate the variables over the background (or the sites), and suggest which to keep.

    With an output folder: the correlation matrices (Pearson, Spearman), one row per variable (VIF, gain alone, group,
    suggestion), and a heat map with a dendrogram. Nothing is left out here: `--drop-correlated` and `--drop-vif` do
    that in a run.

    **Examples**

    sdm variables records.csv layers/ -o variables

    sdm variables records.csv layers/ --categorical landcover --drop-correlated 0.8   (another limit, no files)

    sdm variables survey.csv layers/ --response presence -o variables   (over the sites of a survey)

    sdm variables sites.csv layers/ --kind community -o variables
    """
    from sdm.run.screening import screen_variables

    options = from_words(inputs, given)
    with console.progress(options.output.folder) as progress:
        found = screen_variables(options, command=command_line(), progress=progress)
    folder = None if found.folder is None else str(found.folder)
    written = [f"written      {folder}/{name}" for name in found.files.values()]
    answer = {"name": "variables", "kind": "variables", "folder": folder, "numbers": found.numbers()}
    console.result([*found.lines(), *written], found.notices, folder=folder, models=[answer | {"files": found.files}])
