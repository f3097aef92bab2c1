"""Fit a group: rounds of descent with a duality gap each, and with new axes.

The factors are not convex, but the problem is. At a stationary point, every missing axis is a singular vector of the
gradient with a singular value above `μ`. Species-specific parts are always optimal for the current axes. The gap bounds
the distance to the optimum at any factors.
"""

from dataclasses import dataclass, field

import numpy as np

from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED
from sdm.maxent.solvers.descent import ROUNDING
from sdm.maxent.solvers.lbfgs import Inverse, Iterate, minimise
from sdm.shared.factors import Factors, GroupState, evaluate_factors, factor_gradient
from sdm.shared.problem import SharedProblem
from sdm.shared.specific import SpecificParts
from sdm.types import Array

NEW_AXES = 6  # largest number of new axes per round
_LEAST = 1e-8  # axes with smaller relative singular values are dropped


@dataclass(frozen=True)
class SharedFit:
    """Result of a fit: the weights and their duality gap."""

    state: GroupState
    strength: float  # μ
    objective: float
    gap: float  # nats per record
    steps: int
    status: str
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def factors(self) -> Factors:
        """Return the axes and the places of species on them."""
        return self.state.factors

    @property
    def weights(self) -> Array:
        """Return the weights of all species, (F, S)."""
        return self.state.weights

    @property
    def specific(self) -> Array:
        """Return the species-specific part of the weights, (F, S)."""
        return np.zeros(self.factors.shape) if self.state.specific is None else self.state.specific.dense


def fit_shared(
    problem: SharedProblem,
    strength: float,
    start: Factors | None = None,
    specific_beta: Array | None = None,
    *,
    tolerance: float = 1e-4,
    max_rounds: int = 200,
    max_steps: int = 20_000,
) -> SharedFit:
    """Fit the weights of a group at a strength `μ`, until the gap is within the tolerance (nats per record).

    `start` are the factors of another strength. `specific_beta` (F, S) are the l1 penalties of the species-specific
    parts; None for a model without such parts.
    """
    factors = Factors.none(problem.features, problem.records.count) if start is None else start.balanced(_LEAST)
    specific = None if specific_beta is None else SpecificParts(problem, specific_beta).none()
    state = evaluate_factors(problem, factors, specific)
    history: list[dict[str, float]] = []
    bound, steps, relative, idle, status = -np.inf, 0, 1e-2, 0, MAX_ITERATIONS
    objective = gap = np.inf
    for _ in range(max_rounds):
        if state.factors.rank:
            state, used = descend(problem, state, strength, relative, max_steps - steps)
            steps += used
            state = evaluate_factors(problem, state.factors.balanced(_LEAST), state.specific)
        gradient = problem.gradient(state.mass)
        before, objective = objective, state.objective(strength)
        bound = max(bound, lower_bound(problem, state, strength, gradient, specific_beta))
        gap = float(max(objective - bound, 0.0))
        history.append({"rank": state.factors.rank, "objective": objective, "gap": gap, "steps": steps})
        if gap <= tolerance:
            status = CONVERGED
            break
        idle = idle + 1 if before - objective <= 1e-13 * abs(objective) else 0
        if idle > 3:
            status = STALLED
            break
        if steps >= max_steps:
            break
        more = _new_axes(problem, state.factors, gradient, strength)
        if more.rank:
            state = evaluate_factors(problem, state.factors.joined(more), state.specific)
        relative = max(0.1 * relative, 1e-13) if not more.rank else relative
    return SharedFit(state, strength, objective, gap, steps, status, history)


