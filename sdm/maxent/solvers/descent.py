"""Backtracking line search, and Newton's method for small problems."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sdm.types import Array

T = TypeVar("T")
Curved = tuple[float, Array, Array]  # value, gradient and curvature

ARMIJO = 1e-4  # share of the decrease predicted by the slope that a step must reach
ROUNDING = 1e-15  # relative changes of a value below this are rounding errors


def backtrack(
    attempt: Callable[[float], T], enough: Callable[[T, float], bool], tries: int = 40, length: float = 1.0
) -> tuple[T, float] | None:
    """Return the first sufficient attempt at `length` times 1, ½, ¼ …, and its length; None if there is none."""
    for _ in range(tries):
        new = attempt(length)
        if enough(new, length):
            return new, length
        length *= 0.5
    return None


def minimise_by_newton(
    evaluate: Callable[[Array], Curved], start: Array, done: Callable[[Array, float], bool], max_steps: int
) -> tuple[Array, int]:
    """Return the minimiser of a strictly convex function of a few numbers, and the number of steps.

    `done` is called with the gradient and twice the predicted gain of Newton's step.
    """
    point = start
    value, gradient, curvature = evaluate(point)
    for turn in range(max_steps):
        step = np.linalg.solve(curvature, -gradient)
        slope = float(gradient @ step)
        if done(gradient, -slope):
            return point, turn
        result = backtrack(
            lambda length, point=point, step=step: evaluate(point + length * step),  # type: ignore[misc]
            lambda new, length, value=value, slope=slope: new[0] <= value + ARMIJO * length * slope,  # type: ignore[misc]
        )
        if result is None:  # at the limit of precision
            return point, turn
        (value, gradient, curvature), length = result
        point = point + length * step
    return point, max_steps
