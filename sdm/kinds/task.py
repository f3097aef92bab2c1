"""A task: the interface of a run to one kind of model.

Reading, batches, checks, predictions, evaluations and reports are each written once and use the task of a kind.
`sdm.kinds.registry` lists the tasks; docs/development/adding_a_kind.md explains how to add one.
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
REPLICATES = "replicates"  # folder of the models of replicates in a run
FEW = 10  # number of records below which results are rough
# Keys in the file of numbers other than measures.
OUTER = ("kind", "versions", "files", "notes", "notices", "warnings", "records")
Files = Numbers  # names of files in a folder, by content


@dataclass(frozen=True)
class Destination:
    """The destination of the results of a model: a folder, the names of its files by content, and the options."""

    folder: Path
    options: RunOptions
    files: Files = field(default_factory=dict)
    progress: Progress | None = None


@dataclass
class Prepared:
    """Inputs of a run. Tables that contain the variables have no stack, study area or ledger, and no map."""

    tables: dict[str, Any] = field(default_factory=dict)  # by the name of the model, in the order of the file
    failures: dict[str, SdmError] = field(default_factory=dict)  # of models that cannot be fitted
    stack: "Stack | None" = None
    study_area: "StudyArea | None" = None
    ledger: "Ledger | None" = None
    notices: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # warnings for all models
    fate: "pd.DataFrame | None" = None  # every row of the file of records or sites, with its status
    fate_crs: str = "EPSG:4326"  # of its coordinates, as in the file
    chosen: "dict[str, VariableChoice]" = field(default_factory=dict)  # by model, if variables were dropped
    validated: "dict[str, CrossValidation]" = field(default_factory=dict)  # by model, if folds selected settings
    of_several: bool = False  # whether this is the part of one model among several

    by_model: ClassVar[tuple[str, ...]] = ("tables", "failures", "chosen")  # attributes with entries by model

    def only(self, name: str) -> Self:
        """Return the part of one model, which is small enough to send to another process."""
        parts: Numbers = {
            key: {name: values[name]} if name in (values := getattr(self, key)) else {} for key in self.by_model
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
        """The common inputs that the results of every model depend on; none for most kinds."""
        return None

    @property
    def single(self) -> bool:
        """Whether there is one model only."""
        return not self.of_several and len(self.tables) + len(self.failures) == 1


class Fit(Protocol):
    """A fitted model with its certificate: the input of its maps."""

    @property
    def name(self) -> str:
        """The name of the model."""


class Measured(Fit, Protocol):
    """A fitted model with all measures."""

    numbers: Numbers
    notes: list[str]


@dataclass(frozen=True)
class ModelMaps:
    """The maps of a model: their folder, names of files by content, and numbers (JSON values)."""

    folder: Path
    files: Files
    numbers: Numbers

    def move(self, folder: Path) -> Self:
        """Return the same in another folder, to which the files were moved."""
        for path in [] if folder == self.folder else sorted(self.folder.iterdir()):
            os.replace(path, folder / path.name)
        return replace(self, folder=folder)


@dataclass
class ModelResult:
    """One model of a run: its folder, numbers and files, or the reason of its failure."""

    name: str  # the species, the title of the classes, or the joint model
    kind: str
    folder: Path | None = None
    numbers: Numbers = field(default_factory=dict)  # all measures, as in the JSON file
    files: Files = field(default_factory=dict)  # in the folder, by content
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    code: str | None = None  # of the error
    records: dict[str, int] | None = None  # the record cleaning summary
    lines: list[str] = field(default_factory=list)  # the main results as text

    def complete(self) -> "ModelResult":
        """Return the same with all numbers in its folder; results of a run over many models contain the folder only."""
        if self.numbers or self.folder is None:
            return self
        stored = load_json(self.folder / self.files["numbers"])
        parts = {name: stored[name] for name in ("files", "notes", "warnings", "records") if name in stored}
        numbers = {name: value for name, value in stored.items() if name not in OUTER}
        return replace(self, numbers=numbers, **parts)

    def line(self, key: str, text: str) -> str:
        """Return a line for the terminal."""
        return f"  {key:<11} {text}"

    def outside_lines(self) -> list[str]:
        """Return the lines about cells outside the training range, if any."""
        counted = self.numbers.get("outside")
        if not counted or not counted["cells"]:
            return []
        from sdm.maps.outside import outside_line

        return [self.line("map", outside_line(counted))]

    def file_lines(self, keys: Sequence[str]) -> list[str]:
        """Return the results folder and its main files."""
        listed = [key for key in keys if key in self.files]
        wide = max(map(len, listed), default=0)
        return [self.line("results", str(self.folder)), *(f"    {key:<{wide}} {self.files[key]}" for key in listed)]


@dataclass(frozen=True)
class CheckedVariables:
    """The variables of a checked run: names, categorical ones, and notices of their layers."""

    names: Sequence[str]
    categorical: Sequence[str]
    notices: Sequence[str]


@dataclass
class Findings:
    """Results of a check: problems stop a run, warnings do not."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    variables: "CheckedVariables | None" = None  # that scenarios must contain
    bad_rows: bool = False  # whether a file had too many invalid rows to read the rest

    def attempt(self, step: Callable[[], StepT]) -> StepT | None:
        """Run a step and record an error as a problem."""
        try:
            return step()
        except SdmError as error:
            self.bad_rows |= isinstance(error, BadRowsError)
            again = isinstance(error, UntaggedNodata) and any("--nodata none" in text for text in self.problems)
            if with_code(error) not in self.problems and not again:  # counted in all cells, then again in a few
                self.problems.append(with_code(error))
            return None


