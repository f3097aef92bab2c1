"""`fit.model=committee`: the mean of five models with different features and penalties."""

from collections.abc import Mapping
from typing import ClassVar

from sdm.estimators.committee import Committee
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.species.methods.method import SpeciesMethod


class CommitteeMethod(SpeciesMethod):
    """A model that is the mean of several."""

    name: ClassVar[str] = "committee"
    estimator_class: ClassVar[type[SpeciesEstimator]] = Committee
    hints: ClassVar[Mapping[str, str]] = {}  # the members have fixed settings


METHOD = CommitteeMethod()
