"""How good a model is: cross-validation, jackknife and null models of every kind, and what a task adds to them."""

from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from typing import Any

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.assess.importance import Contribution, Jackknife, Permutation, jackknife
from sdm.assess.null_models import NullModels, null_models
from sdm.assess.splits.folds import Split
from sdm.assess.validation import CrossValidation, cross_validate
from sdm.options.definitions import RunOptions
from sdm.types import Progress


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
    survey: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it for the numbers of a model; what was not asked for is left out."""
        numbers: dict[str, Any] = {}
        if self.validation is not None:
            split = self.validation.split
            numbers["cross_validation"] = {
                "method": split.method,
                **({"background": split.background} if split.background else {}),
                "rows": self.validation.rows,
                "mean": self.validation.mean,
            }
        parts: dict[str, list[Any]] = {
            "permutation": self.permutation,
            "contribution": self.contribution,
            "jackknife": self.jackknife,
        }
        importance = {name: [asdict(row) for row in rows] for name, rows in parts.items() if rows}
        if importance:
            numbers["importance"] = importance
        if self.nulls is not None:
            tests = [asdict(test) for test in self.nulls.tests]
            numbers["null_models"] = {"iterations": len(self.nulls.rows), "tests": tests}
        if self.survey is not None:
            numbers["presence_absence"] = self.survey
        return numbers


def assess(
    table: Any,
    options: RunOptions,
    base: Any,
    split: Split | None,
    *,
    assessor: Assessor = PRESENCE_ONLY,
    single: Any = None,
    test: Any = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Assessed:
    """Fit again to parts of the data, in every way that the options ask for, and measure.

    Parameters
    ----------
    table : SampleTable or ClassSample
        What the model was fitted to.
    base : estimator
        What is fitted to folds: penalties that are chosen are chosen in each fold.
    split : Split or None
        Folds or replicates; their models are kept if maps of their spread are wanted.
    assessor : Assessor
        That of the table's kind.
    single : estimator, optional
        What is fitted for the jackknife and null models (default: `base`): with the penalties that were chosen.
    test : optional
        What tests: values at test records, or a sample of test sites.
    """
    assessed = Assessed()
    single = base if single is None else single
    common: dict[str, Any] = {"assessor": assessor, "executor": executor, "progress": progress}
    if split is not None:
        keep = options.output.uncertainty
        assessed.validation = cross_validate(table, base, split, keep_models=keep, **common)
    if options.test.jackknife:
        assessed.jackknife = jackknife(table, single, test, **common)
    if options.test.null_models and split is not None:
        nulls, seed = options.test.null_models, options.seed
        assessed.nulls = null_models(table, single, split, iterations=nulls, seed=seed, **common)
    return assessed
