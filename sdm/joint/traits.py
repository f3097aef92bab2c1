"""Traits of species, and the fourth corner: changes of the effect of an environmental feature with a trait.

The weights of species s are `w_sk = b_sk + Σ_t Γ_kt τ_st`, with its standardised traits τ. All species share Γ, and `b`
is the specific remainder. `b` has the penalty `½/C` on squares, so the weights of species are shrunk towards the
regression on their traits. Γ has few weights for many species, and a hundredth of that penalty. In a fit with penalties
`1/C`, traits are therefore multiplied by ten and Γ is divided by ten. The bias of a species does not depend on traits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.errors import BadValueError, DataError, DuplicateNameError, MismatchError, name_list
from sdm.joint.levels import HALF_WIDTH, level_names
from sdm.types import Array, Numbers, Row

UNIT = 10.0  # scale of traits in a fit
MOST_CLASSES = 20  # largest number of classes of a text trait


@dataclass(frozen=True)
class Traits:
    """Species with numeric traits, one column per trait or class of a trait."""

    species: tuple[str, ...]
    names: tuple[str, ...]
    values: Array  # (species, T), NaN for missing traits

    @classmethod
    def learn(cls, table: Any) -> "Traits":
        """Return the traits of a data frame with the species as its index.

        A text column becomes one column per class; with two classes, one column for the second.
        """
        if not hasattr(table, "columns") or not len(table.columns):
            raise DataError("traits: expected a data frame with one row per species (its index) and a column per trait")
        species = level_names(table.index)
        if len(set(species.tolist())) < len(species):
            twice = next(name for name in species.tolist() if species.tolist().count(name) > 1)
            raise DuplicateNameError(
                f"species '{twice}' occurs twice in the table of traits: expected one row per species"
            )
        columns: dict[str, Array] = {}
        for name in table.columns:
            columns |= _columns(str(name), table[name])
        return cls(tuple(map(str, species)), tuple(columns), np.column_stack(list(columns.values())))

    def of(self, species: Sequence[str]) -> Array:
        """Return the traits of species, `(S, T)`, standardised over them; missing traits have the mean."""
        position = {name: k for k, name in enumerate(self.species)}
        rows = [position.get(name, -1) for name in species]
        values = np.vstack([self.values, np.full(len(self.names), np.nan)])[rows]
        present = np.isfinite(values)
        count = np.maximum(present.sum(axis=0), 1)
        centred = np.where(present, values - np.where(present, values, 0.0).sum(axis=0) / count, 0.0)
        width = np.sqrt(np.square(centred).sum(axis=0) / count)
        return np.asarray(np.divide(centred, width, out=np.zeros_like(centred), where=width > 1e-9))

    def in_fit(self, species: Sequence[str]) -> Array:
        """Return the traits of species on the scale of a fit, with equal penalties for all weights."""
        return UNIT * self.of(species)

    def check(self, species: Sequence[str]) -> list[str]:
        """Refuse tables that are uninformative for these species; return notes on missing species."""
        matched = [name for name in species if name in self.species]
        if len(matched) < 3:
            raise MismatchError(
                f"the table of traits has {len(matched)} of the {len(species)} species, expected three or more: it has "
                f"{name_list(self.species)}; the sites have {name_list(species)}"
            )
        flat = [name for name, column in zip(self.names, self.of(species).T) if not column.any()]
        if flat:
            raise DataError(f"trait '{flat[0]}' is the same for all species of the sites: remove its column")
        missing = [name for name in species if name not in self.species]
        return [f"species without traits use the mean: {', '.join(missing)}"] if missing else []


def corner_rows(names: Sequence[str], features: Sequence[str], corner: Array, variance: Array) -> list[Row]:
    """Return one row per trait and feature: the weight, its standard error and 95 % interval, sorted by significance.

    `corner` and `variance` (may be empty) are from a fit to `Traits.in_fit`, `(K, T)`.
    """
    rows = []
    for k, feature in enumerate(features):
        for t, trait in enumerate(names):
            row: Numbers = {"trait": trait, "feature": feature, "weight": UNIT * float(corner[k, t])}
            if variance.size:
                sd = UNIT * float(np.sqrt(variance[k, t]))
                row |= {"sd": sd, "low": row["weight"] - HALF_WIDTH * sd, "high": row["weight"] + HALF_WIDTH * sd}
            rows.append(row)
    return sorted(rows, key=lambda row: -abs(row["weight"]) / row.get("sd", 1.0))


def _columns(name: str, column: Any) -> dict[str, Array]:
    """Return a trait as columns of numbers."""
    try:
        return {name: _finite(np.asarray(column, dtype=np.float64), name)}
    except (TypeError, ValueError):
        pass
    text: NDArray[np.str_] = level_names(column)
    classes = sorted(set(text.tolist()) - {""})
    if len(classes) > MOST_CLASSES:
        raise BadValueError(
            f"trait '{name}' has {len(classes)} classes, expected numbers or at most {MOST_CLASSES} classes"
        )
    shown = classes[1:] if len(classes) == 2 else classes
    return {f"{name}={one}": np.where(text == "", np.nan, text == one) for one in shown}


def _finite(values: Array, name: str) -> Array:
    if np.isinf(values).any():
        raise BadValueError(f"trait '{name}' contains an infinite number: expected numbers, or blanks if unknown")
    return values
