"""The scenarios of a run: opened before anything is fitted, and mapped when its models are there."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sdm.kinds.task import Findings
from sdm.options.definitions import RunOptions
from sdm.report.results import SCENARIOS
from sdm.run.projecting.models import find_models, with_options
from sdm.run.projecting.opening import Opened, open_scenarios
from sdm.run.projecting.projection import Projection, ProjectionResult
from sdm.run.projecting.scenarios import find_scenarios
from sdm.storage.written_files import read_list, trim_list, write_list
from sdm.types import Progress


def open_for_run(
    options: RunOptions, names: Sequence[str], categorical: Sequence[str], said: Sequence[str] = ()
) -> Opened | None:
    """Return the layers of a run's scenarios, and its own layers as the reference unless another one is named; None if
    there are no scenarios. What was `said` of the run's own layers is not said again."""
    if not options.project.scenarios:
        return None
    scenarios = find_scenarios(options.project.scenarios)
    return open_scenarios(names, categorical, scenarios, _with_reference(options), said)


def check_scenarios(options: RunOptions, found: Findings) -> None:
    """Look for what is wrong with the scenarios of a run, each by itself."""
    if not options.project.scenarios or (layers := found.variables) is None:
        return
    options, said = _with_reference(options), layers.notices
    for scenario in found.attempt(lambda: find_scenarios(options.project.scenarios)) or ():
        opened = found.attempt(partial(open_scenarios, layers.names, layers.categorical, [scenario], options, said))
        if opened is not None:
            found.facts.append(f"scenario {scenario.title} has all layers")
            found.warnings += opened.notices


def project_fitted(
    folders: Sequence[Path],
    place: Path,
    target: Path,
    opened: Opened,
    options: RunOptions,
    command: str = "",
    progress: Progress | None = None,
) -> ProjectionResult:
    """Map the models of some folders, those of one run, into the folder of scenarios at `place`, the run's own, which
    will be at `target`; scenarios that are there already and unchanged are kept."""
    options = _with_reference(options)
    own = options.project.model_copy(update={"models": [str(target)]})
    output = options.output.model_copy(update={"folder": str(target / SCENARIOS)})
    options = options.model_copy(update={"project": own, "output": output})
    models = with_options(find_models([str(folder) for folder in folders]), options)
    there = (place / SCENARIOS).is_dir()
    (place / SCENARIOS).mkdir(exist_ok=True)
    projection = Projection.of(models, opened, options, command, progress)
    write_list(place / SCENARIOS, {*read_list(place / SCENARIOS), *projection.planned})
    result = projection.run(place / SCENARIOS, target / SCENARIOS, there)
    trim_list(place / SCENARIOS)
    return result


def _with_reference(options: RunOptions) -> RunOptions:
    own = options.project
    if own.reference or not options.layers.files:
        return options
    return options.model_copy(update={"project": own.model_copy(update={"reference": list(options.layers.files)})})
