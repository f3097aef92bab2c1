"""The models of a projection, and the layers of scenarios and of their reference, checked before any computation."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sdm.data.place import ELSEWHERE, has_place
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.stack import Stack
from sdm.errors import (
    DataError,
    GridError,
    InapplicableError,
    MissingFileError,
    MissingInputError,
    OptionError,
    ResultsError,
    VariableError,
    hide_secrets,
)
from sdm.kinds.inputs import check_categories, open_tagged
from sdm.kinds.registry import model_task
from sdm.kinds.task import REPLICATES
from sdm.maps.projection.targets import ProjectedModel
from sdm.models.file import JAVA, kind_of, load_model
from sdm.models.interface import FittedModel
from sdm.options.definitions import RunOptions
from sdm.report.results import GROUP
from sdm.run.projecting.scenarios import Scenario, has_fields, matches
from sdm.types import Numbers


def find_models(places: Sequence[str]) -> list[ProjectedModel]:
    """Return the models at some paths, in the order of their names; fields come from patterns."""
    models: list[ProjectedModel] = []
    for place in places:
        if has_fields(place):
            for path, fields in matches(place):
                models += [replace(one, fields=fields) for one in _models_in(Path(path))]
        elif not Path(place).exists() and any(c in place for c in "*?["):
            names = sorted(glob.glob(place))
            if not names:
                raise MissingFileError(f"no file matches '{place}': check the pattern")
            models += [one for name in names for one in _models_in(Path(name))]
        else:
            models += _models_in(Path(place))
    if not models:
        raise MissingInputError("no model: give a model file (.npz, .lambdas), or the results of 'sdm fit'")
    return models


def _models_in(place: Path) -> list[ProjectedModel]:
    """Return the model of a file, or the models of the results of a run."""
    if not place.is_dir():
        model = load_model(place)
        check_categories(model)
        return [model_task(model.kind).projected(model, _name(model, place))]
    files = [path for path in sorted(place.glob("*.npz")) if kind_of(path)] or sorted(place.glob(f"*{JAVA}"))
    folders = [path for path in sorted(place.iterdir()) if path.is_dir() and path.name != REPLICATES]
    inside = [path for inner in folders for path in sorted(inner.glob("*.npz")) if kind_of(path)]
    files = files or [path for path in inside if path.parent.name != GROUP]  # a group has the models of its species
    if not files:
        raise ResultsError(f"{place} contains no model: expected results of 'sdm fit', or a model (.npz, .lambdas)")
    return [one for path in files for one in _models_in(path)]


def _name(model: FittedModel, path: Path) -> str:
    """Return the title of a model: its species, the title of its classes, or the name of its file."""
    for key in ("species", "title"):
        name = model.meta.get(key)
        if isinstance(name, str) and name:
            return name
    return path.stem


def with_options(models: Sequence[ProjectedModel], options: RunOptions) -> list[ProjectedModel]:
    """Return models with their map options; raise for options that do not apply to one of them."""
    project, predict = options.project, options.predict
    rules = tuple(project.thresholds) or (() if predict.threshold is None else (str(predict.threshold),))
    out = []
    for one in models:
        if has_place(one.model.names):
            raise InapplicableError(f"{one.title} cannot be projected to scenarios: {ELSEWHERE}")
        task = model_task(one.model.kind)
        task.check_extrapolation(predict.extrapolation)
        scale = predict.scale if "scale" in task.maps_with else None
        changed = replace(one, scale=scale, extrapolation=predict.extrapolation, rules=rules)
        changed.cutoffs  # noqa: B018 - what is wrong with a rule is said before anything is computed
        out.append(changed)
    return out


REFERENCE = "reference"
NO_REFERENCE = "none"


@dataclass(frozen=True, kw_only=True)
class OpenScenario(Scenario):
    """A scenario with its layers, which contain the variables of all models."""

    stack: Stack

    @property
    def mapping(self) -> list[Numbers]:
        """File and band of each variable."""
        return [
            {"scenario": self.title, "variable": layer.name, "file": hide_secrets(layer.path), "band": layer.band}
            for layer in self.stack.layers
        ]


@dataclass(frozen=True)
class Opened:
    """All inputs of a projection: the reference, the scenarios, and the study area."""

    reference: OpenScenario | None
    scenarios: list[OpenScenario]
    area: StudyArea | None
    notices: list[str]

    @property
    def grid(self) -> Grid:
        """The grid of all maps."""
        return Grid.of((self.reference or self.scenarios[0]).stack)


def open_scenarios(
    names: Sequence[str],
    categorical: Sequence[str],
    scenarios: Sequence[Scenario],
    options: RunOptions,
    shown: Sequence[str] = (),
) -> Opened:
    """Open the layers of every scenario and of the reference, with some variables; errors contain the title of the
    scenario. Notices in `shown` are not repeated."""
    notices, texts = list[str](), list(shown)
    project, layers = options.project, options.layers

    def open_one(scenario: Scenario, align: str | Grid | None) -> OpenScenario:
        called = REFERENCE if scenario.title == REFERENCE else f"scenario {scenario.title}"
        try:
            stack = open_tagged(scenario.places, layers, names, categorical, align)
        except (DataError, OptionError) as error:
            raise type(error)(f"{called}: {error}") from error
        for text in stack.notices:
            if text not in texts:
                texts.append(text)
                notices.append(f"{called}: {text}")
        return OpenScenario(**vars(scenario), stack=replace(stack, notices=()))

    reference = None
    if project.reference not in ([], [NO_REFERENCE]):
        reference = open_one(Scenario(REFERENCE, tuple(project.reference)), layers.align)
    opened: list[OpenScenario] = []
    for scenario in scenarios:
        first = reference or (opened[0] if opened else None)
        one = open_one(scenario, layers.align if first is None or layers.align is None else Grid.of(first.stack))
        if first is not None and (difference := Grid.of(one.stack).difference(Grid.of(first.stack))):
            hint = "use --align first to resample it"
            hint += ", or --reference none to map it without change" if first is reference else ""
            raise GridError(f"scenario {scenario.title} {difference.replace('the stack', first.title)}: {hint}")
        opened.append(one)
    stack = (reference or opened[0]).stack
    area = None if project.area is None else StudyArea.read(project.area, stack.crs, grid=stack)
    if area is not None:
        area.check(stack)
        notices += area.notes
    return Opened(reference, opened, area, notices)


def variables_of(models: Sequence[ProjectedModel]) -> tuple[list[str], list[str]]:
    """Return the variables of all models, and the categorical ones."""
    names = list(dict.fromkeys(name for one in models for name in one.model.names))
    categorical = dict.fromkeys(name for one in models for name in one.model.categorical)
    for one in models:
        if mixed := [name for name in categorical if name in one.model.names and name not in one.model.categorical]:
            raise VariableError(
                f"variable '{mixed[0]}' is categorical in some models and a number in the model of {one.title}: "
                "project these models separately"
            )
    return names, list(categorical)
