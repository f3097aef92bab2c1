"""Selection of settings by cross-validation, and a run with the selected settings."""

from functools import partial
from pathlib import Path
from typing import Any

from sdm.assess.tuning import TRAINING_MEASURES, Range, Setting, Tuning, random_settings, setting_grid
from sdm.assess.tuning import search_settings as search
from sdm.errors import ConflictError, InapplicableError, MissingInputError, OptionError, expect_one_of
from sdm.executors.opening import workers
from sdm.features.classes import capitals, has_growing, parse_families
from sdm.kinds.registry import task_of
from sdm.kinds.splitting import with_default_folds
from sdm.kinds.task import AnyTask, Prepared
from sdm.options.definitions import RunOptions
from sdm.options.several import TuneOptions
from sdm.report.model_figures import make_plots
from sdm.report.paper import paper_of
from sdm.report.tables import write_rows
from sdm.run.job import Chosen
from sdm.run.run import RunResult, run
from sdm.types import Numbers, Progress, Row

# Options of a model that can be tuned, and the lists of values.
LISTS = {
    "features": "feature_sets",
    "multiplier": "multipliers",
    "entropy": "entropies",
    "regularization": "regularizations",
    "lam": "lambdas",
    "beta": "betas",
}


def run_tuning(options: RunOptions, *, command: str = "", progress: Progress | None = None) -> RunResult:
    """Compare the settings of the options for every species, and run each with the selected ones.

    The folder of a species has the results of a fit, and `tune.csv`, `tune_folds.csv` and `plots/tune.png`.
    """
    task = task_of(options)
    task.check_tuning(options)
    settings_to_try(task, options)  # raise for invalid settings before any work
    check_choice(task, options.tune)
    return run(options, task=task, command=command, progress=progress, choose=choose_setting)


def settings_to_try(task: AnyTask, options: RunOptions) -> list[Setting]:
    """Return the settings to compare: all combinations, or a random sample of the size of the budget.

    Feature classes of the model itself remain, unless there are sets of them.
    """
    tune, fit = options.tune, options.fit
    taken = task.estimator(options, ()).get_params()
    lists: dict[str, list[Any]] = {}
    for name, plural in LISTS.items():
        values, default = getattr(tune, plural), TuneOptions.model_fields[plural].get_default()
        if name == "features" and name in taken and values == default and fit.features != "auto":
            lists[name] = [fit.features]
        elif name in taken and values:
            lists[name] = list(values)
        elif name not in taken and values != default:
            hint = ": add --model structural" if name == "lam" else ""
            raise InapplicableError(f"tune.{plural} does not apply to a {fit.model} model{hint}")
    if priced := [word for word in lists.get("features", ()) if has_growing(word)]:
        raise OptionError(f"tune.feature_sets={priced[0]!r}: expected classes; multipliers go to tune.multipliers")
    # The penalties of trees and monomials are lambda and beta: without other families the multiplier has no effect.
    if has_growing(fit.feature_text) and not parse_families(fit.feature_text, 1)[0]:
        del lists["multiplier"]
    if not lists:
        raise MissingInputError("there is nothing to tune: add --lambdas, --betas or --entropies")
    if not tune.budget:
        return setting_grid(**lists)
    return random_settings(tune.budget, options.seed, **{name: _space(values) for name, values in lists.items()})


def check_choice(task: AnyTask, tune: TuneOptions) -> None:
    """Raise for an unknown selection criterion."""
    names = [*fold_measures(task), *TRAINING_MEASURES]
    for name in tune.choose_by:
        expect_one_of("tune.choose_by", name, names)
    if tune.choose_rule == "one_se" and tune.choose_by[0] not in fold_measures(task):
        raise ConflictError(f"tune.choose_rule=one_se needs an average over folds, not {tune.choose_by[0]}: use 'best'")


def fold_measures(task: AnyTask) -> list[str]:
    """Return the measures of a kind of model that need folds."""
    return [f"{name}.avg" for name in task.assessor.higher if not name.endswith(".train")]


def _space(values: list[Any]) -> list[Any] | Range:
    """Return a sampler: uniform between the ends of a list of numbers, or over a list of words."""
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) == len(values) and 0 < min(numbers) < max(numbers):
        return Range(min(numbers), max(numbers))
    return values


