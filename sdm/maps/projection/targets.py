"""What a model of any kind maps in every scenario: its targets, their suitability, and where they are present.

A model of one species has one target; a class model of presence and absence too; of several classes, each is one; and
a joint model has its species.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError
from sdm.maps.cells import KnownCells
from sdm.maps.classes import map_codes, no_class
from sdm.maps.rasters import NODATA, Raster
from sdm.models.classes import ClassModel, shannon
from sdm.models.community import FittedJoint
from sdm.models.extrapolation import extrapolated
from sdm.models.interface import FittedModel
from sdm.models.presence import PresenceOf, presence_class
from sdm.types import Array

DEFAULT_RULE = "maxsss"
MOST_PROBABLE, LABELED = "most_probable", "labeled"  # the rules of classes, and of joint models
NUMBERS = 1 << 22  # features and marginals that are held at once, in each thread


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

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """What is mapped."""
        if isinstance(self.model, FittedJoint) or (isinstance(self.model, ClassModel) and not self._presence):
            return tuple(self.model.bands)
        return (self.name,)

    @cached_property
    def _presence(self) -> bool:
        return isinstance(self.model, ClassModel) and presence_class(self.model.bands) is not None

    @cached_property
    def value_model(self) -> Any:
        """The model of one value, which has cutoffs; None for several classes and for joint models."""
        if isinstance(self.model, FittedJoint) or len(self.targets) > 1:
            return None
        if isinstance(self.model, ClassModel):
            return PresenceOf.of(self.model) if self._presence else None
        return self.model

    @property
    def shown_scale(self) -> str:
        """The scale of its maps."""
        if self.value_model is None or isinstance(self.model, ClassModel):
            return "probability"
        return self.scale or self.model.scales[0]

    @cached_property
    def cutoffs(self) -> dict[str, float | None]:
        """The rules that say where a target is present, with their cutoffs on the map's scale; change goes by the
        first. Of several classes it is the most probable one, and of a joint model the best labeling: no cutoff."""
        one = self.value_model
        if one is None:
            rule = LABELED if isinstance(self.model, FittedJoint) else MOST_PROBABLE
            if wrong := [word for word in self.rules if word != rule]:
                raise OptionError(
                    f"threshold={wrong[0]} does not apply to a {self.model.called}, which says itself what is present: "
                    "leave it out"
                )
            return {rule: None}
        known = one.meta.get("thresholds", {})
        wanted = self.rules or ((DEFAULT_RULE,) if DEFAULT_RULE in known else ())
        return {word: self._level(one, word, known) for word in wanted}

    def _level(self, one: Any, word: str, known: Mapping[str, float]) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            return value
        if word not in known:
            listed = ", ".join(known) or "none, for it was not fitted by 'sdm fit'"
            raise OptionError(f"threshold={word}: expected a number, or one that the model has ({listed})")
        return float(one.from_raw(known[word], self.shown_scale))

    def compute(
        self, columns: Sequence[NDArray[Any]], known: NDArray[np.bool_]
    ) -> tuple[Array, Array, list[NDArray[np.bool_]]]:
        """Return the predictions before anything is done about extrapolation, of all bands of the model, those of the
        map `(T, n)`, and where each target is present by each rule `(R, T, n)`. Cells that are not `known` have a
        missing value."""
        if isinstance(self.model, FittedJoint):
            return self._joint(self.model, columns, known)
        free = self.extrapolation == "free"
        if self.value_model is not None:
            one, scale = self.value_model, self.shown_scale
            base = self.model.column_values(columns, scale, not free)
            band = one.c if isinstance(one, PresenceOf) else 0
            shown = extrapolated(
                one, base[band], lambda: one.predict_columns(columns, scale, False), columns, self.extrapolation
            )
            levels = [-np.inf if level is None else level for level in self.cutoffs.values()]
            with np.errstate(invalid="ignore"):
                return base, shown[None], [(shown >= level)[None] for level in levels]
        base = self.model.column_values(columns, None, not free)
        shown = extrapolated(self.model, base, lambda: base, columns, self.extrapolation)
        best = np.where(np.isnan(shown).any(axis=0), -1, np.argmax(np.nan_to_num(shown, nan=-1.0), axis=0))
        return base, shown, [best == np.arange(len(shown))[:, None]]

    @cached_property
    def together(self) -> dict[str, Raster]:
        """Maps of all targets together, by name, without their places: of classes the most probable one, of a joint
        model its richness, expected and in the best labeling."""
        if isinstance(self.model, FittedJoint):
            return {"richness": Raster(Path()), "labeled_richness": Raster(Path(), "int16", NODATA)}
        if isinstance(self.model, ClassModel) and self.value_model is None:
            codes = map_codes(self.model)
            colours = dict(zip(codes, self.model.colours))
            return {"class": Raster(Path(), "uint8", no_class(codes), colours=colours), "entropy": Raster(Path())}
        return {}

    def together_tags(self, name: str) -> dict[str, str]:
        """Return what the values of such a map are."""
        if name != "class" or not isinstance(self.model, ClassModel):
            return {"what": name.replace("_", " ")}
        codes = map_codes(self.model)
        return {"what": "class", **{f"class_{code}": label for code, label in zip(codes, self.model.labels)}}

    def together_bands(
        self, shown: Array, present: Sequence[NDArray[np.bool_]], cells: KnownCells
    ) -> list[NDArray[Any]]:
        """Return the bands of these maps, from what `compute` returned at the cells that are known."""
        bands: list[NDArray[Any]] = []
        for name, raster in self.together.items():
            gone = np.isnan(shown).any(axis=0)
            if name == "class":
                values = np.array(map_codes(self.model), dtype=np.uint8)[np.argmax(present[0], axis=0)]  # type: ignore[arg-type]
            elif name == "entropy":
                values = shannon(np.where(gone, 1.0, shown))
            else:
                values = shown.sum(axis=0) if name == "richness" else present[0].sum(axis=0)
            bands.append(cells.spread(np.where(gone, raster.nodata, values), raster.nodata, raster.dtype))
        return bands

    def _joint(
        self, joint: FittedJoint, columns: Sequence[NDArray[Any]], known: NDArray[np.bool_]
    ) -> tuple[Array, Array, list[NDArray[np.bool_]]]:
        """Return the probability of every species, the same on the map, and whether it is in the best labeling."""
        values = np.full((len(self.targets), len(known)), np.nan)
        present = np.zeros(values.shape, dtype=bool)
        step = max(1, NUMBERS // (joint.features.size + 8 * len(self.targets)))
        where = np.flatnonzero(known)
        for first in range(0, len(where), step):
            at = where[first : first + step]
            x = np.column_stack([np.asarray(column[at], dtype=np.float64) for column in columns])
            labels, probability = joint.predict_both(x, clamp=self.extrapolation != "free")
            values[:, at], present[:, at] = probability.T, labels.T.astype(bool)
        shown = extrapolated(joint, values, lambda: values, columns, self.extrapolation)
        return values, shown, [present]
