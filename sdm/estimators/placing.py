"""A species on fixed axes: its slopes along them, with the penalty that the species of the group had.

With the axes `A` of a group fixed, balanced as the nuclear norm has them, its problem for one species is

    min_b  ln Σ_i q_i e^{z_i·b} − z̃·b + μ/(2π) ‖b‖²

with `z` the sites on the axes and `π` the species' share of all records: strictly convex in a few numbers. For a
species of the group its solution is the place that the fit of the group gave it.
"""

from dataclasses import dataclass

import numpy as np

from sdm.models.group import GroupModel
from sdm.shared.factors import Factors
from sdm.types import Array

_STEPS = 200  # of Newton's method, which needs about six


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
    b = np.zeros(group.rank)
    value, p = _value(z, q0, wanted, ridge, b)
    gap, steps = np.inf, 0
    for _ in range(_STEPS):
        mean = z @ p
        slope = mean - wanted + ridge * b
        gap = float(slope @ slope) / (2.0 * ridge)
        if gap <= 1e-12:
            break
        curvature = (z * p) @ z.T - np.outer(mean, mean) + ridge * np.eye(len(b))
        direction = -np.linalg.solve(curvature, slope)
        size_of_step = 1.0
        while size_of_step > 1e-10:
            new, q = _value(z, q0, wanted, ridge, b + size_of_step * direction)
            if new <= value + 1e-4 * size_of_step * float(slope @ direction) + 1e-15 * abs(value):
                break
            size_of_step *= 0.5
        else:
            break
        b, value, p, steps = b + size_of_step * direction, new, q, steps + 1
    return Placed(back @ b, gap, steps)


def _value(z: Array, q0: Array, wanted: Array, ridge: float, b: Array) -> tuple[float, Array]:
    """Return the value of some slopes, and the density that they give."""
    theta = b @ z
    top = theta.max()
    p = q0 * np.exp(theta - top)
    total = p.sum()
    return float(top + np.log(total) - wanted @ b + 0.5 * ridge * b @ b), p / total
