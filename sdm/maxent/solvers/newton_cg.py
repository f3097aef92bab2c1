"""Newton's method for penalties that use every feature, with the curvature only as a product, through the oracles.

A product with the Hessian is `Fᵀ(diag(w) − w wᵀ/Σw)F v`: one call of `scores` and one of `expectations`, for any number
of features. The step is computed by conjugate gradients, preconditioned by the features' variances. Up to a few hundred
features a matrix and a direct solve are faster.
"""

from collections.abc import Callable

import numpy as np

from sdm.maxent.problem import DENSE_WEIGHTS, Hessian, Problem, State
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, SEPARABLE, STALLED, Solution
from sdm.maxent.solvers.search import ROUNDING, SolverRun, line_search
from sdm.types import Array

LIFT = 1e-12  # least curvature of a weight, relative to the largest
MATCHED = 1e-12  # expectations that differ by less are equal up to rounding
RECESSION = 30  # largest number of steps along a direction in which the loss decreases for ever


def solve_newton_cg(problem: Problem, *, start: Array | None, tolerance: float, max_iterations: int) -> Solution:
    """Minimise an objective with a smooth penalty to a certified gap.

    The penalties are `none`, `smoothed_l1`, `l2`, `l2sq` and `mahalanobis`.
    """
    hessian = problem.dense_hessian()
    run = SolverRun(problem, tolerance)
    penalty, free = problem.penalty, problem.penalty.free
    shannon = problem.entropy.alpha == 1.0
    size = problem.mu.size
    state = problem.state(np.zeros(size) if start is None else start)
    for _ in range(max_iterations):
        step = penalty.step_off_zero(state.eps) if state.cost == 0.0 else None
        if step is None:
            step = _step(problem, state, hessian)
        gap = corrected_gap(problem, state, step) if free else problem.gap(state)
        done = run.record(state, gap, size)
        if free and shannon and _recedes(problem, step):
            return _follow(run, state, step, hessian, min(RECESSION, max_iterations - len(run.history)))
        if done:
            return run.finish(CONVERGED)
        new = line_search(problem, state, step)
        if new is None or run.stuck():
            if not shannon:  # cells without density have no curvature: use a floor
                new = line_search(problem, state, _step(problem, state, hessian, floor=1.0))
            if shannon or new is None or new.objective >= state.objective - ROUNDING:
                return run.finish(STALLED)
        state = new
    return run.finish(MAX_ITERATIONS)


def _follow(run: SolverRun, state: State, step: Array, hessian: Hessian | None, rounds: int) -> Solution:
    """Continue while the loss decreases by more than the tolerance, for a loss without a minimum."""
    problem = run.problem
    for _ in range(rounds):
        new = line_search(problem, state, step)
        if new is None or state.objective - new.objective <= run.tolerance:
            break
        state = new
        run.record(state, problem.gap(state), problem.mu.size)
        step = _step(problem, state, hessian)
    return run.finish(SEPARABLE)


def free_gap(problem: Problem, state: State) -> float:
    """Return the gap of a state without a penalty, where expectations must match the sample's."""
    return corrected_gap(problem, state, _step(problem, state, None, exact=True))


def separable(problem: Problem, state: State) -> bool:
    """Return whether the loss decreases for ever without a penalty: along one feature, or along the step from a state.

    If a feature has mean 0 or 1 at the presences, larger weights separate these cells better from the others.
    """
    if np.any((problem.mu <= MATCHED) | (problem.mu >= 1.0 - MATCHED)):
        return True
    return _recedes(problem, _step(problem, state, None, exact=True))


def corrected_gap(problem: Problem, state: State, step: Array) -> float:
    """Bound the distance to the optimum if expectations must match exactly.

    One Newton step in the distribution, `p' = (p + w ∘ (s − w[s]/Σw))₊` with `s = F·step`, matches them if the step is
    exact and remains in the simplex. Then `Ω(p') − Q(λ)` is a gap; remaining rounding errors are multiplied by the size
    of the weights. Otherwise only the sample is known to be feasible.
    """
    moved = np.maximum(state.p + problem.tilt(problem.curvature(state), problem.scores(step)), 0.0)
    total = moved.sum(axis=0)
    if not np.all((total > 0.5) & (total < np.inf)):  # a step without curvature, dominated by rounding errors
        return problem.gap(state)
    moved /= total
    mismatch = np.abs(problem.expectations(moved) - problem.mu).max()
    if not mismatch <= MATCHED:
        return problem.gap(state)
    slack = float(mismatch) * float(np.abs(state.lam).sum() + np.abs(step).sum())
    return problem.negentropy(moved) + state.objective + slack


def _recedes(problem: Problem, step: Array) -> bool:
    """Return whether the loss decreases for ever along `step`: every presence has the largest score."""
    short, width = problem.shortfall(problem.scores(step))
    return width > 0.3 and short <= 1e-6 * width


def _step(problem: Problem, state: State, hessian: Hessian | None, *, exact: bool = False, floor: float = 0.0) -> Array:
    """Return the Newton step: by a direct solve with the Hessian, or by conjugate gradients."""
    w = problem.curvature(state, floor)
    bend, diagonal = problem.penalty.curvature(state.lam)
    gradient = state.eps + problem.penalty.gradient(state.lam)
    if hessian is not None:
        size = gradient.size
        matrix = hessian(w) + bend(np.eye(size))
        if problem.entropy.alpha == 1.0 and not np.any(diagonal) and size <= DENSE_WEIGHTS:
            # Features may be linearly dependent: the least-squares step is the shortest one.
            return np.asarray(np.linalg.lstsq(matrix, -gradient, rcond=1e-13)[0], dtype=np.float64)
        # Without curvature in a direction with a slope, take a long step; the line search limits it.
        matrix[np.diag_indices(size)] += _least(np.diagonal(matrix))
        return np.asarray(np.linalg.solve(matrix, -gradient), dtype=np.float64)

    def product(v: Array) -> Array:
        return problem.expectations(problem.tilt(w, problem.scores(v))) + bend(v)

    inverse = problem.penalty.inverse
    if inverse is not None:  # the penalty is a better preconditioner than the curvature of single weights
        return conjugate_gradients(product, -gradient, lambda r: inverse @ r, exact)
    scale = problem.bends(w) + diagonal
    scale = np.maximum(scale, _least(scale))
    return conjugate_gradients(product, -gradient, lambda r: r / scale, exact)


def _least(diagonal: Array) -> float:
    """Return the least curvature of a weight."""
    return LIFT * max(float(diagonal.max()), LIFT)


def conjugate_gradients(
    product: Callable[[Array], Array], b: Array, condition: Callable[[Array], Array], exact: bool
) -> Array:
    """Solve `A x = b`: to rounding if `exact`, else with an accuracy that increases as `b` vanishes.

    So Newton's method converges superlinearly. `condition` approximates a product with the inverse of `A`.
    """
    x = np.zeros_like(b)
    r = b.copy()
    y = condition(r)
    d, e = y.copy(), r.copy()  # `condition` maps `e` to `d`
    rho = first = float(r @ y)
    goal = 0.0 if exact else first * min(1e-2, first) ** 2
    for _ in range(min(4 * b.size + 20, 2000)):
        if rho <= max(goal, 1e-30):
            break
        q = product(d)
        bend = float(d @ q)
        if bend <= 1e-18 * float(d @ e):  # a flat direction: the remaining decrease is along it
            break
        step = rho / bend
        x += step * d
        r -= step * q
        y = condition(r)
        rho, old = float(r @ y), rho
        d, e = y + (rho / old) * d, r + (rho / old) * e
    return x if np.any(x) else y
