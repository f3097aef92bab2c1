"""`sdm variables`: correlations of the variables of a run, and a suggestion which to keep, without fitting the
model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.variables.choice import VariableChoice, listed_drops
from sdm.assess.variables.correlation import Collinearity, measure_collinearity
from sdm.assess.variables.selection import Dropped, drop_correlated, drop_inflated
from sdm.errors import InapplicableError, NoRecordsError, SdmError
from sdm.executors.opening import workers
from sdm.kinds.registry import task_of
from sdm.kinds.task import AnyTask
from sdm.kinds.writing import write_run
from sdm.options.definitions import RunOptions
from sdm.options.fitting import TestOptions
from sdm.report.tables import write_rows
from sdm.storage.commit import claim, staging
from sdm.types import Array, Numbers, Progress

CORRELATED, INFLATED = 0.7, 10.0  # common limits (Dormann et al. 2013)
MODELS = 5  # largest number of species with averaged gains: those with the most records


@dataclass
class Screening:
    """Correlations of the variables, and the suggested selection."""

    choice: VariableChoice  # dropped variables are a suggestion
    limits: tuple[float, float]  # of correlations, and of variance inflation factors
    models: list[str]  # models with averaged gains
    notices: list[str]
    folder: Path | None = None
    files: dict[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Groups of collinear variables."""
        return self.choice.collinearity.groups(self.limits[0])

    def lines(self) -> list[str]:
        """Describe collinear variables and the suggestion as lines of text."""
        choice, collinearity, (limit, most) = self.choice, self.choice.collinearity, self.limits
        counts = f"{len(collinearity.names)} continuous"
        counts += f", {len(collinearity.categorical)} categorical (excluded)" if collinearity.categorical else ""
        out = [f"variables    {counts}; correlations at {collinearity.n:,} {choice.noun}"]
        if collinearity.constant:
            out.append(f"constant     {', '.join(collinearity.constant)}: no information, exclude them")
        for k, group in enumerate(self.groups):
            out.append(f"{'collinear' if not k else '':<12} {', '.join(group)}")
        if not self.groups:
            out.append(f"collinear    none: no correlation |r| is above {limit:g}")
        out.append(f"keep         {', '.join(choice.kept) or 'none'}")
        related, inflated = choice.dropped_by("correlation"), choice.dropped_by("vif")
        if related:
            whose = self.models[0] if len(self.models) == 1 else f"the mean of {len(self.models)} models"
            gain = f"gain of one variable alone, {whose}"
            out.append(f"drop         {len(related)} with |r| above {limit:g} to one with a higher gain ({gain}):")
            out.append(f"             {listed_drops(related)}")
        if inflated:
            out.append(f"drop         {len(inflated)} with a VIF above {most:g}: {listed_drops(inflated)}")
        if not choice.dropped:
            out.append(f"drop         none: no VIF is above {most:g}")
        largest = max(self.choice.selected_factors.values(), default=1.0)
        out.append(f"VIF          at most {largest:.3g} among the variables that are kept")
        if choice.dropped:
            words = [f"--drop-correlated {limit:g}"] if related else []
            words += [f"--drop-vif {most:g}"] if inflated else []
            out.append(f"in a run     {' '.join(words)} applies this to each model with its own records")
        out.append("This suggestion uses correlations only: prefer variables with a known effect on the species.")
        return out

    def numbers(self) -> Numbers:
        """Return all results."""
        collinearity = self.choice.collinearity
        return {
            **self.choice.numbers(),
            "variables": list(collinearity.names),
            "categorical": list(collinearity.categorical),
            "groups": [list(group) for group in self.groups],
            "limits": {"correlation": self.limits[0], "vif": self.limits[1]},
            "vif": dict(zip(collinearity.names, collinearity.vif)),
            "pearson": collinearity.pearson.tolist(),
            "spearman": collinearity.spearman.tolist(),
            "gains_of": self.models,
        }


