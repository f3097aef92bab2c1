"""Tables of a group of species on shared axes, as rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sdm.assess.axes import RELATIVES, Shares, axis_profiles, known_sites, response_shares
from sdm.assess.profiles import Profile
from sdm.kinds.artefacts import Artefact
from sdm.maps.group import MOST_AXES
from sdm.models.group import GroupModel
from sdm.types import Row

PATH = ("strength", "penalty", "rank", "loss", "held_out", "held_out_se", "gap", "chosen", "supported")


def axis_name(k: int) -> str:
    """Return what an axis is called, counted from 1."""
    return f"axis {k + 1}"


def axis_rows(model: GroupModel) -> list[Row]:
    """Return one row per axis: how much it explains, alone and with those before it, and the range of the sites."""
    total = np.cumsum(model.explained)
    return [
        {
            "axis": k + 1,
            "explained": float(model.explained[k]),
            "cumulative": float(total[k]),
            "lowest": float(model.ranges[k, 0]),
            "highest": float(model.ranges[k, 1]),
        }
        for k in range(model.rank)
    ]


def species_axis_rows(model: GroupModel, shares: Shares) -> list[Row]:
    """Return one row per species: its records, what it shares and what is its own, and its slope along every axis."""
    return [
        {
            "species": name,
            "records": float(model.records[s]),
            "shared share": float(shares.shared[s]),
            "own share": float(shares.own[s]),
            **{axis_name(k): float(model.places[k, s]) for k in range(model.rank)},
        }
        for s, name in enumerate(model.species)
    ]


def relative_rows(model: GroupModel, most: int = RELATIVES) -> list[Row]:
    """Return the nearest relatives of every species, nearest first; none where no axis tells species apart."""
    return [
        {"species": name, "relative": other, "correlation": alike}
        for name in (model.species if model.rank else ())
        for other, alike in model.relatives(name, most)
    ]


def axis_curve_rows(profiles: Mapping[int, Sequence[Profile]]) -> list[Row]:
    """Return the curves of axes along every variable in long form."""
    return [
        {
            "axis": k + 1,
            "variable": p.variable,
            "value": x,
            "class": p.classes[i] if p.classes else "",
            "effect": y,
            "in training range": bool(p.classes) or p.lo <= x <= p.hi,
        }
        for k, own in profiles.items()
        for p in own
        for i, (x, y) in enumerate(zip(p.x.tolist(), p.y.tolist()))
    ]


def strength_rows(meta: Mapping[str, Any]) -> list[Row]:
    """Return the fits along the path of strengths, the weakest first."""
    rows = [row for row in meta.get("path") or () if isinstance(row, dict)]
    known = [{key: "" if row.get(key) is None else row[key] for key in PATH} for row in rows]
    return sorted(known, key=lambda row: float(row["strength"]))


def site_rows(model: GroupModel, axes: int) -> list[Row]:
    """Return (some of) the sites with their environment and their places on the first axes."""
    sites = known_sites(model)
    if sites is None or not model.rank:
        return []
    scores = model.axis_scores(list(sites.T))[:axes]
    return [
        {**dict(zip(model.names, values.tolist())), **{axis_name(k): float(z) for k, z in enumerate(own)}}
        for values, own in zip(sites, scores.T)
    ]


GROUP_TABLES: tuple[Artefact[GroupModel], ...] = (
    Artefact("axes", "axes.csv", axis_rows),
    Artefact(
        "species axes",
        "species_axes.csv",
        lambda model: species_axis_rows(model, response_shares(model)),
    ),
    Artefact("relatives", "relatives.csv", relative_rows),
    Artefact(
        "axis curves",
        "axis_curves.csv",
        lambda model: axis_curve_rows(axis_profiles(model, range(min(model.rank, MOST_AXES)))),
    ),
    Artefact("sites", "site_axes.csv", lambda model: site_rows(model, MOST_AXES)),
    Artefact("path", "path.csv", lambda model: strength_rows(model.meta)),
)
