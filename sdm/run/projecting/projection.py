"""Projections of models to a reference and scenarios, alone or as a part of a run."""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sdm.errors import (
    ConflictError,
    DataError,
    MissingInputError,
    OptionError,
    RunExistsError,
    ScenarioError,
    hide_secrets,
)
from sdm.executors.opening import check_workers
from sdm.kinds.task import Findings
from sdm.maps.novelty import check_measures, read_measures
from sdm.maps.projection.across import REST
from sdm.maps.projection.change import Ground, Reach
from sdm.maps.projection.scenario import ScenarioFiles, ScenarioPass
from sdm.maps.projection.targets import ProjectedModel
from sdm.models.extrapolation import required_range
from sdm.options.definitions import RunOptions
from sdm.report.results import SCENARIOS
from sdm.run.projecting.mapping import NUMBERS, Projection, ProjectionResult
from sdm.run.projecting.opening import REFERENCE, Opened, find_models, open_scenarios, variables_of, with_options
from sdm.run.projecting.scenarios import Scenario, field_names, find_scenarios
from sdm.storage.commit import claim, staging_species
from sdm.storage.files import output_folder
from sdm.types import Progress

log = logging.getLogger("sdm")


def run_projection(options: RunOptions, *, command: str = "", progress: Progress | None = None) -> ProjectionResult:
    """Map the models of `options.project.models` on scenarios, and measure novelty and change.

    Parameters
    ----------
    command : str
        The command as typed, to store with the results.
    progress : callable, optional
        Called with the windows done, their total, and the stage.

    Raises
    ------
    SdmError
        If a model, a scenario or an option cannot be used; nothing is computed before all of them are known.
    """
    check_workers(options)
    target, project = output_folder(options.output.folder), options.project
    if options.output.resume and options.output.overwrite:
        raise ConflictError("--resume keeps finished results, and --overwrite replaces them: use one of them")
    if not project.scenarios:
        raise MissingInputError("no scenarios: add them, as in --scenarios 'future/{gcm}_{ssp}/'")
    chosen = with_options(find_models(project.models), options)
    scenarios = find_scenarios(project.scenarios)
    opened = open_scenarios(*variables_of(chosen), scenarios, options)
    for notice in opened.notices:
        log.info(notice)
    job = plan_projection(chosen, opened, options, command, progress)
    resume = options.output.resume and target.is_dir()
    if not (resume or options.output.overwrite) and any(target.glob(f"*/{NUMBERS}")):
        raise RunExistsError(f"{target} contains scenarios: use --resume to continue, or --overwrite to start again")
    overwrite = options.output.overwrite
    with (
        claim(target, overwrite=overwrite or resume),
        staging_species(target, overwrite=overwrite, planned=job.planned, in_place=resume) as place,
    ):
        return job.run(place, target, resume)


def plan_projection(
    models: Sequence[ProjectedModel],
    opened: Opened,
    options: RunOptions,
    command: str = "",
    progress: Progress | None = None,
) -> Projection:
    """Return the projection of models to scenarios; raise for inconsistent inputs."""
    project = options.project
    _check_fields(models, opened.scenarios, project.over)
    measures = read_measures([word for word in project.novelty if word != "none"])
    if "mess" in measures and any("program" in one.model.meta and one.model.reference is None for one in models):
        log.info("novelty (mess) is not mapped: a model file of Java Maxent lacks the training environment")
        measures = tuple(word for word in measures if word != "mess")
    _check_models(models, measures, options)
    _check_dispersal(opened, project.dispersal)
    files = ScenarioFiles.of(models, measures)
    passes = ScenarioPass(models, files, measures, project.dispersal != "none", opened.area, options.threads)
    for line in mapping_lines(opened):
        log.info(line)
    if opened.reference is None and not project.reference:
        log.info("change is not mapped: add the layers of the present with --reference")
    return Projection(options, models, opened, passes, measures, command, progress)


