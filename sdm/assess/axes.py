"""Summaries of the axes of a group of species: shared parts, similar species, sites and curves."""

from collections.abc import Sequence

import numpy as np

from sdm.assess.measures.basic import evenly
from sdm.assess.profiles import Profile, class_names, response_grid
from sdm.data.place import PLACE
from sdm.features.terms import PRODUCT
from sdm.models.group import GroupModel
from sdm.types import Array, Numbers

RELATIVES = 5
SITES = 400  # that are drawn
AVERAGED = 100  # sites that the mean is taken of, where features join variables


def own_shares(model: GroupModel) -> Array:
    """Return the share of every species' response that is its own; the rest is shared.

    The shares are those of the variances of both parts of the score over the sites; NaN where the model does not hold
    its sites. A species without a part of its own shares all of its response.
    """
    own = np.zeros(len(model.species))
    some = np.flatnonzero(np.any(model.own != 0, axis=0))
    own[some] = np.nan
    if some.size and model.reference is not None:
        columns = list(model.reference.values.T)
        along = model.axis_scores(columns)
        for s in some:
            apart = np.var(model.scores_of(columns, np.zeros(model.rank), model.own[:, s]))
            together = np.var(model.places[:, s] @ along)
            own[s] = apart / (apart + together) if apart > 0 else 0.0
    return own


def shared_numbers(model: GroupModel, species: str) -> Numbers:
    """Return the entries of a species' results that describe its group (JSON values)."""
    s = model.position(species)
    own = float(own_shares(model)[s])
    return {
        "rank": model.rank,
        "explained": model.explained.tolist(),
        "shared": 1.0 - own,
        "own": own,
        "records": float(model.records[s]),
        "places": model.places[:, s].tolist(),
        "relatives": [[name, alike] for name, alike in model.relatives(species, RELATIVES)],
        "strength": float(model.strength),
        "gap": model.meta.get("gap"),
        "species": len(model.species),
        "spatial": bool(model.meta.get("spatial", False)),
    }


def known_sites(model: GroupModel, most: int = SITES) -> Array | None:
    """Return the values of the variables at (some of, at even distances) the sites; None if the model has none."""
    return None if model.reference is None else evenly(model.reference.values, most)


def axis_profiles(model: GroupModel, axes: Sequence[int]) -> dict[int, list[Profile]]:
    """Return the response of each axis to each variable, centred, in standard deviations over the sites.

    The response is the additive effect of the variable. Where features combine variables (products, trees), it is the
    mean over the sites while the variable alone changes. Variables of place have no curve.
    """
    joined = len(model.shapes) > 0 or bool(np.any(model.terms.kind == PRODUCT))
    sites = known_sites(model, AVERAGED) if joined else None
    wanted = [v for v, name in enumerate(model.names) if name not in PLACE]
    return {k: [_profile(model, k, v, sites) for v in wanted] for k in axes}


def _profile(model: GroupModel, k: int, v: int, sites: Array | None) -> Profile:
    x = response_grid(model, v)
    if sites is None:
        kind, y = "additive", model.axis_effect(k, v, x)
    else:
        columns = list(np.tile(sites, (x.size, 1)).T)
        columns[v] = np.repeat(x, len(sites))
        scores = model.scores_of(columns, np.eye(model.rank)[k])
        kind, y = "partial", scores.reshape(x.size, len(sites)).mean(axis=1)
    variable = model.variables[v]
    return Profile(variable.name, kind, x, y - y.mean(), variable.lo, variable.hi, class_names(model, v))
