"""Commands of a run: `sdm fit`, `tune`, `path`, `classify`, `joint`, `curve`, `check` and `variables`."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdm.errors import InapplicableError, with_code
from sdm_cli.console import Console, command_line
from sdm_cli.help_text import PlainCommand, PlainGroup
from sdm_cli.options import INPUTS, Inputs, Typed, from_words, with_run_options

if TYPE_CHECKING:
    from sdm.run.run import RunResult
    from sdm.types import Numbers


@with_run_options
def fit(
    console: Console,
    typed: Typed,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Occurrence records and layers, or a run file.", metavar=INPUTS),
    ] = None,
) -> None:
    """Fit a model, and write its map, response curves, accuracy and model file.

    Examples:

      sdm fit occurrences.csv layers/ --categorical landcover -o species
      sdm fit run.yaml
      sdm fit occurrences.csv layers/ --preset best -o best
      sdm fit occurrences.csv layers/ --features lqh --multiplier 2 -o smooth
      sdm fit presence_absence.csv layers/ --response presence -o survey
      sdm fit run.yaml --multiplier 2 -o results2

    Names of run files (--fit.multiplier 2) and of Java Maxent (--betamultiplier 2) work too.
    """
    do_run(console, inputs, typed)


@partial(with_run_options, sections=["tune", "classes"], short="tune")
def tune(console: Console, typed: Typed, inputs: Inputs = None) -> None:
    """Try settings by cross-validation, choose one, and fit it. The table tune.csv lists all settings.

    Examples:

      sdm tune occurrences.csv layers/ --multipliers 0.5,1,2,4 -o tuned
      sdm tune occurrences.csv layers/ --split block --block-size 100 -o blocks
      sdm tune occurrences.csv layers/ --feature-sets lq,lqh --choose-by auc.val.avg -o by_auc
      sdm tune occurrences.csv layers/ --budget 10 --entropies 1,2 --choose-rule one_se -o sampled
      sdm tune presence_absence.csv layers/ --response presence --choose-by tss.val.avg -o by_tss
    """

    from sdm.run.studies.tuning import run_tuning

    do_run(console, inputs, typed, run_tuning)


@partial(with_run_options, sections=["path"], kinds=["species"], short="path")
def path(console: Console, typed: Typed, inputs: Inputs = None) -> None:
    """Fit the path of a model over the regularisation multiplier, or over strata.

    The path begins with the null model. It contains coefficients, gain, held-out loss, and a certified gap between fits
    too. The multiplier is chosen by the held-out loss, and its fit is written as by 'sdm fit'.

    With --strata, the path is exact. It leads from the prior (area, or effort by --bias) to the recorded distribution.

    Examples:

      sdm path occurrences.csv layers/ --features lq --epsilon 0.01 -o path
      sdm path occurrences.csv layers/ --smallest 0.5 --folds 10 --choice one_se -o path_one_se
      sdm path occurrences.csv --strata layers/landcover.tif -o path_strata
      sdm path occurrences.csv layers/ --strata grid:50km -o path_grid
    """
    from sdm.run.studies.paths import run_path

    do_run(console, inputs, typed, run_path)


@partial(
    with_run_options,
    sections=["classes"],
    kinds=["classes"],
    short="classes",
    needs="sites with classes, and layers",
)
def classify(
    console: Console,
    typed: Typed,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Points with classes and layers, or a run file. With --classes, only layers. A table of points may "
            "contain the values of the layers.",
            metavar="POINTS [LAYERS] | LAYERS | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Fit a class model: the probability of each class, such as habitats, from labelled sites.

    The results are maps of the probabilities, the class map, its entropy, tests, and the model file.

    Examples:

      sdm classify layers/ --classes layers/landcover.tif --exclude landcover -o habitats
      sdm classify presence_absence.csv layers/ --class-column presence --folds 5 -o classes
      sdm classify plots.csv layers/ --class-column habitat --features l,q,trees:8 -o trees
      sdm classify cover.csv layers/ --proportions forest,meadow,bog --entropy 2 -o cover
    """
    do_run(console, inputs, typed, kind="classes")


