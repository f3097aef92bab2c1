"""Run a command of maxent.jar: a run or its replicates, and results under the names of Java Maxent."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from sdm._version import __version__
from sdm.assess.measures.thresholds import TEST_NAMES
from sdm.data.records.clean import CleanPoints
from sdm.data.table import SampleTable
from sdm.errors import ConflictError, OptionError, OutputExistsError, SdmError, with_code
from sdm.java.flags import JavaCommand
from sdm.java.outputs import GridValues, average_curves, grid_writer, read_curves, write_outputs, write_plot_data
from sdm.java.translation import (
    FOLDER,
    divides,
    feature_letters,
    projections,
    replicates_by_name,
    run_options,
    species_of_samples,
    square_root_beta,
    threshold_key,
    with_plain_columns,
)
from sdm.kinds.registry import task_of
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.task import AnyTask, ModelResult, Prepared
from sdm.options.definitions import RunOptions
from sdm.report.results import add_rows, number
from sdm.report.tables import table_text
from sdm.run.job import Chooser, Chosen, Job
from sdm.run.run import run
from sdm.storage.files import safe_name, write_text
from sdm.types import Index, Numbers, Progress, Row

RESULTS = "maxentResults.csv"


@dataclass
class JavaRun:
    """The outcome of a command: the folder, lines for the terminal, warnings, and errors of species."""

    folder: Path
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def run_java(command: JavaCommand, text: str = "", progress: Progress | None = None) -> JavaRun:
    """Run a command of maxent.jar.

    Parameters
    ----------
    command : JavaCommand
    text : str
        The command as it was typed, for the log.

    Raises
    ------
    SdmError
        If flags or inputs cannot be used, or results are there and neither `redoifexists` nor `skipifexists` is given.
    """
    folder = Path(command["outputdirectory"] or ".")
    command = with_plain_columns(command)
    base_options = run_options(command)
    _check(command, base_options)
    done = JavaRun(folder, warnings=command.warnings)
    options = _without_existing(command, base_options, folder, done)
    if options is None:
        return done
    folder.mkdir(parents=True, exist_ok=True)
    choose, rows = partial(choose_features, command), list[Row]()
    if divides(command):
        models, failures, notices = fit_replicates(command, options, folder / FOLDER, text, choose, progress)
    else:
        fitted = run(options, command=text, progress=progress, choose=choose)
        whole_models = {model.name: model.complete() for model in fitted.models if model.error is None}
        models = replicates_by_name(whole_models, command["replicates"])
        if command["replicates"] > 1:
            alone = [name for name, replicates in models.items() if len(replicates) == 1]
            done.warnings += [f"{name} is not a replicate: expected {name}_0, {name}_1 and so on" for name in alone]
        failures = {model.name: SdmError(model.error, code=model.code) for model in fitted.failed}
        notices = fitted.notices
    named = {name: "" if str(error).startswith(name) else f"{name}: " for name, error in failures.items()}
    done.failed = [f"{named[name]}{with_code(error)}" for name, error in failures.items()]
    for name, replicates in models.items():
        made_rows = _write_species(name, replicates, command, options, folder, done)
        rows += made_rows
        if command["perspeciesresults"]:
            write_text(folder / f"{safe_name(name)}Results.csv", table_text(made_rows), overwrite=True)
    _write_results(rows, folder / RESULTS, command["appendtoresultsfile"])
    log = [f"sdm {__version__}", text, *(f"warning: {line}" for line in done.warnings), *notices, *done.lines]
    log += [f"error: {line}" for line in done.failed]
    write_text(folder / Path(command["logfile"]).name, "\n".join(log) + "\n", overwrite=True)
    return done


def _check(command: JavaCommand, options: RunOptions) -> None:
    """Raise for invalid projections or an invalid threshold rule, before the run."""
    projections(command)
    rule = threshold_key(command["applythresholdrule"])
    tested = options.test.percent or options.test.file or divides(command)
    if rule in TEST_NAMES and not tested:
        name = command["applythresholdrule"]
        raise ConflictError(f"applythresholdrule={name} needs test records: add randomtestpoints=25")


def _write_species(
    name: str, models: list[ModelResult], command: JavaCommand, options: RunOptions, folder: Path, done: JavaRun
) -> list[Row]:
    """Write the results of one species, from one model or its replicates; return its rows of the table."""
    rows, curves = list[Row](), [read_curves(model) for model in models]
    base, maps = safe_name(name), dict[str, list[GridValues]]()
    for k, model in enumerate(models):
        if command["writeplotdata"] or len(models) > 1:
            write_plot_data(curves[k], folder, f"{base}_{k}" if len(models) > 1 else base)
        alone = len(models) == 1
        row, written = write_outputs(model, command, options, folder, base if alone else f"{base}_{k}", alone=alone)
        rows.append(row)
        for ending, grid in written.items():
            maps.setdefault(ending, []).append(grid)
        done.lines += _lines(model, row["Species"])
        done.warnings += [text for text in model.warnings if text not in done.warnings]
    done.names.append(name)
    if len(models) == 1:
        return rows
    if command["writeplotdata"]:
        write_plot_data(average_curves(curves), folder, base)
    writer = grid_writer(command, options, folder)
    for ending, grids in maps.items():
        writer.summarise(grids, f"{base}{ending}")
    return [*rows, average_row(rows, base)]


def choose_features(
    command: JavaCommand, task: AnyTask, prepared: Prepared, name: str, options: RunOptions, progress: Progress | None
) -> Chosen:
    """Return the options of a species with the feature classes of Java Maxent, and the writer of the averages of its
    training data."""
    table = task.plan(prepared, name, options).table
    letters = feature_letters(command, table.n_presences)
    values: Numbers = {"features": letters}
    if command["dosqrtcat"] and command["beta_categorical"] < 0:
        values["beta_categorical"] = square_root_beta(letters, table.n_presences)
    write = partial(_write_averages, table, safe_name(name))
    return Chosen(options.with_values(fit=values), {"features": letters}, write, "java")


def _write_averages(table: SampleTable, name: str, place: Path, files: Numbers) -> None:
    """Write averages of the variables at the training records; for categories, the most frequent one."""
    rows = []
    for k, variable in enumerate(table.names):
        values, category = table.presence[:, k], variable in table.categorical
        codes, counts = np.unique(values, return_counts=True)
        average = float(codes[np.argmax(counts)]) if category else float(values.mean())
        row = {"Predictor variable": variable, "Categorical": str(category).lower(), "Sample average": average}
        rows.append(row)
    files["sample averages"] = f"{name}_sampleAverages.csv"
    write_text(place / files["sample averages"], table_text(rows))


def _without_existing(command: JavaCommand, options: RunOptions, folder: Path, done: JavaRun) -> RunOptions | None:
    """Return the options without species that have results, or None if none remains. Raise if results may not be
    replaced."""
    if not folder.is_dir() or not (command["skipifexists"] or command["askoverwrite"]):
        return options
    names = options.occurrences.species or species_of_samples(command["samplesfile"])
    older = [name for name in names if any((folder / f"{safe_name(name)}{end}.lambdas").exists() for end in ("", "_0"))]
    if not older:
        return options
    if not command["skipifexists"]:
        raise OutputExistsError(
            f"{folder} contains results of {older[0]}: add redoifexists to replace, or skipifexists"
        )
    done.lines += [f"{name}: skipped, because its results exist" for name in older]
    missing = [name for name in names if name not in older]
    return options.with_values(occurrences={"species": missing}) if missing else None


def _write_results(rows: list[Row], path: Path, append: bool) -> None:
    """Write the table of all species, or append to an existing one."""
    if path.exists() and path.is_dir():
        raise OptionError(f"{path} is a folder: expected the table of results")
    if append:
        add_rows(path, rows)
    elif rows:
        write_text(path, table_text(rows), overwrite=True)


def _lines(model: ModelResult, name: str) -> list[str]:
    """Return the line of a fitted model."""
    numbers = model.numbers
    tested = numbers.get("auc_test")
    return [
        f"{name}: {numbers['training_presences']} training records, gain {numbers['regularized_gain']:.4f} "
        f"(regularised), AUC {numbers['auc_train']:.4f}{'' if tested is None else f', test AUC {tested:.4f}'}; "
        f"{numbers['certificate']['text']}"
    ]


_SHARE = 25  # default percentage of test records in a subsample


def fit_replicates(
    command: JavaCommand, options: RunOptions, folder: Path, text: str, choose: Chooser, progress: Progress | None
) -> tuple[dict[str, list[ModelResult]], dict[str, SdmError], list[str]]:
    """Fit the replicates of every species into separate folders; return the models of each species in order, the errors
    of species, and notices."""
    task = task_of(options)
    task.check_options(options)
    prepared = task.prepare(options)
    models: dict[str, list[ModelResult]] = {}
    failures = dict(prepared.failures)
    job = Job(task, options, text, choose)
    for name in prepared.tables:
        try:
            made = []
            for k, part in enumerate(_parts(cast(SpeciesPrepared, prepared), name, command, options.seed)):
                ready = job.fit(part, name, progress)
                made.append(job.write(ready, folder / f"{safe_name(name)}_{k}", progress, overwrite=True))
            models[name] = made
        except SdmError as error:
            if len(prepared.tables) == 1:
                raise
            failures[name] = error
    if not models and failures:
        raise next(iter(failures.values()))
    return models, failures, prepared.notices


def _parts(prepared: SpeciesPrepared, name: str, command: JavaCommand, seed: int) -> Iterator[SpeciesPrepared]:
    """Yield the inputs of each replicate of a species: training records and test records."""
    table = prepared.tables[name]
    for train, test in divide(table.n_presences, command, seed):
        part = replace(prepared.only(name), tables={name: table.take(train)})
        if test.size:
            none = np.zeros(test.size, dtype=np.int64)
            xy = table.presence_x[test], table.presence_y[test]
            part = replace(part, tests={name: CleanPoints(name, none, none, *xy, test, table.presence[test])})
        yield part


def divide(records: int, command: JavaCommand, seed: int) -> list[tuple[Index, Index]]:
    """Return the training and test records of each replicate: folds, samples with replacement, or all except a
    share."""
    rng = np.random.default_rng(seed)
    count, kind, percent = command["replicates"], command["replicatetype"], command["randomtestpoints"]
    if kind == "crossvalidate":
        folds = np.array_split(rng.permutation(records), min(count, records))
        return [(np.setdiff1d(np.arange(records), fold), np.sort(fold)) for fold in folds]
    if kind == "subsample":
        percent = percent or _SHARE
    parts = []
    for _ in range(count):
        order = rng.permutation(records)
        tests = round(records * percent / 100)
        test, train = np.sort(order[:tests]), np.sort(order[tests:])
        parts.append((np.sort(rng.choice(train, train.size)) if kind == "bootstrap" else train, test))
    return parts


def average_row(rows: list[Row], base: str) -> Row:
    """Return the row of averages over replicates. Columns without a number in every replicate are empty."""
    mean: Row = {}
    for name in rows[0]:
        values = [number(row.get(name)) for row in rows]
        numbers = [value for value in values if value is not None]
        mean[name] = sum(numbers) / len(numbers) if len(numbers) == len(rows) else ""
    return mean | {"Species": f"{base} (average)"}
