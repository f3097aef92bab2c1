"""Descent of the factors: L-BFGS, whose first guess is the curvature at the base measure."""

import numpy as np

from sdm.maxent.solvers.descent import ROUNDING
from sdm.maxent.solvers.lbfgs import Inverse, Iterate, minimise
from sdm.shared.factors import Factors, GroupState, evaluate_factors, factor_gradient
from sdm.shared.problem import SharedProblem
from sdm.types import Array

_PATIENCE = 20  # steps without a smaller gradient, where the value no longer tells


def descend(
    problem: SharedProblem, state: GroupState, strength: float, relative: float, most: int
) -> tuple[GroupState, int]:
    """Go down until the gradient is a small share of the penalty's, or no step helps; return also the steps taken."""
    latest, best, least, idle = state, None, np.inf, 0

    def smooth(flat: Array) -> tuple[float, Array]:
        nonlocal latest
        latest = evaluate_factors(problem, state.factors.with_flat(flat), latest.own)
        return latest.objective(strength), factor_gradient(problem, latest, strength)

    def done(at: Iterate) -> bool:
        nonlocal best, least, idle
        length = float(np.linalg.norm(at.gradient))
        if length <= relative * strength * float(np.linalg.norm(at.w)):
            best = at
            return True
        if best is None or length < least:
            best, least, idle = at, length, 0
            return False
        idle += 1
        return idle > _PATIENCE and at.value >= best.value * (1.0 - ROUNDING)

    def guess_at(flat: Array) -> Inverse:
        return Guess(problem, state.factors.with_flat(flat), strength).apply

    flat = state.factors.flat
    at, steps = minimise(smooth, flat, np.zeros(flat.size), done, most, guess_at, refresh=most + 1, slack=ROUNDING)
    end = best if best is not None and idle > _PATIENCE else at
    return evaluate_factors(problem, state.factors.with_flat(end.w), latest.own), steps


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
