"""`SpeciesMethod`: the interface of the methods for species, one module for each `fit.model`."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from sdm.errors import ConflictError, InapplicableError
from sdm.estimators.species import SpeciesEstimator
from sdm.features.classes import has_growing
from sdm.kinds.task import RENAMED, estimator_of
from sdm.maxent.penalty_weights import TABULATED
from sdm.options.definitions import RunOptions
from sdm.options.fitting import FitOptions
from sdm.types import Numbers

if TYPE_CHECKING:
    from sdm.assess.structure import Structure
    from sdm.estimators.on_axes import OnAxes


HINTS = {
    **dict.fromkeys(("families", "lam"), "add --model structural"),
    **dict.fromkeys(("spatial", "strength", "own", "axes"), "add --model shared"),
}
_OF_PREDICTIONS = ("prevalence", "unseen", "temperature")


@dataclass(frozen=True)
class Additions:
    """The additional results of a method: its structure, and a performance bound."""

    structure: "Structure | None" = None
    bound: Numbers | None = None


class SpeciesMethod:
    """A method: its estimator, its options, and its additional results."""

    name: ClassVar[str]  # as in `fit.model`
    estimator_class: ClassVar[type[SpeciesEstimator]]  # estimator of a single species
    single_problem: ClassVar[bool] = False  # whether it solves one problem of feature classes, as Java Maxent does
    hints: ClassVar[Mapping[str, str]] = HINTS  # hints for options that do not apply

    def takes(self) -> set[str]:
        """Return the names of the options that apply, as in the estimator."""
        return {*inspect.signature(self.estimator_class).parameters}

    def check(self, fit: FitOptions) -> None:
        """Raise for options of the model that do not apply or are inconsistent."""
        takes = {RENAMED.get(name, name) for name in self.takes()}
        for name, field in FitOptions.model_fields.items():
            value = getattr(fit, name)
            if name != "model" and name not in takes and value != field.get_default():
                hint = f": {self.hints[name]}" if name in self.hints else ""
                raise InapplicableError(f"fit.{name}={value!r} does not apply to a {self.name} model{hint}")
        numbers = [
            name for name in FitOptions.model_fields if name.startswith("beta_") and getattr(fit, name) is not None
        ]
        if numbers and fit.beta not in (None, *TABULATED):
            raise ConflictError(f"fit.{numbers[0]} has no effect with fit.beta={fit.beta!r}: remove one of them")
        for name in ("multiplier", "regularization"):
            if getattr(fit, name) == "auto":
                raise InapplicableError(f"fit.{name}='auto' applies to classes only: remove it, or use 'sdm tune'")
        if has_growing(fit.features):
            raise ConflictError(f"fit.features={fit.features!r}: trees and monomials need fit.model=structural")

    def check_tuning(self) -> None:
        """Raise if settings cannot be selected for single species."""
        return

    def estimator(
        self, options: RunOptions, categorical: Sequence[str], placed: "Sequence[OnAxes]" = ()
    ) -> SpeciesEstimator:
        """Return the estimator of the options, with its defaults for missing values. `placed` is the species on the
        axes of its group, if any."""
        values: Numbers = {name: getattr(options.predict, name) for name in _OF_PREDICTIONS}
        return estimator_of(self.estimator_class, options, values | {"categorical": list(categorical)})

    def chosen(self, fitted: SpeciesEstimator, options: RunOptions) -> Numbers:
        """Return the options of the model with selected settings, for fits to one variable."""
        return {"entropy": fitted.entropy_} if options.fit.entropy == "auto" else {}

    def additions(self, fitted: SpeciesEstimator, options: RunOptions) -> Additions:
        """Return the additional results of the method."""
        return Additions()


def method_of(options: RunOptions) -> SpeciesMethod:
    """Return the method of the options; its module is loaded on demand."""
    method: SpeciesMethod = import_module(f"sdm.kinds.species.methods.{options.fit.model}").METHOD
    return method


def species_estimator(options: RunOptions, categorical: Sequence[str]) -> SpeciesEstimator:
    """Return the estimator that the options describe."""
    return method_of(options).estimator(options, categorical)
