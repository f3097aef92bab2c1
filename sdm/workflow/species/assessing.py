"""What the model of a species is worth: cross-validation, importance, jackknife, null models, survey sites."""

from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from typing import Any

from sdm.assess.importance import (
    Contribution,
    Jackknife,
    Permutation,
    jackknife,
    percent_contribution,
    permutation_importance,
)
from sdm.assess.measures.presence_absence import calibration, measure_absences
from sdm.assess.null_models import NullModels, null_models
from sdm.assess.splits.folds import Split
from sdm.assess.validation import CrossValidation, cross_validate
from sdm.data.table import SampleTable
from sdm.errors import DataError
from sdm.estimators.maxent import Maxent
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.types import Array, Progress


@dataclass(frozen=True)
class Survey:
    """Values at sites that were visited: where the species was found, and where it was not."""

    presence: Array
    absence: Array


@dataclass
class Assessed:
    """What was measured of a model, as far as the options asked for it."""

    validation: CrossValidation | None = None
    permutation: list[Permutation] = field(default_factory=list)
    contribution: list[Contribution] = field(default_factory=list)
    jackknife: list[Jackknife] = field(default_factory=list)
    nulls: NullModels | None = None
    survey: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it for `sp.json`; what was not asked for is left out."""
        found: dict[str, Any] = {}
        if self.validation is not None:
            split = self.validation.split
            found["cross_validation"] = {
                "method": split.method,
                "background": split.background,
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
            found["importance"] = importance
        if self.nulls is not None:
            tests = [asdict(test) for test in self.nulls.tests]
            found["null_models"] = {"iterations": len(self.nulls.rows), "tests": tests}
        if self.survey is not None:
            found["presence_absence"] = self.survey
        return found


def assess(
    table: SampleTable,
    options: RunOptions,
    fitted: Maxent,
    model: Model,
    base: Maxent,
    split: Split | None,
    *,
    single: Maxent | None = None,
    test: Array | None = None,
    survey: Survey | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Assessed:
    """Measure a fit in every way that the options ask for.

    Parameters
    ----------
    table : SampleTable
        What it was fitted on.
    fitted, model
        The fit, and the model that is kept of it.
    base : Maxent
        What is fitted to folds: a structural model chooses its prices anew in each.
    split : Split or None
        Folds or replicates; their models are kept if maps of their spread are wanted.
    single : Maxent, optional
        What is fitted for the jackknife and null models (default: `base`): a structural model with the prices chosen.
    test : (k, V) array, optional
        Values at test records.
    survey : Survey, optional
    """
    found = Assessed()
    single = base if single is None else single
    if split is not None:
        keep = options.output.uncertainty
        found.validation = cross_validate(table, base, split, keep_models=keep, executor=executor, progress=progress)
    if options.test.importance:
        found.permutation = permutation_importance(model, table.presence, table.background, seed=options.seed)
        found.contribution = percent_contribution(fitted.problem_, fitted.coef_)
    if options.test.jackknife:
        found.jackknife = jackknife(table, single, test, executor=executor, progress=progress)
    if options.test.null_models and split is not None:
        found.nulls = null_models(
            table,
            single,
            split,
            iterations=options.test.null_models,
            seed=options.seed,
            executor=executor,
            progress=progress,
        )
    if survey is not None:
        found.survey = measure_survey(model, survey)
    return found


def measure_survey(model: Model, survey: Survey) -> dict[str, Any]:
    """Measure a model on survey sites: all measures that need absences, and the calibration curve in ten bins."""
    if not len(survey.presence) or not len(survey.absence):
        counts = f"{len(survey.presence):,} presences and {len(survey.absence):,} absences"
        raise DataError(f"{counts} have values: expected some of each")
    level = model.meta.get("thresholds", {}).get("maxsss")
    numbers: dict[str, Any] = {"presences": len(survey.presence), "absences": len(survey.absence)}
    numbers |= measure_absences(model, survey.presence, survey.absence, level)
    curve = calibration(model.predict(survey.presence), model.predict(survey.absence))
    numbers["calibration"] = [
        {"predicted": a, "observed": b, "count": n}
        for a, b, n in zip(curve.predicted.tolist(), curve.observed.tolist(), curve.count.tolist())
    ]
    return numbers
