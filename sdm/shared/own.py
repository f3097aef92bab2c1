"""What is each species' own beside the axes: weights with an l1 penalty, at their optimum for any shared part.

For a given shared part every species has a small problem of its own,

    min_o  ln Σ_i q_i e^{θ_i + φ(i)·o} − φ̃·o + Σ_j β_j |o_j|

which proximal Newton solves in a few steps. So the axes are sought among weights whose own parts are always best, and
the slope of that value is the gradient at these own parts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdm.maxent.entropy import Entropy
from sdm.maxent.solvers.descent import ARMIJO, ROUNDING, backtrack
from sdm.maxent.solvers.subproblem import solve_l1_quadratic
from sdm.shared.problem import SharedProblem
from sdm.types import Array

_STEPS = 100  # of Newton's method, which needs about four
_AT_REST = 1e-9  # violation of the optimality condition, in units of the penalty
_LIFT = 1e-13  # of the curvature: the rounding of its sums, where features are copies of each other


Moved = tuple[float, Array, Array, Array]  # value, density, own weights and scores


class OwnParts:
    """The features that own parts have, and the penalties of every species (F, S); infinite where there is none."""

    def __init__(self, problem: SharedProblem, beta: Array) -> None:
        self.problem, self.shape = problem, beta.shape
        self.features = np.flatnonzero(np.isfinite(beta).all(axis=1))
        self.phi = np.ascontiguousarray(problem.phi[:, self.features])
        self.beta = beta[self.features]
        self.means = problem.means[self.features] / problem.records.weight

    def none(self) -> "OwnWeights":
        """Return own parts that are zero."""
        return OwnWeights(self, np.zeros(self.beta.shape))


@dataclass(frozen=True)
class OwnWeights:
    """The own weights of all species, (k, S)."""

    parts: OwnParts
    values: Array

    @property
    def dense(self) -> Array:
        """The weights of all features, (F, S)."""
        out = np.zeros(self.parts.shape)
        out[self.parts.features] = self.values
        return out

    @property
    def penalty(self) -> float:
        """`Σ_s π_s Σ_j β_js |o_js|`."""
        return float(np.sum(self.parts.beta * np.abs(self.values), axis=0) @ self.parts.problem.records.weight)

    def solved(self, theta: Array) -> "OwnWeights":
        """Return the best own parts for shared scores (n, S), which get theirs added in place."""
        parts, out = self.parts, np.empty_like(self.values)

        def solve(s: int) -> None:
            shared = np.ascontiguousarray(theta[:, s])
            out[:, s] = _solve(
                parts.phi, parts.problem.q, shared, parts.means[:, s], parts.beta[:, s], self.values[:, s]
            )
            theta[:, s] = shared + parts.phi @ out[:, s]

        parts.problem.over_each(range(out.shape[1]), solve)
        return OwnWeights(parts, out)


def _solve(phi: Array, q: Array, theta: Array, mean: Array, beta: Array, start: Array) -> Array:
    """Return the own weights of one species, from the best ones of a state nearby."""

    def evaluate(o: Array, score: Array) -> Moved:
        gibbs = Entropy().gibbs(score, q)
        return gibbs.tau + float(beta @ np.abs(o) - mean @ o), q * gibbs.ratio, o, score

    at = evaluate(start, theta + phi @ start)
    for _ in range(_STEPS):
        _, p, o, _ = at
        direction, fall = _newton(phi, p, mean, beta, o)
        if fall == 0.0:
            break
        found = _search(evaluate, at, direction, phi @ direction, fall)
        if found is None:
            break
        at, _ = found
        if fall > -ROUNDING * max(1.0, abs(at[0])):  # nothing is left to gain
            break
    return at[2]


def _newton(phi: Array, p: Array, mean: Array, beta: Array, o: Array) -> tuple[Array, float]:
    """Return the step of proximal Newton, and how much it promises; zero at the optimum."""
    expected = p @ phi
    slope, used = expected - mean, o != 0.0
    beyond = np.where(used, np.abs(slope + beta * np.sign(o)), np.abs(slope) - beta)
    direction = np.zeros_like(o)
    if np.all(beyond <= _AT_REST * beta):
        return direction, 0.0
    at = np.flatnonzero(used | (beyond > 0.0))
    centred = (phi[:, at] - expected[at]) * np.sqrt(p)[:, None]
    curvature = centred.T @ centred
    curvature[np.diag_indices(at.size)] *= 1.0 + _LIFT
    new, _ = solve_l1_quadratic(curvature, slope[at] - curvature @ o[at], beta[at], o[at])
    direction[at] = new - o[at]
    return direction, float(slope @ direction + beta[at] @ (np.abs(new) - np.abs(o[at])))


def _search(
    evaluate: Callable[[Array, Array], Moved], at: Moved, direction: Array, along: Array, fall: float
) -> tuple[Moved, float] | None:
    """Return the longest of the steps 1, ½, ¼ … that makes the value smaller; None if there is none."""
    value, _, o, score = at
    limit = value + ROUNDING * abs(value)
    return backtrack(
        lambda size: evaluate(o + size * direction, score + size * along),
        lambda new, size: new[0] <= limit + ARMIJO * size * fall,
    )