def _check_fields(models: Sequence[ProjectedModel], scenarios: Sequence[Scenario], over: Sequence[str]) -> None:
    """Raise for fields that models and scenarios share, for unknown fields, or for a scenario with the title of the
    reference."""
    of_models = list(dict.fromkeys(name for one in models for name in one.fields))
    fields = [*field_names(scenarios), *of_models]
    if both := [name for name in of_models if name in field_names(scenarios)]:
        raise ScenarioError(f"models and scenarios both have a field '{both[0]}': rename one of them")
    for name in over:
        if name not in fields:
            listed = f"the fields are {', '.join(fields)}" if fields else "add fields in braces to the pattern"
            raise ScenarioError(f"project.over={name}: expected a field of the scenarios or models; {listed}")
    if REST in fields:
        raise ScenarioError(f"the name '{REST}' of a field is reserved for unexplained variance: rename the field")
    if any(one.title.casefold() == REFERENCE for one in scenarios):
        raise ScenarioError(f"the name '{REFERENCE}' of a scenario is reserved: use another name, as in name=folder")


def _check_models(models: Sequence[ProjectedModel], measures: Sequence[str], options: RunOptions) -> None:
    """Raise if a model lacks data for its maps."""
    for one in models:
        try:
            check_measures(one.model, measures)
            if options.predict.extrapolation == "none":
                required_range(one.model)
        except (DataError, OptionError) as error:
            raise type(error)(f"{one.title}: {error}") from error


def _check_dispersal(opened: Opened, dispersal: str | float) -> None:
    """Raise if dispersal has no reference, or no distances."""
    if dispersal == "unlimited":
        return
    if opened.reference is None:
        raise ConflictError(f"project.dispersal={dispersal} needs the layers of the present: add --reference")
    if isinstance(dispersal, float):
        Reach(Ground(opened.grid).grid, dispersal)


def mapping_lines(opened: Opened) -> list[str]:
    """Report file and band of each variable of the first stack; the table contains the others."""
    first = opened.reference or opened.scenarios[0]
    parts = []
    for row in first.mapping:
        name = hide_secrets(Path(row["file"]).name)
        parts.append(f"{row['variable']} = {name}" + (f" band {row['band']}" if row["band"] > 1 else ""))
    lines = [f"{first.title}: {', '.join(parts)}"]
    if more := len(opened.scenarios) - (opened.reference is None):
        lines.append(f"{more:,} {'scenario' if more == 1 else 'scenarios'} more: every variable found; see mapping.csv")
    return lines


def open_for_run(
    options: RunOptions, names: Sequence[str], categorical: Sequence[str], shown: Sequence[str] = ()
) -> Opened | None:
    """Return the layers of the scenarios of a run, with its own layers as the default reference; None without
    scenarios. Notices in `shown` are not repeated."""
    if not options.project.scenarios:
        return None
    scenarios = find_scenarios(options.project.scenarios)
    return open_scenarios(names, categorical, scenarios, _with_reference(options), shown)


def check_scenarios(options: RunOptions, findings: Findings) -> None:
    """Find the problems of the scenarios of a run, one by one."""
    if not options.project.scenarios or (layers := findings.variables) is None:
        return
    options, shown = _with_reference(options), layers.notices
    for scenario in findings.attempt(lambda: find_scenarios(options.project.scenarios)) or ():
        opened = findings.attempt(partial(open_scenarios, layers.names, layers.categorical, [scenario], options, shown))
        if opened is not None:
            findings.facts.append(f"scenario {scenario.title} has all layers")
            findings.warnings += opened.notices


def project_fitted(
    folders: Sequence[Path],
    place: Path,
    target: Path,
    opened: Opened,
    options: RunOptions,
    command: str = "",
    progress: Progress | None = None,
) -> ProjectionResult:
    """Project the models of a run into its folder of scenarios at `place`, which becomes `target`; keep existing
    unchanged scenarios."""
    options = _with_reference(options).with_values(
        project={"models": [str(target)]}, output={"folder": str(target / SCENARIOS)}
    )
    models = with_options(find_models([str(folder) for folder in folders]), options)
    exists = (place / SCENARIOS).is_dir()
    (place / SCENARIOS).mkdir(exist_ok=True)
    projection = plan_projection(models, opened, options, command, progress)
    with staging_species(place / SCENARIOS, overwrite=False, planned=projection.planned, in_place=True) as inside:
        return projection.run(inside, target / SCENARIOS, exists)


def _with_reference(options: RunOptions) -> RunOptions:
    if options.project.reference or not options.layers.files:
        return options
    return options.with_values(project={"reference": list(options.layers.files)})
