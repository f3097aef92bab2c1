"""The path of every species: over the multiplier with a refit at the selected point, or over strata exactly."""

from functools import partial
from pathlib import Path
from typing import cast

from sdm.assess.paths.multiplier import (
    MultiplierChoice,
    MultiplierValidation,
    TablePath,
    follow_table,
    validate_multipliers,
)
from sdm.assess.splits.folds import Split
from sdm.errors import DataError, InapplicableError
from sdm.estimators.maxent import Maxent
from sdm.executors.opening import workers
from sdm.kinds.choosing import refuse_choice
from sdm.kinds.registry import task_for
from sdm.kinds.species.methods.method import method_of
from sdm.kinds.splitting import with_default_folds
from sdm.kinds.task import AnyTask, Prepared
from sdm.maxent.paths.multiplier import CertifiedPath, pair_gap
from sdm.options.definitions import RunOptions
from sdm.report.tables import write_rows
from sdm.run.job import Chosen
from sdm.run.run import RunResult, run
from sdm.run.studies.strata_path import StrataTask
from sdm.storage.files import safe_name
from sdm.types import Numbers, Progress, Row


def run_path(options: RunOptions, *, command: str = "", progress: Progress | None = None) -> RunResult:
    """Compute the path of every species, select a point by held-out loss, and write both.

    Over the multiplier, the folder of a species has the results of the fit with the selected multiplier, and
    `sp_path.csv`, `sp_coefficients.csv` and `sp_path.png`. For strata see `sdm.run.studies.strata_path`.
    """
    if options.path.strata is not None:
        refuse_choice(options, "strata, which have no variables")
        return run(options, task=StrataTask(), command=command, progress=progress)
    single = method_of(options).single_problem
    if not single or options.fit.regularization not in (None, "l1"):
        other = options.fit.regularization if single else f"a {options.fit.model} model"
        raise InapplicableError(
            f"the path over the multiplier needs feature classes with the l1 penalty, not {other}: remove that option, "
            "or use 'sdm tune'"
        )
    return run(options, task=task_for("species"), command=command, progress=progress, choose=choose_multiplier)


def choose_multiplier(
    task: AnyTask, prepared: Prepared, name: str, options: RunOptions, progress: Progress | None
) -> Chosen:
    """Compute the path of a species, and select its multiplier, without test records."""
    plan = task.plan(prepared, name, with_default_folds(options))
    table, split, path_options = plan.table, plan.split, options.path
    base = cast(Maxent, task.estimator(options, table.categorical))
    result = follow_table(table, base, epsilon=path_options.epsilon, smallest=path_options.smallest, progress=progress)
    if len(result.path.knots) < 2:
        raise DataError(
            f"{table.species}: the model is empty down to a multiplier of {result.path.knots[0].multiplier:.3g}: use a "
            f"smaller path.smallest than {path_options.smallest:g}"
        )
    with workers(options) as pool:
        validation = validate_multipliers(table, result, base, split, executor=pool, progress=progress)
    chosen = validation.best if path_options.choice == "best" else validation.one_error
    return Chosen(
        options.with_values(fit={"multiplier": chosen.multiplier, "features": result.classes}),
        _numbers(result.path, validation, split, options, chosen),
        partial(_write, result, validation, table.species, options),
        key="path",
    )


def _numbers(
    path: CertifiedPath, validation: MultiplierValidation, split: Split, options: RunOptions, chosen: MultiplierChoice
) -> Numbers:
    return {
        "fits": len(path.knots),
        "from": path.knots[0].multiplier,
        "to": path.knots[-1].multiplier,
        "epsilon": path.epsilon,
        "gap": path.gap,
        "certified": path.certified,
        "folds": len(split.folds),
        "method": split.method,
        "background": split.background,
        "largest_gap_of_folds": float(validation.gaps.max()),
        "best": _described(path, validation.best),
        "one_se": _described(path, validation.one_error),
        "choice": options.path.choice,
        "multiplier": chosen.multiplier,
    }


def _described(path: CertifiedPath, choice: MultiplierChoice) -> Numbers:
    knot = path.knots[choice.index]
    return {
        "multiplier": choice.multiplier,
        "features": knot.n_nonzero,
        "regularized_gain": knot.gain,
        "gap": knot.gap,
        "held_out_loss": choice.mean,
        "standard_error": choice.error,
    }


def path_rows(path: CertifiedPath, validation: MultiplierValidation) -> list[Row]:
    """Return one row per fit, starting with the empty model."""
    marks: dict[int, list[str]] = {}
    for name, choice in (("best", validation.best), ("one_se", validation.one_error)):
        marks.setdefault(choice.index, []).append(name)
    below = [pair_gap(a, b)[0] for a, b in zip(path.knots, path.knots[1:])]
    return [
        {
            "multiplier": knot.multiplier,
            "features": knot.n_nonzero,
            "gain": knot.unregularized_gain,
            "regularized gain": knot.gain,
            "gap": knot.gap,
            "gap down to the next": between,
            "held-out loss": mean,
            "standard error": error,
            "choice": " ".join(marks.get(k, [])),
        }
        for k, (knot, between, mean, error) in enumerate(
            zip(path.knots, [*below, path.knots[-1].gap], validation.mean.tolist(), validation.error.tolist())
        )
    ]


def coefficient_rows(followed: TablePath) -> list[Row]:
    """Return all non-zero weights of all fits."""
    names = followed.names
    return [
        {"multiplier": knot.multiplier, "feature": names[j], "weight": float(knot.weights[j])}
        for knot in followed.path.knots
        for j in knot.weights.nonzero()[0]
    ]


def _write(
    result: TablePath,
    validation: MultiplierValidation,
    species: str,
    options: RunOptions,
    folder: Path,
    files: dict[str, str],
) -> None:
    from sdm.report.figures.paths import draw_multipliers
    from sdm.report.paper import paper_of

    name, picture = safe_name(species), folder / f"{safe_name(species)}_path.png"
    files["path"] = write_rows(folder / f"{name}_path.csv", path_rows(result.path, validation)).name
    files["coefficients"] = write_rows(folder / f"{name}_coefficients.csv", coefficient_rows(result)).name
    chosen = {"least held-out loss": validation.best, "within one standard error": validation.one_error}
    marks = [(f"{label}: {one.multiplier:.3g}", one.multiplier) for label, one in chosen.items()]
    loss = validation.mean, validation.error
    draw_multipliers(
        result.path, picture, names=result.names, loss=loss, marks=marks, title=species, paper=paper_of(options.output)
    )
    files["path picture"] = picture.name
