"""A task: what a run must know of one kind of model.

Reading, batches, checking, predicting, evaluating and reporting are each written once, and ask the task of the kind at
hand. `sdm.kinds.registry` lists the tasks; docs/development/adding_a_kind.md shows how to add one.
"""

import inspect
import os
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from sdm.errors import BadRowsError, InapplicableError, OptionError, SdmError, UntaggedNodata, with_code
from sdm.estimators.params import Parameters
from sdm.kinds.model_task import ModelT, ModelTask
from sdm.options.applies import misplaced
from sdm.options.definitions import RunOptions
from sdm.options.rules import RULES, broken
from sdm.storage.reading import load_json
from sdm.types import Numbers, Progress, Row

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from sdm.assess.validation import CrossValidation
    from sdm.assess.variables.choice import VariableChoice
    from sdm.data.rasters.area import StudyArea
    from sdm.data.rasters.stack import Stack
    from sdm.data.records.clean import Ledger
    from sdm.data.site_sample import SiteSample
    from sdm.data.table import SampleTable

StepT = TypeVar("StepT")
EstimatorT = TypeVar("EstimatorT", bound=Parameters)
RENAMED = {"folds": "penalty_folds", "repeats": "penalty_repeats", "grid": "penalty_grid"}  # whose options differ
REPLICATES = "replicates"  # the folder of a run with the models of its replicates
FEW = 10  # records below which results are rough
# What the file of numbers has beside what was measured.
OUTER = ("kind", "versions", "files", "notes", "notices", "warnings", "records")
Files = Numbers  # names of files in a folder, by what they are


@dataclass(frozen=True)
class Destination:
    """Where the results of a model go: a folder, the names of the files in it by what they are, and the options."""

    folder: Path
    options: RunOptions
    files: Files = field(default_factory=dict)
    progress: Progress | None = None


@dataclass
class Prepared:
    """What a run works on; tables that hold the variables have no stack, study area or ledger, and no map."""

    tables: dict[str, Any] = field(default_factory=dict)  # by the model's name, in the order of the file
    failures: dict[str, SdmError] = field(default_factory=dict)  # of models that cannot be fitted
    stack: "Stack | None" = None
    study_area: "StudyArea | None" = None
    ledger: "Ledger | None" = None
    notices: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # what could mislead, whatever the model
    fate: "pd.DataFrame | None" = None  # every row of the file of records or sites, and its fate
    fate_crs: str = "EPSG:4326"  # of its coordinates, which are those of the file
    chosen: "dict[str, VariableChoice]" = field(default_factory=dict)  # where variables were left out, by model
    validated: "dict[str, CrossValidation]" = field(default_factory=dict)  # where folds chose settings, by model
    of_several: bool = False  # whether this is the part of one of several models

    by_model: ClassVar[tuple[str, ...]] = ("tables", "failures", "chosen")  # what there is of each model, by its name

    def only(self, name: str) -> Self:
        """Return the part of one of several models, which is little to send to another process."""
        parts: Numbers = {
            what: {name: known[name]} if name in (known := getattr(self, what)) else {} for what in self.by_model
        }
        if self.ledger is not None:
            parts["ledger"] = self.ledger.only(name)
        return replace(self, of_several=True, fate=self.fate_of(name), **parts)

    def fate_of(self, name: str) -> "pd.DataFrame | None":
        """Return the rows of one model; all of them if it is the only one."""
        if self.fate is None or self.single or "species" not in self.fate:
            return self.fate
        return self.fate.take(self._rows_of.get(name, []))

    @cached_property
    def _rows_of(self) -> Mapping[Hashable, Any]:
        return {} if self.fate is None else self.fate.groupby("species", sort=False, observed=True).indices

    @property
    def common(self) -> list[str] | None:
        """What the results of every model depend on beside its own part; most kinds have nothing."""
        return None

    @property
    def single(self) -> bool:
        """Whether there is one model only."""
        return not self.of_several and len(self.tables) + len(self.failures) == 1


class Fit(Protocol):
    """A fitted model with its certificate: all that its maps depend on."""

    @property
    def name(self) -> str:
        """What the model is of."""


class Measured(Fit, Protocol):
    """A fitted model with everything that was measured."""

    numbers: Numbers
    notes: list[str]


@dataclass(frozen=True)
class ModelMaps:
    """The maps of a model: the folder that they are in, names of files by what they are, and what they hold (JSON
    values)."""

    folder: Path
    files: Files
    numbers: Numbers

    def move(self, folder: Path) -> Self:
        """Return the same in another folder, after the files are moved there."""
        for path in [] if folder == self.folder else sorted(self.folder.iterdir()):
            os.replace(path, folder / path.name)
        return replace(self, folder=folder)


