"""The probability of presence of a class model, with the interface of a model that predicts one value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.data.encode import Encoder
from sdm.data.records.columns import ABSENT
from sdm.errors import LabelError, OptionError
from sdm.models.classes import ClassModel
from sdm.models.interface import ModelVariable
from sdm.models.species import Model
from sdm.novelty.reference import TrainingRange
from sdm.types import Array


def presence_class(labels: Sequence[str]) -> int | None:
    """Return the position of presence if the other one of two classes is absence (0, absent, no, …), else None."""
    absent = [label.casefold() in ABSENT for label in labels]
    return absent.index(False) if len(labels) == 2 and sum(absent) == 1 else None


def shown_class(labels: Sequence[str]) -> tuple[int, str]:
    """Return the class of two that maps of probability show, and its name."""
    presence = presence_class(labels)
    return (1, f"class {labels[1]}") if presence is None else (presence, "presence")


@dataclass(frozen=True)
class PresenceOf:
    """The class at position `c` of a class model, for maps, profiles, thresholds and spreads of a single value."""

    scale: ClassVar[str] = "probability"

    model: ClassModel
    c: int

    @classmethod
    def of(cls, model: ClassModel) -> "PresenceOf":
        """Return the presence class of a model of presence and absence; refuse models of other classes."""
        presence = presence_class(model.labels)
        if presence is None:
            raise LabelError(f"the classes are {', '.join(model.labels)}: expected presence and absence, as 1 and 0")
        return cls(model, presence)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables, in the order of columns in predictions."""
        return self.model.names

    @property
    def categorical(self) -> tuple[str, ...]:
        """Return the names of the categorical variables."""
        return self.model.categorical

    @property
    def variables(self) -> tuple[ModelVariable, ...]:
        """Return the variables with their training ranges."""
        return self.model.variables

    @property
    def encoder(self) -> Encoder:
        """Return the conversion of tables to numbers."""
        return self.model.encoder

    @property
    def meta(self) -> dict[str, Any]:
        """Return the origin of the model."""
        return self.model.meta

    def predict(self, x: Any, scale: str = "probability", clamp: bool = True) -> Array:
        """Return the probability of the class; `x` as for a model of one species."""
        return self.predict_columns(list(self.encoder.encode(x).T), scale, clamp)

    def predict_columns(
        self, columns: Sequence[NDArray[np.floating]], scale: str = "probability", clamp: bool = True
    ) -> Array:
        """Return the probability of the class from one array of numbers per variable, in the order of `names`."""
        return self.from_raw(self.model.column_distributions(columns, clamp)[self.c], scale)

    def from_raw(self, raw: Array | float, scale: str) -> Array:
        """Return probabilities unchanged: a class has no other scale."""
        if scale != self.scale:
            raise OptionError(f"scale={scale!r}: expected 'probability', the only scale of a class model")
        return np.asarray(raw, dtype=np.float64)

    @property
    def identity(self) -> str:
        """Return a short digest of the class model."""
        return self.model.identity

    @property
    def training_range(self) -> TrainingRange:
        """Return the training range of the class model."""
        return self.model.training_range


ValueModel = Model | PresenceOf
"""A model that predicts one value per point, for profiles, spreads, thresholds, measures and maps of one band."""
