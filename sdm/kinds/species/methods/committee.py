"""`fit.model=committee`: the mean of five models of different shape."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from sdm.kinds.species.methods.method import SpeciesMethod

if TYPE_CHECKING:
    from sdm.estimators.committee import Committee


class CommitteeMethod(SpeciesMethod):
    """One model that is the mean of several."""

    name: ClassVar[str] = "committee"
    hints: ClassVar[Mapping[str, str]] = {}  # its members are what they are

    def estimator_class(self) -> "type[Committee]":
        """Return `Committee`."""
        from sdm.estimators.committee import Committee

        return Committee


METHOD = CommitteeMethod()
