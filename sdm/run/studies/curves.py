"""Learning and sensitivity curves of the species of a file."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

from sdm.assess.curves import BETAS, CurvePoint, learning_curve, sensitivity_curve
from sdm.assess.splits.methods import subsample
from sdm.data.table import SampleTable
from sdm.errors import DataError, InapplicableError, NoRecordsError, OptionError, SdmError
from sdm.executors.ahead import run_threads
from sdm.executors.opening import workers
from sdm.kinds.choosing import choice_notes, choose_variables
from sdm.kinds.registry import task_for
from sdm.kinds.species.inputs import prepare_species
from sdm.kinds.species.methods.method import method_of, species_estimator
from sdm.kinds.writing import write_run
from sdm.options.definitions import RunOptions
from sdm.progress.telling import species_stage
from sdm.report.tables import write_rows
from sdm.storage.commit import claim, staging
from sdm.storage.files import output_folder, safe_names
from sdm.types import Numbers, Progress


@dataclass
class CurveResult:
    """The curves: points and files by species, and failed species."""

    folder: Path
    points: dict[str, list[CurvePoint]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    failures: dict[str, SdmError] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def run_curve(options: RunOptions, kind: str, *, command: str = "", progress: Progress | None = None) -> CurveResult:
    """Measure models of increasing numbers of records, or of increasing penalties, at held-out records; write tables
    and figures.

    The options in `curve` define the comparison. Penalties are the standard deviation over √m times the multiplier,
    unless `fit.beta` is set. The kind is `learning` or `sensitivity`.
    """
    if not method_of(options).single_problem:
        raise InapplicableError(f"curves compare sets of feature classes: remove --model {options.fit.model}")
    task_for("species").check_options(options)
    target = output_folder(options.output.folder)
    with claim(target, overwrite=options.output.overwrite), run_threads(options.threads):
        return _draw(options, kind, target, command, progress)


def _draw(options: RunOptions, kind: str, target: Path, command: str, progress: Progress | None) -> CurveResult:
    """Measure and draw into a reserved folder."""
    prepared = prepare_species(options)
    result = CurveResult(target, failures=dict(prepared.failures), notices=list(prepared.notices))
    task = task_for("species")
    result.warnings += prepared.warnings
    alone = len(prepared.tables) == 1
    for done, (species, table) in enumerate(prepared.tables.items()):
        if progress is not None and not alone:
            progress(done, len(prepared.tables), species_stage(len(result.failures)))
        try:
            if options.layers.chooses:
                narrowed = choose_variables(task, prepared, species, options, progress)
                table, chosen = narrowed.tables[species], narrowed.chosen[species]
                result.notices += [f"{species}: {text}" for text in choice_notes(chosen, options, nested=False)]
            result.points[species] = measure_curve(table, options, kind, progress)
        except SdmError as error:
            if alone:
                raise
            result.failures[species] = error.with_traceback(None)
    if not result.points:
        first = next(iter(result.failures.values()), NoRecordsError(f"{options.occurrences.file} contains no species"))
        raise DataError(f"no curve could be drawn: {first}", code=first.code)
    with staging(target, overwrite=options.output.overwrite, keep=True) as stage:
        _write(result, options, kind, stage, command)
    return result


def measure_curve(
    table: SampleTable, options: RunOptions, kind: str, progress: Progress | None = None
) -> list[CurvePoint]:
    """Return the points of one species."""
    curve = options.curve
    split = subsample(table.n_presences, curve.partitions, curve.held_out, options.seed)
    base = species_estimator(options, list(table.categorical))
    if options.fit.beta is None:
        base.set_params(beta="deviation")
    common: Numbers = {"sizes": curve.sizes or None, "seed": options.seed, "progress": progress}
    compared = {label: base.changed(**setting) for label, setting in sets(options).items()}
    try:
        with workers(options) as pool:
            if kind == "learning":
                return learning_curve(table, compared, split, executor=pool, **common)
            strengths = BETAS if curve.strengths is None else curve.strengths
            return sensitivity_curve(table, compared, split, multipliers=strengths, executor=pool, **common)
    except DataError as error:
        raise DataError(f"{table.species}: {error}", code=error.code) from error


def sets(options: RunOptions) -> dict[str, Numbers]:
    """Return the feature classes to compare, each with its multiplier, by a label."""
    words = [word.partition(":") for word in options.curve.sets]
    classes = [name.upper() for name, _, _ in words]
    labels = [
        name if classes.count(name) == 1 else f"{name} {strength}".strip()
        for name, (_, _, strength) in zip(classes, words)
    ]
    if len(set(labels)) < len(labels):
        raise OptionError(f"curve.sets={','.join(options.curve.sets)}: expected different sets, and one occurs twice")
    return {
        label: {"features": name, "multiplier": float(strength) if strength else options.fit.multiplier or 1.0}
        for label, (name, _, strength) in zip(labels, words)
    }


def _write(result: CurveResult, options: RunOptions, kind: str, folder: Path, command: str) -> None:
    """Write the table and the figure of every species, and the run file."""
    from sdm.report.figures.assessment import draw_curves
    from sdm.report.paper import paper_of

    names = safe_names(result.points)
    for species, points in result.points.items():
        table = write_rows(folder / f"{names[species]}_{kind}.csv", [asdict(point) for point in points])
        picture = draw_curves(points, kind, folder / f"{names[species]}_{kind}.png", species, paper_of(options.output))
        result.files[species] = [table.name, picture.name]
    write_run(task_for("species"), options, folder, command, f"sdm curve {kind}")
