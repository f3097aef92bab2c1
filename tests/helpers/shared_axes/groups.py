"""Groups of species on axes that are known: every number of the model is computed here the plain way."""

from typing import Any

import numpy as np

from sdm.features.terms import CATEGORY, LINEAR, QUADRATIC, Terms
from sdm.models.group import GroupModel
from sdm.models.interface import ModelVariable
from sdm.novelty.reference import Reference

NAMES = ("heat", "rain", "slope")
PATH = [
    {"strength": c, "penalty": c / 50, "rank": rank, "loss": loss, "held_out": held, "held_out_se": 0.03, "gap": 2e-5,
     "chosen": c == 1.0}
    for c, rank, loss, held in ((4.0, 1, 8.2, 8.25), (2.0, 2, 8.0, 8.12), (1.0, 2, 7.9, 8.05), (0.5, 3, 7.7, 8.2))
]  # fmt: skip


def group(
    sites: np.ndarray,
    species: list[str] | int = 12,
    *,
    rank: int = 2,
    names: tuple[str, ...] = NAMES,
    own: bool = False,
    category: int | None = None,
    known: bool = True,
    seed: int = 1,
    **meta: Any,
) -> GroupModel:
    """A model of species with linear and quadratic features of the variables at some sites; weights are drawn.

    `category` is a variable that has categories; with `own`, every third species has a part of its own; a model that is
    not `known` to its sites keeps none of them.
    """
    rng = np.random.default_rng(seed)
    listed = [f"Species {s}" for s in range(species)] if isinstance(species, int) else species
    lo, hi = sites.min(axis=0), sites.max(axis=0)
    numeric = np.array([v for v in range(len(names)) if v != category])
    square = sites[:, numeric] ** 2
    parts = [
        Terms.build(LINEAR, numeric, lo=lo[numeric], hi=hi[numeric]),
        Terms.build(QUADRATIC, numeric, lo=square.min(axis=0), hi=square.max(axis=0)),
    ]
    codes = () if category is None else tuple(np.unique(sites[:, category]).tolist())
    if category is not None:
        parts.append(Terms.build(CATEGORY, np.full(len(codes), category), knot=np.array(codes)))
    terms = Terms.concatenate(parts)
    phi = terms.evaluate(sites)
    centre, spread = phi.mean(axis=0), phi.std(axis=0)
    phi = (phi - centre) / spread
    weights = rng.normal(size=(len(terms), rank)) @ rng.normal(size=(rank, len(listed)))
    weights /= (phi @ weights).std(axis=0).max() or 1.0
    _, size, right = np.linalg.svd(phi @ weights, full_matrices=False)
    size, right = size[:rank], right[:rank]
    scale = np.sqrt(len(sites))
    axes, places = weights @ right.T / size * scale, size[:, None] * right / scale
    apart = np.zeros((len(terms), len(listed)))
    if own:
        apart[:, ::3] = 0.4 * rng.normal(size=(len(terms), len(listed[::3])))
    z = axes.T @ phi.T
    theta = places.T @ z + (phi @ apart).T
    normaliser = np.log(np.exp(theta).mean(axis=1))
    density = np.exp(theta - normaliser[:, None]) / len(sites)
    variables = tuple(
        ModelVariable(name, v == category, float(lo[v]), float(hi[v]), codes if v == category else ())
        for v, name in enumerate(names)
    )
    told = {"path": PATH, "gap": 2e-5, "status": "converged", "version": "0.1.0", "seed": seed, "presences": 500}
    return GroupModel(
        variables,
        terms,
        tuple(listed),
        centre,
        spread,
        axes,
        places,
        apart,
        rng.integers(3, 80, len(listed)).astype(float),
        normaliser,
        -(density * np.log(density)).sum(axis=1),
        size**2 / (np.sum(size**2) or 1.0),
        np.column_stack([z.min(axis=1), z.max(axis=1)]),
        n_domain=len(sites),
        strength=1.0,
        penalty=0.02,
        meta={**told, "spatial": False, **meta},
        reference=Reference.of(sites, names, [] if category is None else [names[category]]) if known else None,
    )


def drawn_sites(count: int = 300, seed: int = 2, category: bool = False) -> np.ndarray:
    """Environments of sites; the third variable has three categories if wanted."""
    rng = np.random.default_rng(seed)
    sites = rng.normal(size=(count, 3)) * (4.0, 300.0, 1.0) + (12.0, 900.0, 0.0)
    if category:
        sites[:, 2] = rng.integers(1, 4, count)
    return sites
