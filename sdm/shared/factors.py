"""The solver: weights as a product of two thin factors, which grow by the axes that the gradient asks for.

`‖W‖_*` is the least of `(‖A‖² + ‖B‖²)/2` over all `W = AB`, which is smooth. So the factors are fitted by L-BFGS, with the
curvature at the base measure as its first guess. The factors are not convex, but the problem is: when they are at rest,
every axis that is still missing is a singular vector of the gradient whose singular value is above `μ`, and it is added;
and the gap of every round is a proof, wherever the factors came from.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdm.shared.problem import SharedProblem, add_up
from sdm.types import Array

MEMORY = 12  # steps that L-BFGS remembers
NEW_AXES = 6  # that enter in one round
SLACK = 1e-12


@dataclass
class Factors:
    """`W = A B`: the axes as combinations of features (F, r), and the place of each species on them (r, S)."""

    a: Array
    b: Array

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return int(self.a.shape[1])

    @property
    def norm(self) -> float:
        """The nuclear norm of the product, as the factors have it: never less than the true one."""
        return 0.5 * float(np.sum(self.a**2) + np.sum(self.b**2))

    def balanced(self, least: float = 0.0) -> "Factors":
        """Return the same product from its singular vectors, without those whose singular value is at most `least`."""
        if not self.rank:
            return self
        qa, ra = np.linalg.qr(self.a)
        qb, rb = np.linalg.qr(self.b.T)
        u, size, v = np.linalg.svd(ra @ rb.T)
        keep = size > least
        root = np.sqrt(size[keep])
        return Factors(qa @ u[:, keep] * root, root[:, None] * (v[keep] @ qb.T))


@dataclass
class State:
    """Where a fit is: the factors, the value of the problem, and what its gradient needs."""

    factors: Factors
    own: Array | None  # each species' own part, (F, S)
    axes: Array  # the sites on the axes, (n, r)
    mass: Array  # the densities of the species, each times its weight (n, S)
    normaliser: Array
    linear: float  # Σ π φ̃·w
    loss: float


@dataclass
class SharedFit:
    """What a fit gives: the factors, what is each species' own, and how far the value can be from the optimum."""

    factors: Factors
    own: Array | None
    strength: float
    objective: float
    loss: float
    gap: float  # nats per record
    rounds: int
    steps: int
    status: str
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def weights(self) -> Array:
        """The weights of all species, (F, S)."""
        shared = self.factors.a @ self.factors.b
        return shared if self.own is None else shared + self.own


def evaluate(problem: SharedProblem, factors: Factors, own: Array | None = None) -> State:
    """Return the state of some factors."""
    phi, records = problem.phi, problem.records
    axes, theta = np.empty((len(problem.q), factors.rank)), np.empty((len(problem.q), records.count))

    def score(some: slice) -> None:
        np.matmul(phi[some], factors.a, out=axes[some])
        np.matmul(axes[some], factors.b, out=theta[some])
        if own is not None:
            theta[some] += phi[some] @ own

    problem.over_sites(score)
    mass, normaliser = problem.densities(theta)
    linear = float(np.sum((problem.means.T @ factors.a).T * factors.b))
    if own is not None:
        linear += float(np.sum(problem.means * own))
    return State(factors, own, axes, mass, normaliser, linear, float(records.weight @ normaliser) - linear)


def factor_gradient(problem: SharedProblem, state: State, strength: float) -> Factors:
    """Return the gradient of the smooth value in both factors."""
    a, b, phi = state.factors.a, state.factors.b, problem.phi

    def part(some: slice) -> tuple[Array, Array]:
        mass = state.mass[some]
        return phi[some].T @ (mass @ b.T), state.axes[some].T @ mass

    parts = problem.over_sites(part)
    into_a = add_up([one for one, _ in parts]) - problem.means @ b.T + strength * a
    into_b = add_up([two for _, two in parts]) - a.T @ problem.means + strength * b
    return Factors(into_a, into_b)


