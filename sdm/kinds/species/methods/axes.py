"""The group of a run over species on shared axes: one fit for all species, and one without the records of each fold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sdm.assess.axes import shared_numbers
from sdm.assess.splits.spatial import blocks
from sdm.data.background import Background
from sdm.data.crs import DEGREE_KM
from sdm.data.encode import NamedNumbers
from sdm.data.place import Region, without_place
from sdm.data.table import SampleTable
from sdm.errors import DataError, MismatchError, OptionError
from sdm.estimators.on_axes import OnAxes
from sdm.estimators.shared import SharedMaxent
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.species.sampling import random_share
from sdm.kinds.splitting import RecordPlan
from sdm.kinds.task import estimator_of
from sdm.models.file import load_model
from sdm.models.group import GroupModel
from sdm.models.interface import name_categories
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on, step_by_step
from sdm.types import Array, Index, Numbers, Progress

POWER = 1.3  # weight of a species as a power of its number of records: above 1, rare species are nearer to the others
FOLDS = 5  # blocks of sites that select the strength
_PARTS = (6, 12, 24)  # block size relative to the longer side of the extent: the first that gives enough blocks


@dataclass(frozen=True)
class GroupFits:
    """The axes of a run, from all training records and without each fold; or the axes of a file, for new species. An
    ensemble with spatial features has additional axes of the environment alone."""

    model: GroupModel
    without: Mapping[str, GroupModel] = field(default_factory=dict)
    placing: bool = False
    environment: "GroupFits | None" = None

    @property
    def identity(self) -> list[str]:
        """The identity, on which results depend."""
        identities = [self.model.identity, *(f"{name} {one.identity}" for name, one in self.without.items())]
        return identities if self.environment is None else [*identities, *self.environment.identity]

    def placed(self, species: str, options: RunOptions) -> list[OnAxes]:
        """Return a species on the axes, and on the axes of the environment alone, if any."""
        groups = [self] if self.environment is None else [self, self.environment]
        return [group._on_axes(species, options) for group in groups]

    def _on_axes(self, species: str, options: RunOptions) -> OnAxes:
        predict = options.predict
        return OnAxes(
            self.model,
            None if self.placing else species,
            without=dict(self.without) or None,
            add_presences=options.fit.add_presences,
            prevalence=predict.prevalence,
            unseen=predict.unseen,
            temperature=predict.temperature,
        )

    def numbers(self, species: str, fitted: SpeciesEstimator) -> Numbers:
        """Return the numbers of the group in the results of a species (JSON values)."""
        if not self.placing:
            return shared_numbers(self.model, species)
        group = self.model
        return {
            "rank": group.rank,
            "explained": group.explained.tolist(),
            "shared": 1.0,
            "own": 0.0,
            "records": None,
            "places": cast("OnAxes", getattr(fitted, "on_axes_", fitted)).place_.tolist(),
            "relatives": [],
            "strength": group.strength,
            "gap": None,
            "species": len(group.species),
            "spatial": bool(group.meta.get("spatial", False)),
        }


def fit_axes(
    plans: Mapping[str, RecordPlan],
    options: RunOptions,
    strength: str | float,
    place: bool,
    around: Background | None,
    degrees: bool,
    progress: Progress | None,
) -> GroupFits:
    """Fit the axes of a run to the training records of its species, and again without the records of each fold; with
    spatial features if `place` and coordinates are variables.

    `plans` are the divided records of all species that can be fitted. `around` are random cells with a small part of
    the base measure, so that it is positive outside the sites. `degrees` is whether coordinates are longitudes and
    latitudes.
    """
    tables = {name: one.table for name, one in plans.items()}
    chooser = _estimator(options, options.fit.strength or strength)
    with going_on(progress, "shared axes of the group"):
        model = _fit(chooser, _Rows.of(tables, around, options, place), options, degrees, progress)
    names = list(dict.fromkeys(fold.name for one in plans.values() if one.split for fold in one.split.folds))
    without: dict[str, GroupModel] = {}
    again = _estimator(options, model.strength)
    for name in step_by_step(names, progress, "shared axes without each fold"):
        part = {}
        for species, one in plans.items():
            folds = [] if one.split is None else [fold for fold in one.split.folds if fold.name == name]
            part[species] = one.table.take(folds[0].train) if folds else one.table
        without[name] = _fit(again, _Rows.of(part, around, options, place), options, degrees, None)
    return GroupFits(model, without)


def read_axes(path: str) -> GroupFits:
    """Return the axes of a file for new species."""
    model = load_model(path)
    if not isinstance(model, GroupModel):
        raise OptionError(f"{Path(path).name} is a {model.called}: expected the group.npz of a run with --model shared")
    return GroupFits(model, placing=True)


def _estimator(options: RunOptions, strength: str | float) -> SharedMaxent:
    features = None if options.fit.features == "auto" else options.fit.features
    values = {"features": features, "strength": strength, "threads": options.threads}
    return estimator_of(SharedMaxent, options, values | {"prevalence": options.predict.prevalence})


@dataclass(frozen=True)
class _Rows:
    """All sites and records of a group: sites first, then the records of each species."""

    table: SampleTable  # of any species, for their common part
    names: tuple[str, ...]
    values: Array
    xy: Array
    species: NDArray[np.object_]
    base: Array
    weight: Array
    region: Region | None = None  # of all species together, if coordinates are variables

    @classmethod
    def of(
        cls, tables: Mapping[str, SampleTable], around: Background | None, options: RunOptions, place: bool
    ) -> "_Rows":
        each, sites = list(tables.values()), _distinct_backgrounds(tables)
        base = [np.ones(one.n_background) if one.weights is None else one.weights for one in sites]
        level = float(np.mean(base[0]))
        values = [one.background for one in sites]
        xy = [np.column_stack([one.background_x, one.background_y]) for one in sites]
        if around is not None and len(around):
            share, total = random_share(options, place), sum(float(part.sum()) for part in base)
            base.append(np.full(len(around), share / (1.0 - share) * total / len(around)))
            values.append(around.numbers)
            xy.append(np.column_stack([around.x, around.y]))
        count = sum(map(len, values))
        records = [np.full(one.n_presences, level) if one.presence_base is None else one.presence_base for one in each]
        weights = [np.ones(one.n_presences) if one.presence_weights is None else one.presence_weights for one in each]
        amounts = np.array([float(part.sum()) for part in weights])
        scale = amounts ** (POWER - 1.0) * amounts.sum() / np.sum(amounts**POWER)
        weights = [factor * part for factor, part in zip(scale, weights)]
        names = [name for name, one in tables.items() for _ in range(one.n_presences)]
        variables = tuple(each[0].names)
        names_used = variables if place else without_place(variables)
        columns = [variables.index(name) for name in names_used]
        return cls(
            each[0],
            names_used,
            np.vstack([*values, *(one.presence for one in each)])[:, columns],
            np.vstack([*xy, *(np.column_stack([one.presence_x, one.presence_y]) for one in each)]),
            np.array([None] * count + names, dtype=object),
            np.concatenate([*base, *records]),
            np.concatenate([np.ones(count), *weights]),
            Region.around([one.region for one in each]) if place else None,
        )


def group_blocks(xy: Array, recorded: NDArray[np.bool_], seed: int, degrees: bool) -> Index | None:
    """Return the block of every row, sites and records (`recorded`), for the selection of the strength; None without
    coordinates, or if they are too close together."""
    if not np.isfinite(xy).all():
        return None
    side = float(np.ptp(xy, axis=0).max()) * (DEGREE_KM if degrees else 1.0)
    for parts in _PARTS:
        try:
            split = blocks(xy[recorded], xy[~recorded], side / parts, FOLDS, seed=seed, geographic=degrees)
        except DataError:
            continue
        if split.group is not None and split.background_group is not None:
            out = np.empty(len(xy), dtype=np.int64)
            out[recorded], out[~recorded] = split.group, split.background_group
            return out
    return None


def _fit(
    estimator: SharedMaxent, rows: _Rows, options: RunOptions, degrees: bool, progress: Progress | None
) -> GroupModel:
    """Fit the axes of a group."""
    fresh = estimator.changed(categorical=list(rows.table.categorical))
    places = None
    if isinstance(fresh.strength, str):
        recorded = np.array([name is not None for name in rows.species])
        places = group_blocks(rows.xy, recorded, options.seed, degrees)
    x = NamedNumbers(rows.values, rows.names)
    fresh.fit(x, rows.species, rows.weight, base_weight=rows.base, blocks=places, progress=progress)
    model, region = fresh.model_, rows.region
    variables = name_categories(model.variables, rows.table.levels, rows.table.titles)
    place = {} if region is None else {"region": region.as_dict()}
    return replace(model, variables=variables, meta={**model.meta, **place})


def _distinct_backgrounds(tables: Mapping[str, SampleTable]) -> list[SampleTable]:
    """Return one table for every distinct background."""
    seen: dict[int, SampleTable] = {}
    for one in tables.values():
        seen.setdefault(id(one.background), one)
    distinct: dict[bytes, SampleTable] = {}
    for one in seen.values():
        distinct.setdefault(one.background.tobytes(), one)
    return list(distinct.values())


def same_codes(tables: Mapping[str, SampleTable]) -> dict[str, SampleTable]:
    """Return tables with common codes of text categories."""
    words: dict[str, set[str]] = {}
    for one in tables.values():
        for name, levels in one.levels.items():
            words.setdefault(name, set()).update(levels)
    common = {name: sorted(text) for name, text in words.items()}
    return {species: one.recode(common) for species, one in tables.items()}


def codes_of_group(table: SampleTable, group: GroupModel) -> SampleTable:
    """Return a table with the codes of a group for text categories; new categories have codes after those."""
    labels = group.encoder.labels
    for name in group.categorical:
        if (name in labels) != (name in table.levels):
            new_type, other = ("text", "numbers") if name in table.levels else ("numbers", "text")
            raise MismatchError(f"the classes of '{name}' are {new_type} here and {other} in the group: use {other}")
    new = {name: [word for word in table.levels[name] if word not in listed] for name, listed in labels.items()}
    return table.recode({name: [*listed, *new[name]] for name, listed in labels.items()})
