"""A whole group of species fitted at once, for the benchmark of the field: shared axes with a setting's choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sdm import SharedMaxent
from sdm.data.place import PLACE
from sdm.kinds.species.methods.axes import group_blocks

Array = NDArray[np.float64]

GIVEN_POINTS = 2_000  # of the given background, as many as a run draws: a share of the base measure is on them
AT_RECORDS = 1e-3  # base measure of a record, of a site's: sites have the records' values already


@dataclass(frozen=True)
class GroupFit:
    """How a group is fitted. The base measure lies on its sites, and a share of it on given background points; a
    species with `n` records has the weight `n^power`, above 1 for stronger shrinkage of rare species."""

    features: str = "lqph"
    strength: float | str = "auto"
    given: float = 0.1
    power: float = 1.3
    place: bool = False  # with waves of place
    seed: int = 1
    tolerance: float = 1e-4
    threads: int = 1

    def columns(self, variables: Sequence[str]) -> list[str]:
        """Return the variables of the model, with those of place if it has them."""
        return [*variables, *PLACE] if self.place else list(variables)

    def table(self, rows: pd.DataFrame, variables: Sequence[str]) -> pd.DataFrame:
        """Return the variables of the model at some rows."""
        x, y = PLACE
        return rows.rename(columns={"x": x, "y": y})[self.columns(variables)]

    def fit(
        self,
        records: Mapping[str, pd.DataFrame],
        sites: pd.DataFrame,
        background: pd.DataFrame,
        variables: Sequence[str],
        categorical: Sequence[str],
    ) -> SharedMaxent:
        """Fit to the records of each species, the sites of the group, and background points of the region."""
        points = background[:GIVEN_POINTS] if self.given else background[:0]
        counts = np.array([len(own) for own in records.values()])
        every = [*records.values(), sites, points]
        labels = np.repeat([*records, "", ""], [len(rows) for rows in every])
        each = counts ** (self.power - 1.0) * counts.sum() / np.sum(counts**self.power)
        weight = np.concatenate([np.repeat(each, counts), np.ones(len(sites) + len(points))])
        on_sites = (1.0 - self.given) / len(sites)
        shares = (on_sites * AT_RECORDS, on_sites, self.given / max(1, len(points)))
        base = np.repeat(shares, [counts.sum(), len(sites), len(points)])
        model = SharedMaxent(
            self.features,
            self.strength,
            categorical=categorical,
            tolerance=self.tolerance,
            seed=self.seed,
            threads=self.threads,
        )
        rows = pd.concat(every, ignore_index=True)
        blocks = None
        if self.strength == "auto":
            xy = rows[["x", "y"]].to_numpy(dtype=np.float64)
            blocks = group_blocks(xy, labels != "", self.seed, bool(np.abs(xy).max() <= 360.0))
        return model.fit(self.table(rows, variables), labels, weight, base * len(sites), blocks)

    def links(self, model: SharedMaxent, species: str, rows: pd.DataFrame, variables: Sequence[str]) -> Array:
        """Return the log density of a species (up to a constant) at some rows."""
        return model.predict(self.table(rows, variables), "link")[:, model.species_.index(species)]
