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
SITES = 400  # points in the chart
AVERAGED = 100  # sites to average over where features combine variables


def specific_shares(model: GroupModel) -> Array:
    """Return the species-specific share of every species' response; the rest is shared.

    Shares are ratios of the variances of the two parts of the score over the sites. They are NaN if the model does not
    contain its sites, and 0 for a species without a specific part.
    """
    shares = np.zeros(len(model.species))
    with_part = np.flatnonzero(np.any(model.own != 0, axis=0))
    shares[with_part] = np.nan
    if with_part.size and model.reference is not None:
        columns = list(model.reference.values.T)
        along = model.axis_scores(columns)
        for s in with_part:
            specific = np.var(model.scores_of(columns, np.zeros(model.rank), model.own[:, s]))
            shared = np.var(model.places[:, s] @ along)
            shares[s] = specific / (specific + shared) if specific > 0 else 0.0
    return shares


def shared_numbers(model: GroupModel, species: str) -> Numbers:
    """Return the entries of a species' results that describe its group (JSON values)."""
    s = model.position(species)
    specific = float(specific_shares(model)[s])
    return {
        "rank": model.rank,
        "explained": model.explained.tolist(),
        "shared": 1.0 - specific,
        "own": specific,
        "records": float(model.records[s]),
        "places": model.places[:, s].tolist(),
        "relatives": [[name, alike] for name, alike in model.relatives(species, RELATIVES)],
        "strength": float(model.strength),
        "gap": model.meta.get("gap"),
        "species": len(model.species),
        "spatial": bool(model.meta.get("spatial", False)),
    }


def reference_sites(model: GroupModel, most: int = SITES) -> Array | None:
    """Return the values of the variables at up to `most` evenly spaced sites; None if the model has no sites."""
    return None if model.reference is None else evenly(model.reference.values, most)


def axis_profiles(model: GroupModel, axes: Sequence[int]) -> dict[int, list[Profile]]:
    """Return the response of each axis to each variable, centred, in standard deviations over the sites.

    The response is the additive effect of the variable. Where features combine variables (products, trees), it is the
    mean over the sites while the variable alone changes. Variables of place have no curve.
    """
    combined = len(model.shapes) > 0 or bool(np.any(model.terms.kind == PRODUCT))
    sites = reference_sites(model, AVERAGED) if combined else None
    variables = [v for v, name in enumerate(model.names) if name not in PLACE]
    return {k: [_profile(model, k, v, sites) for v in variables] for k in axes}


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
