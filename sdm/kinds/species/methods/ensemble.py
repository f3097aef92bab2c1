"""`fit.model=ensemble`: the mean of a committee and of the species on the axes of its group."""

from collections.abc import Collection, Sequence
from typing import ClassVar

from sdm.errors import ConflictError
from sdm.estimators.committee import Committee
from sdm.estimators.ensemble import Ensemble
from sdm.estimators.on_axes import OnAxes
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.species.methods.shared import SharedMethod
from sdm.options.definitions import RunOptions


class EnsembleMethod(SharedMethod):
    """The mean of a committee and of the species on the axes of its group; for a single species the committee."""

    name: ClassVar[str] = "ensemble"
    estimator_class: ClassVar[type[SpeciesEstimator]] = Committee
    strength: ClassVar[str | float] = 1.4  # the committee limits the effect of a poor strength
    environment: ClassVar[bool] = True

    def takes(self) -> set[str]:
        """Return the names of the options that apply to the axes or to the committee."""
        return super().takes() | {"multiplier", "max_iterations"}

    def check_alone(self, options: RunOptions, species: Collection[str]) -> None:
        """Raise for spatial features without axes."""
        if options.fit.spatial and len(species) < 2:
            raise ConflictError("fit.spatial needs a group of species: remove it, or add --axes group.npz")

    def estimator(
        self, options: RunOptions, categorical: Sequence[str], placed: Sequence[OnAxes] = ()
    ) -> SpeciesEstimator:
        """Return the mean of the committee and of the species on its axes."""
        committee = super().estimator(options, categorical)
        if not placed:
            return committee
        environment = placed[1] if len(placed) > 1 else None
        return Ensemble(placed[0], **committee.get_params(), environment=environment)


METHOD = EnsembleMethod()
