"""Selection of variables for the models of a run, for every kind."""

from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

from sdm.assess.splits.folds import Split
from sdm.assess.variables.choice import LISTED, VariableChoice, listed_drops
from sdm.assess.variables.correlation import measure_collinearity
from sdm.assess.variables.reduction import Shuffles, reduce_variables
from sdm.assess.variables.selection import Dropped, drop_correlated, drop_inflated
from sdm.data.site_sample import SiteSample
from sdm.data.table import SampleTable
from sdm.errors import InapplicableError, OptionError, name_list
from sdm.executors.opening import workers
from sdm.kinds.splitting import FOLDS, with_default_folds
from sdm.kinds.task import AnyTask, Destination, Prepared
from sdm.options.definitions import RunOptions
from sdm.report.model_figures import make_plots
from sdm.report.tables import write_rows
from sdm.types import Progress

LEAST = 2  # smallest number of variables for a selection


def refuse_choice(options: RunOptions, inputs: str) -> None:
    """Raise if the options select variables of inputs without variables."""
    layers = options.layers
    for name in ("drop_correlated", "drop_vif", "reduce", "reduce_to"):
        if getattr(layers, name) not in (None, False):
            raise InapplicableError(f"layers.{name}={getattr(layers, name)!r} does not apply to {inputs}: remove it")


def choose_variables(
    task: AnyTask, prepared: Prepared, name: str, options: RunOptions, progress: Progress | None = None
) -> Prepared:
    """Return the inputs with the selected variables of one model, and the selection among `chosen`.

    Test records are not used.
    """
    layers = options.layers
    plan = task.plan(prepared, name, with_default_folds(options) if options.layers.reduces else options)
    table = plan.table
    if layers.reduce_to is not None and layers.reduce_to >= len(table.names):
        raise OptionError(f"layers.reduce_to={layers.reduce_to}: expected fewer than the {len(table.names)} variables")
    with workers(options) as pool:
        choice = uncorrelated(task, table, options, pool, progress)
        if options.layers.reduces and len(choice.kept) >= LEAST:
            base = task.estimator(options, table.categorical)
            steps = reduce_variables(
                table.pick(choice.kept),
                base,
                plan.split,
                task.assessor,
                to=layers.reduce_to,
                shuffles=Shuffles(options.test.repeats, options.seed),
                executor=pool,
                progress=progress,
            )
            dropped = [Dropped(step.dropped, "reduction", step.importance) for step in steps[1:] if step.kept]
            choice = replace(choice, steps=tuple(steps), dropped=(*choice.dropped, *dropped))
    narrowed: Prepared = task.narrow(prepared, name, choice.kept)
    return replace(narrowed, chosen={**prepared.chosen, name: replace(choice, table=table)})