def _new_axes(problem: SharedProblem, factors: Factors, gradient: Array, strength: float) -> Factors:
    """Return new axes: singular vectors of the gradient above the strength that the factors do not include.

    Their length follows from the curvature of the base measure.
    """
    u, size, v = np.linalg.svd(gradient, full_matrices=False)
    values, vectors = problem.covariance
    basis = np.linalg.qr(factors.a)[0] if factors.rank else np.zeros((len(u), 0))
    axes: list[Array] = []
    places: list[Array] = []
    for k in range(min(len(size), factors.rank + NEW_AXES)):
        outside = u[:, k] - basis @ (basis.T @ u[:, k])
        if size[k] <= strength * (1.0 + 1e-9) or len(axes) == NEW_AXES:
            break
        if np.linalg.norm(outside) < 0.5:  # the axis exists, and is not yet stationary
            continue
        curvature = float(values @ (vectors.T @ u[:, k]) ** 2) * float(problem.records.weight @ v[k] ** 2)
        length = np.sqrt((size[k] - strength) / max(curvature, strength))
        axes.append(-u[:, k] * length)
        places.append(v[k] * length)
    return Factors(np.array(axes).T, np.array(places)) if axes else Factors.none(*factors.shape)


def lower_bound(
    problem: SharedProblem, state: GroupState, strength: float, gradient: Array, specific_beta: Array | None = None
) -> float:
    """Return a lower bound of the objective: minus the divergence of feasible densities from the base measure.

    Densities are feasible if `‖G‖₂ ≤ μ`, and for species-specific parts `|G_js| ≤ π_s β_js`. They are mixtures of the
    state's densities with the records, which have `G = 0`, with the least share of the records.
    """
    records = problem.records
    weight, tiny = records.weight, np.finfo(float).tiny
    excess = float(np.linalg.norm(gradient, 2)) / strength
    if specific_beta is not None:
        excess = max(excess, float(np.max(np.abs(gradient) / np.maximum(specific_beta * weight, tiny))))
    t = 1.0 - 1.0 / excess if excess > 1.0 else 0.0
    expected = float(np.sum(gradient * state.weights)) + state.linear  # Σ π E_p[θ]
    divergence = expected - float(weight @ state.normaliser)
    if t == 0.0:
        return -divergence
    # All sites have (1 − t) p in place of p; sites with records of the species have t π̃ in addition.
    site, of = records.site, records.species
    q, less = problem.q[site], (1.0 - t) * state.mass[site, of] / weight[of]
    mixed = less + t * records.share
    before = less * np.log(np.maximum(less, tiny) / q)
    after = mixed * np.log(np.maximum(mixed, tiny) / q)
    rest = (1.0 - t) * (divergence + np.log1p(-t))
    return -float(rest + weight[of] @ (after - before))


_PATIENCE = 20  # steps without a smaller gradient, when changes of the value are within rounding


def descend(
    problem: SharedProblem, state: GroupState, strength: float, relative: float, most: int
) -> tuple[GroupState, int]:
    """Descend until the gradient is a small share of the penalty's, or no step helps; return also the number of
    steps."""
    latest, best, least, idle = state, None, np.inf, 0

    def smooth(flat: Array) -> tuple[float, Array]:
        nonlocal latest
        latest = evaluate_factors(problem, state.factors.with_flat(flat), latest.specific)
        return latest.objective(strength), factor_gradient(problem, latest, strength)

    def done(point: Iterate) -> bool:
        nonlocal best, least, idle
        length = float(np.linalg.norm(point.gradient))
        if length <= relative * strength * float(np.linalg.norm(point.w)):
            best = point
            return True
        if best is None or length < least:
            best, least, idle = point, length, 0
            return False
        idle += 1
        return idle > _PATIENCE and point.value >= best.value * (1.0 - ROUNDING)

    def inverse_at(flat: Array) -> Inverse:
        return InverseCurvature(problem, state.factors.with_flat(flat), strength).apply

    flat = state.factors.flat
    last, steps = minimise(smooth, flat, np.zeros(flat.size), done, most, inverse_at, refresh=most + 1, slack=ROUNDING)
    end = best if best is not None and idle > _PATIENCE else last
    return evaluate_factors(problem, state.factors.with_flat(end.w), latest.specific), steps


class InverseCurvature:
    """The inverse of an approximate curvature, by the base measure, in both factors."""

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