def lower_bound(problem: SharedProblem, state: State, strength: float, gradient: Array, own_beta: Array | None) -> float:
    """Return what no weights can be below: minus the divergence of densities that meet every constraint, mixed from
    those of the state and the records themselves."""
    records = problem.records
    norm = float(np.linalg.norm(gradient, 2))
    t = max(0.0, 1.0 - strength / norm) if norm > 0 else 0.0
    if own_beta is not None:
        limit = own_beta * records.weight
        over = float(np.max(np.abs(gradient) / np.maximum(limit, np.finfo(float).tiny)))
        t = max(t, 1.0 - 1.0 / over) if over > 1.0 else t
    weight = records.weight
    mean_score = state.loss - float(weight @ state.normaliser) + state.linear  # zero but for rounding
    # Σ π KL(p‖q) of the densities themselves: E_p[θ] − ln Z.
    expected = float(np.sum(gradient * state_weights(state))) + state.linear
    value = expected - float(weight @ state.normaliser) + 0.0 * mean_score
    if t == 0.0:
        return -value
    # Cells with records: (1 − t) p + t π̃ in place of (1 − t) p.
    at, of = records.site, records.species
    p, q, extra = state.mass[at, of] / weight[of], problem.q[at], records.share
    left = (1.0 - t) * p
    mixed = left + t * extra
    tiny = np.finfo(float).tiny
    before = left * np.log(np.maximum(left, tiny) / q)
    after = mixed * np.log(np.maximum(mixed, tiny) / q)
    whole = (1.0 - t) * value + (1.0 - t) * np.log1p(-t) * 1.0 if t < 1.0 else 0.0
    return -(whole + float(weight[of] @ (after - before)))


def state_weights(state: State) -> Array:
    """Return the weights of a state, (F, S)."""
    shared = state.factors.a @ state.factors.b
    return shared if state.own is None else shared + state.own


def fit_factors(
    problem: SharedProblem,
    strength: float,
    start: Factors | None = None,
    *,
    own: Array | None = None,
    own_beta: Array | None = None,
    tolerance: float = 1e-4,
    max_rounds: int = 60,
    max_steps: int = 4000,
    watch: Callable[[int, float], None] | None = None,
) -> SharedFit:
    """Fit the factors to a strength `μ`, from nothing or from those of another strength, until the gap is within the
    tolerance; what is own stays as it is."""
    empty = Factors(np.zeros((problem.features, 0)), np.zeros((0, problem.records.count)))
    factors = empty if start is None else start.balanced(1e-9)
    fixed = 0.0 if own is None or own_beta is None else float(np.sum(own_beta * problem.records.weight * np.abs(own)))
    history: list[dict[str, float]] = []
    bound, steps, status, relative = -np.inf, 0, "not converged", 1e-2
    state = evaluate(problem, factors, own)
    objective = gap = np.inf
    for rounds in range(1, max_rounds + 1):
        if factors.rank:
            factors, state, used = _descend(problem, state, strength, relative, max_steps - steps)
            steps += used
            factors = factors.balanced(1e-7 * max(1e-300, float(np.max(np.sum(factors.b**2, axis=1)))))
            state = evaluate(problem, factors, own)
        gradient = problem.gradient(state.mass)
        objective = state.loss + strength * factors.norm + fixed
        bound = max(bound, lower_bound(problem, state, strength, gradient, own_beta if own is not None else None))
        gap = max(objective - bound, 0.0)
        history.append({"rank": factors.rank, "objective": objective, "gap": gap, "steps": steps})
        if watch is not None:
            watch(rounds, gap)
        if gap <= tolerance:
            status = "converged"
            break
        if steps >= max_steps:
            break
        u, size, v = _leading(gradient)
        entering = _entering(problem, factors, u, size, v, strength)
        if entering is None:
            relative *= 0.1
        else:
            factors = Factors(np.hstack([factors.a, entering.a]), np.vstack([factors.b, entering.b]))
            relative = min(relative, 0.1 * gap / max(objective, 1e-12)) if gap < np.inf else relative
        state = evaluate(problem, factors, own)
    return SharedFit(factors, own, strength, objective, state.loss, gap, rounds, steps, status, history)


def _leading(gradient: Array) -> tuple[Array, Array, Array]:
    """Return the singular vectors and values of the gradient, largest first."""
    u, size, v = np.linalg.svd(gradient, full_matrices=False)
    return u, size, v


def _entering(
    problem: SharedProblem, factors: Factors, u: Array, size: Array, v: Array, strength: float
) -> Factors | None:
    """Return new axes: singular vectors of the gradient above the strength that the factors do not have yet, as long as
    the curvature of the base measure suggests."""
    values, vectors = problem.covariance
    out_a, out_b = [], []
    basis = np.linalg.qr(factors.a)[0] if factors.rank else np.zeros((len(u), 0))
    for k in range(min(len(size), factors.rank + NEW_AXES)):
        if size[k] <= strength * (1.0 + 1e-9):
            break
        outside = u[:, k] - basis @ (basis.T @ u[:, k])
        if np.linalg.norm(outside) < 0.5:  # it is there already, not yet at rest
            continue
        curvature = float(values @ (vectors.T @ u[:, k]) ** 2) * float(problem.records.weight @ v[k] ** 2)
        length = np.sqrt((size[k] - strength) / max(curvature, strength))
        out_a.append(-u[:, k] * length)
        out_b.append(v[k] * length)
        if len(out_a) == NEW_AXES:
            break
    return Factors(np.array(out_a).T, np.array(out_b)) if out_a else None


