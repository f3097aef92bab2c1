"""What a model maps in every scenario: its targets, their suitability, and where they are present.

A model of one value has one target; others have several. The task of a kind returns which (`Task.projected`).
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

DEFAULT_RULE = "maxsss"
Present = NDArray[np.bool_]  # (T, n), where each target is present by a rule


@dataclass(frozen=True)
class ProjectedModel:
    """A model with what it is called, and what tells it apart from other models of the same species."""

    model: FittedModel
    name: str  # the species, or the title of the classes
    fields: Mapping[str, str] = field(default_factory=dict)  # such as the multiplier, or the replicate
    scale: str | None = None
    rules: tuple[str, ...] = ()  # cutoffs that were asked for; none: the default where the model has it
    extrapolation: str = "clamp"

    @cached_property
    def title(self) -> str:
        """Its name with what tells it apart."""
        return "_".join([self.name, *self.fields.values()])

    @cached_property
    def identity(self) -> str:
        """A short name for exactly this model."""
        return self.model.identity

    @cached_property
    def environment(self) -> str:
        """What is the same for all models that were fitted to the same environment."""
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
        """What is mapped."""
        return (self.name,)

    @cached_property
    def value_model(self) -> Any:
        """The model of one value, which has cutoffs; None for a model of several targets."""
        return self.model

    @property
    def shown_scale(self) -> str:
        """The scale of its maps."""
        return self.scale or self.model.scales[0]

    @cached_property
    def cutoffs(self) -> dict[str, float | None]:
        """The rules that say where a target is present, with their cutoffs on the map's scale; change goes by the
        first."""
        known = self.value_model.meta.get("thresholds", {})
        wanted = self.rules or ((DEFAULT_RULE,) if DEFAULT_RULE in known else ())
        return {word: threshold_on_scale(self.value_model, word, self.shown_scale) for word in wanted}

    def compute(self, columns: Sequence[AnyArray], known: NDArray[np.bool_]) -> tuple[Array, Array, list[Present]]:
        """Return the predictions before anything is done about extrapolation, of all bands of the model, those of the
        map `(T, n)`, and where each target is present by each rule `(R, T, n)`. Cells that are not `known` have a
        missing value."""
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
        """The band of the model's predictions that is mapped."""
        return 0

    @property
    def together(self) -> dict[str, Raster]:
        """Maps of all targets together, by name, without their places; a model of one target has none."""
        return {}

    def together_tags(self, name: str) -> dict[str, str]:
        """Return what the values of such a map are."""
        return {"what": name.replace("_", " ")}

    def together_bands(self, shown: Array, present: Sequence[Present], cells: KnownCells) -> list[AnyArray]:
        """Return the bands of these maps, from what `compute` returned at the cells that are known."""
        gone = np.isnan(shown).any(axis=0)
        values = self.together_values(np.where(gone, 1.0, shown), present)
        return [
            cells.spread(np.where(gone, raster.nodata, values[name]), raster.nodata, raster.dtype)
            for name, raster in self.together.items()
        ]

    def together_values(self, shown: Array, present: Sequence[Present]) -> dict[str, AnyArray]:
        """Return the values of these maps by name; where no value is known, they do not matter."""
        return {}


class ProjectedTargets(ProjectedModel):
    """A model of several targets, one band each, which says itself where each is present: by no cutoff."""

    shown_scale: ClassVar[str] = "probability"
    rule: ClassVar[str]

    @property
    def targets(self) -> tuple[str, ...]:
        """The bands of the model."""
        return tuple(self.model.bands)

    @cached_property
    def value_model(self) -> None:
        """There is no model of one value."""
        return None

    @cached_property
    def cutoffs(self) -> dict[str, float | None]:
        """The one rule, which has no cutoff."""
        if wrong := [word for word in self.rules if word != self.rule]:
            raise InapplicableError(f"threshold={wrong[0]} does not apply to a {self.model.called}: remove it")
        return {self.rule: None}
