"""The layers of scenarios and of their reference, found and checked before anything is computed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.examine import examine, refuse_codes_in
from sdm.data.rasters.grid import Grid
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError, OptionError, hide_secrets
from sdm.maps.projection.targets import ProjectedModel
from sdm.options.definitions import RunOptions
from sdm.run.projecting.scenarios import Scenario
from sdm.types import Numbers

REFERENCE = "reference"
NO_REFERENCE = "none"


@dataclass(frozen=True, kw_only=True)
class OpenScenario(Scenario):
    """A scenario with its layers, which have the variables of all models."""

    stack: Stack

    @property
    def mapping(self) -> list[Numbers]:
        """Which file and band each variable is read from."""
        return [
            {"scenario": self.title, "variable": layer.name, "file": hide_secrets(layer.path), "band": layer.band}
            for layer in self.stack.layers
        ]


@dataclass(frozen=True)
class Opened:
    """Everything that a projection reads: the reference, the scenarios, and the study area."""

    reference: OpenScenario | None
    scenarios: list[OpenScenario]
    area: StudyArea | None
    notices: list[str]

    @property
    def grid(self) -> Grid:
        """The grid of all maps."""
        return _bare((self.reference or self.scenarios[0]).stack)


def open_scenarios(
    names: Sequence[str],
    categorical: Sequence[str],
    scenarios: Sequence[Scenario],
    options: RunOptions,
    said: Sequence[str] = (),
) -> Opened:
    """Open the layers of every scenario, and of the reference, with some variables; what is wrong with one is raised
    with its name. What was `said` before is not said again."""
    notices: list[str] = []
    own, told = options.project, list(said)
    align: str | Grid | None = options.layers.align
    reference = None
    if own.reference not in ([], [NO_REFERENCE]):
        place = Scenario(REFERENCE, tuple(own.reference))
        stack = _open(place, names, categorical, options, align, notices, told)
        reference = OpenScenario(**vars(place), stack=stack)
    opened: list[OpenScenario] = []
    for scenario in scenarios:
        first = reference or (opened[0] if opened else None)
        target = align if first is None or align is None else _bare(first.stack)
        stack = _open(scenario, names, categorical, options, target, notices, told)
        if first is not None and (difference := _bare(stack).difference(_bare(first.stack))):
            hint = "use --align first to resample it"
            hint += ", or --reference none to map it without change" if first is reference else ""
            raise DataError(f"scenario {scenario.title} {difference.replace('the stack', first.title)}: {hint}")
        opened.append(OpenScenario(**vars(scenario), stack=replace(stack, notices=())))
    stack = (reference or opened[0]).stack
    area = None if own.area is None else StudyArea.read(own.area, stack.crs, grid=stack)
    if area is not None:
        area.check(stack)
        notices += area.notes
    return Opened(reference, opened, area, notices)


def variables_of(models: Sequence[ProjectedModel]) -> tuple[list[str], list[str]]:
    """Return the variables of all models, each once, and those that are categories."""
    names = list(dict.fromkeys(name for one in models for name in one.model.names))
    categorical = dict.fromkeys(name for one in models for name in one.model.categorical)
    for one in models:
        if mixed := [name for name in categorical if name in one.model.names and name not in one.model.categorical]:
            raise DataError(
                f"variable '{mixed[0]}' is categorical in some models and a number in that of {one.title}: project "
                "them apart"
            )
    return names, list(categorical)


def _open(
    scenario: Scenario,
    names: Sequence[str],
    categorical: Sequence[str],
    options: RunOptions,
    align: str | Grid | None,
    notices: list[str],
    said: list[str],
) -> Stack:
    """Open the layers of one scenario; what was said of another one is not said again."""
    places, own = list(scenario.places), options.layers
    rename = own.rename
    try:
        stack = open_stack(
            places if len(places) > 1 else places[0],
            categorical=categorical, nodata=own.nodata, align=align, names=names, rename=rename,
        )  # fmt: skip
        stack = examine(stack)
        refuse_codes_in(stack)
    except (DataError, OptionError) as error:
        raise type(error)(f"{_called(scenario)}: {error}") from error
    for text in stack.notices:
        if text not in said:
            said.append(text)
            notices.append(f"{_called(scenario)}: {text}")
    return stack


def _called(scenario: Scenario) -> str:
    return REFERENCE if scenario.title == REFERENCE else f"scenario {scenario.title}"


def _bare(stack: Stack) -> Grid:
    return Grid(width=stack.width, height=stack.height, transform=stack.transform, crs=stack.crs)