def choose_setting(
    task: AnyTask, prepared: Prepared, name: str, options: RunOptions, progress: Progress | None
) -> Chosen:
    """Compare the settings for one model, without test records.

    The default is five folds, unless the criterion needs none.
    """
    dividing = options
    if options.test.division is None and any(measure in fold_measures(task) for measure in options.tune.choose_by):
        dividing = with_default_folds(options)
    plan = task.plan(prepared, name, dividing)
    base = task.estimator(options, plan.table.categorical)
    common: Numbers = {"base": base, "assessor": task.assessor, "progress": progress}
    with workers(options) as pool:
        tuning = search(plan.table, settings_to_try(task, options), plan.split, executor=pool, **common)
    best = tuning.best(options.tune.choose_by, options.tune.choose_rule)
    return Chosen(
        options.with_values(fit=tuning.settings[best]),
        _numbers(tuning, best, options.tune),
        partial(_write, tuning, best, options),
        validation=tuning.validation(best, plan.table, task.assessor),
        notes=_notes(tuning, task, options, tested=plan.test is not None),
    )


def _notes(tuning: Tuning, task: AnyTask, options: RunOptions, tested: bool) -> list[str]:
    """Report that the measures of the selecting folds are optimistic, if there is no independent test."""
    by_folds = any(name in fold_measures(task) for name in options.tune.choose_by)
    if tested or not by_folds or len(tuning.settings) < 2 or options.test.division is None:
        return []
    compared = f"{len(tuning.settings):,} settings were compared by the same folds"
    return [f"{compared}, so the measures of the selected one are slightly optimistic: use --test-percent to test it"]


def _numbers(tuning: Tuning, best: int, options: TuneOptions) -> Numbers:
    split = tuning.split
    divided = {} if split is None else {"method": split.method, "background": split.background}
    return {
        "settings": len(tuning.settings),
        "folds": 0 if split is None else len(split.folds),
        **divided,
        "by": options.choose_by,
        "rule": options.choose_rule,
        "chosen": tuning.rows[best]["tune.args"],
        "best": _named(tuning.rows[best]),
    }


def _write(tuning: Tuning, best: int, options: RunOptions, folder: Path, files: dict[str, str]) -> None:
    """Write the comparison to `tune.csv` and `tune_folds.csv`, and draw it."""
    rows = [{**_named(row), "chosen": k == best} for k, row in enumerate(tuning.rows)]
    files["tune"] = write_rows(folder / "tune.csv", rows).name
    if tuning.folds:
        files["tune folds"] = write_rows(folder / "tune_folds.csv", [_named(row) for row in tuning.folds]).name
    from sdm.report.figures.assessment import draw_tuning

    path = make_plots(folder, files) / "tune.png"
    folds = 0 if tuning.split is None else len(tuning.split.folds)
    lines = [
        {"multiplier": 1.0, **row, "label": _label(setting), "folds": folds}
        for setting, row in zip(tuning.settings, tuning.rows)
    ]
    draw_tuning(lines, options.tune.choose_by[0], best, path, paper_of(options.output))


# column names of ENMeval
_NAMES = {"features": "fc", "multiplier": "rm", "lam": "lambda"}
_ENMEVAL = (
    "fc", "rm", "tune.args", "fold", "auc.train", "cbi.train", "auc.val", "auc.diff", "cbi.val", "or.mtp", "or.10p",
    "auc.diff.avg", "auc.diff.sd", "auc.val.avg", "auc.val.sd", "cbi.val.avg", "cbi.val.sd", "or.10p.avg", "or.10p.sd",
    "or.mtp.avg", "or.mtp.sd", "AICc", "delta.AICc", "w.AIC", "ncoef",
)  # fmt: skip  # of its tables `results` and `results.partitions`


def _named(row: Row) -> Row:
    """Return a row with the names and the order of ENMeval, with feature classes in capitals; other columns are
    last."""
    named = {_NAMES.get(key, key): value for key, value in row.items()}
    named |= {"fc": capitals(str(named["fc"]))} if "fc" in named else {}
    return {key: named[key] for key in (*_ENMEVAL, *named) if key in named}


def _label(setting: Setting) -> str:
    """Describe a setting without its multiplier."""
    words = []
    for name, value in setting.items():
        if name == "features":
            words.append(capitals(str(value)))
        elif name != "multiplier":
            words.append(f"{_NAMES.get(name, name)} {value:g}" if isinstance(value, float) else str(value))
    return ", ".join(words)