def estimator_of(kind: type[EstimatorT], options: RunOptions, values: Numbers) -> EstimatorT:
    """Return an estimator with some values, and with the fit options of the same names.

    Missing values have the defaults of the estimator, and values that it does not take are ignored.
    """
    parameters, values_given = inspect.signature(kind).parameters, {"seed": options.seed, **values}
    for name in parameters:
        values_given.setdefault(name, getattr(options.fit, RENAMED.get(name, name), None))
    return kind(**{name: values_given[name] for name in parameters if values_given[name] is not None})


PreparedT = TypeVar("PreparedT", bound=Prepared)
PlanT = TypeVar("PlanT")
FitT = TypeVar("FitT", bound=Fit)
MeasuredT = TypeVar("MeasuredT", bound=Measured)


class Task(ModelTask[ModelT], Generic[ModelT, PreparedT, PlanT, FitT, MeasuredT]):
    """The interface of a run to one kind of model (inputs, plan, fit, measures, results), and of other commands to its
    models."""

    assessor: ClassVar[Any] = None  # refits and measures, for kinds that can be tuned

    # Options

    def check_options(self, options: RunOptions) -> None:
        """Raise for options that do not apply or are inconsistent."""
        for error in self.problems(options):
            raise error
        self.check_extrapolation(options.predict.extrapolation)
        self.check_model(options)

    def problems(self, options: RunOptions) -> Iterator[OptionError]:
        """Yield the problems of options: options that do not apply, and broken rules between options."""
        if options.kind not in (None, self.options_of):
            yield InapplicableError(f"kind={options.kind!r} does not apply to {self.called}: remove it")
        yield from misplaced(options, self.options_of, self.called)
        yield from broken(RULES, options, self.options_of)

    def check_model(self, options: RunOptions) -> None:
        """Raise for options that the model of the run refuses."""
        return

    # A run

    @abstractmethod
    def prepare(self, options: RunOptions) -> PreparedT:
        """Read the inputs; a problem of one model is a failure, a problem of all is raised."""

    def gather(self, prepared: PreparedT, options: RunOptions, progress: Progress | None) -> PreparedT:
        """Fit the common part of all models of a run; none for most kinds."""
        return prepared

    def fits_together(self, options: RunOptions) -> bool:
        """Whether models share a fit, so that no model can be fitted alone."""
        return False

    def check_gathered(self, prepared: PreparedT, names: Sequence[str], options: RunOptions) -> None:
        """Raise if the models (`names`) cannot share a fit; most kinds share nothing."""
        return

    @abstractmethod
    def plan(self, prepared: PreparedT, name: str, options: RunOptions) -> PlanT:
        """Divide the data of one model by the options; raise for impossible options before any fit."""

    @abstractmethod
    def fit(self, prepared: PreparedT, name: str, options: RunOptions, progress: Progress | None) -> FitT:
        """Fit one model."""

    @abstractmethod
    def measure(self, fit: FitT, prepared: PreparedT, options: RunOptions, progress: Progress | None) -> MeasuredT:
        """Compute all requested measures of a fitted model. Its maps may be made at the same time in another thread."""

    def make_maps(
        self, fit: FitT, prepared: PreparedT, options: RunOptions, folder: Path, progress: Progress | None
    ) -> ModelMaps:
        """Write the maps of a model that do not depend on its measures into a folder, if there are layers and maps are
        requested. The default is none."""
        return ModelMaps(folder, {}, {})

    def map_together(
        self, fits: Sequence[tuple[FitT, PreparedT]], options: RunOptions, folder: Path, progress: Progress | None
    ) -> list[ModelMaps]:
        """Write the maps of several models, each with its inputs, in one pass over the layers, each into its folder.
        Kinds without this option return none, and their maps are written model by model."""
        return []

    def draw_maps(self, fit: FitT, maps: ModelMaps, prepared: PreparedT, options: RunOptions) -> Files:
        """Draw the figures of maps, if requested; return their names. The default is none."""
        return {}

    @abstractmethod
    def write(self, measured: MeasuredT, prepared: PreparedT, to: Destination) -> list[str]:
        """Write the model, its figures, and maps that depend on measures; register their names among the files, and
        return notes."""

    @abstractmethod
    def lines(self, result: ModelResult) -> list[str]:
        """Describe the fit and its accuracy in a few lines of text."""

    @abstractmethod
    def summary_row(self, numbers: Numbers) -> Numbers:
        """Return the main numbers of a model, for the table of a batch."""

    def repeat(self, options: RunOptions, name: str) -> RunOptions:
        """Return the options that repeat the run for one model."""
        return options

    def records(self, prepared: PreparedT, name: str) -> tuple[list[Row], dict[str, int]] | None:
        """Return the record cleaning summary of a model: rows of a table, and the counts; None without one."""
        return None

    def write_shared(self, prepared: PreparedT, to: Destination) -> None:
        """Write the common files of all models of a batch, and register their names; none for most kinds."""
        return

    def estimator(self, options: RunOptions, categorical: Sequence[str]) -> Parameters:
        """Return the unfitted estimator of the options; `sdm tune` changes its settings."""
        raise InapplicableError(f"'sdm tune' does not apply to {self.called}: use '{self.command}'")

    def check_tuning(self, options: RunOptions) -> None:
        """Raise for options whose models `sdm tune` cannot fit one by one."""
        return

    def variables(self, prepared: PreparedT) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the variables of a run, and of the categorical ones."""
        source = prepared.stack if prepared.stack is not None else next(iter(prepared.tables.values()))
        return source.names, source.categorical

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
        """Return the training gain of a model with each of some variables alone, for the selection among correlated
        variables."""
        from sdm.assess.variables.selection import single_gains

        base = self.single_estimator(options, table.categorical)
        return single_gains(table, base, names, self.assessor, executor, progress)

    def single_estimator(self, options: RunOptions, categorical: Sequence[str]) -> Parameters:
        """Return the estimator of `single_gains`: the estimator of the options without slow selections."""
        return self.estimator(options, categorical)

    @abstractmethod
    def check(self, options: RunOptions, findings: Findings) -> None:
        """Find all problems of a run without fitting."""


AnyTask = Task[Any, Any, Any, Any, Any]
"""The task of any kind of model that runs make."""
