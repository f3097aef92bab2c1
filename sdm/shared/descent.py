"""Descent of the factors: L-BFGS, whose first guess is the curvature at the base measure."""

import numpy as np

from sdm.shared.factors import Factors, GroupState, evaluate_factors, factor_gradient
from sdm.shared.problem import SharedProblem
from sdm.types import Array

_MEMORY = 12  # steps that are remembered
_ROUNDING = 1e-15  # of the value: less is no change
_PATIENCE = 20  # steps without a smaller gradient, where the value no longer tells

Pair = tuple[Array, Array, float]


def descend(
    problem: SharedProblem, state: GroupState, strength: float, relative: float, most: int
) -> tuple[GroupState, int]:
    """Go down until the gradient is a small share of the penalty's, or no step helps; return also the steps taken."""
    pairs: list[Pair] = []
    guess = Guess(problem, state.factors, strength)
    gradient = factor_gradient(problem, state, strength)
    best, least, waited = state, np.inf, 0
    for step in range(most):
        length = float(np.linalg.norm(gradient))
        if length <= relative * strength * np.sqrt(2.0 * state.factors.norm):
            return state, step
        waited = 0 if length < least else waited + 1
        if length < least:
            best, least = state, length
        elif waited > _PATIENCE and state.objective(strength) >= best.objective(strength) * (1.0 - _ROUNDING):
            return best, step
        direction = -_inverse_curvature(gradient, pairs, guess)
        found = _search(problem, state, strength, direction, float(direction @ gradient))
        if found is None and not pairs:
            return state, step
        if found is None:  # what was remembered misleads: begin anew
            pairs, guess = [], Guess(problem, state.factors, strength)
            continue
        moved, size = found
        after = factor_gradient(problem, moved, strength)
        s, y = size * direction, after - gradient
        product = float(s @ y)
        if product > 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs = [*pairs[-(_MEMORY - 1) :], (s, y, product)]
        state, gradient = moved, after
    return state, most


def _search(
    problem: SharedProblem, state: GroupState, strength: float, direction: Array, slope: float
) -> tuple[GroupState, float] | None:
    """Return the state after a step that makes the value smaller, and its size; None if there is none."""
    value = state.objective(strength)
    size = 1.0 if slope < 0.0 else 0.0
    while size > 1e-12:
        moved = evaluate_factors(problem, state.factors.moved(direction, size), state.own)
        if moved.objective(strength) <= value + 1e-4 * size * slope + _ROUNDING * abs(value):
            return moved, size
        size *= 0.5
    return None


class Guess:
    """The inverse of a rough curvature: that of the base measure, in both factors."""

    def __init__(self, problem: SharedProblem, factors: Factors, strength: float) -> None:
        values, self.vectors = problem.covariance
        weight, self.shape, self.count = problem.records.weight, factors.a.shape, problem.records.count
        k, self.mixing = np.linalg.eigh((factors.b * weight) @ factors.b.T)
        self.in_a = 1.0 / (values[:, None] * np.maximum(k, 0.0) + strength)
        rotated = self.vectors.T @ factors.a
        d, self.turn = np.linalg.eigh(rotated.T @ (values[:, None] * rotated))
        self.in_b = 1.0 / (np.maximum(d, 0.0)[:, None] * weight + strength)

    def apply(self, flat: Array) -> Array:
        """Return the inverse times a vector like `Factors.flat`."""
        a, b = np.split(flat, [self.shape[0] * self.shape[1]])
        a, b = a.reshape(self.shape), b.reshape(self.shape[1], self.count)
        a = self.vectors @ (((self.vectors.T @ a) @ self.mixing) * self.in_a) @ self.mixing.T
        b = self.turn @ ((self.turn.T @ b) * self.in_b)
        return np.concatenate([a.ravel(), b.ravel()])


def _inverse_curvature(gradient: Array, pairs: list[Pair], guess: Guess) -> Array:
    """Return the inverse curvature times a gradient, by the two loops of L-BFGS (Nocedal 1980)."""
    q, steps = gradient.copy(), []
    for s, y, product in reversed(pairs):
        steps.append(float(s @ q) / product)
        q -= steps[-1] * y
    q = guess.apply(q)
    for (s, y, product), step in zip(pairs, reversed(steps)):
        q += s * (step - float(y @ q) / product)
    return q
