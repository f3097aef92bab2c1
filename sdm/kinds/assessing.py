"""Assessment of models of every kind: cross-validation, jackknife, null models, uncertainty bands and surfaces."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, TypeVar

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.assess.importance import Contribution, Jackknife, Permutation, jackknife
from sdm.assess.measures.thresholds import Threshold
from sdm.assess.null_models import NullModels, null_models
from sdm.assess.profiles import Band, Surface, band, class_names, marginal, response_grid, surface
from sdm.assess.splits.folds import Split, same_folds
from sdm.assess.validation import CrossValidation, cross_validate
from sdm.data.place import is_place, without_place
from sdm.data.site_sample import SiteSample
from sdm.data.table import SampleTable
from sdm.errors import OptionError
from sdm.estimators.params import Parameters
from sdm.executors.opening import workers
from sdm.kinds.choosing import chosen_in_folds
from sdm.kinds.registry import task_of
from sdm.kinds.task import Prepared
from sdm.models.interface import FittedModel
from sdm.models.presence import ValueModel
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.types import Array, Numbers, Progress

TableT = TypeVar("TableT", bound=SampleTable | SiteSample)
TestT = TypeVar("TestT", bound=Array | SiteSample)
EstimatorT = TypeVar("EstimatorT", bound=Parameters)
FittedT = TypeVar("FittedT", bound=FittedModel)


@dataclass
class Assessed:
    """The requested measures of a model.

    `survey` contains the measures at presence and absence sites, with the calibration curve.
    """

    validation: CrossValidation | None = None
    permutation: list[Permutation] = field(default_factory=list)
    contribution: list[Contribution] = field(default_factory=list)
    jackknife: list[Jackknife] = field(default_factory=list)
    nulls: NullModels | None = None
    survey: Numbers | None = None

    @property
    def replicates(self) -> list[Any]:
        """The models of the folds or replicates, if maps of their spread are requested."""
        return [] if self.validation is None else self.validation.models

    def as_dict(self) -> Numbers:
        """Return the numbers for the file of a model, without measures that were not requested."""
        numbers: Numbers = {}
        if self.validation is not None:
            split = self.validation.split
            numbers["cross_validation"] = {
                "method": split.method,
                **({"background": split.background} if split.background else {}),
                **({} if split.blocks is None else {"blocks": split.blocks.numbers()}),
                "rows": self.validation.rows,
                "mean": self.validation.mean,
            }
        parts = ("permutation", "contribution", "jackknife")
        if importance := {name: [asdict(row) for row in rows] for name in parts if (rows := getattr(self, name))}:
            numbers["importance"] = importance
        if self.nulls is not None:
            numbers["null_models"] = {"iterations": len(self.nulls.rows), "tests": self.nulls.tests}
        if self.survey is not None:
            numbers["presence_absence"] = self.survey
        return numbers


@dataclass(frozen=True)
class AssessedFit(Generic[TableT, TestT, EstimatorT, FittedT]):
    """A model with its certificate: the input of maps and measures."""

    name: str  # the species, or the title of the classes
    table: TableT  # the training data
    test: TestT | None  # values at test records, or a sample of test sites
    split: Split | None
    base: EstimatorT  # the unfitted estimator of the options
    fitted: EstimatorT
    model: FittedT
    thresholds: list[Threshold]


FitT = TypeVar("FitT", bound=AssessedFit[Any, Any, Any, Any])


@dataclass(kw_only=True)
class AssessedModel(Generic[FitT]):
    """A measured model, with the data of its assessment tables and figures."""

    fit: FitT
    numbers: Numbers  # all measures, for the file of numbers
    notes: list[str]
    assessed: Assessed
    scale: str  # of its surfaces
    bands: list[Band] = field(default_factory=list)  # responses over the replicates, if their models were stored
    surfaces: list[Surface] = field(default_factory=list)  # responses to two variables at a time

    @property
    def name(self) -> str:
        """The species or the title of the classes."""
        return self.fit.name


AnyMeasured = AssessedModel[Any]
"""A measured model of any kind that has an `Assessor`."""


def assess(
    fit: AssessedFit[TableT, TestT, EstimatorT, FittedT],
    single: EstimatorT,
    prepared: Prepared,
    options: RunOptions,
    progress: Progress | None,
    *,
    assessor: Assessor = PRESENCE_ONLY,
    start: Model | None = None,
) -> Assessed:
    """Run all requested tests of a model and return their measures.

    The estimator of the options is fitted to folds and selects penalties in each of them; `single`, with fixed
    penalties, is for the jackknife and null models. If variables were selected by the records, every fold repeats the
    selection (`chosen_in_folds`). If settings were selected with the same folds, `prepared` has their measures. `start`
    is the model of all data, the initial point of the fits to folds.
    """
    assessed, test, table, split = Assessed(), options.test, fit.table, fit.split
    validated = prepared.validated.get(fit.name)
    nested = chosen_in_folds(task_of(options), prepared, fit.name, split, options, progress)
    with workers(options) as pool:
        common: Numbers = {"assessor": assessor, "executor": pool, "progress": progress}
        if split is not None:
            keep = options.output.uncertainty
            all_data, folds = (table, split) if nested is None else nested
            if validated is not None and nested is None and not keep and same_folds(validated.split, split):
                assessed.validation = validated
            else:
                assessed.validation = cross_validate(all_data, fit.base, folds, keep_models=keep, start=start, **common)
        if test.jackknife:
            assessed.jackknife = jackknife(table, single, fit.test, **common)
        if test.null_models and split is not None:
            all_data, folds = (table, split) if nested is None else nested
            nulls = null_models(all_data, single, folds, iterations=test.null_models, seed=options.seed, **common)
            assessed.nulls = nulls
    return assessed


def make_bands(
    model: ValueModel, replicates: Sequence[ValueModel], values: Array, scale: str, clamp: bool
) -> list[Band]:
    """Return the marginal response of every variable over the replicates; empty without replicates.

    A replicate need not include every category of the model.
    """
    if len(replicates) < 2:
        return []
    bands = []
    for v in varying(model):
        x = response_grid(model, v)
        mean, spread = band([marginal(one, v, values, scale, clamp, x) for one in replicates])
        bands.append((replace(mean, classes=class_names(model, v)), spread))
    return bands


def varying(model: ValueModel) -> list[int]:
    """Return the variables with more than one value, without coordinates."""
    return [
        v
        for v, variable in enumerate(model.variables)
        if not is_place(variable.name)
        and (len(variable.classes) > 1 if variable.categorical else variable.lo < variable.hi)
    ]


def make_surfaces(model: ValueModel, words: Sequence[str], values: Array, scale: str, clamp: bool) -> list[Surface]:
    """Return the marginal responses to pairs of variables, written as `rain:temperature`."""
    return [surface(model, u, v, values, scale, clamp) for u, v in read_pairs(words, model.names)]


def read_pairs(words: Sequence[str], names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of pairs of variables."""
    pairs, variables = [], without_place(names)
    for word in words:
        parts = [part.strip() for part in word.split(":")]
        if len(parts) != 2 or parts[0] == parts[1] or any(part not in variables for part in parts):
            listed = ", ".join(variables)
            raise OptionError(f"output.surfaces={word!r}: expected two variables with a colon, of {listed}")
        pairs.append((list(names).index(parts[0]), list(names).index(parts[1])))
    return pairs