@dataclass
class ModelResult:
    """One model of a run: its folder, numbers and files, or why it failed."""

    name: str  # the species, the title of the classes, or the community
    kind: str
    folder: Path | None = None
    numbers: Numbers = field(default_factory=dict)  # everything that was measured, as in the JSON file
    files: Files = field(default_factory=dict)  # in the folder, by what they are
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    code: str | None = None  # of the error
    records: dict[str, int] | None = None  # the record cleaning summary
    lines: list[str] = field(default_factory=list)  # the main results as text

    def whole(self) -> "ModelResult":
        """Return the same with everything that is in its folder; of a run over many models only the place is kept."""
        if self.numbers or self.folder is None:
            return self
        found = load_json(self.folder / self.files["numbers"])
        own = {name: found[name] for name in ("files", "notes", "warnings", "records") if name in found}
        numbers = {name: value for name, value in found.items() if name not in OUTER}
        return replace(self, numbers=numbers, **own)

    def line(self, key: str, text: str) -> str:
        """Return a line for the terminal."""
        return f"  {key:<11} {text}"

    def outside_lines(self) -> list[str]:
        """Return how much of the map is outside the training range, where anything is."""
        counted = self.numbers.get("outside")
        if not counted or not counted["cells"]:
            return []
        from sdm.maps.outside import outside_line

        return [self.line("map", outside_line(counted))]

    def file_lines(self, wanted: Sequence[str]) -> list[str]:
        """Return where the results are, with the files that a person opens first."""
        there = [what for what in wanted if what in self.files]
        wide = max(map(len, there), default=0)
        return [self.line("results", str(self.folder)), *(f"    {what:<{wide}} {self.files[what]}" for what in there)]


@dataclass(frozen=True)
class CheckedVariables:
    """The variables of a run that is checked: names, which are categories, and notices of their layers."""

    names: Sequence[str]
    categorical: Sequence[str]
    notices: Sequence[str]


