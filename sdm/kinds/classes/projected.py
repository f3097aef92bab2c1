"""Class models on scenarios: presence and absence has one target, and of several classes each is one."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sdm.maps.classes import map_codes, no_class
from sdm.maps.projection.targets import Present, ProjectedModel, ProjectedTargets
from sdm.maps.rasters import Raster
from sdm.models.classes import ClassModel, shannon
from sdm.models.extrapolation import extrapolated
from sdm.models.presence import PresenceOf
from sdm.types import AnyArray, Array


class ProjectedPresence(ProjectedModel):
    """A model of presence and absence."""

    @cached_property
    def value_model(self) -> PresenceOf:
        """The probability of presence."""
        return PresenceOf.of(cast("ClassModel", self.model))

    @property
    def shown_scale(self) -> str:
        """The scale of its map."""
        return "probability"

    @property
    def band(self) -> int:
        """The band of presence."""
        return self.value_model.c


class ProjectedClasses(ProjectedTargets):
    """A model of several classes: the most probable one is present."""

    rule: ClassVar[str] = "most_probable"

    @cached_property
    def codes(self) -> list[int]:
        """The codes of the classes in a map."""
        return list(map_codes(cast("ClassModel", self.model)))

    def compute(self, columns: Sequence[AnyArray], known: NDArray[np.bool_]) -> tuple[Array, Array, list[Present]]:
        """Return the probabilities, those of the map, and where each class is the most probable one."""
        base = self.model.column_values(columns, None, self.extrapolation != "free")
        shown = extrapolated(self.model, base, lambda: base, columns, self.extrapolation)
        best = np.where(np.isnan(shown).any(axis=0), -1, np.argmax(np.nan_to_num(shown, nan=-1.0), axis=0))
        return base, shown, [best == np.arange(len(shown))[:, None]]

    @cached_property
    def together(self) -> dict[str, Raster]:
        """The most probable class, and the entropy."""
        colours = dict(zip(self.codes, cast("ClassModel", self.model).colours))
        most = Raster(Path(), "uint8", no_class(self.codes), colours=colours)
        return {"class": most, "entropy": Raster(Path())}

    def together_tags(self, name: str) -> dict[str, str]:
        """Return what the values of such a map are."""
        labels = self.model.bands if name == "class" else ()
        return {"what": name, **{f"class_{code}": label for code, label in zip(self.codes, labels)}}

    def together_values(self, shown: Array, present: Sequence[Present]) -> dict[str, AnyArray]:
        """Return the codes of the most probable classes, and the entropies."""
        codes = np.array(self.codes, dtype=np.uint8)
        return {"class": codes[np.argmax(present[0], axis=0)], "entropy": shannon(shown)}
