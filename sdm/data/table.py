"""The table that is fitted: the variables at the presences of one species and at the background."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdm.data.encode import Encoder
from sdm.data.place import Region
from sdm.data.records.columns import row_count
from sdm.data.records.frames import pd, take_rows
from sdm.errors import BadValueError, ColumnError, NoRecordsError, VariableError
from sdm.types import Numbers

if TYPE_CHECKING:  # a table is made of these, and needs none of their code
    from sdm.data.background import Background
    from sdm.data.rasters.stack import Stack
    from sdm.data.records.clean import CleanPoints
    from sdm.data.records.samples import Swd


OF_BACKGROUND = ("background", "background_x", "background_y", "weights", "background_folds")  # columns of a table


@dataclass(frozen=True)
class Survey:
    """Values at sites that were visited: where the species was found, and where it was not."""

    presence: np.ndarray
    absence: np.ndarray


@dataclass(frozen=True)
class SampleTable:
    """The data that one species is fitted to: the V variables at its m presences and at N background points. Weights
    are None if all are equal."""

    species: str
    names: tuple[str, ...]
    categorical: tuple[str, ...]  # variables whose values are codes of classes
    presence: np.ndarray  # (m, V), without NaN
    background: np.ndarray  # (N, V), without NaN
    presence_x: np.ndarray  # in the CRS of the layers; NaN where a table came without
    presence_y: np.ndarray
    background_x: np.ndarray
    background_y: np.ndarray
    weights: np.ndarray | None = None  # base weights of the background
    presence_weights: np.ndarray | None = None
    presence_base: np.ndarray | None = None  # base weights of the presences' cells, for when they join the background
    folds: np.ndarray | None = None  # labels, if a column of them was named
    background_folds: np.ndarray | None = None
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # classes that came as text, by code
    titles: dict[str, dict[float, str]] = field(default_factory=dict)  # names of categories that layers' files have
    sampling: Numbers = field(default_factory=dict)  # the background, effort, its treatment, thinning
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # what could mislead
    region: Region | None = None  # where its places are, if variables of place are among its variables

    def points(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Return the kinds of points with their x and y: presences, then background."""
        return [("presence", self.presence_x, self.presence_y), ("background", self.background_x, self.background_y)]

    @property
    def n_presences(self) -> int:
        """Number of presences."""
        return len(self.presence)

    @property
    def n_background(self) -> int:
        """Number of background points."""
        return len(self.background)

    @property
    def base_weights(self) -> np.ndarray | None:
        """The base measure of all rows, presences first, as `Maxent.fit` takes it; None if all are equal."""
        if self.weights is None:
            return None
        presences = np.full(self.n_presences, self.weights.mean()) if self.presence_base is None else self.presence_base
        return np.concatenate([presences, self.weights])

    def take(self, presences: np.ndarray, background: np.ndarray | None = None) -> "SampleTable":
        """Return a table of some of the presences and some (or all) of the background, by index or by booleans."""
        names = ("presence", "presence_x", "presence_y", "presence_weights", "presence_base", "folds")
        some = take_rows(self, presences, names)
        return some if background is None else take_rows(some, background, OF_BACKGROUND)

    def with_background_of(self, other: "SampleTable") -> "SampleTable":
        """Return the table with the arrays of another one in place of its own where they are the same, so that many
        species hold one background."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in OF_BACKGROUND}
        same: Numbers = {}
        for name, (mine, theirs) in pairs.items():
            alike = mine is not None and theirs is not None and (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
            if alike and mine.tobytes() == theirs.tobytes():
                same[name] = theirs
        return replace(self, **same)

    def environment(self) -> tuple[str, np.ndarray]:
        """Return what stands for the environment, over which variables are correlated: its name, and the variables."""
        return "background points", self.background

    def pick(self, names: Sequence[str]) -> "SampleTable":
        """Return the table with some of its variables, in its own order."""
        return self.arrange([name for name in self.names if name in names])

    def arrange(self, names: Sequence[str]) -> "SampleTable":
        """Return the table with some of its variables, in the order that is given."""
        at = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            categorical=tuple(name for name in self.categorical if name in names),
            presence=np.ascontiguousarray(self.presence[:, at]),
            background=np.ascontiguousarray(self.background[:, at]),
            levels={name: words for name, words in self.levels.items() if name in names},
        )

    def filled(self, seed: int) -> "SampleTable":
        """Return the table without missing values at presences: each is that of another presence, drawn at random, so
        that every variable has the distribution of the presences that have it."""
        gaps = np.isnan(self.presence)
        if not gaps.any():
            return self
        presence, rng = self.presence.copy(), np.random.default_rng(seed)
        for v in np.flatnonzero(gaps.any(axis=0)):
            missing = gaps[:, v]
            if missing.all():
                raise VariableError(
                    f"{self.species}: no presence has a value of '{self.names[v]}': add it to --exclude"
                )
            presence[missing, v] = rng.choice(presence[~missing, v], int(missing.sum()))
        rows, many = int(gaps.any(axis=1).sum()), int(gaps.sum())
        said = f"{rows:,} presences lack {many:,} values, which are imputed with values of other presences at random"
        return replace(self, presence=presence, notes=(*self.notes, said))

    def recode(self, levels: Mapping[str, Sequence[str]]) -> "SampleTable":
        """Return the table with other codes for classes that came as text: their places in these lists, which have all
        of them."""
        other = {name: words for name, words in self.levels.items() if tuple(levels.get(name, words)) != words}
        if not other:
            return self
        presence, background = self.presence.copy(), self.background.copy()
        for name, words in other.items():
            known, v = list(levels[name]), self.names.index(name)
            codes = np.array([known.index(word) for word in words], dtype=np.float64)
            for part in (presence, background):
                part[:, v] = codes[part[:, v].astype(np.int64)]
        new = {name: tuple(levels.get(name, words)) for name, words in self.levels.items()}
        return replace(self, presence=presence, background=background, levels=new)

    @classmethod
    def from_stack(
        cls,
        stack: "Stack",
        points: "CleanPoints",
        background: "Background",
        *,
        presence_weights: np.ndarray | None = None,
        presence_effort: np.ndarray | None = None,
        folds: np.ndarray | None = None,
    ) -> "SampleTable":
        """Put the cleaned points of a species and a background together. `presence_effort` is the sampling effort in
        the presences' cells, if the background was made with effort; `folds` are labels of the presences."""
        weight = background.weight
        base = background.weighting.weight(stack.cell_area(points.rows), presence_effort)
        equal = bool(np.all(weight == weight[:1]) and np.all(base == weight[0]))
        return cls(
            species=points.species,
            names=stack.names,
            categorical=stack.categorical,
            presence=np.ascontiguousarray(points.values, dtype=np.float64),
            background=background.numbers,
            presence_x=points.x,
            presence_y=points.y,
            background_x=background.x,
            background_y=background.y,
            weights=None if equal else weight,
            presence_weights=presence_weights,
            presence_base=None if equal else base,
            folds=folds,
            titles=stack.titles,
        )

    @classmethod
    def from_swd(
        cls, swd: "Swd", species: str, background: "Swd | None" = None, *, partial: bool = False
    ) -> "SampleTable":
        """Take one species out of a table of samples with data. `background` is a table of its own, all of whose rows
        count. With `partial`, presences that have some of the variables are kept, with NaN (see `filled`).
        """
        from sdm.data.records.weights import check_weights

        presences, other = swd.take(swd.species == species), background
        if other is None:
            other = swd.take(swd.is_background)
        source, names = Path(swd.source).name, tuple(swd.table.columns)
        if absent := [name for name in names if name not in other.table.columns]:
            raise ColumnError(f"background '{Path(other.source).name}' lacks the column '{absent[0]}' of the presences")
        whole = pd.concat([presences.table, other.table[list(names)]], ignore_index=True)
        encoder = Encoder.learn(whole, swd.categorical)
        both = encoder.encode(whole)
        is_presence = np.arange(len(both)) < len(presences.species)
        complete = ~np.isnan(both).any(axis=1)
        if partial:
            complete |= is_presence & ~np.isnan(both).all(axis=1)
        sampled = _sampled(presences, other)
        unseen = int(np.count_nonzero(complete & ~sampled))
        use = complete & sampled
        for kind, usable in (("presence", use[is_presence]), ("background point", use[~is_presence])):
            if not usable.any():
                raise NoRecordsError(f"{species}: no {kind} has a value for every variable in '{source}'")
        lost = int(np.count_nonzero(~use)) - unseen
        faults = {"without a value for every variable": lost, "where the sampling effort is zero or missing": unseen}
        if presences.weight is not None:
            check_weights(presences.weight, f"{species}: the column of weights")
        presences, other = presences.take(use[is_presence]), other.take(use[~is_presence])
        weights, base = _effort_weights(presences, other)
        return cls(
            species=species,
            names=names,
            categorical=swd.categorical,
            presence=np.ascontiguousarray(both[is_presence & use]),
            background=np.ascontiguousarray(both[~is_presence & use]),
            presence_x=presences.x,
            presence_y=presences.y,
            background_x=other.x,
            background_y=other.y,
            weights=weights,
            presence_weights=presences.weight,
            presence_base=base,
            folds=_complete_labels(presences.fold, source),
            background_folds=None if other.fold is None or np.any(other.fold == "") else other.fold,
            levels=encoder.labels,
            notes=tuple(f"{row_count(count)} {fault} dropped" for fault, count in faults.items() if count),
        )


def _sampled(presences: "Swd", background: "Swd") -> np.ndarray:
    """Return which rows, presences then background, have sampling effort; all without such a column."""
    if presences.effort is None or background.effort is None:
        return np.ones(len(presences.species) + len(background.species), dtype=bool)
    effort = np.concatenate([presences.effort, background.effort])
    if np.any(effort < 0):
        raise BadValueError(f"{np.count_nonzero(effort < 0):,} rows have negative sampling effort: expected 0 or more")
    return np.asarray(np.isfinite(effort) & (effort > 0))


def _effort_weights(presences: "Swd", background: "Swd") -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the base weights of background and presences: sampling effort, with a mean of 1 over the background."""
    weight, base = background.effort, presences.effort
    if weight is None or base is None or (np.all(weight == weight[0]) and np.all(base == weight[0])):
        return None, None
    return weight / weight.mean(), base / weight.mean()


def _complete_labels(fold: np.ndarray | None, source: str) -> np.ndarray | None:
    """Return the labels of records' folds; each record must have one."""
    if fold is not None and (missing := int(np.count_nonzero(fold == ""))):
        raise BadValueError(f"{missing:,} of {fold.size:,} records of '{source}' have no fold: fill the column")
    return fold