@partial(with_run_options, sections=["joint"], kinds=["community"], short="joint", needs="sites with species")
def joint(
    console: Console,
    typed: Typed,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Sites with species, and layers or a table, or a run file. Sites have a 0/1 column per species "
            "(blank: not surveyed), or a row per species and site with a column 'presence'. Their table may contain "
            "the environment.",
            metavar="SITES [LAYERS | TABLE] | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Fit a joint model of several species: their responses and co-occurrence.

    By default, features are linear and quadratic, and the regularisation (--cost) is chosen by cross-validation. The
    accuracy is compared with stacked single-species models, and with a logistic regression (GLM) of each species.
    Max-margin learners (laplace, m3n) use an association only where it prevents wrong labels. A conditional random
    field shows associations better.

    Examples:

      sdm joint presence_absence.csv layers/ --categorical landcover --folds 5 -o community
      sdm joint presence_absence.csv layers/ --split block --block-size 50 -o community_blocks
      sdm joint sites.csv environment.csv --graph edges.csv --cost 1 -o joint
    """
    do_run(console, inputs, typed, kind="community")


def do_run(
    console: Console,
    inputs: list[str] | None,
    typed: Typed,
    run: "Callable[..., RunResult] | None" = None,
    **chosen: str,
) -> None:
    """Run the inputs and options of a command, and print the results. The command sets the options `chosen`.

    `run` is the function of a study; by default models are fitted. The exit code is 1 if a model fails.
    """
    for name, value in chosen.items():
        if typed.get(name, value) != value:
            raise InapplicableError(f"{name}={typed[name]!r} does not apply to 'sdm {console.command}': remove it")
    options = from_words(inputs, {**typed, **chosen})
    if run is None:
        from sdm.run.run import run as fit_all

        run = fit_all
    with console.progress(options.output.folder) as progress:
        result = run(options, command=command_line(), progress=progress)
    warnings: dict[str, None] = {}  # warnings of the inputs are equal for all models, and shown once

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
        fields = {key: value for key, value in asdict(model.complete()).items() if key not in ("lines", "warnings")}
        error, folder = (None if text is None else str(text) for text in (model.error, model.folder))
        answers.append({**fields, "error": error and console.reworded(error), "folder": folder})
    console.answer(folder=str(result.folder), models=answers, notices=result.notices, warnings=[*warnings])
    if result.failed:
        raise typer.Exit(1)


curve = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    cls=PlainGroup,
    rich_markup_mode=None,
    help="Draw the held-out loss against the number of records, or against the penalty.",
)


@partial(with_run_options, sections=["curve"], kinds=["species"], short="curve", name="curve learning")
def learning(console: Console, typed: Typed, inputs: Inputs = None) -> None:
    """Draw the held-out loss against the number of training records.

    Example:

      sdm curve learning occurrences.csv layers/ --sets l:0.1,lq:0.1,t:1 --partitions 5 -o learning
    """
    _draw(console, typed, inputs, "learning")


@partial(with_run_options, sections=["curve"], kinds=["species"], short="curve", name="curve sensitivity")
def sensitivity(console: Console, typed: Typed, inputs: Inputs = None) -> None:
    """Draw the held-out loss against the regularisation multiplier.

    Example:

      sdm curve sensitivity occurrences.csv layers/ --sets lq,t --strengths 0.1,1,3 -o sensitivity
    """
    _draw(console, typed, inputs, "sensitivity")


for command in (learning, sensitivity):
    curve.command(cls=PlainCommand, context_settings=command.settings)(command)


def _draw(console: Console, typed: Typed, inputs: list[str] | None, kind: str) -> None:
    options = from_words(inputs, typed)
    from sdm.run.studies.curves import run_curve

    with console.progress(options.output.folder) as progress:
        result = run_curve(options, kind, command=command_line(), progress=progress)
    lines: list[str] = []
    for species, points in result.points.items():
        lines.append(f"\n{species}")
        for label in dict.fromkeys(point.label for point in points):
            curve_points = [point for point in points if point.label == label]
            best = min(curve_points, key=lambda point: point.loss)
            where = f"{best.presences} presences" if kind == "learning" else f"multiplier {best.multiplier:g}"
            lines.append(f"  {label:<10} least loss {best.loss:.4f} nats, AUC {best.auc:.4f}, at {where}")
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
    typed: Typed,
    inputs: Inputs = None,
    joint: Annotated[bool, typer.Option("--joint", help="Check a run of 'sdm joint', as --kind community.")] = False,
) -> None:
    """List the problems of a run, without fitting a model.

    The kind of model follows from the options: --response, --class-column and --classes belong to class models, and
    --learner and --graph to communities. A run file, or --kind, also sets it.

    Examples:

      sdm check occurrences.csv layers/ --categorical landcover
      sdm check run.yaml
      sdm check presence_absence.csv layers/ --response presence --folds 5
      sdm check presence_absence.csv layers/ --kind community
    """
    from sdm.run.checking import check_run

    result = check_run(from_words(inputs, {**typed, **({"kind": "community"} if joint else {})}))
    result.problems = [*map(console.reworded, result.problems)]
    texts = (result.facts, result.warnings)
    result.facts, result.warnings = ([console.reworded(text, error=False) for text in part] for part in texts)
    console.lines([*(f"ok       {line}" for line in result.facts), *(f"warning  {line}" for line in result.warnings)])
    for line in result.problems:
        console.say(f"problem  {line}")
        if console.quiet or console.as_json:
            console.log.error("error: %s", line)
    console.say(f"\n{len(result.problems)} problems, {len(result.warnings)} warnings")
    console.answer(problems=result.problems, warnings=result.warnings, notices=result.facts)
    if result.problems:
        raise typer.Exit(1)


@partial(with_run_options, sections=["classes", "joint"], kinds=["species", "classes", "community"])
def variables(console: Console, typed: Typed, inputs: Inputs = None) -> None:
    """Compute correlations between variables over the background (or the sites), and suggest variables to keep.

    With an output folder, the results are correlation matrices (Pearson, Spearman), a table of variables (VIF, gain
    alone, group, suggestion), and a heat map with a dendrogram. No variable is dropped: in a run, --drop-correlated and
    --drop-vif drop variables.

    Examples:

      sdm variables occurrences.csv layers/ -o variables
      sdm variables occurrences.csv layers/ --categorical landcover --drop-correlated 0.8
      sdm variables presence_absence.csv layers/ --response presence
      sdm variables presence_absence.csv layers/ --kind community
    """
    from sdm.run.screening import screen_variables

    options = from_words(inputs, typed)
    with console.progress(options.output.folder) as progress:
        result = screen_variables(options, command=command_line(), progress=progress)
    folder = None if result.folder is None else str(result.folder)
    paths = [f"written      {folder}/{name}" for name in result.files.values()]
    answer = {"name": "variables", "kind": "variables", "folder": folder, "numbers": result.numbers()}
    console.result([*result.lines(), *paths], result.notices, folder=folder, models=[answer | {"files": result.files}])
