"""Limited-memory quasi-Newton with penalties on the weights' absolute values (orthant-wise: Andrew & Gao 2007).

The search starts from the inverse curvature, or an approximation, if there is one. With an update every few iterations
this is Newton's method, with gradient corrections between updates.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sdm.maxent.solvers.descent import ARMIJO, backtrack
from sdm.types import Array

MEMORY = 20

Inverse = Callable[[Array], Array]
Smooth = Callable[[Array], tuple[float, Array]]


class Iterate(NamedTuple):
    """A point of the search: value and gradient of the smooth part, and the value with penalties."""

    w: Array
    smooth: float
    gradient: Array
    value: float


def minimise(
    smooth: Smooth,
    start: Array,
    l1: Array,
    done: Callable[[Iterate], bool],
    max_iterations: int,
    inverse_at: Callable[[Array], Inverse] | None = None,
    refresh: int = 8,
    slack: float = 0.0,
) -> tuple[Iterate, int]:
    """Minimise `smooth(w) + Σ l1·|w|` until `done`, which is called once per iteration; return also their number.

    `smooth` returns value and gradient. `inverse_at(w)` returns a function that multiplies a vector by the inverse
    curvature at a point, for weights without `l1` only. It is used for `refresh` iterations. Relative increases of the
    value by `slack` count as rounding errors.
    """
    point = _evaluate(smooth, start, l1)
    pairs: list[tuple[Array, Array, float]] = []
    inverse: Inverse | None = None
    for iteration in range(max_iterations):
        if done(point):
            return point, iteration
        if inverse_at is not None and iteration % refresh == 0:
            inverse, pairs = inverse_at(point.w), []
        steepest = -pseudo_gradient(point.w, point.gradient, l1)
        direction = _apply_inverse(steepest, pairs, inverse)
        direction[(direction * steepest <= 0) & (l1 > 0)] = 0.0
        if direction @ steepest <= 0:
            direction, pairs, inverse = steepest, [], None
        first = 1.0 if pairs or inverse else 1.0 / max(1.0, np.abs(steepest).sum())
        new = _search(smooth, point, direction, steepest, l1, first, slack)
        if new is None:
            if not pairs and inverse is None:
                return point, iteration
            inverse = inverse_at(point.w) if pairs and inverse_at is not None else None
            pairs = []
            continue
        s, y = new.w - point.w, new.gradient - point.gradient
        if 0.0 < 1e-12 * (y @ y) < s @ y:  # the square of a tiny y underflows
            pairs = [*pairs[1 - MEMORY :], (s, y, 1.0 / float(s @ y))]
        point = new
    return point, max_iterations


def pseudo_gradient(w: Array, gradient: Array, l1: Array) -> Array:
    """Return the shortest subgradient of `smooth + Σ l1·|w|`, which is zero at the minimum."""
    out = gradient + l1 * np.sign(w)
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where((w == 0) & (l1 > 0), shrunk, out)


def _evaluate(smooth: Smooth, w: Array, l1: Array) -> Iterate:
    value, gradient = smooth(w)
    return Iterate(w, value, gradient, value + float(l1 @ np.abs(w)))


def _search(
    smooth: Smooth, point: Iterate, direction: Array, steepest: Array, l1: Array, length: float, slack: float
) -> Iterate | None:
    """Halve the step until the value decreases enough; weights with a penalty stop at zero instead of changing sign."""
    orthant = np.where(point.w != 0, np.sign(point.w), np.sign(steepest))

    def attempt(length: float) -> Iterate:
        w = point.w + length * direction
        w[(l1 > 0) & (w * orthant < 0)] = 0.0
        return _evaluate(smooth, w, l1)

    def enough(new: Iterate, _: float) -> bool:
        fall = ARMIJO * float(steepest @ (new.w - point.w))
        return bool(new.value <= point.value - fall + slack * abs(point.value) and np.any(new.w != point.w))

    step = backtrack(attempt, enough, length=length)
    return None if step is None else step[0]


def _apply_inverse(vector: Array, pairs: list[tuple[Array, Array, float]], inverse: Inverse | None) -> Array:
    """Return the inverse-Hessian estimate times `vector` (two-loop recursion), starting with `inverse` if there is
    one."""
    q = vector.copy()
    steps = []
    for s, y, rho in reversed(pairs):
        a = rho * float(s @ q)
        q -= a * y
        steps.append(a)
    if inverse is not None:
        q = inverse(q)
    elif pairs:
        s, y, rho = pairs[-1]
        q *= 1.0 / (rho * float(y @ y))
    for (s, y, rho), a in zip(pairs, reversed(steps)):
        q += (a - rho * float(y @ q)) * s
    return q