def _descend(
    problem: SharedProblem, state: State, strength: float, relative: float, most: int
) -> tuple[Factors, State, int]:
    """Go down by L-BFGS until the gradient is a small share of what it was made of, or steps no longer help."""
    pairs: list[tuple[Array, Array, float]] = []
    value = state.loss + strength * state.factors.norm
    gradient = factor_gradient(problem, state, strength)
    guess = _Guess(problem, state.factors, strength)
    for step in range(most):
        flat = _flat(gradient)
        parts = strength * np.sqrt(2.0 * state.factors.norm)
        if np.linalg.norm(flat) <= relative * parts:
            return state.factors, state, step
        direction = -_two_loops(flat, pairs, guess)
        slope = float(direction @ flat)
        if slope >= 0.0:
            pairs, direction = [], -guess.apply(flat)
            slope = float(direction @ flat)
        size, moved = 1.0, None
        while size > 1e-10:
            trial = _moved(state.factors, direction, size)
            moved = evaluate(problem, trial, state.own)
            new = moved.loss + strength * trial.norm
            if new <= value + 1e-4 * size * slope:
                break
            size *= 0.5
        else:
            moved = None
        if moved is None or new >= value - SLACK * abs(value):
            if not pairs:
                return state.factors, state, step
            pairs = []
            guess = _Guess(problem, state.factors, strength)
            if moved is None:
                continue
        after = factor_gradient(problem, moved, strength)
        s, y = size * direction, _flat(after) - flat
        if (product := float(s @ y)) > 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs = [*pairs[-(MEMORY - 1) :], (s, y, product)]
        if moved is not None and new >= value - SLACK * abs(value) and step > 5 and not pairs:
            return moved.factors, moved, step + 1
        state, value, gradient = moved, new, after
    return state.factors, state, most


class _Guess:
    """The inverse of a rough curvature: that of the base measure, in both factors."""

    def __init__(self, problem: SharedProblem, factors: Factors, strength: float) -> None:
        values, self.vectors = problem.covariance
        self.shape = factors.a.shape
        spread = (factors.b * problem.records.weight) @ factors.b.T
        k, self.mixing = np.linalg.eigh(spread)
        self.in_a = 1.0 / (values[:, None] * np.maximum(k, 0.0) + strength)
        rotated = self.vectors.T @ factors.a
        d, self.turn = np.linalg.eigh(rotated.T @ (values[:, None] * rotated))
        self.in_b = 1.0 / (np.maximum(d, 0.0)[:, None] * problem.records.weight + strength)

    def apply(self, flat: Array) -> Array:
        size = self.shape[0] * self.shape[1]
        a, b = flat[:size].reshape(self.shape), flat[size:].reshape(self.shape[1], -1)
        a = self.vectors @ ((self.vectors.T @ a @ self.mixing) * self.in_a) @ self.mixing.T
        b = self.turn @ ((self.turn.T @ b) * self.in_b)
        return np.concatenate([a.ravel(), b.ravel()])


def _flat(factors: Factors) -> Array:
    return np.concatenate([factors.a.ravel(), factors.b.ravel()])


def _moved(factors: Factors, direction: Array, size: float) -> Factors:
    cut = factors.a.size
    return Factors(
        factors.a + size * direction[:cut].reshape(factors.a.shape),
        factors.b + size * direction[cut:].reshape(factors.b.shape),
    )


def _two_loops(gradient: Array, pairs: list[tuple[Array, Array, float]], guess: Any) -> Array:
    """Return the inverse curvature times a gradient, by the two loops of L-BFGS."""
    q = gradient.copy()
    alphas = []
    for s, y, product in reversed(pairs):
        alpha = float(s @ q) / product
        alphas.append(alpha)
        q -= alpha * y
    q = guess.apply(q)
    for (s, y, product), alpha in zip(pairs, reversed(alphas)):
        q += s * (alpha - float(y @ q) / product)
    return q