def uncorrelated(
    task: AnyTask,
    table: SampleTable | SiteSample,
    options: RunOptions,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> VariableChoice:
    """Drop variables of a table by their correlations, then by their variance inflation factors."""
    layers, (noun, values) = options.layers, table.environment()
    result = measure_collinearity(values, table.names, table.categorical)
    gains: dict[str, float] = {}
    dropped: list[Dropped] = []
    if layers.drop_correlated is not None:
        gains_of = partial(task.single_gains, table, options, executor=executor, progress=progress)
        dropped, gains = drop_correlated(result, layers.drop_correlated, gains_of)
    if layers.drop_vif is not None:
        excluded = {one.variable for one in dropped}
        dropped += drop_inflated(result, layers.drop_vif, [name for name in result.names if name not in excluded])
    return VariableChoice(tuple(table.names), tuple(dropped), result, noun, gains)


def foresee_choice(table: SampleTable | SiteSample, options: RunOptions) -> list[str]:
    """Predict the selection without fitting: correlated variables, and large VIF."""
    layers, (noun, values) = options.layers, table.environment()
    collinearity = measure_collinearity(values, table.names, table.categorical)
    over, facts = f"over {collinearity.n:,} {noun}", []
    if layers.drop_correlated is not None:
        near = (abs(collinearity.pearson) > layers.drop_correlated).sum(axis=1) > 1
        names = [name for name, is_near in zip(collinearity.names, near) if is_near]
        text = f"{len(names)} of {len(table.names)} variables have |r| above {layers.drop_correlated:g} with another"
        facts.append(f"{text}, {over}{f': {name_list(names, LISTED)}' if names else ''}")
    if layers.drop_vif is not None:
        drops = drop_inflated(collinearity, layers.drop_vif)
        text = f"{len(drops)} of {len(table.names)} variables have a VIF above {layers.drop_vif:g}, one after the other"
        facts.append(f"{text}, {over}{f': {listed_drops(drops)}' if drops else ''}")
    return facts


def chosen_in_folds(
    task: AnyTask, prepared: Prepared, name: str, split: Split | None, options: RunOptions, progress: Progress | None
) -> tuple[Any, Split] | None:
    """Return the training table with all variables, and folds that select among them with their own training records.

    Held-out records then do not influence the variables of their fold. Return None if nothing was selected by records,
    if the selection was backward elimination, which needs all folds, or if the models of the folds are mapped with
    common layers.
    """
    choice = prepared.chosen.get(name)
    if choice is None or split is None or not nests(options):
        return None
    folds = []
    with workers(options) as pool:
        for fold in split.folds:
            fold_choice = uncorrelated(task, fold.training(choice.table), options, pool, progress)
            folds.append(replace(fold, variables=fold_choice.kept))
    return choice.table, replace(split, folds=tuple(folds))


def nests(options: RunOptions) -> bool:
    """Whether every fold can select its variables."""
    return options.layers.drop_correlated is not None and not options.layers.reduces and not options.output.uncertainty


def choice_notes(choice: VariableChoice, options: RunOptions, nested: bool) -> list[str]:
    """Describe the dropped variables, their reasons, and the data of the selection."""
    layers, total = options.layers, len(choice.names)
    over = f"over {choice.collinearity.n:,} {choice.noun}"
    limits = {"correlation": ("drop_correlated", layers.drop_correlated), "vif": ("drop_vif", layers.drop_vif)}
    notes, rest = [], total
    for by, (option, limit) in limits.items():
        if limit is None:
            continue
        dropped = choice.dropped_by(by)
        which = f"{len(dropped)} of {rest} variables dropped, {over}: {listed_drops(dropped)}" if dropped else ""
        notes.append(f"{option} {limit:g}: {which or f'none of {rest} variables dropped, {over}'}")
        rest -= len(dropped)
    if choice.steps:
        notes.append(_reduction_note(choice, options))
    if choice.dropped:
        notes.append(f"variables: {len(choice.kept)} of {total} kept: {', '.join(choice.kept)}")
    if choice.collinearity.constant:
        flat = choice.collinearity.constant
        notes.append(f"{len(flat)} constant variables have no correlations and are kept: {', '.join(flat)}")
    if (options.test.division is not None or options.layers.reduces) and (choice.gains or choice.steps):
        if nested:
            notes.append("every fold chose among correlated variables with its own training records")
        else:
            notes.append(
                "the choice of variables used the held-out records of the folds, so that their measures are slightly "
                "optimistic; --test-percent or a --test file gives independent records"
            )
    return notes


def _reduction_note(choice: VariableChoice, options: RunOptions) -> str:
    first, last = choice.steps[0], [step for step in choice.steps if step.kept][-1]
    dropped = choice.dropped_by("reduction")
    folds_text = "" if options.test.division is not None else f" ({FOLDS} random folds by default)"
    losses = f"held-out loss {first.loss:.4f} ± {first.error:.4f} with {len(first.names)} variables"
    if not dropped:
        return f"reduce: no variable dropped, {losses}{folds_text}"
    now = f"{last.loss:.4f} ± {last.error:.4f} with {len(last.names)}"
    return f"reduce: {len(dropped)} variables dropped, {losses}, {now}{folds_text}: {listed_drops(dropped)}"


def write_choice(choice: VariableChoice, to: Destination) -> None:
    """Write `variables.csv`, the steps of the backward elimination, and figures of both."""
    from sdm.report.figures.variables import draw_correlation, draw_reduction
    from sdm.report.paper import paper_of

    folder, files, paper = to.folder, to.files, paper_of(to.options.output)
    files["variables"] = write_rows(folder / "variables.csv", choice.rows()).name
    plots = make_plots(folder, files)
    if len(choice.collinearity.names) >= LEAST:
        limit = to.options.layers.drop_correlated or 0.7
        draw_correlation(choice.collinearity, plots / "correlation.png", limit, paper)
    if choice.steps:
        files["reduction"] = write_rows(folder / "reduction.csv", choice.step_rows()).name
        draw_reduction(choice.step_rows(), plots / "reduction.png", paper)
