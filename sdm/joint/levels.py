"""Random effects of a joint model: one intercept per species and level of a column (reserve, region, observer, site).

The intercept `u_sg` of species s at level g is added to its score, with the penalty `½ u_sg² / σ²`. So levels are drawn
from a normal distribution with mean 0 and standard deviation σ. New levels have the mean. In a fit with penalties
`1/C`, the feature of a level has the value `σ/√C` at its sites and the weight `u_sg √C / σ`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError, MismatchError, TooFewError
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.inference import States
from sdm.types import AnyArray, Array, Index, Row

SPREADS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # candidates for σ, from strong regularisation to weak
NUMBERS = 50_000_000  # maximum number of cells of the table of sites and levels
HALF_WIDTH = 1.959963984540054  # of a 95 % interval, in standard errors


def level_names(values: Any) -> NDArray[np.str_]:
    """Return the levels of sites as text; whole numbers have no decimal point, missing levels are empty."""
    return np.array([_text(value) for value in np.asarray(values, dtype=object).tolist()], dtype=str)


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


@dataclass(frozen=True)
class Levels:
    """The levels of the sites of a fit."""

    names: tuple[str, ...]
    code: Index  # (n,): the level of every site, −1 if it is missing

    @classmethod
    def learn(cls, text: NDArray[np.str_], column: str) -> "Levels":
        """Return the levels of sites in sorted order; refuse levels whose effects cannot be estimated."""
        names, code = np.unique(text, return_inverse=True)
        if not len(names) or names[0] == "":
            code = code - 1
            names = names[1:]
        if len(names) < 2:
            listed = f"only the level '{names[0]}'" if len(names) else "no level"
            raise TooFewError(f"column '{column}' has {listed}, expected two levels or more: remove --random-effect")
        present = code >= 0
        if len(names) == np.count_nonzero(present):
            raise TooFewError(
                f"column '{column}' has another level in every row, expected several rows per level (such as visits to "
                "a site): name another column"
            )
        if len(names) * len(code) > NUMBERS:
            raise DataError(f"column '{column}' has too many levels ({len(names):,}) for memory: name another column")
        return cls(tuple(map(str, names)), code)

    def columns(self, scale: float) -> Array:
        """Return one column per level, `(n, L)`: `scale` at its sites, and zero elsewhere."""
        out = np.zeros((len(self.code), len(self.names)))
        rows = np.flatnonzero(self.code >= 0)
        out[rows, self.code[rows]] = scale
        return out

    def augment(self, sites: LabelledSites, spread: float, c: float) -> LabelledSites:
        """Return sites with one column per level before their features, for a penalty of 1/C on all weights."""
        level_columns = self.columns(spread / np.sqrt(c))
        return replace(sites, x=np.concatenate([level_columns, sites.x], axis=1))

    def held_out_units(self, site: Any) -> AnyArray | None:
        """Return the units to hold out together when σ is chosen: sites, or None for single rows.

        Single rows are used if most levels have one site, because holding it out would leave no rows of the level.
        """
        if site is None:
            return None
        site = np.asarray(site)
        present = self.code >= 0
        pairs = len(
            np.unique(np.column_stack([self.code[present], np.unique(site[present], return_inverse=True)[1]]), axis=0)
        )
        return site if pairs >= 2 * len(self.names) else None


@dataclass(frozen=True)
class RandomEffect:
    """The intercepts of species S and levels L of a column."""

    column: str
    levels: tuple[str, ...]
    effect: Array  # (S, L)
    variance: Array  # (S, L), zero if the sites are uninformative; or empty
    spread: float  # σ: the standard deviation of the levels under the penalty

    @classmethod
    def divided(
        cls, column: str, levels: Levels, spread: float, c: float, shape: Discriminant, *learned: Array
    ) -> tuple["RandomEffect", Array, Array]:
        """Return the effects of a fit to `Levels.augment`, and weights and variances (may be empty) without them."""
        count, unit, rest, effects = len(levels.names), spread / np.sqrt(c), [], []
        for vector, size in zip(learned, (unit, unit**2)):
            if not vector.size:
                rest.append(vector)
                effects.append(vector)
                continue
            nodes, edges = shape.split(vector)
            rest.append(np.concatenate([nodes[:, count:].ravel(), edges]))
            effects.append(size * nodes[:, :count])
        effect, variance = effects
        return cls(column, levels.names, effect, variance, spread), rest[0], rest[1]

    def offsets(self, values: Any, sites: int) -> Array:
        """Return the effects on the scores of species at sites of these levels, `(n, S)`; zero at new levels."""
        text = level_names(values)
        if len(text) != sites:
            raise MismatchError(f"column '{self.column}' has {len(text):,} levels, expected {sites:,}: one per site")
        position = {name: k for k, name in enumerate(self.levels)}
        code = np.array([position.get(name, -1) for name in text], dtype=np.int64)
        return np.where(code[:, None] >= 0, self.effect.T[code], 0.0)

    def sound(self, species: int) -> bool:
        """Return whether a fit could have written the arrays."""
        shape = (species, len(self.levels))
        shapes = self.effect.shape == shape and self.variance.shape in (shape, (0,))
        numbers = all(np.isfinite(part).all() for part in (self.effect, self.variance))
        return bool(shapes and numbers and np.all(self.variance >= 0) and self.spread > 0)

    def unknown(self, values: Any) -> int:
        """Return the number of sites with a new or missing level."""
        return sum(name not in self.levels for name in level_names(values).tolist())

    def rows(self, species: Sequence[str], labels: States, values: Any) -> list[Row]:
        """Return one row per species and level: the effect, its standard error and 95 % interval, and its sites."""
        text = level_names(values)
        spread = np.sqrt(np.where(self.variance > 0, self.variance, np.nan)) if self.variance.size else None
        out = []
        for s, name in enumerate(species):
            observed = labels[:, s] >= 0
            for g, level in enumerate(self.levels):
                at_level = observed & (text == level)
                effect, sd = float(self.effect[s, g]), float("nan") if spread is None else float(spread[s, g])
                out.append(
                    {
                        "species": name,
                        "level": level,
                        "effect": effect,
                        "sd": sd,
                        "low": effect - HALF_WIDTH * sd,
                        "high": effect + HALF_WIDTH * sd,
                        "sites": int(np.count_nonzero(at_level)),
                        "presences": int(np.count_nonzero(labels[at_level, s] > 0)),
                    }
                )
        return out

    def by_species(self, species: Sequence[str]) -> list[Row]:
        """Return one row per species, the widest spread first: spread of its levels, and lowest and highest level.

        The spread is the standard deviation of the effects, including their errors.
        """
        errors = self.variance.mean(axis=1) if self.variance.size else np.zeros(len(species))
        spread = np.sqrt(self.effect.var(axis=1) + errors)
        lowest, highest = self.effect.argmin(axis=1), self.effect.argmax(axis=1)
        rows = [
            {
                "species": name,
                "spread": float(spread[s]),
                "lowest": self.levels[lowest[s]],
                "lowest effect": float(self.effect[s, lowest[s]]),
                "highest": self.levels[highest[s]],
                "highest effect": float(self.effect[s, highest[s]]),
            }
            for s, name in enumerate(species)
        ]
        return sorted(rows, key=lambda row: -float(row["spread"]))
