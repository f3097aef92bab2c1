"""Limited-memory quasi-Newton, with penalties on the weights' absolute values (orthant-wise: Andrew & Gao 2007).

Where the inverse curvature can be had, the search begins from it, and takes it anew every few iterations: Newton's
method, whose steps in between are corrected by the gradients that they found.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sdm.types import Array

MEMORY = 20
ARMIJO = 1e-4
REFRESH = 8  # iterations with one inverse curvature

Inverse = Callable[[Array], Array]
Smooth = Callable[[Array], tuple[float, Array]]


class Step(NamedTuple):
    """Where the search is: the point, the smooth part's value and gradient, and the value with penalties."""

    w: Array
    smooth: float
    gradient: Array
    value: float


def minimise(
    smooth: Smooth,
    start: Array,
    l1: Array,
    done: Callable[[Step], bool],
    max_iterations: int,
    inverse_at: Callable[[Array], Inverse] | None = None,
) -> tuple[Step, int]:
    """Minimise `smooth(w) + Σ l1·|w|` until `done`, asked once per iteration, says so; return also the iterations.

    `smooth` returns value and gradient; `inverse_at(w)` a function that multiplies a vector by the inverse curvature at
    a point, for weights without `l1` only.
    """
    at = _evaluate(smooth, start, l1)
    pairs: list[tuple[Array, Array, float]] = []
    inverse: Inverse | None = None
    for iteration in range(max_iterations):
        if done(at):
            return at, iteration
        if inverse_at is not None and iteration % REFRESH == 0:
            inverse, pairs = inverse_at(at.w), []
        steepest = -pseudo_gradient(at.w, at.gradient, l1)
        direction = _apply_inverse(steepest, pairs, inverse)
        direction[(direction * steepest <= 0) & (l1 > 0)] = 0.0
        if direction @ steepest <= 0:
            direction, pairs, inverse = steepest, [], None
        first = 1.0 if pairs or inverse else 1.0 / max(1.0, np.abs(steepest).sum())
        new = _search(smooth, at, direction, steepest, l1, first)
        if new is None:
            if not pairs and inverse is None:
                return at, iteration
            pairs, inverse = [], None
            continue
        s, y = new.w - at.w, new.gradient - at.gradient
        if 0.0 < 1e-12 * (y @ y) < s @ y:  # the square of a tiny y is zero
            pairs = [*pairs[1 - MEMORY :], (s, y, 1.0 / float(s @ y))]
        at = new
    return at, max_iterations


def pseudo_gradient(w: Array, gradient: Array, l1: Array) -> Array:
    """Return the subgradient of least length of `smooth + Σ l1·|w|`: zero at the minimum."""
    out = gradient + l1 * np.sign(w)
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where((w == 0) & (l1 > 0), shrunk, out)


def _evaluate(smooth: Smooth, w: Array, l1: Array) -> Step:
    value, gradient = smooth(w)
    return Step(w, value, gradient, value + float(l1 @ np.abs(w)))


def _search(smooth: Smooth, at: Step, direction: Array, steepest: Array, l1: Array, length: float) -> Step | None:
    """Halve the step until the value drops enough; a weight with a penalty stops at zero instead of changing sign."""
    orthant = np.where(at.w != 0, np.sign(at.w), np.sign(steepest))
    for _ in range(40):
        w = at.w + length * direction
        w[(l1 > 0) & (w * orthant < 0)] = 0.0
        new = _evaluate(smooth, w, l1)
        if new.value <= at.value - ARMIJO * float(steepest @ (w - at.w)) and np.any(w != at.w):
            return new
        length *= 0.5
    return None


def _apply_inverse(vector: Array, pairs: list[tuple[Array, Array, float]], inverse: Inverse | None) -> Array:
    """Return the inverse-Hessian estimate times `vector` (the two-loop recursion), starting with `inverse` if given."""
    q = vector.copy()
    kept = []
    for s, y, rho in reversed(pairs):
        a = rho * float(s @ q)
        q -= a * y
        kept.append(a)
    if inverse is not None:
        q = inverse(q)
    elif pairs:
        s, y, rho = pairs[-1]
        q *= 1.0 / (rho * float(y @ y))
    for (s, y, rho), a in zip(pairs, reversed(kept)):
        q += (a - rho * float(y @ q)) * s
    return q
