"""`SpeciesMethod`: the interface of the methods for one species, one module for each `fit.model`."""

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
    """What a method adds to the results of a species: its structure, and a bound on its loss."""

    structure: "Structure | None" = None
    bound: Numbers | None = None


class SpeciesMethod:
    """A method: its estimator, the options that it takes, and what it adds to the results."""

    name: ClassVar[str]  # as `fit.model` has it
    estimator_class: ClassVar[type[SpeciesEstimator]]  # of a species that is fitted by itself
    single_problem: ClassVar[bool] = False  # whether it solves one problem of feature classes, as Java Maxent does
    hints: ClassVar[Mapping[str, str]] = HINTS  # what to type instead of an option that the method does not take

    def takes(self) -> set[str]:
        """Return the names of the options that apply, as the estimator has them."""
        return {*inspect.signature(self.estimator_class).parameters}

    def check(self, fit: FitOptions) -> None:
        """Raise for options of the model that do not apply, or contradict each other."""
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
        """Raise if settings cannot be chosen for one species by itself."""
        return

    def estimator(
        self, options: RunOptions, categorical: Sequence[str], placed: "Sequence[OnAxes]" = ()
    ) -> SpeciesEstimator:
        """Return the estimator that the options describe; an option without a value has the estimator's default.
        `placed` is the species on the axes of its group, if it has one."""
        values: Numbers = {name: getattr(options.predict, name) for name in _OF_PREDICTIONS}
        return estimator_of(self.estimator_class, options, values | {"categorical": list(categorical)})

    def chosen(self, fitted: SpeciesEstimator, options: RunOptions) -> Numbers:
        """Return the options of the model that the fit chose, so that fits to one variable need not choose."""
        return {"entropy": fitted.entropy_} if options.fit.entropy == "auto" else {}

    def additions(self, fitted: SpeciesEstimator, options: RunOptions) -> Additions:
        """Return what the method adds to the results."""
        return Additions()


def method_of(options: RunOptions) -> SpeciesMethod:
    """Return the method that options ask for; its module is loaded when it is asked for."""
    method: SpeciesMethod = import_module(f"sdm.kinds.species.methods.{options.fit.model}").METHOD
    return method


def species_estimator(options: RunOptions, categorical: Sequence[str]) -> SpeciesEstimator:
    """Return the estimator that the options describe."""
    return method_of(options).estimator(options, categorical)
