"""Species-specific weights in addition to the axes, with an l1 penalty, optimal for any shared part.

For a fixed shared part `θ` there is a small problem for every species,

    min_o  ln Σ_i q_i e^{θ_i + φ(i)·o} − φ̃·o + Σ_j β_j |o_j|

which proximal Newton solves in a few steps. So the fit of the axes minimises over the specific parts, and the gradient
of this minimum is the gradient at the optimal specific parts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdm.maxent.entropy import Entropy
from sdm.maxent.solvers.descent import ARMIJO, ROUNDING, backtrack
from sdm.maxent.solvers.subproblem import solve_l1_quadratic
from sdm.shared.problem import SharedProblem
from sdm.types import Array

_STEPS = 100  # limit of Newton's method, which needs about four
_AT_REST = 1e-9  # violation of the optimality condition, in units of the penalty
_LIFT = 1e-13  # relative increase of the curvature, for rounding with duplicate features


Moved = tuple[float, Array, Array, Array]  # value, density, specific weights and scores


class SpecificParts:
    """The features of species-specific parts, and their penalties (F, S); infinite for features without such a part."""

    def __init__(self, problem: SharedProblem, beta: Array) -> None:
        self.problem, self.shape = problem, beta.shape
        self.features = np.flatnonzero(np.isfinite(beta).all(axis=1))
        self.phi = np.ascontiguousarray(problem.phi[:, self.features])
        self.beta = beta[self.features]
        self.means = problem.means[self.features] / problem.records.weight

    def none(self) -> "SpecificWeights":
        """Return specific parts of zero."""
        return SpecificWeights(self, np.zeros(self.beta.shape))


@dataclass(frozen=True)
class SpecificWeights:
    """The species-specific weights of all species, (k, S)."""

    parts: SpecificParts
    values: Array

    @property
    def dense(self) -> Array:
        """Return the weights of all features, (F, S)."""
        out = np.zeros(self.parts.shape)
        out[self.parts.features] = self.values
        return out

    @property
    def penalty(self) -> float:
        """Return `Σ_s π_s Σ_j β_js |o_js|`."""
        return float(np.sum(self.parts.beta * np.abs(self.values), axis=0) @ self.parts.problem.records.weight)

    def solved(self, theta: Array) -> "SpecificWeights":
        """Return the optimal specific parts for shared scores `theta` (n, S), and add their scores to `theta` in
        place."""
        parts, out = self.parts, np.empty_like(self.values)

        def solve(s: int) -> None:
            shared = np.ascontiguousarray(theta[:, s])
            out[:, s] = _solve(
                parts.phi, parts.problem.q, shared, parts.means[:, s], parts.beta[:, s], self.values[:, s]
            )
            theta[:, s] = shared + parts.phi @ out[:, s]

        parts.problem.over_each(range(out.shape[1]), solve)
        return SpecificWeights(parts, out)


def _solve(phi: Array, q: Array, theta: Array, mean: Array, beta: Array, start: Array) -> Array:
    """Return the specific weights of one species, starting from the optimum of a near state."""

    def evaluate(o: Array, score: Array) -> Moved:
        gibbs = Entropy().gibbs(score, q)
        return gibbs.tau + float(beta @ np.abs(o) - mean @ o), q * gibbs.ratio, o, score

    point = evaluate(start, theta + phi @ start)
    for _ in range(_STEPS):
        _, p, o, _ = point
        direction, fall = _newton(phi, p, mean, beta, o)
        if fall == 0.0:
            break
        step = _search(evaluate, point, direction, phi @ direction, fall)
        if step is None:
            break
        point, _ = step
        if fall > -ROUNDING * max(1.0, abs(point[0])):  # no further decrease is possible
            break
    return point[2]


def _newton(phi: Array, p: Array, mean: Array, beta: Array, o: Array) -> tuple[Array, float]:
    """Return the step of proximal Newton and its expected decrease; zero at the optimum."""
    expected = p @ phi
    slope, used = expected - mean, o != 0.0
    beyond = np.where(used, np.abs(slope + beta * np.sign(o)), np.abs(slope) - beta)
    direction = np.zeros_like(o)
    if np.all(beyond <= _AT_REST * beta):
        return direction, 0.0
    active = np.flatnonzero(used | (beyond > 0.0))
    centred = (phi[:, active] - expected[active]) * np.sqrt(p)[:, None]
    curvature = centred.T @ centred
    curvature[np.diag_indices(active.size)] *= 1.0 + _LIFT
    new, _ = solve_l1_quadratic(curvature, slope[active] - curvature @ o[active], beta[active], o[active])
    direction[active] = new - o[active]
    return direction, float(slope @ direction + beta[active] @ (np.abs(new) - np.abs(o[active])))


def _search(
    evaluate: Callable[[Array, Array], Moved], point: Moved, direction: Array, along: Array, fall: float
) -> tuple[Moved, float] | None:
    """Return the longest of the steps 1, ½, ¼ … that decreases the value, else None."""
    value, _, o, score = point
    limit = value + ROUNDING * abs(value)
    return backtrack(
        lambda size: evaluate(o + size * direction, score + size * along),
        lambda new, size: new[0] <= limit + ARMIJO * size * fall,
    )
