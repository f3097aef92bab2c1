"""The training table: the variables at the presences of one species and at the background."""

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

if TYPE_CHECKING:  # only for annotations
    from sdm.data.background import Background
    from sdm.data.rasters.stack import Stack
    from sdm.data.records.clean import CleanPoints
    from sdm.data.records.samples import Swd


OF_BACKGROUND = ("background", "background_x", "background_y", "weights", "background_folds")


@dataclass(frozen=True)
class Survey:
    """Values at surveyed sites with presence and with absence."""

    presence: np.ndarray
    absence: np.ndarray


@dataclass(frozen=True)
class SampleTable:
    """Training data of one species: the V variables at its m presences and at N background points.

    Weights are None if all are equal.
    """

    species: str
    names: tuple[str, ...]
    categorical: tuple[str, ...]  # variables whose values are codes of classes
    presence: np.ndarray  # (m, V), without NaN
    background: np.ndarray  # (N, V), without NaN
    presence_x: np.ndarray  # in the CRS of the layers; NaN in a table without coordinates
    presence_y: np.ndarray
    background_x: np.ndarray
    background_y: np.ndarray
    weights: np.ndarray | None = None  # base weights of the background
    presence_weights: np.ndarray | None = None
    presence_base: np.ndarray | None = None  # base weights of the presences' cells, if they join the background
    folds: np.ndarray | None = None  # labels, if a column is named
    background_folds: np.ndarray | None = None
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # classes of text columns, by code
    titles: dict[str, dict[float, str]] = field(default_factory=dict)  # names of categories in the files of layers
    sampling: Numbers = field(default_factory=dict)  # the background, effort, its treatment, thinning
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # risks of misinterpretation
    region: Region | None = None  # region of the fit, with variables of place

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
        """The base measure of all rows, presences first, as in `Maxent.fit`; None if all are equal."""
        if self.weights is None:
            return None
        presences = np.full(self.n_presences, self.weights.mean()) if self.presence_base is None else self.presence_base
        return np.concatenate([presences, self.weights])

    def take(self, presences: np.ndarray, background: np.ndarray | None = None) -> "SampleTable":
        """Return a table of some presences and some (or all) of the background, by index or by booleans."""
        names = ("presence", "presence_x", "presence_y", "presence_weights", "presence_base", "folds")
        part = take_rows(self, presences, names)
        return part if background is None else take_rows(part, background, OF_BACKGROUND)

    def with_background_of(self, other: "SampleTable") -> "SampleTable":
        """Return the table with the background arrays of another table where they are equal.

        Many species then share one background in memory.
        """
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in OF_BACKGROUND}
        same: Numbers = {}
        for name, (mine, theirs) in pairs.items():
            alike = mine is not None and theirs is not None and (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
            if alike and mine.tobytes() == theirs.tobytes():
                same[name] = theirs
        return replace(self, **same)

    def environment(self) -> tuple[str, np.ndarray]:
        """Return the noun and the values of the environment, for correlations of variables."""
        return "background points", self.background

    def pick(self, names: Sequence[str]) -> "SampleTable":
        """Return the table with some of its variables, in its order."""
        return self.arrange([name for name in self.names if name in names])

    def arrange(self, names: Sequence[str]) -> "SampleTable":
        """Return the table with some of its variables, in the order of `names`."""
        columns = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            categorical=tuple(name for name in self.categorical if name in names),
            presence=np.ascontiguousarray(self.presence[:, columns]),
            background=np.ascontiguousarray(self.background[:, columns]),
            levels={name: words for name, words in self.levels.items() if name in names},
        )

    def filled(self, seed: int) -> "SampleTable":
        """Return the table with missing values at presences imputed by values of other presences at random.

        Each variable keeps the distribution of its presences with values.
        """
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
        note = f"{rows:,} presences lack {many:,} values, which are imputed with values of other presences at random"
        return replace(self, presence=presence, notes=(*self.notes, note))

    def recode(self, levels: Mapping[str, Sequence[str]]) -> "SampleTable":
        """Return the table with other codes for text classes: their positions in `levels`, which contains all
        classes."""
        other = {name: words for name, words in self.levels.items() if tuple(levels.get(name, words)) != words}
        if not other:
            return self
        presence, background = self.presence.copy(), self.background.copy()
        for name, words in other.items():
            classes, v = list(levels[name]), self.names.index(name)
            codes = np.array([classes.index(word) for word in words], dtype=np.float64)
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
        """Join the cleaned points of a species and a background.

        `presence_effort` is the sampling effort in the presences' cells, if the background was made with effort;
        `folds` are labels of the presences.
        """
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
        """Return the table of one species in samples with data.

        `background` is a separate table with only background rows. With `partial`, presences with missing
        values of some variables are kept, with NaN (see `filled`).
        """
        from sdm.data.records.weights import check_weights

        presences, other = swd.take(swd.species == species), background
        if other is None:
            other = swd.take(swd.is_background)
        source, names = Path(swd.source).name, tuple(swd.table.columns)
        if absent := [name for name in names if name not in other.table.columns]:
            raise ColumnError(f"background '{Path(other.source).name}' lacks the column '{absent[0]}' of the presences")
        all_rows = pd.concat([presences.table, other.table[list(names)]], ignore_index=True)
        encoder = Encoder.learn(all_rows, swd.categorical)
        both = encoder.encode(all_rows)
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
    """Return a mask of rows, presences then background, with sampling effort; all without such a column."""
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
    """Return the fold labels of records; raise if a record has none."""
    if fold is not None and (missing := int(np.count_nonzero(fold == ""))):
        raise BadValueError(f"{missing:,} of {fold.size:,} records of '{source}' have no fold: fill the column")
    return fold
