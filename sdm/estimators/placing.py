"""A species on fixed axes: its slopes along them, with the penalty that the species of the group had.

With the axes `A` of a group fixed, balanced as the nuclear norm has them, its problem for one species is

    min_b  ln Σ_i q_i e^{z_i·b} − z̃·b + μ/(2π) ‖b‖²

with `z` the sites on the axes and `π` the species' share of all records: strictly convex in a few numbers. For a
species of the group its solution is the place that the fit of the group gave it.
"""

from dataclasses import dataclass

import numpy as np

from sdm.maxent.entropy import Entropy
from sdm.maxent.solvers.descent import Curved, minimise_by_newton
from sdm.models.group import GroupModel
from sdm.shared.factors import Factors
from sdm.types import Array

_STEPS = 200  # of Newton's method, which needs about six
_GAP = 1e-12  # nats


@dataclass(frozen=True)
class Placed:
    """The slopes of a species along the axes of its group, and how far their value can be from the optimum."""

    place: Array
    gap: float
    steps: int


def place_penalty(group: GroupModel, size: float) -> float:
    """Return `μ/(2π)` for a species with an (effective) number of records."""
    return group.penalty * (float(group.records.sum()) + size) / (2.0 * size)


def place_root(group: GroupModel) -> Array:
    """Return what turns slopes along the axes as they are shown into those along balanced axes, (r, r)."""
    if not group.rank:
        return np.zeros((0, 0))
    balanced = Factors(group.axes, group.places).balanced()
    return np.linalg.lstsq(balanced.a, group.axes, rcond=None)[0].astype(np.float64)


def place_species(group: GroupModel, axes: Array, q0: Array, sample: Array, size: float) -> Placed:
    """Place a species on the axes of a group from where its records are: `axes` (r, n) are the sites on the axes, `q0`
    and `sample` the base measure and the records on them. The gap comes from the strength of the penalty."""
    if not group.rank:
        return Placed(np.zeros(0), 0.0, 0)
    root = place_root(group)
    back = np.linalg.inv(root)
    z = back.T @ axes  # scores are slopes · axes = (root slopes) · (root⁻ᵀ axes)
    ridge = 2.0 * place_penalty(group, size)
    wanted = z @ sample

    def evaluate(b: Array) -> Curved:
        gibbs = Entropy().gibbs(b @ z, q0)
        p = q0 * gibbs.ratio
        mean = z @ p
        value = gibbs.tau - float(wanted @ b) + 0.5 * ridge * float(b @ b)
        curvature = (z * p) @ z.T - np.outer(mean, mean) + ridge * np.eye(len(b))
        return value, mean - wanted + ridge * b, curvature

    b, steps = minimise_by_newton(
        evaluate, np.zeros(group.rank), lambda slope, _: float(slope @ slope) <= 2.0 * ridge * _GAP, _STEPS
    )
    slope = evaluate(b)[1]
    return Placed(back @ b, float(slope @ slope) / (2.0 * ridge), steps)