@dataclass
class Findings:
    """What a check found: problems stop a run, warnings do not."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    variables: "CheckedVariables | None" = None  # which scenarios must have too
    bad_rows: bool = False  # whether a file had too many of them, so that the rest of it was not looked at

    def attempt(self, step: Callable[[], StepT]) -> StepT | None:
        """Do a step; what goes wrong in it becomes a problem."""
        try:
            return step()
        except SdmError as error:
            self.bad_rows |= isinstance(error, BadRowsError)
            again = isinstance(error, UntaggedNodata) and any("--nodata none" in text for text in self.problems)
            if with_code(error) not in self.problems and not again:  # counted in all cells, then again in a few
                self.problems.append(with_code(error))
            return None


def estimator_of(kind: type[EstimatorT], options: RunOptions, values: Numbers) -> EstimatorT:
    """Return an estimator with some values, and for the rest with the options of the fit of the same names.

    What has no value has the estimator's own default; values that it does not take are left out.
    """
    parameters, given = inspect.signature(kind).parameters, {"seed": options.seed, **values}
    for name in parameters:
        given.setdefault(name, getattr(options.fit, RENAMED.get(name, name), None))
    return kind(**{name: given[name] for name in parameters if given[name] is not None})


PreparedT = TypeVar("PreparedT", bound=Prepared)
PlanT = TypeVar("PlanT")
FitT = TypeVar("FitT", bound=Fit)
MeasuredT = TypeVar("MeasuredT", bound=Measured)


class Task(ModelTask[ModelT], Generic[ModelT, PreparedT, PlanT, FitT, MeasuredT]):
    """What a run needs of one kind of model: inputs, a plan, a fit, measures, and results; and what other commands need
    of its models."""

    assessor: ClassVar[Any] = None  # how models are fitted again and measured, for kinds that can be tuned

    # Options

    def check_options(self, options: RunOptions) -> None:
        """Raise for options that do not apply, or contradict each other."""
        for error in self.problems(options):
            raise error
        self.check_extrapolation(options.predict.extrapolation)
        self.check_model(options)

    def problems(self, options: RunOptions) -> Iterator[OptionError]:
        """Yield an error for each option that does not apply, and for each rule between options that is broken."""
        if options.kind not in (None, self.options_of):
            yield InapplicableError(f"kind={options.kind!r} does not apply to {self.called}: remove it")
        yield from misplaced(options, self.options_of, self.called)
        yield from broken(RULES, options, self.options_of)

    def check_model(self, options: RunOptions) -> None:
        """Raise for options that the model of the run refuses; most kinds have such."""
        return

    # A run

    @abstractmethod
    def prepare(self, options: RunOptions) -> PreparedT:
        """Read the inputs; what is wrong with one of several models is a failure, what is wrong with all is raised."""

    def gather(self, prepared: PreparedT, options: RunOptions, progress: Progress | None) -> PreparedT:
        """Fit what all models of a run share, before the first of them; most kinds share nothing."""
        return prepared

    def fits_together(self, options: RunOptions) -> bool:
        """Tell whether models share something that is fitted to all of them, so that none is made alone."""
        return False

    def check_gathered(self, prepared: PreparedT, names: Sequence[str], options: RunOptions) -> None:
        """Raise for what the models whose data can be divided (`names`) cannot share; most kinds share nothing."""
        return

    @abstractmethod
    def plan(self, prepared: PreparedT, name: str, options: RunOptions) -> PlanT:
        """Divide the data of one model as the options say; what cannot work is refused before anything is fitted."""

    @abstractmethod
    def fit(self, prepared: PreparedT, name: str, options: RunOptions, progress: Progress | None) -> FitT:
        """Fit one model."""

    @abstractmethod
    def measure(self, fit: FitT, prepared: PreparedT, options: RunOptions, progress: Progress | None) -> MeasuredT:
        """Measure a fitted model in every way that the options ask for. Its maps may be made at the same time, in
        another thread."""

    def make_maps(
        self, fit: FitT, prepared: PreparedT, options: RunOptions, folder: Path, progress: Progress | None
    ) -> ModelMaps:
        """Write the maps of a model that do not depend on its measures into a folder, where maps are wanted and there
        are layers. By default there are none."""
        return ModelMaps(folder, {}, {})

    def map_together(
        self, fits: Sequence[tuple[FitT, PreparedT]], options: RunOptions, folder: Path, progress: Progress | None
    ) -> list[ModelMaps]:
        """Write the maps of several models, each with its inputs, in one pass over the layers, each into its own folder
        in a folder. Kinds that cannot do so return none, and map each model when it is written."""
        return []

    def draw_maps(self, fit: FitT, maps: ModelMaps, prepared: PreparedT, options: RunOptions) -> Files:
        """Draw the pictures of maps beside them, where there are maps and pictures are wanted; return their names. By
        default there are none."""
        return {}

    @abstractmethod
    def write(self, measured: MeasuredT, prepared: PreparedT, to: Destination) -> list[str]:
        """Write the model, its pictures, and maps that depend on measures; note their names among the files, which are
        its tables (`artefacts`) and the other maps already, and return notes."""

    @abstractmethod
    def lines(self, result: ModelResult) -> list[str]:
        """Say in a few lines of text what was fitted and how good it is."""

    @abstractmethod
    def summary_row(self, numbers: Numbers) -> Numbers:
        """Return the main numbers of a model, for the table of a batch."""

    def repeat(self, options: RunOptions, name: str) -> RunOptions:
        """Return the options that repeat the run for one model."""
        return options

    def records(self, prepared: PreparedT, name: str) -> tuple[list[Row], dict[str, int]] | None:
        """Return the record cleaning summary of a model: rows of a table, and the counts; None where there is none."""
        return None

    def write_shared(self, prepared: PreparedT, to: Destination) -> None:
        """Write what all models of a batch share, and note its name; most kinds have nothing."""
        return

    def estimator(self, options: RunOptions, categorical: Sequence[str]) -> Parameters:
        """Return the estimator that the options describe, not fitted; `sdm tune` changes its settings."""
        raise InapplicableError(f"'sdm tune' does not apply to {self.called}: use '{self.command}'")

    def check_tuning(self, options: RunOptions) -> None:
        """Raise for options whose models `sdm tune` cannot fit one by one; most kinds can."""
        return

    def variables(self, prepared: PreparedT) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the variables of a run, and of those that are categories."""
        known = prepared.stack if prepared.stack is not None else next(iter(prepared.tables.values()))
        return known.names, known.categorical

    def narrow(self, prepared: PreparedT, name: str, variables: Sequence[str]) -> PreparedT:
        """Return the inputs with some of the variables of one model: its table, test data and layers."""
        raise InapplicableError(f"variables of {self.called} cannot be dropped: remove --drop-correlated and the like")

    def single_gains(
        self,
        table: "SampleTable | SiteSample",
        options: RunOptions,
        names: Sequence[str],
        executor: "Executor | None" = None,
        progress: Progress | None = None,
    ) -> dict[str, float]:
        """Return the training gain of a model with each of some variables alone: which to keep of those that agree."""
        from sdm.assess.variables.selection import single_gains

        base = self.single_estimator(options, table.categorical)
        return single_gains(table, base, names, self.assessor, executor, progress)

    def single_estimator(self, options: RunOptions, categorical: Sequence[str]) -> Parameters:
        """Return the estimator of `single_gains`: that of the options, without anything that takes long to choose."""
        return self.estimator(options, categorical)

    @abstractmethod
    def check(self, options: RunOptions, found: Findings) -> None:
        """Find everything that a run would refuse, without fitting."""


AnyTask = Task[Any, Any, Any, Any, Any]
"""The task of any kind of model that runs make."""
