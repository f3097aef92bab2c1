"""`fit.model=maxent`: feature classes with any penalty, as in Java Maxent."""

from typing import ClassVar, cast

from sdm.assess.measures.performance_bound import performance_bound
from sdm.errors import OptionError
from sdm.estimators.maxent import Maxent
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.species.methods.method import Additions, SpeciesMethod
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions


class MaxentMethod(SpeciesMethod):
    """A model of feature classes."""

    name: ClassVar[str] = "maxent"
    estimator_class: ClassVar[type[SpeciesEstimator]] = Maxent
    single_problem: ClassVar[bool] = True

    def check(self, fit: FitOptions) -> None:
        """Raise for options of the model that do not apply or are inconsistent."""
        super().check(fit)
        if fit.beta in ("auto", 0):
            hint = "a positive number or the name of a rule; for no penalty use --regularization none"
            raise OptionError(f"fit.beta={fit.beta!r}: a maxent model takes {hint}")

    def additions(self, fitted: SpeciesEstimator, options: RunOptions) -> Additions:
        """Return the performance bound of the model."""
        return Additions(bound=performance_bound(cast(Maxent, fitted), options.fit.delta))


METHOD = MaxentMethod()