def screen_variables(options: RunOptions, *, command: str = "", progress: Progress | None = None) -> Screening:
    """Correlate the variables of a run over its background or sites, and suggest which to keep.

    Inputs are read as in a run, so that `--drop-correlated` and `--drop-vif` use the same correlations. Files
    are written if there is an output folder.
    """
    task = task_of(options)
    if options.layers.reduces:
        raise InapplicableError("layers.reduce needs the folds of a run: use it in 'sdm fit', and remove it here")
    options = options.model_copy(update={"test": TestOptions(percent=options.test.percent)})
    task.check_options(options)
    if options.output.folder is None:
        return _screen(task, options, progress)
    target = Path(options.output.folder)
    with claim(target, overwrite=options.output.overwrite):
        screening = replace(_screen(task, options, progress), folder=target)
        with staging(target, overwrite=options.output.overwrite, keep=True) as stage:
            _write(screening, stage, options)
            write_run(task, options, stage, command, "sdm variables")
    return screening


def _screen(task: AnyTask, options: RunOptions, progress: Progress | None) -> Screening:
    prepared = task.prepare(options)
    notices, tables = list(prepared.notices), {}
    for name in prepared.tables:
        try:
            tables[name] = task.plan(prepared, name, options).table
        except SdmError as error:
            prepared.failures[name] = error.with_traceback(None)
    if not tables:
        raise next(iter(prepared.failures.values()), NoRecordsError("the records contain no species"))
    notices += [f"dropped: {text}" for text in prepared.failures.values()]
    table = next(iter(tables.values()))
    noun, _ = table.environment()
    result = measure_collinearity(_pooled(list(tables.values())), table.names, table.categorical)
    models = sorted(tables, key=lambda name: -_size(tables[name]))[:MODELS]
    with workers(options) as pool:
        each = [task.single_gains(tables[name], options, result.names, pool, progress) for name in models]
    gains = {name: float(np.mean([one[name] for one in each])) for name in result.names}
    if len(tables) > len(models):
        notices.append(f"the gains are from the {len(models)} of {len(tables)} models with the most records")
    layers = options.layers
    limits = layers.drop_correlated or CORRELATED, layers.drop_vif or INFLATED
    dropped = _suggest(result, gains, limits)
    return Screening(VariableChoice(tuple(table.names), tuple(dropped), result, noun, gains), limits, models, notices)


def _suggest(collinearity: Collinearity, gains: dict[str, float], limits: tuple[float, float]) -> list[Dropped]:
    """Drop variables that are correlated with a variable of higher gain, then those with a large VIF."""
    dropped, _ = drop_correlated(collinearity, limits[0], lambda names: {name: gains[name] for name in names})
    excluded = {one.variable for one in dropped}
    remaining = [name for name in collinearity.names if name not in excluded]
    return dropped + (drop_inflated(collinearity, limits[1], remaining) if collinearity.n > len(remaining) else [])


def _size(table: Any) -> int:
    return int(table.n_presences) if hasattr(table, "n_presences") else len(table)


def _pooled(tables: Sequence[Any]) -> Array:
    """Return the environment of all models; a common one counts once."""
    parts = {np.sort(values, axis=0).tobytes(): values for _, values in (table.environment() for table in tables)}
    return np.vstack(list(parts.values()))


def _write(screening: Screening, folder: Path, options: RunOptions) -> None:
    """Write both matrices, one row per variable, the suggestion, and the figure."""
    from sdm.report.figures.variables import draw_correlation
    from sdm.report.paper import paper_of

    result, files = screening.choice.collinearity, screening.files
    for name, matrix in (("pearson", result.pearson), ("spearman", result.spearman)):
        table = [{"variable": a, **dict(zip(result.names, row))} for a, row in zip(result.names, matrix.tolist())]
        if table:
            files[name] = write_rows(folder / f"correlation_{name}.csv", table).name
    numbers = {name: k for k, names in enumerate(screening.groups, start=1) for name in names}
    rows = [{**row, "group": numbers.get(row["variable"], "")} for row in screening.choice.rows()]
    files["variables"] = write_rows(folder / "variables.csv", rows).name
    (folder / "suggestion.txt").write_text("\n".join(screening.lines()) + "\n", encoding="utf-8")
    files["suggestion"] = "suggestion.txt"
    if len(result.names) > 1:
        paper = paper_of(options.output)
        files["picture"] = draw_correlation(result, folder / "correlation.png", screening.limits[0], paper).name
