"""The fit of a group: rounds of descent, each with a proof, in which the axes enter that the gradient asks for.

The factors are not convex, but the problem is: where they are at rest, every axis that is missing is a singular vector
of the gradient with a singular value above `μ`, and every own weight that is missing has a gradient beyond its penalty.
The gap is a proof, wherever the factors came from.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED
from sdm.shared.certificate import lower_bound
from sdm.shared.descent import descend
from sdm.shared.factors import Factors, GroupState, OwnPart, evaluate_factors
from sdm.shared.problem import SharedProblem
from sdm.types import Array

NEW_AXES = 6  # that enter in one round
NEW_OWN = 2000  # own weights that enter in one round
_NEAR_ZERO = 1e-3  # of the largest own weight
_LEAST = 1e-8  # of the largest singular value: axes that are smaller go


@dataclass(frozen=True)
class SharedFit:
    """What a fit gives: the weights, and how far their value can be from the optimum."""

    state: GroupState
    strength: float  # μ
    objective: float
    gap: float  # nats per record
    steps: int
    status: str
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def factors(self) -> Factors:
        """The axes and the places of species on them, and what is each species' own."""
        return self.state.factors

    @property
    def weights(self) -> Array:
        """The weights of all species, (F, S)."""
        return self.factors.weights

    @property
    def own(self) -> Array:
        """The part of them that is each species' own."""
        return self.factors.own.dense(self.factors.shape)


def fit_shared(
    problem: SharedProblem,
    strength: float,
    start: Factors | None = None,
    own_beta: Array | None = None,
    *,
    tolerance: float = 1e-4,
    max_rounds: int = 200,
    max_steps: int = 20_000,
    watch: Callable[[int, float], None] | None = None,
) -> SharedFit:
    """Fit the weights of a group to a strength `μ`, from nothing or from the factors of another strength, until the gap
    is within the tolerance (nats per record). `own_beta` (F, S) are the l1 penalties of what is each species' own;
    without them there is no such part. `watch` is told every round and its gap."""
    factors = Factors.none(problem.features, problem.records.count) if start is None else start.balanced(_LEAST)
    state = evaluate_factors(problem, factors)
    history: list[dict[str, float]] = []
    bound, steps, relative, idle, status = -np.inf, 0, 1e-2, 0, MAX_ITERATIONS
    objective = gap = np.inf
    for rounds in range(1, max_rounds + 1):
        if state.factors.rank or len(state.factors.own):
            state, used = descend(problem, state, strength, relative, max_steps - steps)
            steps += used
            state = evaluate_factors(problem, state.factors.balanced(_LEAST))
        gradient = problem.gradient(state.mass)
        before, objective = objective, state.loss + strength * state.factors.norm
        bound = max(bound, lower_bound(problem, state, strength, gradient, own_beta))
        gap = float(max(objective - bound, 0.0))
        history.append({"rank": state.factors.rank, "objective": objective, "gap": gap, "steps": steps})
        if watch is not None:
            watch(rounds, gap)
        if gap <= tolerance:
            status = CONVERGED
            break
        idle = idle + 1 if before - objective <= 1e-13 * abs(objective) else 0
        if idle > 3:
            status = STALLED
            break
        if steps >= max_steps:
            break
        factors = state.factors
        more = _new_axes(problem, factors, gradient, strength)
        if own_beta is not None:
            factors = replace(factors, own=_without_stuck(factors.own, gradient, strength))
            more = replace(more, own=_new_own(problem, factors, gradient, strength, own_beta))
        if more.rank or len(more.own):
            state = evaluate_factors(problem, factors.joined(more))
        relative = max(0.1 * relative, 1e-13) if not more.rank else relative
    return SharedFit(state, strength, objective, gap, steps, status, history)


def _new_axes(problem: SharedProblem, factors: Factors, gradient: Array, strength: float) -> Factors:
    """Return new axes: singular vectors of the gradient above the strength that the factors do not have yet, as long as
    the curvature of the base measure suggests."""
    u, size, v = np.linalg.svd(gradient, full_matrices=False)
    values, vectors = problem.covariance
    basis = np.linalg.qr(factors.a)[0] if factors.rank else np.zeros((len(u), 0))
    axes: list[Array] = []
    places: list[Array] = []
    for k in range(min(len(size), factors.rank + NEW_AXES)):
        outside = u[:, k] - basis @ (basis.T @ u[:, k])
        if size[k] <= strength * (1.0 + 1e-9) or len(axes) == NEW_AXES:
            break
        if np.linalg.norm(outside) < 0.5:  # it is there already, and not yet at rest
            continue
        curvature = float(values @ (vectors.T @ u[:, k]) ** 2) * float(problem.records.weight @ v[k] ** 2)
        length = np.sqrt((size[k] - strength) / max(curvature, strength))
        axes.append(-u[:, k] * length)
        places.append(v[k] * length)
    return Factors(np.array(axes).T, np.array(places)) if axes else Factors.none(*factors.shape)


def _without_stuck(own: OwnPart, gradient: Array, strength: float) -> OwnPart:
    """Return own weights without those that are near zero and should change their sign: their factors rest there, and
    they enter again from the other side."""
    value = own.u * own.v / own.scale
    near = np.abs(value) < _NEAR_ZERO * np.max(np.abs(value), initial=0.0)
    wrong = np.sign(value) * gradient[own.feature, own.species] > strength * own.scale
    return own.take(~(near & wrong))


def _new_own(problem: SharedProblem, factors: Factors, gradient: Array, strength: float, beta: Array) -> OwnPart:
    """Return own weights that are missing: where the gradient is beyond its limit, as large as a variance of 1
    suggests."""
    limit = beta * problem.records.weight
    over = np.abs(gradient) - limit * (1.0 + 1e-9)
    over[factors.own.feature, factors.own.species] = 0.0
    feature, species = np.nonzero(over > 0.0)
    if len(feature) > NEW_OWN:
        most = np.sort(np.argsort(-over[feature, species] / limit[feature, species], kind="stable")[:NEW_OWN])
        feature, species = feature[most], species[most]
    scale = limit[feature, species] / strength
    size = np.sqrt(scale * over[feature, species] / problem.records.weight[species])
    return OwnPart(feature, species, size, -np.sign(gradient[feature, species]) * size, scale)
