"""`fit.model=structural`: trees and monomials in addition to feature classes, with a penalty for each family."""

from typing import ClassVar, cast

from sdm.assess.measures.performance_bound import performance_bound
from sdm.assess.structure import describe_structure
from sdm.errors import OptionError
from sdm.estimators.species import SpeciesEstimator
from sdm.estimators.structural import StructMaxent
from sdm.kinds.species.methods.method import HINTS, Additions, SpeciesMethod
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions
from sdm.types import Numbers


class StructuralMethod(SpeciesMethod):
    """A model of feature classes, trees and monomials."""

    name: ClassVar[str] = "structural"
    estimator_class: ClassVar[type[SpeciesEstimator]] = StructMaxent
    hints: ClassVar[dict[str, str]] = HINTS | {"features": "use fit.families for a structural model"}

    def check(self, fit: FitOptions) -> None:
        """Raise for options of the model that do not apply or are inconsistent."""
        super().check(fit)
        beta = fit.beta
        if not isinstance(beta, float) and beta not in (None, "auto"):
            raise OptionError(f"fit.beta={beta!r}: a structural model takes a number or auto")

    def chosen(self, fitted: SpeciesEstimator, options: RunOptions) -> Numbers:
        """Return the options of the model with the selected penalties."""
        structural = cast(StructMaxent, fitted)
        return super().chosen(fitted, options) | {"lam": structural.lam_, "beta": structural.beta_}

    def additions(self, fitted: SpeciesEstimator, options: RunOptions) -> Additions:
        """Return families, rules and interactions of the model, and its performance bound."""
        structural = cast(StructMaxent, fitted)
        bound = performance_bound(structural, options.fit.delta)
        return Additions(describe_structure(structural), bound)


METHOD = StructuralMethod()
