"""How good a model is: cross-validation, jackknife and null models of every kind, and what a task adds to them."""

from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.assess.importance import Contribution, Jackknife, Permutation, jackknife
from sdm.assess.null_models import NullModels, null_models
from sdm.assess.profiles import Band, Surface
from sdm.assess.splits.folds import Split, same_folds
from sdm.assess.validation import CrossValidation, cross_validate
from sdm.data.site_sample import SiteSample
from sdm.data.table import SampleTable
from sdm.executors.opening import workers
from sdm.options.definitions import RunOptions
from sdm.types import Numbers, Progress


@dataclass
class Assessed:
    """What was measured of a model, as far as the options asked for it.

    `survey` are the measures at sites with presences and absences, with the calibration curve.
    """

    validation: CrossValidation | None = None
    permutation: list[Permutation] = field(default_factory=list)
    contribution: list[Contribution] = field(default_factory=list)
    jackknife: list[Jackknife] = field(default_factory=list)
    nulls: NullModels | None = None
    survey: Numbers | None = None

    @property
    def replicates(self) -> list[Any]:
        """The models of the folds or replicates, where maps of their spread are wanted."""
        return [] if self.validation is None else self.validation.models

    def as_dict(self) -> Numbers:
        """Return it for the numbers of a model; what was not asked for is left out."""
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
            tests = [asdict(test) for test in self.nulls.tests]
            numbers["null_models"] = {"iterations": len(self.nulls.rows), "tests": tests}
        if self.survey is not None:
            numbers["presence_absence"] = self.survey
        return numbers


class AssessedModel(Protocol):
    """A measured model of any kind, with what its tables and pictures of the assessment are made from."""

    numbers: Numbers
    assessed: Assessed
    bands: list[Band]  # responses over the replicates, where their models were kept
    surfaces: list[Surface]  # responses to two variables at a time
    roc: list[dict[str, float]]
    scale: str

    @property
    def name(self) -> str:
        """What the model is of."""

    @property
    def table(self) -> SampleTable | SiteSample:
        """The training data."""


def assess(
    table: Any,
    options: RunOptions,
    base: Any,
    single: Any,
    split: Split | None,
    *,
    assessor: Assessor = PRESENCE_ONLY,
    test: Any = None,
    nested: tuple[Any, Split] | None = None,
    validated: CrossValidation | None = None,
    start: Any = None,
    progress: Progress | None = None,
) -> Assessed:
    """Fit again to parts of the data, in every way that the options ask for, and measure.

    The estimator `base` is fitted to folds, and chooses penalties in each of them; `single`, with the penalties that
    were chosen, for the jackknife and null models. `test` are values at test records, or a sample of test sites.
    `nested` are the table with all variables and folds that choose among them, in place of the table and its folds.
    `validated` are the measures of the same model in the same folds, where its settings were chosen by them. `start` is
    the model of the whole table, from which those of folds start.
    """
    assessed, own = Assessed(), options.test
    with workers(options) as pool:
        common: Numbers = {"assessor": assessor, "executor": pool, "progress": progress}
        if split is not None:
            keep = options.output.uncertainty
            whole, folds = (table, split) if nested is None else nested
            if validated is not None and nested is None and not keep and same_folds(validated.split, split):
                assessed.validation = validated
            else:
                assessed.validation = cross_validate(whole, base, folds, keep_models=keep, start=start, **common)
        if own.jackknife:
            assessed.jackknife = jackknife(table, single, test, **common)
        if own.null_models and split is not None:
            whole, folds = (table, split) if nested is None else nested
            nulls = null_models(whole, single, folds, iterations=own.null_models, seed=options.seed, **common)
            assessed.nulls = nulls
    return assessed
