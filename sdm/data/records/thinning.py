"""Thinning: fewer records where many lie close together, in space or in the environment.

Of two records that cannot both stay, the one with the smaller coordinate uncertainty does; then the earlier one.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sdm.data.records.frames import pd
from sdm.errors import OptionError


@dataclass(frozen=True)
class Thinning:
    """How records are thinned; 0 for no such rule."""

    distance: float = 0.0  # no two records of a species are nearer than this, in km
    bins: int = 0  # keep one record of a species in each combination of N bins of equal width per variable
    variables: tuple[str, ...] = ()  # use the bins of these; all if empty
    tries: int = 10  # how many random orders to try; the largest set of records wins
    seed: int = 1

    @property
    def active(self) -> bool:
        """Whether anything is to be thinned."""
        return self.distance > 0 or self.bins > 0

    def check(self, names: tuple[str, ...]) -> None:
        """Raise OptionError for a variable that is not there."""
        if absent := [name for name in self.variables if name not in names]:
            raise OptionError(f"there is no variable '{absent[0]}' to thin by: the layers are {', '.join(names)}")

    def seed_of(self, species: str) -> list[int]:
        """Return the seed for one species, whichever others are thinned with it."""
        return [self.seed, zlib.crc32(species.encode())]


def one_of_each(key: np.ndarray, uncertainty: np.ndarray | None = None) -> np.ndarray:
    """Return which records to keep so that each key is there once: the most certain one, then the first."""
    order = np.arange(len(key)) if uncertainty is None else np.argsort(filled_uncertainty(uncertainty), kind="stable")
    keep = np.zeros(len(key), dtype=bool)
    keep[order[np.unique(key[order], return_index=True)[1]]] = True
    return keep


def thin_by_bins(
    values: np.ndarray, bins: int, *, categorical: np.ndarray | None = None, uncertainty: np.ndarray | None = None
) -> np.ndarray:
    """Keep one record in each combination of bins between the smallest and the largest value of a variable (m, V);
    classes, (V,) booleans, are bins of their own. Of a bin's records the one with the least known `uncertainty` stays.
    """
    codes = np.empty(values.shape, dtype=np.int64)
    for v, column in enumerate(np.asarray(values, dtype=np.float64).T):
        if categorical is not None and categorical[v]:
            codes[:, v] = pd.factorize(column)[0]
        else:
            low, high = column.min(), column.max()
            share = (column - low) / (high - low) if high > low else np.zeros(len(column))
            codes[:, v] = np.minimum((share * bins).astype(np.int64), bins - 1)
    return one_of_each(np.unique(codes, axis=0, return_inverse=True)[1].ravel(), uncertainty)


def filled_uncertainty(uncertainty: np.ndarray) -> np.ndarray:
    """Return uncertainty with the largest number in place of those that are not known."""
    return np.where(np.isfinite(uncertainty), uncertainty, np.finfo(np.float64).max / max(len(uncertainty), 1))
