"""Futures of a small virtual world, models of every kind, and what `sdm project` leaves behind."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from terminal import change_raster

GCMS, SSPS, PERIODS = ("ACCESS-CM2", "MIROC6"), ("ssp126", "ssp585"), ("2050", "2070")


def make_future(world: Any, folder: Path, warmer: float, wetter: float = 1.0) -> Path:
    """Write the layers of the world again, some degrees warmer, and with N times the rain."""
    folder.mkdir(parents=True)
    for layer in sorted(world.layers.glob("*.tif")):
        change = {
            "temperature": lambda band: np.where(band == -9999, band, band + warmer),
            "precipitation": lambda band: np.where(band == -9999, band, band * wetter),
        }.get(layer.stem)
        change_raster(layer, folder / layer.name, change)
    return folder


@dataclass(frozen=True)
class Futures:
    """Eight futures of the world: two climate models, two pathways, two periods."""

    folder: Path

    @property
    def pattern(self) -> str:
        return f"{self.folder}/{{gcm}}_{{ssp}}_{{period}}/"

    @property
    def titles(self) -> list[str]:
        return ["_".join(words) for words in itertools.product(GCMS, SSPS, PERIODS)]

    def some(self, gcm: str = "{gcm}", ssp: str = "{ssp}", period: str = "{period}") -> str:
        """A pattern of some of them: fields that are given are fixed."""
        return f"{self.folder}/{gcm}_{ssp}_{period}/"


@dataclass(frozen=True)
class Models:
    """Models of every kind, of the layers of the world."""

    folder: Path

    @property
    def batch(self) -> Path:
        """The results of two species."""
        return self.folder / "batch"

    @property
    def species(self) -> Path:
        return sorted(self.batch.glob("*/*.npz"))[0]

    @property
    def other(self) -> Path:
        """The second species."""
        return sorted(self.batch.glob("*/*.npz"))[1]

    @property
    def pattern(self) -> Path:
        """Two models of the first species, by the multiplier."""
        return self.folder / "runs" / "{multiplier}" / self.species.name

    @property
    def presence(self) -> Path:
        """Presence and absence."""
        return next((self.folder / "presence").glob("*.npz"))

    @property
    def habitat(self) -> Path:
        """Three classes."""
        return self.folder / "habitat" / "habitat.npz"

    @property
    def joint(self) -> Path:
        return next((self.folder / "joint").glob("*.npz"))


def project(*words: Any) -> list[str]:
    """The words of a projection without pages."""
    return ["project", *map(str, words), "--no-report"]


def numbers(folder: Path, species: str) -> Any:
    """What the JSON file of a species says."""
    return json.loads((folder / f"{species}.json").read_text(encoding="utf-8"))


def case(found: Any, title: str) -> Any:
    """One of the cases of a species."""
    (one,) = [one for one in found["scenarios"] if one["title"] == title]
    return one


def bytes_of(folder: Path, but: Sequence[str] = (".sdm-files",)) -> dict[str, bytes]:
    """The content of every file."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in but)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
