"""A log-linear model of counts of animals: what predicts."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sdm.data.encode import Encoder
from sdm.models.interface import Arrays, FittedModel, Header
from sdm.storage.archive import Archive


@dataclass(frozen=True)
class CountModel(FittedModel):
    kind: ClassVar[str] = "counts"
    called: ClassVar[str] = "model of counts"
    archive: ClassVar[Archive] = Archive("sdm-counts", 1, "model.json", "model of counts")

    scales: ClassVar[tuple[str, ...]] = ("count",)

    encoder: Encoder
    weights: np.ndarray
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str]:
        return ["(constant)", *self.names]

    def predict(self, x: Any) -> np.ndarray:
        values = self.encoder.encode(x)
        return np.exp(np.column_stack([np.ones(len(values)), values]) @ self.weights)

    @property
    def bands(self) -> tuple[str, ...]:
        return ("count",)

    def column_values(self, columns, scale: str | None = None) -> np.ndarray:
        return self.predict(np.column_stack(columns))[None]

    def description(self) -> dict[str, Any]:
        return {"weights": dict(zip(self.feature_names, self.weights.tolist()))}

    @classmethod
    def array_names(cls) -> list[str]:
        return ["weights"]

    def to_file(self) -> tuple[Header, Arrays]:
        return {"names": list(self.names), "meta": self.meta}, {"weights": self.weights}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> "CountModel":
        if arrays["weights"].shape != (1 + len(header["names"]),):
            raise ValueError("weights that no model of counts has")
        return cls(Encoder(tuple(header["names"]), (), {}), arrays["weights"], header["meta"])
