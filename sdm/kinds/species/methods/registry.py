"""The methods that models of one species are fitted by: one module each, named as `fit.model` names it."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sdm.kinds.species.methods.method import SpeciesMethod
from sdm.options.definitions import RunOptions

if TYPE_CHECKING:
    from sdm.estimators.species import SpeciesEstimator


def method_of(options: RunOptions) -> SpeciesMethod:
    """Return the method that options ask for; its module is loaded when it is asked for."""
    method: SpeciesMethod = import_module(f"sdm.kinds.species.methods.{options.fit.model}").METHOD
    return method


def species_estimator(options: RunOptions, categorical: Sequence[str]) -> "SpeciesEstimator":
    """Return the estimator that the options describe."""
    return method_of(options).estimator(options, categorical)
