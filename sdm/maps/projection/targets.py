"""Targets of a model in scenarios: suitability and presence of each.

A model with one value has one target; other models have several. The task of a kind returns them (`Task.projected`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.errors import InapplicableError
from sdm.maps.cells import KnownCells
from sdm.maps.rasters import Raster
from sdm.maps.single import threshold_on_scale
from sdm.models.extrapolation import extrapolated
from sdm.models.interface import FittedModel
from sdm.types import AnyArray, Array

DEFAULT_RULE, OPTION = "maxsss", "project.thresholds"
Present = NDArray[np.bool_]  # (T, n): presence of each target by one rule


@dataclass(frozen=True)
class ProjectedModel:
    """A model with its title and the fields that distinguish it from other models of the species."""

    model: FittedModel
    name: str  # the species, or the title of the classes
    fields: Mapping[str, str] = field(default_factory=dict)  # such as the multiplier, or the replicate
    scale: str | None = None
    rules: tuple[str, ...] = ()  # thresholds; empty: the default rule, if the model has it
    extrapolation: str = "clamp"

    @cached_property
    def title(self) -> str:
        """The name with the fields."""
        return "_".join([self.name, *self.fields.values()])

    @cached_property
    def identity(self) -> str:
        """A short identifier of this model."""
        return self.model.identity

    @cached_property
    def environment(self) -> str:
        """A digest that is the same for all models of the same environment."""
        digest, reference, seen = hashlib.sha256(), self.model.reference, self.model.training_range
        digest.update(repr((self.model.names, self.model.categorical)).encode())
        if reference is None:
            digest.update(self.title.encode())
        else:
            digest.update(np.ascontiguousarray(reference.values).tobytes())
        if seen is not None:
            parts = (seen.low, seen.high, *(a for a in seen.classes if a is not None))
            digest.update(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))
        return digest.hexdigest()

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the targets."""
        return (self.name,)

    @cached_property
    def value_model(self) -> Any:
        """The model of one value, which has thresholds; None for a model of several targets."""
        return self.model

    @property
    def shown_scale(self) -> str:
        """The scale of the maps."""
        return self.scale or self.model.scales[0]

    @cached_property
    def cutoffs(self) -> dict[str, float | None]:
        """The rules of presence with their thresholds on the scale of the map. Change is computed with the first
        rule."""
        thresholds = self.value_model.meta.get("thresholds", {})
        rules = self.rules or ((DEFAULT_RULE,) if DEFAULT_RULE in thresholds else ())
        return {word: threshold_on_scale(self.value_model, word, self.shown_scale, OPTION) for word in rules}

    def compute(self, columns: Sequence[AnyArray], valid: NDArray[np.bool_]) -> tuple[Array, Array, list[Present]]:
        """Return the predictions of all bands before the treatment of extrapolation, the values of the maps `(T, n)`,
        and presence by rule and target `(R, T, n)`. Cells that are not `valid` have missing values."""
        one, band, scale = self.value_model, self.band, self.shown_scale
        base = self.model.column_values(columns, scale, self.extrapolation != "free")
        shown = extrapolated(
            one, base[band], lambda: one.predict_columns(columns, scale, False), columns, self.extrapolation
        )
        levels = [-np.inf if level is None else level for level in self.cutoffs.values()]
        with np.errstate(invalid="ignore"):
            return base, shown[None], [(shown >= level)[None] for level in levels]

    @property
    def band(self) -> int:
        """The band of the predictions to map."""
        return 0

    @property
    def together(self) -> dict[str, Raster]:
        """Maps of all targets together, by name, without paths; empty for a model of one target."""
        return {}

    def together_tags(self, name: str) -> dict[str, str]:
        """Return the tags of such a map."""
        return {"what": name.replace("_", " ")}

    def together_bands(self, shown: Array, present: Sequence[Present], cells: KnownCells) -> list[AnyArray]:
        """Return the bands of these maps, from the results of `compute` at the valid cells."""
        missing = np.isnan(shown).any(axis=0)
        values = self.together_values(np.where(missing, 1.0, shown), present)
        return [
            cells.spread(np.where(missing, raster.nodata, values[name]), raster.nodata, raster.dtype)
            for name, raster in self.together.items()
        ]

    def together_values(self, shown: Array, present: Sequence[Present]) -> dict[str, AnyArray]:
        """Return the values of these maps by name; values at invalid cells are not used."""
        return {}


class ProjectedTargets(ProjectedModel):
    """A model of several targets, one band each, which predicts presence without thresholds."""

    shown_scale: ClassVar[str] = "probability"
    rule: ClassVar[str]

    @property
    def targets(self) -> tuple[str, ...]:
        """The bands of the model."""
        return tuple(self.model.bands)

    @cached_property
    def value_model(self) -> None:
        """A model of several targets has no single value."""
        return None

    @cached_property
    def cutoffs(self) -> dict[str, float | None]:
        """The only rule, which has no threshold."""
        if wrong := [word for word in self.rules if word != self.rule]:
            raise InapplicableError(f"{OPTION}={wrong[0]} does not apply to a {self.model.called}: remove it")
        return {self.rule: None}
